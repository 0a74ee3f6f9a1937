//! The JSON schemas in `docs/schemas/`: as the types have them now, and true of what the commands print.
//!
//! `TRUELINE_UPDATE=1 cargo test -p trueline --test schemas` writes them anew.

mod common;

use common::have;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn trueline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).current_dir(root()).output().unwrap()
}

fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    entries.map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).unwrap())).collect()
}

#[test]
fn the_schemas_in_the_documentation_are_those_of_the_types() {
    let dir = tempfile::tempdir().unwrap();
    let output = trueline(&["manual", "--out", dir.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (now, kept) = (files(&dir.path().join("schemas")), root().join("docs/schemas"));
    if std::env::var_os("TRUELINE_UPDATE").is_some() {
        std::fs::create_dir_all(&kept).unwrap();
        now.iter().for_each(|(name, text)| std::fs::write(kept.join(name), text).unwrap());
        return;
    }
    let then = files(&kept);
    assert_eq!(now.keys().collect::<Vec<_>>(), then.keys().collect::<Vec<_>>(), "run with TRUELINE_UPDATE=1");
    for (name, text) in &now {
        assert!(*text == then[name], "docs/schemas/{name} is out of date: run with TRUELINE_UPDATE=1, and think of the version");
    }
}

/// Fails unless each value is what `docs/schemas/NAME.json` says.
fn assert_valid<'a>(name: &str, values: impl IntoIterator<Item = &'a Value>) {
    let schema: Value = serde_json::from_str(&files(&root().join("docs/schemas"))[&format!("{name}.json")]).unwrap();
    let mut count = 0;
    for value in values {
        if let Err(reason) = (Validator { root: &schema }).validate(&schema, value, "") {
            panic!("{name}: {reason}\n{value:#}");
        }
        count += 1;
    }
    assert!(count > 0, "nothing was printed");
}

/// The part of JSON Schema that our schemas use; any other keyword is an error, so that nothing is passed over. Stricter in
/// one thing: an object may have no field that no schema names, so that every field is documented.
struct Validator<'a> {
    root: &'a Value,
}

const ANNOTATIONS: [&str; 7] = ["$schema", "$defs", "title", "description", "default", "format", "minimum"];

impl Validator<'_> {
    fn validate(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let mut fields = Vec::new();
        self.apply(schema, value, at, &mut fields)?;
        match value.as_object().and_then(|object| object.keys().find(|key| !fields.contains(*key))) {
            Some(unknown) if !fields.contains(&"*".to_owned()) => Err(format!("`{at}/{unknown}` is in no schema")),
            _ => Ok(()),
        }
    }

    /// Checks every keyword; collects the fields that they speak of, `*` for any.
    fn apply(&self, schema: &Value, value: &Value, at: &str, fields: &mut Vec<String>) -> Result<(), String> {
        let Some(keywords) = schema.as_object() else {
            fields.push("*".to_owned());
            return if *schema == Value::Bool(true) { Ok(()) } else { Err(format!("{at}: nothing is allowed here")) };
        };
        for (keyword, said) in keywords {
            let list = || said.as_array().expect("a list").iter();
            let holds = match keyword.as_str() {
                "$ref" => {
                    let target = self.root.pointer(&said.as_str().expect("a reference")[1..]).expect("a definition");
                    self.apply(target, value, at, fields)?;
                    true
                }
                "type" => match said.as_array() {
                    Some(types) => types.iter().any(|t| is_a(value, t)),
                    None => is_a(value, said),
                },
                "const" => value == said,
                "enum" => list().any(|allowed| allowed == value),
                "required" => list().all(|field| value.get(field.as_str().expect("a name")).is_some()),
                "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= said.as_u64().unwrap_or(0)),
                "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= said.as_u64().unwrap_or(0)),
                "properties" => {
                    for (field, schema) in said.as_object().expect("fields") {
                        fields.push(field.clone());
                        value.get(field).map_or(Ok(()), |inner| self.validate(schema, inner, &format!("{at}/{field}")))?;
                    }
                    true
                }
                "additionalProperties" => {
                    fields.push("*".to_owned());
                    let inner = value.as_object().into_iter().flatten();
                    let own = |field: &String| schema["properties"].get(field).is_none();
                    inner.filter(|(field, _)| own(field)).try_for_each(|(field, v)| self.validate(said, v, &format!("{at}/{field}")))?;
                    true
                }
                "items" | "prefixItems" => {
                    let schema = |n: usize| if keyword == "items" { said } else { &said[n] };
                    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.validate(schema(n), item, &format!("{at}/{n}"))?;
                    }
                    true
                }
                "anyOf" | "oneOf" => {
                    let outcomes: Vec<(Result<(), String>, Vec<String>)> = list()
                        .map(|choice| {
                            let mut fields = Vec::new();
                            (self.apply(choice, value, at, &mut fields), fields)
                        })
                        .collect();
                    let chosen: Vec<_> = outcomes.iter().filter(|(outcome, _)| outcome.is_ok()).collect();
                    chosen.iter().for_each(|(_, more)| fields.extend(more.iter().cloned()));
                    if chosen.is_empty() {
                        let reasons: Vec<String> = outcomes.into_iter().filter_map(|(outcome, _)| outcome.err()).collect();
                        return Err(format!("{at}: no choice fits: {}", reasons.join(" | ")));
                    }
                    keyword == "anyOf" || chosen.len() == 1
                }
                "allOf" => {
                    list().try_for_each(|part| self.apply(part, value, at, fields))?;
                    true
                }
                annotation if ANNOTATIONS.contains(&annotation) => true,
                other => return Err(format!("this test does not know the keyword `{other}`")),
            };
            if !holds {
                return Err(format!("{at}: {value} breaks {keyword} {said}"));
            }
        }
        Ok(())
    }
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn the_validator_refuses_what_is_wrong() {
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let validate = |value: Value| (Validator { root: &schema }).validate(&schema, &value, "");
    assert!(validate(serde_json::json!({"n": 1})).is_ok());
    assert!(validate(serde_json::json!({"n": "1"})).is_err());
    assert!(validate(serde_json::json!({})).is_err());
    assert!(validate(serde_json::json!({"n": 1, "more": 2})).is_err());
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn lines(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn check_and_its_baseline_print_what_their_schemas_say() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let baseline = dir.path().join("known.json").to_string_lossy().into_owned();
    let check = |more: &[&str]| {
        let common = ["check", "examples/merged-return.c", "examples/union-parameter.c", "--cc", "gcc-12", "--opt=-Og", "--json"];
        document(&trueline(&[&common[..], more].concat()))
    };
    assert_valid("check", [&check(&["--explain"]), &check(&["--baseline", &baseline, "--write-baseline"])]);
    assert_valid("check", [&check(&["--baseline", &baseline])]);
    assert_valid("baseline", [&serde_json::from_slice(&std::fs::read(&baseline).unwrap()).unwrap()]);
}

#[test]
fn trace_prints_what_its_schema_says() {
    assert_valid("trace", &lines(&trueline(&["trace", "examples/clean.c", "--json"])));
}

#[test]
fn doctor_prints_what_its_schema_says() {
    assert_valid("doctor", [&document(&trueline(&["doctor", "--json"]))]);
}

#[test]
fn toolchains_prints_what_its_schema_says() {
    assert_valid("toolchains", [&document(&trueline(&["toolchains", "list", "--json"]))]);
}

#[test]
fn a_hunt_its_report_and_a_merge_print_what_their_schemas_say() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let db = path("a.db");
    let hunt = trueline(&["hunt", "--cc", "gcc", "--opt=-O2", "--generator", "weave", "--seeds", "1..4", "--db", &db, "--json"]);
    assert_valid("hunt", &lines(&hunt));
    assert_valid("merge", [&document(&trueline(&["merge", &path("b.db"), &db, "--json"]))]);
    assert_valid("report", [&document(&trueline(&["report", "--db", &db, "--out", &path("report"), "--json"]))]);
}

#[test]
fn passes_prints_what_its_schema_says() {
    if have(&["opt-16"]) {
        assert_valid(
            "passes",
            [&document(&trueline(&["passes", "examples/tail-recursion.ll", "--opt-tool", "opt-16", "--all", "--json"]))],
        );
    }
}

#[test]
fn triage_prints_what_its_schema_says() {
    if have(&["clang-16"]) {
        let arguments =
            ["triage", "examples/untaken-call.c", "--cc", "clang-16", "--opt", "-O1", "--versions", "none", "--no-readers", "--json"];
        assert_valid("triage", [&document(&trueline(&arguments))]);
    }
}

#[test]
fn repair_prints_what_its_schema_says() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (before, after) = (path("before"), path("after"));
    let built = Command::new("gcc-12").args(["-O2", "-g", "examples/vanished-index.c", "-o", &before]).current_dir(root()).status();
    assert!(built.unwrap().success());
    let source = ["--source", "examples/vanished-index.c", "--cc", "gcc-12", "--json"];
    assert_valid("repair", [&document(&trueline(&[&["repair", &before, "-o", &after][..], &source].concat()))]);
}

#[test]
fn same_prints_what_its_schema_says() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    for (name, define) in [("one", "-Dtotal=sum"), ("two", "-DN=1")] {
        std::fs::write(path("p.c"), "int main(void) { volatile int total = 3; return total - 3; }\n").unwrap();
        let built = Command::new("gcc-12").args(["-O2", "-g", define, &path("p.c"), "-o", &path(name)]).status();
        assert!(built.unwrap().success());
    }
    let document = document(&trueline(&["same", &path("one"), &path("two"), "--json"]));
    assert!(!document["differences"].as_array().unwrap().is_empty());
    assert_valid("same", [&document]);
}

#[test]
fn mutate_prints_what_its_schema_says() {
    if !have(&["clang-16"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    assert_valid("mutate", [&document(&trueline(&["mutate", "examples/clean.c", "--out", out, "--variants", "2", "--json"]))]);
}

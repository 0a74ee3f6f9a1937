//! What is read of an image's debug information: the values that it gives outright, and the locations that entries have.

use trueline_machine::image::Image;
use trueline_repair::debug::{ImageInfo, LocationCoverage, PlacedVariable, TypeClass};
use trueline_toolchain::{Limits, Scratch, find_compiler};

/// The debug information of a C program, built as it says; none where the compiler is missing.
fn read(source: &str, flags: &[&str]) -> Option<ImageInfo> {
    let scratch = Scratch::new().unwrap();
    let path = scratch.write("source.c", source).unwrap();
    let Ok(compiler) = find_compiler("gcc") else {
        eprintln!("skipped: no gcc");
        return None;
    };
    let output = scratch.join("output");
    let job = compiler.job().args(flags).arg("-g").arg(&path).arg("-o").arg(&output).limits(Limits::seconds(120));
    let outcome = job.run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    Some(ImageInfo::read(&Image::open(&output).unwrap()).unwrap())
}

fn variable<'i>(info: &'i ImageInfo, function: &str, name: &str) -> &'i PlacedVariable {
    let all = info.functions.iter().flat_map(|f| &f.variables);
    all.filter(|v| v.name == name).find(|v| v.function == function).unwrap_or_else(|| panic!("no {name} in {function}"))
}

#[test]
fn a_constant_kept_in_one_byte_has_no_sign() {
    // gcc keeps 200 in a byte; read with a sign it would be -56, and the repaired file would say so.
    let source = "volatile int out;\nstatic inline __attribute__((always_inline)) void put(int given) {\n  const int kept = 200;\n\
        out = given;\n  out = kept;\n}\nint main(void) {\n  put(7);\n  return 0;\n}\n";
    let Some(info) = read(source, &["-O2"]) else { return };
    let kept = variable(&info, "put", "kept");
    assert!(kept.inlined);
    assert_eq!(kept.constant, Some(200));
}

#[test]
fn a_static_variable_of_a_function_is_where_its_declaration_says() {
    let source = "int main(int argc, char **argv) {\n  static int calls;\n  calls += argc;\n  return calls;\n}\n";
    for level in ["-O0", "-O2"] {
        let Some(info) = read(source, &[level]) else { return };
        let main = info.functions.iter().find(|f| f.name == "main").unwrap();
        assert_eq!(variable(&info, "main", "calls").coverage(main.entry()), LocationCoverage::Computed, "{level}");
    }
}

#[test]
fn an_array_of_pointers_is_no_array_of_numbers() {
    let source = "int one = 1, grid[3][4];\nint *all[4] = {&one, &one, &one, &one};\nint main(void) { return *all[2] + grid[1][1]; }\n";
    let Some(info) = read(source, &["-O0"]) else { return };
    let of = |name: &str| info.globals.iter().find(|g| g.name == name).unwrap().ty.element.unwrap();
    assert_eq!(of("all"), (TypeClass::Pointer, 8));
    assert_eq!(of("grid"), (TypeClass::Signed, 4));
}

#[test]
fn a_function_is_known_by_its_full_name_and_by_the_one_it_is_declared_with() {
    let source = "int outer(int x) { return x; }\nint main(void) { return outer(1); }\n";
    let Some(info) = read(source, &["-O0"]) else { return };
    let mut outer = info.functions.into_iter().find(|f| f.is_called("outer")).unwrap();
    assert!(!outer.is_called("oute") && !outer.is_called("uter") && !outer.is_called(""));
    // As C++ and Rust have it.
    outer.name = "space::Shape::outer(int, space::Shape*) const".to_owned();
    assert!(
        outer.is_called("outer") && outer.is_called("Shape::outer") && outer.is_called("space::Shape::outer(int, space::Shape*) const")
    );
    assert!(!outer.is_called("Shape") && !outer.is_called("space"));
}

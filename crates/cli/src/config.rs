//! `trueline.toml`: a project's defaults. Flags override it; it is looked for in the working directory and
//! then in each parent, as people expect of such files.

use anyhow::Context;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use trueline_model::{EngineKind, OptLevel};

/// The name of the file that is looked for.
pub const FILE_NAME: &str = "trueline.toml";

/// Defaults for the commands. Every key is optional; an unknown key is an error, since it is a typing mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectDefaults {
    /// Compilers, by name or path.
    pub cc: Vec<String>,
    /// Optimization levels, as `--opt` takes them.
    pub opt: Vec<OptLevel>,
    /// Flags for every compilation of a program.
    pub cflags: Vec<String>,
    /// The engine that traces, as `--engine` takes it.
    pub engine: Option<EngineKind>,
    /// Where hunts take programs from.
    pub generator: Option<String>,
    /// Workers of a hunt.
    pub jobs: Option<usize>,
    /// The campaign's database, relative to the file.
    pub db: Option<PathBuf>,
    /// Limits on steps and time.
    pub limits: LimitsConfig,
    /// How the project is built and run, for `--project`.
    pub project: ProjectConfig,
}

/// How a project is built and run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectConfig {
    /// The build command, as `--build` takes it.
    pub build: Option<String>,
    /// The runs, as `--run` takes them.
    pub run: Vec<String>,
    /// Seconds one build may take.
    pub build_seconds: Option<u64>,
}

/// Limits on what is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Steps after which a trace is cut off.
    pub max_steps: Option<u64>,
    /// Seconds for one traced run.
    pub seconds: Option<u64>,
}

impl ProjectDefaults {
    /// Reads the nearest file, or the defaults when there is none.
    pub fn load() -> anyhow::Result<Self> {
        let start = std::env::current_dir().context("the working directory cannot be read")?;
        match start.ancestors().map(|dir| dir.join(FILE_NAME)).find(|path| path.is_file()) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    /// Reads one file and checks its keys.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut config: Self = toml::from_str(&text).with_context(|| format!("{} is not a valid configuration", path.display()))?;
        // Relative paths are meant from the file, not from wherever the command was started.
        if let (Some(db), Some(dir)) = (&mut config.db, path.parent()) {
            *db = dir.join(&*db);
        }
        Ok(config)
    }
}

/// Commands whose `--cc` is no compiler under test but one that helps: the clang that makes IR, the compiler of a reference.
const OTHER_COMPILER: [&str; 2] = ["passes", "repair"];

/// Makes the file's values the defaults of every command that has the flag: what is typed still wins, and
/// `--help` shows the value that will be used.
pub fn apply(config: &ProjectDefaults, command: clap::Command) -> clap::Command {
    let text = |value: &dyn ToString| value.to_string();
    let one = |value: Option<String>| value.into_iter().collect::<Vec<_>>();
    let defaults = [
        ("cc", config.cc.clone()),
        ("opt", config.opt.iter().map(|level| text(level)).collect()),
        ("cflags", config.cflags.clone()),
        ("engine", one(config.engine.map(|e| text(&e)))),
        ("generator", one(config.generator.clone())),
        ("jobs", one(config.jobs.map(|n| text(&n)))),
        ("db", one(config.db.as_ref().map(|path| path.display().to_string()))),
        ("max_steps", one(config.limits.max_steps.map(|n| text(&n)))),
        ("time_limit", one(config.limits.seconds.map(|n| text(&n)))),
        ("build_command", one(config.project.build.clone())),
        ("run", config.project.run.clone()),
        ("build_limit", one(config.project.build_seconds.map(|n| text(&n)))),
    ];
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let applies = |id: &str| id != "cc" || !OTHER_COMPILER.contains(&name.as_str());
        command.mut_subcommand(&name, |sub| {
            defaults.iter().filter(|(id, values)| !values.is_empty() && applies(id)).fold(sub, |sub, (id, values)| {
                let Some(arg) = sub.get_arguments().find(|a| a.get_id() == id) else { return sub };
                // A flag that takes one value takes the file's first choice.
                let many = matches!(arg.get_action(), clap::ArgAction::Append);
                let values = if many { values.clone() } else { values[..1].to_vec() };
                sub.mut_arg(*id, |arg| without_default(arg).default_values(values))
            })
        })
    })
}

/// Takes the default that is written into a flag's help away: another one holds, which clap shows.
fn without_default(arg: clap::Arg) -> clap::Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    match help.find("[default:") {
        Some(at) => arg.help(help[..at].trim_end().to_owned()),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_understood() {
        let text = "cc = [\"gcc-12\"]\nopt = [\"-Og\", \"-O2\"]\nengine = \"gdb\"\ngenerator = \"csmith\"\n[limits]\nmax_steps = 5000\n";
        let config: ProjectDefaults = toml::from_str(text).unwrap();
        assert_eq!(config.opt, [OptLevel::Og, OptLevel::O2]);
        assert_eq!(config.engine, Some(EngineKind::Gdb));
        assert_eq!(config.limits.max_steps, Some(5000));
    }

    #[test]
    fn a_mistyped_key_is_an_error_that_names_it() {
        let error = toml::from_str::<ProjectDefaults>("compiler = \"gcc\"").unwrap_err().to_string();
        assert!(error.contains("compiler"), "{error}");
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_the_default() {
        let config: ProjectDefaults = toml::from_str("cc = [\"gcc-12\", \"clang-16\"]\njobs = 3\n").unwrap();
        let list = clap::Arg::new("cc").long("cc").action(clap::ArgAction::Append).default_value("cc");
        let single = clap::Arg::new("jobs").long("jobs").default_value("1");
        let command = apply(&config, clap::Command::new("t").subcommand(clap::Command::new("hunt").args([list, single])));
        let value = |words: &[&str], id: &str| {
            let matches = command.clone().try_get_matches_from(words).unwrap();
            let (_, sub) = matches.subcommand().unwrap();
            sub.get_many::<String>(id).unwrap().cloned().collect::<Vec<_>>()
        };
        assert_eq!(value(&["t", "hunt"], "cc"), ["gcc-12", "clang-16"]);
        assert_eq!(value(&["t", "hunt", "--cc", "tcc"], "cc"), ["tcc"]);
        assert_eq!(value(&["t", "hunt"], "jobs"), ["3"]);
    }

    #[test]
    fn a_default_in_the_help_gives_way_to_that_of_the_file() {
        let config: ProjectDefaults = toml::from_str("cc = [\"gcc-12\"]\n").unwrap();
        let flag = clap::Arg::new("cc").long("cc").action(clap::ArgAction::Append).help("Compilers. [default: gcc]");
        let mut command = apply(&config, clap::Command::new("t").subcommand(clap::Command::new("hunt").arg(flag)));
        let help = command.find_subcommand_mut("hunt").unwrap().render_help().to_string();
        assert!(help.contains("Compilers. [default: gcc-12]"), "{help}");
    }

    #[test]
    fn compilers_under_test_are_not_those_that_help() {
        let config: ProjectDefaults = toml::from_str("cc = [\"gcc-12\"]\n").unwrap();
        let flag = clap::Arg::new("cc").long("cc");
        let command = apply(&config, clap::Command::new("t").subcommand(clap::Command::new("passes").arg(flag)));
        let matches = command.try_get_matches_from(["t", "passes"]).unwrap();
        assert!(matches.subcommand().unwrap().1.get_one::<String>("cc").is_none());
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_file_says_it_is_applied_or_refused(
            lines in proptest::collection::vec("(cc|opt|cflags|engine|generator|jobs|db|limits|\\[limits\\]|max_steps|seconds|[a-z]{1,3})( ?= ?(-?[0-9]{1,20}|\\[\\]|\\[?\"-?[a-zA-Z0-9,]{0,6}\"\\]?|true|\\{))?", 0..6)
        ) {
            let command = || {
                let flag = |name: &'static str| clap::Arg::new(name).long(name).action(clap::ArgAction::Append);
                clap::Command::new("t").subcommand(clap::Command::new("hunt").args(["cc", "opt", "cflags"].map(flag)).arg(clap::Arg::new("jobs").long("jobs")))
            };
            if let Ok(config) = toml::from_str::<ProjectDefaults>(&lines.join("\n")) {
                let matches = apply(&config, command()).try_get_matches_from(["t", "hunt"]).unwrap();
                let given = matches.subcommand().unwrap().1.get_many::<String>("cc").map(|values| values.cloned().collect::<Vec<_>>());
                proptest::prop_assert_eq!(given.unwrap_or_default(), config.cc);
            }
        }
    }
}

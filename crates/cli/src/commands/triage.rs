//! `trueline triage`: which pass did it, in which versions, the same bug as which other, and whose fault.

mod document;
mod explain;
mod isolation;
mod print;
mod update;

use crate::exit::Ending;
use crate::fault::{FaultProbe, Judge, Looking, Shown, Sought, kind_of, read_program};
use anyhow::{Context, bail};
pub use document::Document;
pub use explain::script_of;
use explain::{Case, Explained, Explainer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueline_model::{CompilerKind, EngineKind, Fault, FindingId, Invariant, Language, OptLevel, Policy, Program};
use trueline_store::Store;
use trueline_toolchain::{Compiler, find_compiler, installed_compilers};
use trueline_triage::{CachedProbe, KnownBugs, Presence, Setting, confirm};

/// Explain findings: the guilty pass, a fingerprint over compiler versions, clusters, compiler or debugger.
#[derive(clap::Args)]
pub struct Args {
    /// A program (.c, .rs), or numbers of findings in --db; with --db alone, every finding.
    targets: Vec<String>,
    /// The campaign store that holds the findings.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The compiler, by name or path (for a program).
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// Levels, separated by commas (for a program).
    #[arg(long, default_value = "-O2", allow_hyphen_values = true, value_delimiter = ',')]
    opt: Vec<OptLevel>,
    /// A flag for every compilation of the program; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// Compilers of the fingerprint, separated by commas: names, paths, `all` (the installed ones of the
    /// same family) or `none`.
    #[arg(long, default_value = "all", value_delimiter = ',', value_name = "CC")]
    versions: Vec<String>,
    /// Who traces during the searches.
    #[arg(long, default_value = "native")]
    engine: EngineKind,
    /// Whose reading of the line table the native engine follows.
    #[arg(long, default_value = "gdb")]
    policy: Policy,
    /// Do not ask gdb and lldb whose fault it is.
    #[arg(long)]
    no_readers: bool,
    /// Only findings of this kind: line, backtrace, scope, parameter, value, …, crash, hang, wrong-code.
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Only violations on this line.
    #[arg(long)]
    line: Option<u32>,
    /// Write a bug draft per finding into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --out: reduce each program, too, for at most this many seconds each.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "600", requires = "out")]
    reduce: Option<u64>,
    /// A directory of known bugs (*.toml) beside the shipped ones.
    #[arg(long, value_name = "DIR")]
    known: Option<PathBuf>,
    /// Say only, by exit code 0 or 1, whether the program shows a fault of this kind (for interesting.sh).
    #[arg(long, value_name = "KIND")]
    expect: Option<String>,
    /// With --expect: and whether this pass is behind it.
    #[arg(long, value_name = "PASS", requires = "expect")]
    expect_pass: Option<String>,
    /// Exit with 1 when something was found.
    #[arg(long)]
    fail_on_findings: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// The known bugs that ship with the program.
const SHIPPED: &[&str] = &[
    include_str!("../../../../known/clang-inlined-block.toml"),
    include_str!("../../../../known/clang-narrow-parameter.toml"),
    include_str!("../../../../known/gcc-merged-return-og.toml"),
    include_str!("../../../../known/gcc-merged-return-o2.toml"),
];

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let looking = Looking::new(args.engine, args.policy);
    if let Some(kind) = &args.expect {
        return expect(&args, kind, &looking);
    }
    let mut known = KnownBugs::from_texts(SHIPPED)?;
    if let Some(dir) = &args.known {
        if !dir.is_dir() {
            bail!("{} is not a directory of known bugs", dir.display());
        }
        known.extend(KnownBugs::read(dir)?);
    }
    let versions = Versions::read(&args.versions)?;
    // A store may be a project's default: programs that are named need none.
    let names_programs = args.targets.iter().any(|target| is_program(target));
    let store = args.db.as_deref().filter(|_| !names_programs).map(Store::open_existing).transpose()?;
    let (cases, mut notes) = match &store {
        Some(store) => (from_store(store, &args)?, Vec::new()),
        None => from_files(&args, &looking)?,
    };
    let explainer = Explainer { looking, versions: &versions, known: &known, ask_readers: !args.no_readers, terminal: on_terminal() };
    let explained = explainer.explain_all(cases)?;
    notes.extend(explained.iter().filter_map(Explained::note));
    if let Some(dir) = &args.out {
        explainer.write_drafts(dir, &explained, args.reduce.map(std::time::Duration::from_secs))?;
    }
    if let Some(store) = &store {
        print::store(store, &explained)?;
    }
    if args.json {
        print::json(&explained, &notes)?;
    } else {
        print::text(&explained, &notes);
    }
    let found = args.fail_on_findings && explained.iter().any(explain::Explained::shows);
    Ok(if found { Ending::Found } else { Ending::Clean })
}

fn on_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

/// Which compilers a fingerprint is taken over.
pub enum Versions {
    /// Every installed (or fetched) one of the finding's family.
    Installed(Vec<Compiler>),
    /// These, of whatever family they are; only those of the finding's family are used.
    Named(Vec<Compiler>),
    /// No fingerprint: the finding's own compiler only.
    None,
}

impl Versions {
    fn read(words: &[String]) -> anyhow::Result<Self> {
        match words {
            [one] if one == "all" => Ok(Self::Installed(installed_compilers())),
            [one] if one == "none" => Ok(Self::None),
            names => {
                let mut compilers = Vec::new();
                for name in names {
                    match name.as_str() {
                        "all" => compilers.extend(installed_compilers()),
                        name => compilers.push(find_compiler(name).with_context(|| format!("--versions {name}"))?),
                    }
                }
                Ok(Self::Named(compilers))
            }
        }
    }

    /// The settings of a fingerprint for one compiler: its own version and all others of its family.
    pub fn settings(&self, own: &Compiler, opt: OptLevel) -> Vec<Setting> {
        let others: &[Compiler] = match self {
            Self::Installed(all) | Self::Named(all) => all,
            Self::None => &[],
        };
        let mut compilers: BTreeMap<(CompilerKind, u32, String), Compiler> = BTreeMap::new();
        for compiler in others.iter().filter(|c| c.id.kind == own.id.kind).chain([own]) {
            compilers.insert((compiler.id.kind, compiler.major(), compiler.id.version.clone()), compiler.clone());
        }
        compilers.into_values().map(|compiler| Setting { compiler, opt }).collect()
    }
}

/// Whether a target is a program and not the number of a finding.
pub fn is_program(target: &str) -> bool {
    Language::of_path(target.as_ref()).is_some()
}

fn from_files(args: &Args, looking: &Looking) -> anyhow::Result<(Vec<Case>, Vec<String>)> {
    if args.targets.is_empty() {
        bail!("nothing to explain: name a program, or a store with --db");
    }
    let compiler = find_compiler(&args.cc)?;
    let (mut cases, mut notes) = (Vec::new(), Vec::new());
    for target in &args.targets {
        if target.parse::<i64>().is_ok() {
            bail!("finding {target}: a number needs the store it is in (--db FILE)");
        }
        let program = read_program(target.as_ref(), &args.cflags)?;
        if (program.language == Language::Rust) != (compiler.id.kind == CompilerKind::Rustc) {
            bail!("{} does not compile {target}; choose another compiler with --cc", compiler.id);
        }
        for &opt in &args.opt {
            let judge = Judge::new(program.clone(), looking)?;
            let setting = Setting { compiler: compiler.clone(), opt };
            let judged = judge.judge(&setting, &[])?;
            let faults: Vec<Fault> = match &judged.shown {
                Shown::Violations(violations) => violations.iter().cloned().map(Fault::Violation).collect(),
                Shown::Other(fault) => vec![fault.clone()],
                Shown::Unjudged(reason) => bail!("{target} cannot be judged with {} at {opt}: {reason}", compiler.id),
            };
            if faults.is_empty() {
                notes.push(format!("{target}: {} at {opt} shows nothing wrong", compiler.id));
            }
            let wanted = faults.into_iter().filter(|f| is_wanted(f, args));
            cases.extend(wanted.map(|fault| Case { id: None, program: program.clone(), compiler: compiler.clone(), opt, fault }));
        }
    }
    Ok((cases, notes))
}

fn is_wanted(fault: &Fault, args: &Args) -> bool {
    let line = match fault {
        Fault::Violation(v) => Some(v.line.0),
        _ => None,
    };
    args.only.as_deref().is_none_or(|kind| kind == kind_of(fault)) && args.line.is_none_or(|l| line == Some(l))
}

fn from_store(store: &Store, args: &Args) -> anyhow::Result<Vec<Case>> {
    let mut records = if args.targets.is_empty() { store.findings()? } else { Vec::new() };
    for target in &args.targets {
        let id = target.parse().map_err(|_| {
            anyhow::anyhow!("`{target}` is neither a program (.c, .rs) nor the number of a finding in {}", store.path().display())
        })?;
        records.push(store.finding(FindingId(id))?);
    }
    let mut cases = Vec::new();
    for record in records {
        if !is_wanted(&record.finding.fault, args) {
            continue;
        }
        let evidence = store.evidence(&record)?;
        let evidence = evidence.with_context(|| format!("finding {} has no program in {}", record.id.0, store.path().display()))?;
        let path = record.finding.compiler.path.to_string_lossy().into_owned();
        let compiler = find_compiler(&path).with_context(|| format!("the compiler of finding {}", record.id.0))?;
        let (fault, opt) = (record.finding.fault, record.finding.opt);
        cases.push(Case { id: Some(record.id), program: evidence.program, compiler, opt, fault });
    }
    Ok(cases)
}

/// The question of a reducer.
fn expect(args: &Args, kind: &str, looking: &Looking) -> anyhow::Result<Ending> {
    let [target] = args.targets.as_slice() else { bail!("--expect judges one program") };
    let program = read_program(target.as_ref(), &args.cflags)?;
    let compiler = find_compiler(&args.cc)?;
    let &[opt] = args.opt.as_slice() else { bail!("--expect judges one level") };
    let shows = shows_expected(program, looking, &Setting { compiler, opt }, kind, args.expect_pass.as_deref())?;
    Ok(if shows { Ending::Clean } else { Ending::Found })
}

/// Whether a program shows a fault of this kind, and with this pass behind it.
pub fn shows_expected(program: Program, looking: &Looking, setting: &Setting, kind: &str, pass: Option<&str>) -> anyhow::Result<bool> {
    let judge = Judge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    let sought: Vec<Sought> = match (&judged.shown, kind.parse::<Invariant>()) {
        (Shown::Violations(all), Ok(invariant)) => {
            let those = all.iter().filter(|v| v.invariant == invariant);
            those.map(|v| Sought(Fault::Violation(v.clone()))).collect()
        }
        (Shown::Other(fault), _) if kind_of(fault) == kind => vec![Sought(fault.clone())],
        _ => Vec::new(),
    };
    for sought in sought {
        if sought.presence(&judged.shown) != Presence::Present {
            continue;
        }
        let Some(pass) = pass else { return Ok(true) };
        let probe = FaultProbe { judge: &judge, sought };
        if confirm(&CachedProbe::new(&probe), setting, pass)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The faults of a program in one build.
pub fn triage_one(program: Program, looking: &Looking, setting: &Setting) -> anyhow::Result<Vec<Fault>> {
    let judge = Judge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    match &judged.shown {
        Shown::Violations(all) => Ok(all.iter().cloned().map(Fault::Violation).collect()),
        Shown::Other(fault) => Ok(vec![fault.clone()]),
        Shown::Unjudged(reason) => bail!("{} at {} cannot be judged: {reason}", setting.compiler.id, setting.opt),
    }
}

/// The pass behind a fault, or behind the first of a kind; `None` when no pass can be named.
pub fn pass_of(
    program: Program,
    looking: &Looking,
    setting: &Setting,
    kind: &str,
    fault: Option<&Fault>,
) -> anyhow::Result<Option<String>> {
    let judge = Judge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    let fault = match &judged.shown {
        shown if fault.is_some_and(|f| Sought(f.clone()).presence(shown) == Presence::Present) => fault.cloned(),
        Shown::Violations(all) => all.iter().find(|v| v.invariant.name() == kind).cloned().map(Fault::Violation),
        Shown::Other(fault) if kind_of(fault) == kind => Some(fault.clone()),
        _ => None,
    };
    let fault = fault.with_context(|| format!("{} at {} shows no {kind} fault", setting.compiler.id, setting.opt))?;
    let probe = FaultProbe { judge: &judge, sought: Sought(fault) };
    let attribution = trueline_triage::attribute(&CachedProbe::new(&probe), setting)?;
    Ok(attribution.name.map(|n| n.0))
}

//! The whole repair: read, run, relate, decide, write.

use crate::debug::{ConcreteFunction, ImageInfo, TypeClass};
use crate::given::{self, ProofFile};
use crate::inputs;
use crate::mend::{self, Stages, Trust};
use crate::note;
use crate::observe::BuildSide;
use crate::prove;
use crate::report::{self, FunctionReport, Report};
use crate::rewrite::{self, Edit, RewriteError};
use crate::snapshot::{self, LayoutChoice, Snapshot};
use crate::study::Study;
use crate::vary;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use trueline_machine::image::{Image, ImageError, ImageKind};
use trueline_machine::solver::Solver;

/// What to repair and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The optimized file.
    pub binary: PathBuf,
    /// The -O0 build.
    pub reference: PathBuf,
    /// Arguments of the program's own run.
    pub args: Vec<String>,
    /// Functions to repair; all when empty.
    pub functions: Vec<String>,
    /// Stages that are on.
    pub stages: Stages,
    /// What may replace the compiler's locations.
    pub trust: Trust,
    /// Variations of each input.
    pub variations: u64,
    /// Seed of the variations.
    pub seed: u64,
    /// Whether proofs are tried.
    pub proofs: Proofs,
    /// The solver, by name or path.
    pub solver: Option<String>,
    /// Wall-clock time after which a solver that does not answer is given up.
    pub patience: Duration,
    /// A proof from elsewhere.
    pub proof_file: Option<PathBuf>,
    /// Also count the paper's four variants.
    pub variants: bool,
}

impl Request {
    /// Everything in a file, with proofs, by the default rules.
    pub fn new(binary: impl Into<PathBuf>, reference: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            reference: reference.into(),
            args: Vec::new(),
            functions: Vec::new(),
            stages: Stages::default(),
            trust: Trust::Proved,
            variations: 2,
            seed: 1,
            proofs: Proofs::On,
            solver: None,
            patience: Duration::from_secs(120),
            proof_file: None,
            variants: false,
        }
    }
}

/// Whether proofs are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proofs {
    /// Relations are proved where they can be.
    On,
    /// They are not: everything stays validated.
    Off,
}

/// What came out.
pub struct RepairOutcome {
    /// The new file.
    pub bytes: Vec<u8>,
    /// What was done.
    pub report: Report,
    /// The edits behind it.
    pub edits: Vec<Edit>,
}

/// Why nothing was repaired.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// A file cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The new DWARF cannot be written.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// The proof file cannot be used.
    #[error("the proof file {path} cannot be used: {reason}", path = path.display())]
    Proof {
        /// The file that was to be read.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A function was asked for that is not there.
    #[error("{binary} has no function `{function}` with code and debug information", binary = binary.display())]
    NoFunction {
        /// The file that has no such function.
        binary: PathBuf,
        /// The function that was asked for.
        function: String,
    },
}

type Snapshots = BTreeMap<u64, Vec<Snapshot>>;

/// Repairs a file in memory. `progress` is told of each finished function.
pub fn repair(request: &Request, progress: &mut dyn FnMut(&FunctionReport)) -> Result<RepairOutcome, RepairError> {
    let optimized = Image::open(&request.binary)?;
    let reference = Image::open(&request.reference)?;
    let (info, reference_info) = (ImageInfo::read(&optimized)?, ImageInfo::read(&reference)?);
    let given = match &request.proof_file {
        None => None,
        Some(path) => {
            let bad = |reason: String| RepairError::Proof { path: path.clone(), reason };
            let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
            Some(given::read(&text).map_err(bad)?)
        }
    };
    for name in &request.functions {
        if !info.functions.iter().any(|f| f.is_called(name)) {
            return Err(RepairError::NoFunction { binary: request.binary.clone(), function: name.clone() });
        }
    }
    let wanted = |f: &&ConcreteFunction| request.functions.is_empty() || request.functions.iter().any(|name| f.is_called(name));
    let pairs: Vec<(&ConcreteFunction, Result<&ConcreteFunction, String>)> =
        info.functions.iter().filter(wanted).map(|f| (f, counterpart(&optimized, (&info, f), &reference_info))).collect();
    let (own, failure) = take_snapshots(request, &optimized, &reference, &pairs);
    let second = reference.elsewhere().zip(optimized.elsewhere());
    let moved = second.as_ref().map(|(r, o)| (r, o));
    let mut report = Report { size_before: optimized.bytes.len() as u64, ..Report::default() };
    let mut edits = Vec::new();
    let mut solver = (request.proofs == Proofs::On).then(|| Solver::find(request.solver.as_deref(), request.patience));
    for (function, same) in pairs {
        let (mut one, mut new) = match same {
            Ok(same) => {
                let sides = ((&reference, &reference_info, same), (&optimized, &info, function));
                let work = || {
                    let (mut report, edits) = repair_function(request, sides, moved, &own, given.as_ref(), solver.as_mut());
                    report.seconds = thread_seconds() + report.solver_seconds;
                    (report, edits)
                };
                contained(work).unwrap_or_else(|reason| (unrepaired(function, reason), Vec::new()))
            }
            Err(reason) => (unrepaired(function, reason), Vec::new()),
        };
        if one.reason.is_none() && one.runs == 0 {
            one.reason.clone_from(&failure);
        }
        progress(&one);
        report.functions.push(one);
        edits.append(&mut new);
    }
    let bytes = note::attach(rewrite::rewrite(&optimized, &edits)?, optimized.kind, &report);
    report.size_after = bytes.len() as u64;
    Ok(RepairOutcome { bytes, report, edits })
}

/// The function of the reference build that a function of the optimized one was made from: of the same name, declared on the same
/// line of a unit of the same name. A clone that the compiler made with other parameters has none.
fn counterpart<'r>(
    image: &Image,
    (info, f): (&ImageInfo, &ConcreteFunction),
    reference: &'r ImageInfo,
) -> Result<&'r ConcreteFunction, String> {
    let clone = image.symbols.iter().find(|s| s.function && s.address == f.entry() && CLONES.iter().any(|c| s.name.contains(c)));
    if let Some(clone) = clone {
        return Err(format!("it is the clone {} with other parameters", clone.name));
    }
    let unit = |info: &ImageInfo, f: &ConcreteFunction| info.units.get(f.unit).map(|u| u.name.rsplit('/').next().unwrap_or("").to_owned());
    let named: Vec<&ConcreteFunction> = reference.functions.iter().filter(|r| r.name == f.name).collect();
    let same = |r: &&&ConcreteFunction| r.line == f.line && unit(reference, r) == unit(info, f);
    match (named.as_slice(), named.iter().filter(same).collect::<Vec<_>>().as_slice()) {
        ([], _) => Err("the reference build has no such function".to_owned()),
        ([one], _) => Ok(*one),
        (_, [one]) => Ok(**one),
        _ => Err("the reference build has several functions of this name".to_owned()),
    }
}

/// What compilers add to the names of clones whose parameters they changed.
const CLONES: [&str; 3] = [".constprop", ".isra", ".part"];

/// Runs the work of one function. Its trouble must not cost the file: a panic ends a thread of its own and leaves that
/// function alone.
fn contained<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("repair".to_owned()).stack_size(STACK);
        let handle = thread.spawn_scoped(scope, work).map_err(|e| format!("no thread could be started: {e}"))?;
        handle.join().map_err(|panic| {
            let said = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            format!("an internal error, please report it: {}", said.unwrap_or_default())
        })
    })
}

/// CPU seconds of the calling thread, which works on one function: the first number that the scheduler gives, in nanoseconds.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent: u64 = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Duration::from_nanos(spent).as_secs_f64()
}

/// Stack of the thread that works on one function.
const STACK: usize = 64 << 20;

fn unrepaired(function: &ConcreteFunction, reason: String) -> FunctionReport {
    FunctionReport { name: function.name.clone(), address: function.entry(), reason: Some(reason), ..FunctionReport::default() }
}

/// Snapshots of both builds in two layouts: (layout, reference, optimized).
fn take_snapshots(
    request: &Request,
    optimized: &Image,
    reference: &Image,
    pairs: &[(&ConcreteFunction, Result<&ConcreteFunction, String>)],
) -> (Vec<(Snapshots, Snapshots)>, Option<String>) {
    let runs = |image: &Image| image.kind != ImageKind::Relocatable && snapshot::elf_entry(image).0 != 0;
    let ours: Vec<u64> = pairs.iter().filter(|p| p.1.is_ok()).map(|p| p.0.entry()).collect();
    let theirs: Vec<u64> = pairs.iter().filter_map(|p| p.1.as_ref().ok()).map(|f| f.entry()).collect();
    if !runs(optimized) || !runs(reference) || ours.is_empty() {
        return (Vec::new(), None);
    }
    let mut found = Vec::new();
    for layout in [LayoutChoice::Fixed, LayoutChoice::Random] {
        let r = snapshot::take(reference, &request.args, &theirs, layout);
        let o = snapshot::take(optimized, &request.args, &ours, layout);
        match (r, o) {
            (Ok(r), Ok(o)) => found.push((r, o)),
            (Err(e), _) | (_, Err(e)) => return (Vec::new(), Some(format!("the program's own run failed: {e}"))),
        }
    }
    (found, None)
}

type SideParts<'a> = (&'a Image, &'a ImageInfo, &'a ConcreteFunction);

fn repair_function(
    request: &Request,
    (reference, optimized): (SideParts<'_>, SideParts<'_>),
    moved: Option<(&Image, &Image)>,
    own: &[(Snapshots, Snapshots)],
    given: Option<&ProofFile>,
    solver: Option<&mut Solver>,
) -> (FunctionReport, Vec<Edit>) {
    let r = BuildSide::new(reference.0, reference.1, reference.2);
    let o = BuildSide::new(optimized.0, optimized.1, optimized.2);
    let mut pairs = Vec::new();
    for (layout, (theirs, ours)) in own.iter().enumerate() {
        let (Some(a), Some(b)) = (theirs.get(&reference.2.entry()), ours.get(&optimized.2.entry())) else { continue };
        pairs.extend(same_calls(&o, a, b).into_iter().map(|(a, b)| (layout, a.clone(), b.clone())));
    }
    // What is true of an object wherever its parts are is tried in two places.
    let second = moved.map(|(theirs, ours)| (r.placed(theirs), o.placed(ours)));
    let builds = (r, o);
    let inputs = inputs::make(&builds, second.as_ref(), &pairs, request.variations, request.seed);
    let study = Study::new(builds, second.as_ref(), inputs);
    if study.pairs.is_empty() {
        let reason = study.rejected.first().cloned().unwrap_or_else(|| "no input could be made".to_owned());
        return (FunctionReport { total: study.optimized.graph.instructions.len(), ..unrepaired(optimized.2, reason) }, Vec::new());
    }
    let points = given.and_then(|g| g.functions.iter().find(|f| f.name == optimized.2.name)).map(|f| {
        let relations = f.points.iter().map(|p| (p.pc, p.relations(optimized.0)));
        relations.collect::<BTreeMap<_, _>>()
    });
    let mut mended = mend::mend(&study, request.stages, points.as_ref());
    let mut proof = None;
    if let Some(solver) = solver {
        solver.turn();
        let mut result = prove::prove(&study, &mut mended, solver);
        if let Some(missing) = &solver.missing {
            let also = result.reason.map(|r| format!("; {r}")).unwrap_or_default();
            result.reason = Some(format!("no answer of the solver: {missing}{also}"));
        }
        proof = Some((result, solver.cpu.as_secs_f64()));
    }
    mended.iter_mut().for_each(mend::Mended::forget_weak);
    let edits = mended.iter().filter_map(|m| mend::edit(&study, m, request.trust)).collect();
    let mut report = report::count(&study, &mended, request.trust);
    if request.variants {
        report.variants = variants(&study);
    }
    if let Some((proof, seconds)) = proof {
        report.solver_seconds = seconds;
        if report.proved > 0 {
            report.assumptions = prove::ASSUMPTIONS.map(str::to_owned).to_vec();
        }
        report.unproved = proof.reason;
        report.invariants = proof.invariants;
    }
    (report, edits)
}

/// Snapshots of the same call in both builds. The optimized build may have inlined some calls, so that the n-th call of one is
/// not the n-th of the other: those with the same numbers as arguments are taken for the same, in order.
fn same_calls<'s>(optimized: &BuildSide<'_>, theirs: &'s [Snapshot], ours: &'s [Snapshot]) -> Vec<(&'s Snapshot, &'s Snapshot)> {
    let parameters = vary::parameters(optimized);
    let numbers = |s: &Snapshot| -> Vec<u64> {
        let plain = parameters.iter().filter(|(ty, _)| ty.class != TypeClass::Pointer);
        let bits = plain.map(|(ty, place)| match place {
            Ok(n) => crate::relation::truncate(s.cpu.gpr[*n], ty.size),
            Err(n) => crate::relation::truncate(s.cpu.xmm[*n] as u64, ty.size),
        });
        bits.collect()
    };
    let mut rest = theirs.iter();
    ours.iter().filter_map(|own| rest.clone().position(|s| numbers(s) == numbers(own)).and_then(|n| Some((rest.nth(n)?, own)))).collect()
}

/// The paper's four variants (V-B), from all stages to none, and what fitting at every PC adds: name with
/// U, M and I, validation being enough.
fn variants(study: &Study<'_>) -> Vec<(String, usize, usize, usize)> {
    let stages = |forward, reverse, backward, observe| Stages { forward, reverse, backward, observe };
    [
        ("full", stages(true, true, true, true)),
        ("a", stages(true, true, true, false)),
        ("b", stages(true, true, false, false)),
        ("c", stages(true, false, false, false)),
        ("d", stages(false, false, false, false)),
    ]
    .into_iter()
    .map(|(name, stages)| {
        let mut mended = mend::mend(study, stages, None);
        mended.iter_mut().for_each(mend::Mended::forget_weak);
        let counted = report::count(study, &mended, Trust::Validated);
        (name.to_owned(), counted.updated, counted.missing_pcs, counted.constant_pcs)
    })
    .collect()
}

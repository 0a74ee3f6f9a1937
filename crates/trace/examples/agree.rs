//! How well the native engine agrees with a debugger on csmith programs, and how fast both are.
//!
//! usage: agree gdb|lldb|gdb-18|… [--policy P] [--cc gcc-12,clang-16] [--opt -O0,-O2] [--seeds 1..20] [--show N] [--each yes] [--file FILE.c]
//!        agree gdb --binaries FILE,FILE… [--words 'ARGUMENT ARGUMENT'] [--max-steps N]
//!
//! A stop agrees when file, line, backtrace and set of visible variables are the same; stops are aligned by a shortest
//! edit script. Scalar values are compared at stops that agree in line and backtrace. Native stops after the last one that
//! the debugger made are counted apart (`lost`): there the debugger ran on to the end instead of stepping.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_model::{EngineKind, Language, Observation, OptLevel, Policy, Step, Trace};
use trueline_toolchain::{CompileRequest, Job, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceError, TraceRequest, open_engine};

struct Options {
    debugger: String,
    policy: Option<Policy>,
    compilers: Vec<String>,
    levels: Vec<OptLevel>,
    seeds: std::ops::Range<u64>,
    show: usize,
    file: Option<PathBuf>,
    /// Programs that are built already, and what each of them is given.
    binaries: Vec<PathBuf>,
    words: Vec<String>,
    max_steps: u64,
    /// Whether each program gets a line of its own.
    each: bool,
}

fn options() -> Options {
    let mut args = std::env::args().skip(1);
    let debugger = args.next().expect("usage: agree gdb|lldb [options]");
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let level = |text: String| text.parse::<OptLevel>().expect("an optimization level");
    let mut options = Options {
        debugger,
        policy: None,
        compilers: list("gcc-12,clang-16"),
        levels: list("-O0,-O1,-O2,-O3,-Og").into_iter().map(level).collect(),
        seeds: 1..5,
        show: 0,
        file: None,
        binaries: Vec::new(),
        words: Vec::new(),
        max_steps: 3000,
        each: false,
    };
    while let Some(name) = args.next() {
        let value = args.next().expect("a value");
        match name.as_str() {
            "--policy" => options.policy = Some(value.parse().expect("a policy")),
            "--cc" => options.compilers = list(&value),
            "--opt" => options.levels = list(&value).into_iter().map(level).collect(),
            "--seeds" => {
                let (from, to) = value.split_once("..").expect("A..B");
                options.seeds = from.parse().expect("a number")..to.parse().expect("a number");
            }
            "--show" => options.show = value.parse().expect("a number"),
            "--file" => options.file = Some(value.into()),
            "--binaries" => options.binaries = value.split(',').map(Into::into).collect(),
            "--words" => options.words = value.split_whitespace().map(str::to_owned).collect(),
            "--each" => options.each = value == "yes",
            "--max-steps" => options.max_steps = value.parse().expect("a number"),
            _ => panic!("unknown option {name}"),
        }
    }
    options
}

#[derive(Default)]
struct Tally {
    debugger: usize,
    native: usize,
    agreed: usize,
    lines_agreed: usize,
    scalars: usize,
    scalars_equal: usize,
    debugger_cpu: Duration,
    native_cpu: Duration,
    programs: usize,
    /// Stops of native after the debugger had run off.
    lost: usize,
    /// CPU of the debugger over that of native, per program.
    ratios: Vec<f64>,
}

impl Tally {
    /// Stops, agreement, scalars, CPU; then the lowest and the middle ratio of CPU per program.
    fn line(&self) -> String {
        let percent = |a: usize, b: usize| if b == 0 { 100.0 } else { 100.0 * a as f64 / b as f64 };
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        format!(
            "{} {:.2} {:.2} {:.2} {} {} {:.3} {:.2} {:.3} {:.0} {:.0} {:.0}",
            self.debugger,
            percent(self.agreed, self.debugger),
            percent(self.lines_agreed, self.debugger),
            percent(self.native - self.lost - self.lines_agreed, self.debugger),
            self.lost,
            self.scalars,
            percent(self.scalars_equal, self.scalars),
            self.debugger_cpu.as_secs_f64(),
            self.native_cpu.as_secs_f64(),
            self.debugger_cpu.as_secs_f64() / self.native_cpu.as_secs_f64().max(1e-9),
            ratios.first().unwrap_or(&0.0),
            ratios.get(ratios.len() / 2).unwrap_or(&0.0),
        )
    }

    fn add(&mut self, other: Self) {
        self.debugger += other.debugger;
        self.native += other.native;
        self.agreed += other.agreed;
        self.lines_agreed += other.lines_agreed;
        self.scalars += other.scalars;
        self.scalars_equal += other.scalars_equal;
        self.debugger_cpu += other.debugger_cpu;
        self.native_cpu += other.native_cpu;
        self.programs += other.programs;
        self.lost += other.lost;
        self.ratios.extend(other.ratios);
    }
}

fn main() {
    let options = options();
    let kind: EngineKind = options.debugger.parse().expect("gdb, lldb, or a release such as gdb-18");
    let engine = open_engine(kind).expect("a debugger");
    // `--policy` asks how far another release's habits carry.
    let policy = options.policy.unwrap_or(kind.policy());
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    let mut classes: HashMap<String, usize> = HashMap::new();
    for binary in &options.binaries {
        let mut request = TraceRequest::new(binary);
        request.launch.args.clone_from(&options.words);
        request.policy = policy;
        request.max_steps = options.max_steps;
        request.limits = Limits { cpu: Duration::from_secs(300), ..Limits::seconds(3600) };
        let what = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(tally) = measure(&*engine, &request, &options, &mut classes, &what) else { continue };
        tallies.entry((what, String::new())).or_default().add(tally);
    }
    if !options.binaries.is_empty() {
        report(&tallies, &classes);
        return;
    }
    let scratch = Scratch::new().expect("scratch");
    let seeds: Vec<u64> = if options.file.is_some() { vec![0] } else { options.seeds.clone().collect() };
    for seed in seeds {
        let source = match &options.file {
            Some(file) => file.clone(),
            None => match generate(&scratch, seed) {
                Some(source) => source,
                None => continue,
            },
        };
        for cc in &options.compilers {
            for &opt in &options.levels {
                let output = scratch.join(format!("{seed}-{cc}{}", opt.flag()));
                let is_rust = source.extension().is_some_and(|e| e == "rs");
                let request = match is_rust {
                    true => CompileRequest::new(&source, Language::Rust, opt, &output),
                    false => CompileRequest::new(&source, Language::C, opt, &output).flags(FLAGS),
                };
                let Ok(build) = find_compiler(cc).expect("compiler").compile(&request) else { continue };
                let mut request = TraceRequest::new(&build.binary);
                request.user_files = vec![source.file_name().unwrap().to_string_lossy().into_owned()];
                request.policy = policy;
                request.max_steps = options.max_steps;
                // The machine may be loaded: only CPU time says that a program hangs.
                request.limits = Limits { cpu: Duration::from_secs(300), ..Limits::seconds(3600) };
                let what = format!("seed {seed} {cc} {}", opt.flag());
                let Some(tally) = measure(&*engine, &request, &options, &mut classes, &what) else { continue };
                tallies.entry((cc.clone(), opt.flag().to_owned())).or_default().add(tally);
            }
        }
    }
    report(&tallies, &classes);
}

/// One program under both; nothing where one of them fails.
fn measure(
    engine: &dyn Engine,
    request: &TraceRequest,
    options: &Options,
    classes: &mut HashMap<String, usize>,
    what: &str,
) -> Option<Tally> {
    let (mut theirs, mut ours) = (Trace::default(), Trace::default());
    let told = |who: &str, e: TraceError| println!("{what}: {who}: {e}");
    let native = NativeEngine.trace(request, &mut ours).map_err(|e| told("native", e)).ok()?;
    let other = engine.trace(request, &mut theirs).map_err(|e| told(&options.debugger, e)).ok()?;
    let mut tally = Tally { native_cpu: native.cpu, debugger_cpu: other.cpu, programs: 1, ..Tally::default() };
    tally.ratios.push(other.cpu.as_secs_f64() / native.cpu.as_secs_f64().max(1e-9));
    compare(&theirs.steps, &ours.steps, &mut tally, classes, what, options.show, options.max_steps);
    if options.each {
        println!("{what}: {}", tally.line());
    }
    Some(tally)
}

fn report(tallies: &BTreeMap<(String, String), Tally>, classes: &HashMap<String, usize>) {
    println!("compiler level programs stops agreed% lines% extra% lost scalars equal% cpu-debugger cpu-native ratio lowest median");
    for ((cc, opt), t) in tallies {
        println!("{cc} {opt} {} {}", t.programs, t.line());
    }
    let mut classes: Vec<_> = classes.iter().collect();
    classes.sort_by_key(|c| std::cmp::Reverse(c.1));
    for (class, count) in classes.into_iter().take(40) {
        println!("{count:6} {class}");
    }
}

const FLAGS: [&str; 2] = ["-I/usr/include/csmith", "-DUSE_MATH_MACROS"];

fn generate(scratch: &Scratch, seed: u64) -> Option<PathBuf> {
    let path = scratch.join(format!("s{seed}.c"));
    let options = include_str!("../../../bench/csmith-small.txt").split_whitespace();
    let outcome = Job::new("csmith").args(options).arg("--seed").arg(seed.to_string()).limits(Limits::seconds(20)).run().ok()?;
    std::fs::write(&path, outcome.stdout).ok()?;
    is_short(&path).then_some(path)
}

/// Programs that run for long or for ever are left out.
fn is_short(source: &Path) -> bool {
    let output = source.with_extension("probe");
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, &output).flags(FLAGS);
    let Ok(build) = find_compiler("gcc").expect("gcc").compile(&request) else { return false };
    Job::new(&build.binary).limits(Limits::seconds(2)).run().is_ok_and(|o| o.success())
}

/// Native stops after the debugger's last one from which on it is said to have run off.
const RAN_OFF: usize = 2;

fn backtrace(step: &Step) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&step.file, step.line, &step.frames).hash(&mut hasher);
    hasher.finish()
}

fn names(step: &Step) -> Vec<(&str, u32, u8)> {
    let mut names: Vec<_> = step.vars.iter().map(|v| (&*v.name, v.decl_line, v.kind as u8)).collect();
    names.sort_unstable();
    names
}

fn compare(
    theirs: &[Step],
    ours: &[Step],
    tally: &mut Tally,
    classes: &mut HashMap<String, usize>,
    what: &str,
    show: usize,
    max_steps: u64,
) {
    tally.debugger += theirs.len();
    tally.native += ours.len();
    let a: Vec<u64> = theirs.iter().map(backtrace).collect();
    let b: Vec<u64> = ours.iter().map(backtrace).collect();
    let pairs = align(&a, &b);
    tally.lines_agreed += pairs.len();
    let after = pairs.last().map_or(0, |p| p.1 + 1);
    let is_cut = theirs.len() as u64 >= max_steps;
    let ran_off = !is_cut && pairs.last().is_none_or(|p| p.0 + 1 == theirs.len()) && ours.len() > after + RAN_OFF;
    if ran_off {
        println!("{what}: the debugger ran to the end after {} stops, native goes on for {}", theirs.len(), ours.len() - after);
        tally.lost += ours.len() - after;
    }
    let mut shown = 0;
    for &(i, j) in &pairs {
        let (t, o) = (&theirs[i], &ours[j]);
        if names(t) == names(o) {
            tally.agreed += 1;
        } else if shown < show {
            shown += 1;
            let (x, y) = (names(t), names(o));
            let missing: Vec<_> = x.iter().filter(|n| !y.contains(n)).collect();
            let extra: Vec<_> = y.iter().filter(|n| !x.contains(n)).collect();
            println!(
                "{what}: line {:?} pc {:#x}/{:#x} variables: {} and {}, missing {missing:?}, extra {extra:?}",
                t.line,
                t.pc,
                o.pc,
                x.len(),
                y.len()
            );
        }
        // Several variables may share name, line and type (macro temporaries); inner ones come first on both sides.
        let mut used = vec![false; o.vars.len()];
        for v in &t.vars {
            let same = |w: &trueline_model::Variable| {
                w.name == v.name && w.decl_line == v.decl_line && w.kind == v.kind && w.type_name == v.type_name
            };
            let twin = (0..o.vars.len()).find(|&k| !used[k] && same(&o.vars[k]) && o.vars[k].observation == v.observation);
            let Some(k) = twin.or_else(|| (0..o.vars.len()).find(|&k| !used[k] && same(&o.vars[k]))) else { continue };
            used[k] = true;
            let w = &o.vars[k];
            let is_aggregate = |o: &Observation| matches!(o, Observation::Value(text) if text.ends_with('}'));
            if is_aggregate(&v.observation) || is_aggregate(&w.observation) {
                if v.observation != w.observation {
                    *classes.entry(class("aggregate ", v, w)).or_default() += 1;
                }
                continue;
            }
            tally.scalars += 1;
            if v.observation == w.observation {
                tally.scalars_equal += 1;
                continue;
            }
            *classes.entry(class("", v, w)).or_default() += 1;
            if shown < show {
                shown += 1;
                println!(
                    "{what}: line {:?} pc {:#x} {} {}: {:?} here {:?}",
                    t.line, t.pc, v.type_name, v.name, v.observation, w.observation
                );
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    for &(x, y) in pairs.iter().chain([&(theirs.len(), ours.len())]) {
        for (step, sign) in theirs[i..x].iter().map(|s| (s, '-')).chain(ours[j..y].iter().map(|s| (s, '+'))) {
            if shown < show {
                shown += 1;
                let frames: Vec<_> = step.frames.iter().map(|f| format!("{}:{}", f.function, f.line.map_or(0, |l| l.0))).collect();
                println!("{what}: {sign} step {} line {:?} pc {:#x} {}", step.step, step.line.map(|l| l.0), step.pc, frames.join(" < "));
            }
        }
        (i, j) = (x + 1, y + 1);
    }
}

fn class(prefix: &str, v: &trueline_model::Variable, w: &trueline_model::Variable) -> String {
    let state = |o: &Observation| match o {
        Observation::Value(_) => "a value",
        Observation::OptimizedOut => "optimized out",
        Observation::Unreadable => "unreadable",
        Observation::NotInScope => "not in scope",
    };
    format!("{prefix}{:?} of type {}: {} there, {} here", v.kind, v.type_name, state(&v.observation), state(&w.observation))
}

/// Indices of a longest common subsequence (Myers' greedy algorithm).
fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = n + m;
    let mut v = vec![0isize; (2 * most + 3) as usize];
    let mut trace = Vec::new();
    let at = |k: isize| (k + most + 1) as usize;
    'search: for d in 0..=most.min(4000) {
        trace.push(v.clone());
        for k in (-d..=d).step_by(2) {
            let mut x = if k == -d || (k != d && v[at(k - 1)] < v[at(k + 1)]) { v[at(k + 1)] } else { v[at(k - 1)] + 1 };
            let mut y = x - k;
            while x < n && y < m && a[x as usize] == b[y as usize] {
                (x, y) = (x + 1, y + 1);
            }
            v[at(k)] = x;
            if x >= n && y >= m {
                break 'search;
            }
        }
    }
    let (mut x, mut y) = (n, m);
    let mut pairs = Vec::new();
    for (d, v) in trace.iter().enumerate().rev() {
        let (d, k) = (d as isize, x - y);
        let previous = if k == -d || (k != d && v[at(k - 1)] < v[at(k + 1)]) { k + 1 } else { k - 1 };
        let (px, py) = (v[at(previous)], v[at(previous)] - previous);
        while x > px && y > py && x > 0 && y > 0 {
            (x, y) = (x - 1, y - 1);
            pairs.push((x as usize, y as usize));
        }
        if d > 0 {
            (x, y) = (px, py);
        }
    }
    pairs.reverse();
    pairs
}

//! Reporters: a progress bar for people at a terminal, JSON Lines for programs.

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use trueline_campaign::{CampaignPlan, Event, Reporter};
use trueline_model::wording::headline;

/// One line of `trueline hunt --json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Hunt")]
pub struct HuntLine<'a> {
    /// `trueline.hunt/2`.
    schema: &'static str,
    /// What happened.
    #[serde(flatten)]
    event: &'a Event,
}

/// Every event as one line on standard output.
pub struct EventLines;

impl Reporter for EventLines {
    fn event(&self, event: &Event) {
        let Ok(line) = serde_json::to_string(&HuntLine { schema: "trueline.hunt/2", event }) else { return };
        // A reader that went away is no reason to stop hunting.
        let _ = writeln!(std::io::stdout().lock(), "{line}");
    }
}

/// A bar on standard error.
pub struct Bar {
    bar: ProgressBar,
    programs: AtomicU64,
    units: AtomicU64,
    findings: AtomicU64,
    distinct: AtomicU64,
    rejected: AtomicU64,
    warnings: Mutex<u32>,
    measure: Measure,
}

enum Measure {
    Time,
    Programs,
}

/// Warnings shown; a broken tool would otherwise fill the screen.
const MAX_WARNINGS: u32 = 8;

impl Bar {
    /// A bar for a plan: over its time where it has one, otherwise over its seeds, otherwise without end.
    pub fn new(plan: &CampaignPlan) -> Self {
        let seeds = plan.seeds.end.map(|end| (end - plan.seeds.first).div_ceil(plan.shard.count));
        let (bar, template) = match (plan.duration, seeds) {
            (Some(time), _) => (ProgressBar::new(time.as_secs()), "{elapsed:>4} [{bar:24.cyan/blue}] {msg}"),
            (None, Some(programs)) => (ProgressBar::new(programs), "{pos:>6}/{len} [{bar:24.cyan/blue}] {msg}"),
            (None, None) => (ProgressBar::new_spinner(), "{elapsed:>4} {spinner} {msg}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let measure = if plan.duration.is_some() { Measure::Time } else { Measure::Programs };
        let zero = || AtomicU64::new(0);
        Self {
            bar,
            programs: zero(),
            units: zero(),
            findings: zero(),
            distinct: zero(),
            rejected: zero(),
            warnings: Mutex::new(0),
            measure,
        }
    }

    fn refresh(&self) {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let seconds = self.bar.elapsed().as_secs_f64().max(0.1);
        self.bar.set_message(format!(
            "{:.1} programs/s · {} units · {} findings, {} distinct · {} rejected",
            get(&self.programs) as f64 / seconds,
            get(&self.units),
            get(&self.findings),
            get(&self.distinct),
            get(&self.rejected)
        ));
    }

    /// Moves the bar: with the clock where the plan has a time, otherwise with the programs.
    fn advance(&self) {
        self.bar.set_position(match self.measure {
            Measure::Time => self.bar.elapsed().as_secs(),
            Measure::Programs => self.programs.load(Ordering::Relaxed) + self.rejected.load(Ordering::Relaxed),
        });
    }
}

impl Reporter for Bar {
    fn event(&self, event: &Event) {
        let add = |n: &AtomicU64| n.fetch_add(1, Ordering::Relaxed);
        match event {
            Event::UnitDone { .. } => drop(add(&self.units)),
            Event::ProgramDone { .. } => drop(add(&self.programs)),
            Event::Rejected { .. } => drop(add(&self.rejected)),
            Event::Found(found) => {
                add(&self.findings);
                if found.is_new_class {
                    let number = add(&self.distinct) + 1;
                    let verdict = found.verdict.map(|v| format!(", {v:?}")).unwrap_or_default().to_lowercase();
                    let text = format!("{} {} {}: {}{verdict}", found.compiler, found.opt, found.program, headline(&found.fault));
                    self.bar.suspend(|| eprintln!("  #{number} {text}"));
                }
            }
            Event::Warning { message } => {
                let mut shown = self.warnings.lock();
                *shown += 1;
                if *shown <= MAX_WARNINGS {
                    self.bar.suspend(|| eprintln!("warning: {}", message.lines().next().unwrap_or("")));
                }
            }
            Event::Finished { .. } => self.bar.finish_and_clear(),
            Event::Explained { id, cause: Some(cause) } => self.bar.suspend(|| eprintln!("  finding {}: {cause}", id.0)),
            Event::Explained { cause: None, .. } | Event::Started { .. } | Event::UnitFailed { .. } => {}
        }
        self.advance();
        self.refresh();
    }
}

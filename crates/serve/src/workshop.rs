//! Pages that need more than the database: the wrong updates of LLVM's passes on a finding's program, and the
//! finding's binary before and after a repair. Each is what `trueline passes` and `trueline repair` write with
//! `--html`, run as a child under limits when somebody asks; the page says with which command.

use html_escape::encode_double_quoted_attribute as escape;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trueline_model::{CompilerKind, FindingId, Language};
use trueline_store::Store;
use trueline_toolchain::{CompileRequest, Exit, Job, Limits, Scratch, find_compiler};

/// What can be asked about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PageView {
    /// Wrong debug-location updates with their control-flow graphs.
    Updates,
    /// Variables per address, before and after a repair.
    Repair,
}

impl PageView {
    /// The view of a file name below a finding.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "updates.html" => Some(Self::Updates),
            "repair.html" => Some(Self::Repair),
            _ => None,
        }
    }
}

#[derive(Clone)]
enum PageState {
    Making,
    Made(Arc<String>),
}

/// Pages are made one at a time, so that a curious reader does not take the cores from the hunt.
#[derive(Clone, Default)]
pub(crate) struct Workshop {
    pages: Arc<Mutex<HashMap<(FindingId, PageView), PageState>>>,
    bench: Arc<Mutex<()>>,
}

/// Pages kept; beyond that all are made again.
const KEPT: usize = 200;

impl Workshop {
    /// The page, or one that says to wait for it.
    pub(crate) fn page(&self, db: &Path, id: FindingId, view: PageView) -> Arc<String> {
        let mut pages = self.pages.lock();
        match pages.get(&(id, view)) {
            Some(PageState::Made(page)) => return Arc::clone(page),
            Some(PageState::Making) => {}
            None => {
                if pages.len() >= KEPT {
                    pages.retain(|_, state| matches!(state, PageState::Making));
                }
                pages.insert((id, view), PageState::Making);
                let (this, db) = (self.clone(), db.to_owned());
                std::thread::spawn(move || {
                    let turn = this.bench.lock();
                    let page = make(&db, id, view).unwrap_or_else(|reason| note(id, "There is no such page for this finding", &reason, ""));
                    drop(turn);
                    this.pages.lock().insert((id, view), PageState::Made(Arc::new(page)));
                });
            }
        }
        Arc::new(note(
            id,
            "Working on it",
            "The analysis runs now; this page looks again every second.",
            "<meta http-equiv=\"refresh\" content=\"1\">",
        ))
    }
}

fn note(id: FindingId, title: &str, text: &str, head: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">{head}<title>{title}</title>\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:3rem auto;padding:0 1rem}}pre{{white-space:pre-wrap}}</style></head>\
         <body><h1>{title}</h1><pre>{}</pre><p><a href=\"/findings/{}.html\">back to the finding</a></p></body></html>\n",
        escape(text),
        id.0
    )
}

/// Makes a page, or says why there is none.
fn make(db: &Path, id: FindingId, view: PageView) -> Result<String, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let store = Store::open_existing(db).map_err(|e| text(&e))?;
    let record = store.findings().map_err(|e| text(&e))?.into_iter().find(|f| f.id == id).ok_or("there is no such finding")?;
    let evidence = store.evidence(&record).map_err(|e| text(&e))?.ok_or("the program of this finding was not kept")?;
    let (program, finding) = (&evidence.program, &record.finding);
    if program.language == Language::Rust {
        return Err("only C and C++ programs can be analysed further".to_owned());
    }
    let compiler = find_compiler(&finding.compiler.path.to_string_lossy()).map_err(|e| text(&e))?;
    let scratch = Scratch::new().map_err(|e| text(&e))?;
    // A file name is a stranger's word too.
    let source = scratch.write(format!("program.{}", program.language.extension()), &program.source).map_err(|e| text(&e))?;
    let (page, opt) = (scratch.join("page.html"), finding.opt.flag());
    let myself = std::env::current_exe().map_err(|e| text(&e))?;
    let mut job = Job::new(myself);
    job = match view {
        PageView::Updates => {
            if finding.compiler.kind != CompilerKind::Clang {
                return Err(format!("this is about LLVM's passes, and the finding is of {}", finding.compiler));
            }
            job = job.arg("passes").arg(&source).arg("--cc").arg(&compiler.id.path).arg(format!("--opt={opt}"));
            job.arg("--opt-tool").arg(format!("opt-{}", compiler.major()))
        }
        PageView::Repair => {
            let binary = scratch.join("program");
            let request = CompileRequest::new(&source, program.language, finding.opt, &binary).flags(program.cflags.iter().cloned());
            compiler.compile(&request).map_err(|e| text(&e))?;
            job = job.arg("repair").arg(&binary).arg("-o").arg(scratch.join("repaired")).arg("--source").arg(&source);
            job.arg("--cc").arg(&compiler.id.path).arg("--no-check")
        }
    };
    job = job.args(program.cflags.iter().map(|flag| format!("--cflag={flag}"))).arg("--html").arg(&page).cwd(scratch.path());
    let limits = Limits { wall: Duration::from_secs(120), cpu: Duration::from_secs(60), memory: None, ..Limits::default() };
    job = job.limits(limits);
    let outcome = job.run().map_err(|e| text(&e))?;
    // Where the scratch directory was tells nobody anything.
    let bare = |text: &str| text.replace(&format!("{}/", scratch.path().display()), "");
    let command = bare(&job.command_line());
    let made = matches!(outcome.exit, Exit::Code(0 | 1)).then(|| std::fs::read_to_string(&page).ok()).flatten();
    let Some(body) = made else {
        return Err(format!("{command}\nended with {:?}:\n{}", outcome.exit, outcome.stderr_text()));
    };
    let footer = format!(
        "<p style=\"color:#667\">Made by <code>{}</code> · <a href=\"/findings/{}.html\">back to the finding</a></p>",
        escape(&command),
        id.0
    );
    Ok(bare(&body) + &footer)
}

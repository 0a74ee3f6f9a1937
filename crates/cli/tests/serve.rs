//! `trueline serve` over a campaign that runs: counts and findings appear in a real browser, a finding opens with
//! both traces, and its analyses are made when asked for.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trueline_store::Store;
use trueline_toolchain::{Job, Limits, find_compiler};

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn trueline() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.stderr(Stdio::null());
    command
}

/// Starts a server on a free port and returns its address.
fn serve(db: &Path) -> (Running, String) {
    let mut child = trueline().args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(db).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    (Running(child), address)
}

/// Status line and body of a request.
fn ask(address: &str, method: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    (text.lines().next().unwrap_or("").to_owned(), text)
}

/// A page that is made while one waits.
fn made(address: &str, path: &str) -> String {
    let started = Instant::now();
    loop {
        let (status, text) = ask(address, "GET", path, "localhost");
        assert!(status.contains("200"), "{status}");
        if !text.contains("Working on it") || started.elapsed() > Duration::from_secs(150) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The page as a browser has it after `budget` milliseconds of its own time; network time comes on top.
fn browse(url: &str, budget: u32, more: &[&str]) -> Option<String> {
    let browser =
        ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].iter().map(PathBuf::from).find(|p| p.exists())?;
    let profile = tempfile::tempdir().unwrap();
    let limits = Limits { memory: None, ..Limits::seconds(180) };
    let job = Job::new(browser).args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1100"]);
    let job =
        job.arg(format!("--virtual-time-budget={budget}")).args(more).arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
    let dom = job.env("XDG_RUNTIME_DIR", profile.path()).limits(limits).run().ok()?.stdout_text();
    Some(dom)
}

/// `TRUELINE_SCREENSHOTS=DIR` keeps pictures for people.
fn picture(url: &str, name: &str) {
    if let Some(dir) = std::env::var_os("TRUELINE_SCREENSHOTS") {
        browse(url, 4000, &[&format!("--screenshot={}", Path::new(&dir).join(name).display())]);
    }
}

#[test]
fn a_running_campaign_is_followed_in_a_browser() {
    if find_compiler("clang-16").is_err() {
        return println!("skipped: clang-16 is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("hunt.db");
    drop(Store::open(&db).unwrap());
    let hunt = trueline()
        .args([
            "hunt",
            "--generator",
            "weave",
            "--cc",
            "gcc,clang-16",
            "--opt=-Og,-O2",
            "--confirm",
            "none",
            "--no-report",
            "--jobs",
            "1",
            "--seeds",
            "1..100000",
            "--for",
            "170s",
            "--db",
        ])
        .arg(&db)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut hunt = Running(hunt);
    let (_server, address) = serve(&db);

    // The browser's clock runs ahead while it waits for nothing, and stands while it waits for us: how much of the hunt it sees
    // depends on how fast we answer. It looks again until it has seen a finding come; then the hunt is asked to end.
    let live = loop {
        let dom = browse(&format!("http://{address}/"), 900_000, &["--dump-dom"]);
        let seen = dom.as_ref().is_none_or(|dom| dom.contains(" new</div>"));
        if seen || hunt.0.try_wait().unwrap().is_some() {
            break dom;
        }
    };
    let asked = Command::new("kill").args(["-INT", &hunt.0.id().to_string()]).status().unwrap();
    assert!(hunt.0.wait().unwrap().success() && asked.success(), "the hunt ends in good order");
    let store = Store::open_existing(&db).unwrap();
    let findings = store.findings().unwrap();
    let clang = findings.iter().find(|f| f.finding.compiler.to_string().contains("clang")).map(|f| f.id.0);
    println!("{} units, {} findings", store.counts().unwrap().units_in("done"), findings.len());
    assert!(!findings.is_empty());
    let first = findings[0].id.0;

    match live.filter(|dom| dom.contains("</html>")) {
        None => println!("skipped: Chromium is not here or does not start"),
        Some(dom) => {
            assert!(dom.contains("id=\"live\""), "the badge is there");
            assert!(dom.contains("findings/1.html") && dom.contains(" new</div>"), "findings appeared without a reload:\n{dom}");
            let page = browse(&format!("http://{address}/findings/{first}.html"), 3000, &["--dump-dom"]).unwrap();
            assert!(page.contains("stop ") && page.contains(" of "), "the traces are stepped");
            assert!(page.contains("id=\"analyses\"") && page.contains(&format!("/findings/{first}/repair.html")), "{page}");
            picture(&format!("http://{address}/"), "serve-index.png");
            picture(&format!("http://{address}/findings/{first}.html"), "serve-finding.png");
        }
    }

    // A page that names itself, counts, the analyses.
    let (_, counts) = ask(&address, "GET", "/live.json", "localhost");
    assert!(counts.contains("trueline.live/1"), "{counts}");
    let (_, index) = ask(&address, "GET", "/", "127.0.0.1");
    assert!(index.contains("connect-src 'self'") && index.contains("/live.js"), "the policy lets the page ask for counts");
    let repaired = made(&address, &format!("/findings/{first}/repair.html"));
    assert!(repaired.contains("before") && repaired.contains("trueline") && repaired.contains("back to the finding"), "{repaired}");
    picture(&format!("http://{address}/findings/{first}/repair.html"), "serve-repair.png");
    if let Some(id) = clang {
        let updates = made(&address, &format!("/findings/{id}/updates.html"));
        let hook = Path::new(env!("CARGO_BIN_EXE_trueline")).with_file_name("libtrueline_llvm_hook.so").exists();
        if hook && Path::new("/usr/bin/opt-16").exists() {
            assert!(updates.contains("Wrong debug-location updates"), "{updates}");
            picture(&format!("http://{address}/findings/{id}/updates.html"), "serve-updates.png");
        } else {
            println!("skipped: the analysis of passes needs opt-16 and the hook library");
        }
    }
    let gcc = findings.iter().find(|f| f.finding.compiler.to_string().contains("gcc")).map(|f| f.id.0);
    if let Some(id) = gcc {
        let none = made(&address, &format!("/findings/{id}/updates.html"));
        assert!(none.contains("There is no such page for this finding"), "{none}");
    }

    // Only this machine, only reading, only the report.
    assert!(ask(&address, "GET", "/", "evil.example").0.contains("403"));
    assert!(ask(&address, "POST", "/", "localhost").0.contains("405"));
    assert!(ask(&address, "GET", "/../hunt.db", "localhost").0.contains("404"));
    assert!(ask(&address, "GET", "/findings/999999/repair.html", "localhost").0.contains("200"));
}

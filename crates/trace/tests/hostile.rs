//! Programs that try to get out while they are traced, under every engine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;
use trueline_model::{Language, OptLevel, Trace};
use trueline_toolchain::{CompileRequest, ConfinementSupport, Limits, Scratch, confinement_support, find_compiler};
use trueline_trace::{Engine, GdbEngine, LldbEngine, NativeEngine, TraceRequest};

fn engines() -> Vec<Box<dyn Engine>> {
    let mut all: Vec<Box<dyn Engine>> = vec![Box::new(NativeEngine)];
    match GdbEngine::find() {
        Ok(gdb) => all.push(Box::new(gdb)),
        Err(e) => println!("skipped gdb: {e}"),
    }
    match LldbEngine::find() {
        Ok(lldb) => all.push(Box::new(lldb)),
        Err(e) => println!("skipped lldb: {e}"),
    }
    all
}

fn build(scratch: &Scratch, body: &str) -> PathBuf {
    let head = "#include <arpa/inet.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n#include <unistd.h>\n";
    let source = scratch.write("program.c", format!("{head}int main(void) {{\n{body}\n  return 0;\n}}\n")).unwrap();
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("program"));
    find_compiler("gcc").unwrap().compile(&request).unwrap().binary
}

fn request(binary: PathBuf) -> TraceRequest {
    // On a busy machine a debugger waits longer than it works.
    let limits = Limits { wall: Duration::from_secs(120), ..Limits::seconds(20) };
    TraceRequest { user_files: vec!["program.c".to_owned()], limits, ..TraceRequest::new(binary) }
}

/// How many processes run a binary of this directory.
fn running(scratch: &Scratch) -> usize {
    let inside = |entry: &std::fs::DirEntry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.starts_with(scratch.path()));
    std::fs::read_dir("/proc").unwrap().flatten().filter(inside).count()
}

#[test]
fn a_traced_program_writes_nowhere() {
    if confinement_support() != ConfinementSupport::Full {
        return println!("skipped: this kernel has no Landlock");
    }
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let (mark, kept) = (scratch.join("mark"), scratch.write("kept", "precious").unwrap());
        let body = format!(
            "  int a = open(\"{}\", O_CREAT | O_WRONLY, 0600);\n  int b = open(\"{1}\", O_WRONLY | O_TRUNC);\n  unlink(\"{1}\");\n  return a >= 0 || b >= 0;",
            mark.display(),
            kept.display()
        );
        engine.trace(&request(build(&scratch, &body)), &mut Trace::default()).unwrap();
        assert!(!mark.exists(), "{} let it write", engine.kind());
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "precious", "{} let it truncate or remove", engine.kind());
    }
}

#[test]
fn a_traced_program_has_no_network() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let body = format!(
            "  struct sockaddr_in to = {{0}};\n  to.sin_family = AF_INET;\n  to.sin_port = htons({port});\n  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);\n  \
             int s = socket(AF_INET, SOCK_STREAM, 0);\n  connect(s, (struct sockaddr *)&to, sizeof to);"
        );
        let _ = engine.trace(&request(build(&scratch, &body)), &mut Trace::default());
        assert!(listener.accept().is_err(), "{} let it connect", engine.kind());
    }
}

#[test]
fn a_traced_program_that_forks_without_end_leaves_nothing_running() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        // Doubling, each in a group of its own; seven times, so that a failing test does not take the machine.
        let body = "  for (int i = 0; i < 7; i++)\n    if (fork() == 0)\n      setpgid(0, 0);\n  for (;;)\n    pause();";
        let mut request = request(build(&scratch, body));
        request.limits = Limits::seconds(4);
        let error = engine.trace(&request, &mut Trace::default()).expect_err("a program of many processes is refused");
        // A killed process is there until the kernel has taken it down.
        let patience = std::time::Instant::now() + Duration::from_secs(5);
        while running(&scratch) > 0 && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        let left = running(&scratch);
        println!("{}: {error}; {left} processes left", engine.kind());
        assert_eq!(left, 0, "{}", engine.kind());
    }
}

#[test]
fn a_traced_program_cannot_kill_whoever_started_it() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let me = std::process::id();
        // Its parent is this process or a debugger that works for it; a debugger that dies is an error and no more.
        let body = format!("  kill({me}, SIGKILL);\n  kill(getppid(), SIGKILL);");
        if confinement_support() != ConfinementSupport::Full {
            return println!("skipped: this kernel has no Landlock");
        }
        let traced = engine.trace(&request(build(&scratch, &body)), &mut Trace::default());
        println!("{}: {}", engine.kind(), traced.map_or_else(|e| e.to_string(), |s| format!("{} steps", s.steps)));
        assert_eq!(running(&scratch), 0, "{}", engine.kind());
    }
}

//! How a program under test is started: the same name, arguments, environment, directory and input for each of its builds and
//! under each engine, so that what differs between two runs is the build's doing.

use crate::{Confinement, Job, Limits, Permission, Permissions, Scratch};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a program is started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// What the program is told its name is; the path of the build when absent.
    pub name: Option<String>,
    /// What the program gets on its command line.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// A file on its standard input, which is empty otherwise.
    pub stdin: Option<PathBuf>,
    /// Its working directory; the caller's when absent.
    pub directory: Option<PathBuf>,
    /// What it may do.
    pub allowed: Permissions,
    /// Where it works when it may write: filled with a copy of the directory before each run. Only one run at a time.
    stage: Option<Arc<Scratch>>,
}

/// Who looks at a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onlooker {
    /// Nobody: the program runs by itself, and what it may not do ends it.
    None,
    /// Our own tracer, which sees new processes and refused calls and reports them.
    Tracer,
    /// A debugger, which sees new processes.
    Debugger,
}

impl Launch {
    /// A start with arguments and nothing else.
    pub fn with_args(args: &[String]) -> Self {
        Self { args: args.to_vec(), ..Self::default() }
    }

    /// Makes the place where a program that may write works; without that permission there is none.
    pub fn set_stage(mut self) -> io::Result<Self> {
        if self.allowed.allow(Permission::Write) {
            self.stage = Some(Arc::new(Scratch::new()?));
        }
        Ok(self)
    }

    /// Where the program works; a stage is made anew.
    pub fn prepare(&self) -> io::Result<Option<PathBuf>> {
        let Some(stage) = &self.stage else { return Ok(self.directory.clone()) };
        for entry in std::fs::read_dir(stage.path())? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
        if let Some(from) = &self.directory {
            copy(from, stage.path())?;
        }
        Ok(Some(stage.path().to_owned()))
    }

    /// Where the program may write.
    pub fn writable(&self) -> Vec<PathBuf> {
        self.stage.iter().map(|s| s.path().to_owned()).collect()
    }

    /// The confinement of whoever runs the program.
    pub fn confinement(&self, onlooker: Onlooker) -> Confinement {
        let (writable, allowed) = (self.writable(), self.allowed);
        match onlooker {
            Onlooker::None => Confinement::Program { writable, allowed },
            Onlooker::Tracer => Confinement::Traced { writable, allowed },
            Onlooker::Debugger => Confinement::Guarded { writable, allowed },
        }
    }

    /// The job that runs a build this way.
    pub fn job(&self, binary: &Path, onlooker: Onlooker, limits: &Limits) -> io::Result<Job> {
        let mut job = Job::new(binary).args(&self.args).bare().limits(limits.clone()).confine(self.confinement(onlooker));
        for (name, value) in &self.env {
            job = job.env(name, value);
        }
        if let Some(name) = &self.name {
            job = job.argv0(name);
        }
        if let Some(directory) = self.prepare()? {
            job = job.cwd(directory);
        }
        if let Some(path) = &self.stdin {
            let file = File::open(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
            job = job.stdin_from(file);
        }
        Ok(job)
    }
}

/// Copies what is in a directory: files with their permissions, directories to their depth, links as links.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            std::fs::create_dir(&target)?;
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;

    const SH: &str = "/bin/sh";

    fn shell(script: &str) -> Launch {
        Launch::with_args(&["-c".to_owned(), script.to_owned()])
    }

    fn output(launch: &Launch) -> String {
        let outcome = launch.job(Path::new(SH), Onlooker::None, &Limits::default()).unwrap().run().unwrap();
        assert_eq!(outcome.exit, Exit::Code(0), "{}", outcome.stderr_text());
        outcome.stdout_text()
    }

    #[test]
    fn a_program_is_told_the_name_and_the_environment_it_is_given_and_nothing_else() {
        let launch = Launch { name: Some("other".into()), env: vec![("COLOUR".into(), "red".into())], ..shell("echo $0 $COLOUR $HOME") };
        // With -c the shell's $0 is its argv[0].
        assert_eq!(output(&launch), "other red\n");
    }

    #[test]
    fn standard_input_is_read_anew_in_each_run() {
        let scratch = Scratch::new().unwrap();
        let launch = Launch { stdin: Some(scratch.write("in", "one two").unwrap()), ..shell("read a b; echo $b") };
        assert_eq!((output(&launch), output(&launch)), ("two\n".to_owned(), "two\n".to_owned()));
    }

    #[test]
    fn each_run_that_may_write_begins_with_a_copy_of_the_directory() {
        let scratch = Scratch::new().unwrap();
        scratch.write("kept", "text").unwrap();
        let allowed = [Permission::Write].into_iter().collect();
        let launch = Launch { directory: Some(scratch.path().to_owned()), allowed, ..shell("echo *; > new; echo more >> kept") };
        let launch = launch.set_stage().unwrap();
        assert_eq!((output(&launch), output(&launch)), ("kept\n".to_owned(), "kept\n".to_owned()));
        assert_eq!(std::fs::read_to_string(scratch.join("kept")).unwrap(), "text");
    }

    #[test]
    fn processes_are_started_only_where_that_is_allowed() {
        let launch = shell("(exit 3); echo $?");
        let run = |launch: &Launch| launch.job(Path::new(SH), Onlooker::None, &Limits::default()).unwrap().run().unwrap().exit;
        assert_eq!(run(&launch), Exit::Signal(libc::SIGSYS));
        let allowed = [Permission::Fork].into_iter().collect();
        assert_eq!(output(&Launch { allowed, ..launch }), "3\n");
    }
}

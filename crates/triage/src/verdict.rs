//! Compiler or debugger: what several readers of one binary say, put together.

use trueline_model::{Debugger, Reader, Reading, Verdict};

/// The verdict and the reason for it in one sentence; `None` with fewer than two answers.
pub fn verdict(readings: &[Reading]) -> Option<(Verdict, String)> {
    let sees = |reader: Reader| readings.iter().find(|r| r.reader == reader).and_then(|r| r.sees);
    let answers: Vec<&Reading> = readings.iter().filter(|r| r.sees.is_some()).collect();
    if answers.len() < 2 {
        return None;
    }
    let debuggers = [(Reader::Gdb, Debugger::Gdb, Reader::Lldb), (Reader::Lldb, Debugger::Lldb, Reader::Gdb)];
    for (debugger, name, other) in debuggers {
        // What another debugger shows, too, is not one debugger's mistake.
        let is_alone = sees(other) != Some(true);
        // Where several releases' rules were asked, none may show it.
        let by_its_rules = |r: &&&Reading| matches!(r.reader, Reader::Native(policy) if policy.debugger() == Some(name));
        let mut own = answers.iter().filter(by_its_rules).peekable();
        let departs = own.peek().is_some() && own.all(|r| r.sees == Some(false));
        if sees(debugger) == Some(true) && is_alone && departs {
            return Some((Verdict::Debugger, format!("{name} shows it, but the debug information read by {name}'s own rules does not")));
        }
    }
    let seen: Vec<&&Reading> = answers.iter().filter(|r| r.sees == Some(true)).collect();
    if seen.len() == answers.len() {
        return Some((Verdict::Compiler, format!("all {} readers see it: the debug information is wrong", answers.len())));
    }
    let say = |reader: &Reader| match reader {
        Reader::Native(policy) => format!("the {policy} reading"),
        Reader::Gdb => "gdb".to_owned(),
        Reader::Lldb => "lldb".to_owned(),
    };
    let list = |wanted: bool| answers.iter().filter(|r| r.sees == Some(wanted)).map(|r| say(&r.reader)).collect::<Vec<_>>().join(", ");
    Some((Verdict::Ambiguous, format!("seen by {}; not by {}: the debug information can be read both ways", list(true), list(false))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::Policy;

    fn reading(reader: Reader, sees: bool) -> Reading {
        Reading::answer(reader, sees, String::new())
    }

    #[test]
    fn unanimous_readers_blame_the_compiler() {
        let all = [reading(Reader::Native(Policy::Gdb), true), reading(Reader::Gdb, true), reading(Reader::Lldb, true)];
        assert_eq!(verdict(&all).unwrap().0, Verdict::Compiler);
    }

    #[test]
    fn a_debugger_that_contradicts_its_own_rules_is_to_blame() {
        let all = [reading(Reader::Native(Policy::Lldb), false), reading(Reader::Gdb, false), reading(Reader::Lldb, true)];
        let (verdict, why) = verdict(&all).unwrap();
        assert_eq!(verdict, Verdict::Debugger);
        assert!(why.contains("lldb"), "{why}");
    }

    #[test]
    fn a_release_is_held_against_every_reading_by_its_debuggers_rules() {
        let by = |policy, sees| reading(Reader::Native(policy), sees);
        let alone = [by(Policy::Gdb18, false), reading(Reader::Gdb, true), reading(Reader::Lldb, false)];
        assert_eq!(verdict(&alone).unwrap().0, Verdict::Debugger);
        let copied = [by(Policy::Gdb, false), by(Policy::Gdb18, true), reading(Reader::Gdb, true), reading(Reader::Lldb, false)];
        assert_eq!(verdict(&copied).unwrap().0, Verdict::Ambiguous);
        let of_others = [by(Policy::Lldb, false), reading(Reader::Gdb, true)];
        assert_eq!(verdict(&of_others).unwrap().0, Verdict::Ambiguous);
    }

    #[test]
    fn what_both_debuggers_show_is_blamed_on_neither() {
        let all = [
            reading(Reader::Native(Policy::Gdb), true),
            reading(Reader::Native(Policy::Lldb), false),
            reading(Reader::Gdb, true),
            reading(Reader::Lldb, true),
        ];
        assert_eq!(verdict(&all).unwrap().0, Verdict::Ambiguous);
    }

    #[test]
    fn a_fault_under_one_policy_only_is_ambiguous() {
        let all = [
            reading(Reader::Native(Policy::Gdb), true),
            reading(Reader::Gdb, true),
            reading(Reader::Native(Policy::Lldb), false),
            reading(Reader::Lldb, false),
        ];
        assert_eq!(verdict(&all).unwrap().0, Verdict::Ambiguous);
        assert_eq!(verdict(&all[..1]), None);
    }
}

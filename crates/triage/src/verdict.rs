//! Compiler or debugger: what several readers of one binary say, put together.

use trueline_model::{Policy, Reader, Reading, Verdict};

/// The verdict and the reason for it in one sentence; `None` with fewer than two answers.
pub fn verdict(readings: &[Reading]) -> Option<(Verdict, String)> {
    let sees = |reader: Reader| readings.iter().find(|r| r.reader == reader).and_then(|r| r.sees);
    let answers: Vec<&Reading> = readings.iter().filter(|r| r.sees.is_some()).collect();
    if answers.len() < 2 {
        return None;
    }
    let debuggers = [(Reader::Gdb, Policy::Gdb, "gdb", Reader::Lldb), (Reader::Lldb, Policy::Lldb, "lldb", Reader::Gdb)];
    for (debugger, policy, name, other) in debuggers {
        // What another debugger shows, too, is not one debugger's mistake.
        let is_alone = sees(other) != Some(true);
        if sees(debugger) == Some(true) && is_alone && sees(Reader::Native(policy)) == Some(false) {
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

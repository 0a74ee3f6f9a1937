//! What makes two crashes the same: the place in the compiler, not the place in the program.
//!
//! A mutant that crashes the compiler somewhere else is another bug. It neither fails as the program does nor passes.

/// The part of a compiler's crash message that names where it crashed. Lines of the program, addresses and numbered values go;
/// the compiler's own functions, files and lines stay, since the compiler is the same all the time.
pub fn crash_signature(message: &str) -> String {
    // gcc puts the place in the program in front, and asks for the same whatever happened.
    let text = message.split_once("internal compiler error: ").map_or(message, |(_, after)| after);
    let is_address = |word: &str| word.trim_start_matches('(').starts_with("0x");
    // The values of a selection graph are numbered: `t12: i32 = add t3, t7`.
    let is_value = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.strip_prefix(['t', '%', '_']).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    text.split_whitespace().filter(|word| !is_address(word) && !is_value(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::crash_signature;

    #[test]
    fn the_same_place_in_the_compiler_is_the_same_crash_wherever_the_program_has_it() {
        let at = |line: u32| format!("program.c:{line}:5: internal compiler error: in expand_one, at expr.cc:12");
        assert_eq!(crash_signature(&at(3)), crash_signature(&at(70)));
        assert_eq!(crash_signature(&at(3)), "in expand_one, at expr.cc:12");
        assert_ne!(crash_signature(&at(3)), crash_signature("program.c:3:5: internal compiler error: in expand_one, at expr.cc:99"));
        assert_ne!(crash_signature("internal compiler error: Segmentation fault"), crash_signature(&at(3)));
    }

    #[test]
    fn clangs_numbered_values_and_addresses_do_not_tell_crashes_apart() {
        let select = |value: u32| format!("LLVM ERROR: Cannot select: t{value}: v4i32 = X86ISD::PSHUF t{}, 0x55d0{value}", value + 1);
        assert_eq!(crash_signature(&select(12)), crash_signature(&select(40)));
        assert_ne!(crash_signature("clang crashed in llvm::foo, pass gvn"), crash_signature("clang crashed in llvm::bar, pass gvn"));
    }
}

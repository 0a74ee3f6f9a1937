//! Words for a shell: in scripts that are written out, and in commands that are shown to people for pasting.

use std::borrow::Cow;
use std::ffi::OsStr;

/// The word as a POSIX shell reads it back. What needs no quotes in any shell keeps none, so that printed commands stay readable.
pub fn quote(word: impl AsRef<OsStr>) -> String {
    // A NUL cannot be in an argument at all, so a word that has one is no word of a command.
    let word = word.as_ref().to_string_lossy().replace('\0', "");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    shlex::try_quote(&word).map(Cow::into_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_and_every_other_comes_back_from_a_shell_as_it_was() {
        assert_eq!(quote("-fdbg-cnt=sched2_func:1-2"), "-fdbg-cnt=sched2_func:1-2");
        for word in ["", "a b", "it's", "\"$HOME\" `id` \\", "!history ^x", "two\nlines", "*?[a]", "naïve", "~", "#no", "a=b;c&d|e"] {
            let outcome = crate::Job::new("/bin/sh").args(["-c", &format!("printf %s {}", quote(word))]).run().unwrap();
            assert_eq!(outcome.stdout_text(), word, "{}", quote(word));
        }
    }
}

//! `interesting.sh`: the question a reducer asks, as a script that others can run.

use trueline_toolchain::quote;

/// What a program must be, apart from showing the fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demand {
    /// Free of undefined behaviour, as far as sanitizers tell.
    #[default]
    Sane,
    /// Accepted by a compiler's front end: no program may crash a compiler, and it need not have a `main`.
    Compiles,
}

/// What the script asks for.
#[derive(Clone, Debug, Default)]
pub struct ScriptSpec {
    /// The trueline program, used when `TRUELINE` is not set.
    pub trueline: String,
    /// The file it judges, by base name, in the working directory.
    pub file: String,
    /// Arguments of `trueline triage` that describe the fault, each a word.
    pub arguments: Vec<String>,
    /// Flags that every compilation of the program needs.
    pub cflags: Vec<String>,
    /// Warnings of that compiler that the original gives no reason for; a smaller program must not either.
    pub lints: Vec<String>,
    /// The compiler whose sanitizers are asked (a clang for MSan), empty for none.
    pub clang: String,
    /// What the program must be.
    pub demand: Demand,
    /// What its sanitizers look for, one build each.
    pub sanitizers: &'static [&'static str],
}

/// The script's text. Cheap questions come first: does it compile, is it still valid under UBSan, ASan and
/// MSan, does it still show the same fault with the same pass behind it?
pub fn interesting_script(spec: &ScriptSpec) -> String {
    let words = |list: &[String]| list.iter().map(quote).collect::<Vec<_>>().join(" ");
    let mut script = String::from(
        "#!/bin/sh\n# Exit 0 when the program in the working directory is valid and still shows the fault.\n\
         # Runs with cvise or creduce as it is: cvise ./interesting.sh FILE\nset -u\n",
    );
    script.push_str(&format!("TRUELINE=${{TRUELINE:-{}}}\nCLANG=${{CLANG:-{}}}\nFILE={}\n", spec.trueline, spec.clang, quote(&spec.file)));
    let cflags = words(&spec.cflags);
    let has_clang = !spec.clang.is_empty();
    // A reducer loves programs that read what was never written or call what was never declared.
    let lints: String = spec.lints.iter().map(|l| format!(" -Werror={l}")).collect();
    if has_clang {
        script.push_str(&format!(
            "work=$(mktemp -d) || exit 1\ntrap 'rm -rf \"$work\"' EXIT\n\
             \"$CLANG\" {cflags} -fsyntax-only -Wno-everything{lints} \"$FILE\" 2>/dev/null || exit 1\n"
        ));
    }
    script.push_str(&format!("\"$TRUELINE\" triage \"$FILE\" {} >/dev/null 2>&1 || exit 1\n", words(&spec.arguments)));
    if has_clang && spec.demand == Demand::Sane && !spec.sanitizers.is_empty() {
        script.push_str(&format!(
            "# Without optimization, or uninitialized values are gone before the sanitizer sees them.\n\
             for sanitizer in {}; do\n  \
             \"$CLANG\" {cflags} -w -g -O0 -fsanitize=$sanitizer -fno-sanitize-recover=all \"$FILE\" -o \"$work/a.out\" 2>/dev/null || exit 1\n  \
             timeout 10 \"$work/a.out\" >/dev/null 2>\"$work/log\"\n  \
             [ $? -lt 124 ] && ! grep -q -e 'runtime error' -e 'Sanitizer' \"$work/log\" || exit 1\ndone\n",
            spec.sanitizers.join(" ")
        ));
    }
    script.push_str("exit 0\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let spec = ScriptSpec {
            trueline: "trueline".to_owned(),
            file: "it's.c".to_owned(),
            arguments: vec!["--cc".to_owned(), "clang 16".to_owned()],
            ..ScriptSpec::default()
        };
        let script = interesting_script(&spec);
        assert!(script.contains("FILE=\"it's.c\""), "{script}");
        assert!(script.contains("--cc 'clang 16'"), "{script}");
        assert!(!script.contains("sanitize"), "no compiler with sanitizers, no such question: {script}");
    }
}

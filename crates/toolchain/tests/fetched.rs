//! What fetched compilers can do with what came with them.

use trueline_model::{Language, OptLevel};
use trueline_toolchain::{CompileRequest, Job, Scratch, find_compiler};

#[test]
fn a_long_string_constant_compiles_and_links_with_a_new_gcc_on_a_host_with_an_old_assembler() {
    let mut tried = 0;
    for name in ["gcc-16", "gcc-15"] {
        let Ok(compiler) = find_compiler(name) else {
            println!("skipped: no {name}; `trueline toolchains fetch {name}` brings it");
            continue;
        };
        // gcc 16 writes it as `.base64`, which binutils know since 2.43.
        let long: String = (0..600).map(|n| format!("word {n} ")).collect();
        let text = format!("#include <stdio.h>\nconst char text[] = \"{long}\";\nint main(void) {{ puts(text); return 0; }}\n");
        for opt in [OptLevel::O0, OptLevel::O2] {
            let scratch = Scratch::new().unwrap();
            let source = scratch.write("a.c", &text).unwrap();
            let request = CompileRequest::new(source, Language::C, opt, scratch.join("a"));
            // The second time both commands are known and run without the driver.
            for _ in 0..2 {
                let build = compiler.compile(&request).unwrap_or_else(|e| panic!("{name} {opt}: {e}"));
                let said = Job::new(&build.binary).run().unwrap().stdout_text();
                assert_eq!(said, format!("{long}\n"), "{name} {opt}");
            }
            // The driver by itself agrees.
            assert!(compiler.compile_job(&request).unwrap().run().unwrap().success(), "{name} {opt}");
        }
        tried += 1;
    }
    println!("{tried} compilers tried");
}

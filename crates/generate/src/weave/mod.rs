//! `weave`: closed, deterministic programs without undefined behaviour, aimed at debug information, as C
//! and as Rust from one model. Same seed, same program, always.
//!
//! `weave:wide` adds idioms that only one language has; see `idiom`. Its programs are other programs, on
//! streams of their own, so that seeds of `weave` that are stored somewhere keep theirs. `weave:swarm` mixes the same
//! differently for each seed; see `swarm`.
//!
//! Deliberately absent: heap, threads, input, and every construct that a language leaves undefined or
//! unspecified; in the common model also floating point.

mod c;
mod dice;
pub use dice::Dice;
mod expr;
mod idiom;
mod model;
mod native;
mod rust;
mod scope;
mod shape;
mod stmt;
mod swarm;
mod wide;

use model::{GlobalLinkage, ScalarType, Struct, ValueRange, WeaveGlobal, WeaveProgram, WovenType};
use native::Tongue;
use scope::{Maker, Mutability, VarInScope};
use shape::WeaveShape;
use trueline_model::{Language, Origin, Program};

/// Lines a program has at least and at most, in either language.
const LINES: std::ops::RangeInclusive<usize> = 40..=200;

/// Lines main may execute at most, calls included; traces are usually an order of magnitude shorter.
const MAIN_COST: u64 = 900;

/// The program of a seed, in a language.
pub fn weave(seed: u64, language: Language) -> Program {
    let (c, rust) = sources(seed);
    let source = match language {
        // C text: `Weave` offers no C++ as long as it has no writer for it.
        Language::C | Language::Cpp => c,
        Language::Rust => rust,
    };
    Program {
        name: format!("weave-{seed}.{}", language.extension()),
        language,
        source,
        origin: Origin::Generated { generator: "weave".to_owned(), seed },
        cflags: Vec::new(),
    }
}

/// The wide program of a seed: the same statements between features that one language has of its own.
pub fn weave_wide(seed: u64, language: Language) -> Program {
    Program {
        name: format!("weave-wide-{seed}.{}", language.extension()),
        language,
        source: wide::source(seed, tongue_of(language)),
        origin: Origin::Generated { generator: "weave:wide".to_owned(), seed },
        cflags: Vec::new(),
    }
}

/// The swarm program of a seed: the statements of wide programs in a mixture of its own.
pub fn weave_swarm(seed: u64, language: Language) -> Program {
    Program {
        name: format!("weave-swarm-{seed}.{}", language.extension()),
        language,
        source: swarm::source(seed, tongue_of(language)),
        origin: Origin::Generated { generator: "weave:swarm".to_owned(), seed },
        cflags: Vec::new(),
    }
}

/// What the swarm program of a seed has much of and what it has none of, by name, without writing it.
pub fn swarm_traits(seed: u64, language: Language) -> Vec<String> {
    let tongue = tongue_of(language);
    swarm::WeaveRecipe::of(seed, tongue).traits(tongue)
}

fn tongue_of(language: Language) -> Tongue {
    match language {
        Language::C => Tongue::C,
        Language::Cpp => Tongue::Cxx,
        Language::Rust => Tongue::Rust,
    }
}

/// Both texts. A module that came out too short or too long is woven again from a derived stream, so
/// that every seed has a program.
fn sources(seed: u64) -> (String, String) {
    for attempt in 0u64.. {
        let module = module(seed ^ attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (c, rust) = (c::write(&module, Tongue::C), rust::write(&module));
        if LINES.contains(&c.lines().count()) && LINES.contains(&rust.lines().count()) {
            return (c, rust);
        }
    }
    unreachable!("the attempts do not end")
}

fn module(seed: u64) -> WeaveProgram {
    let mut maker = Maker::new(seed);
    declare_structs(&mut maker);
    declare_globals(&mut maker);
    let functions = 3 + maker.dice.below(4);
    for _ in 0..functions {
        let shape = WeaveShape::ALL[maker.dice.weighted(&[18, 18, 14, 12, 14, 10, 8, 10])];
        maker.function(shape);
    }
    write_main(&mut maker, MAIN_COST);
    maker.module
}

fn declare_structs(maker: &mut Maker) {
    for _ in 0..maker.dice.below(3) {
        let name = maker.fresh("pack");
        let fields = (0..2 + maker.dice.below(3)).map(|_| (maker.fresh("m"), maker.scalar().0)).collect();
        maker.module.structs.push(Struct { name, fields });
    }
}

fn declare_globals(maker: &mut Maker) {
    let checksum = maker.fresh("sum");
    let word = ScalarType::U32;
    push_global(
        maker,
        WeaveGlobal {
            name: checksum.clone(),
            ty: WovenType::Scalar(word),
            linkage: GlobalLinkage::Private,
            range: word.range(),
            init: vec![1],
        },
    );
    maker.module.checksum = Some(checksum);
    for _ in 0..2 + maker.dice.below(2) {
        let name = maker.fresh("flag");
        let init = [0, 0, 0, 1, 2][maker.dice.below(5)];
        let range = ValueRange::new(0, 3);
        push_global(
            maker,
            WeaveGlobal { name, ty: WovenType::Scalar(ScalarType::I32), linkage: GlobalLinkage::Public, range, init: vec![init] },
        );
    }
    for _ in 0..=maker.dice.below(3) {
        let (scalar, range) = maker.scalar();
        let name = maker.fresh("g");
        let init = maker.dice.between(0, range.hi.min(60));
        let linkage = if maker.dice.chance(50) { GlobalLinkage::Private } else { GlobalLinkage::Public };
        push_global(maker, WeaveGlobal { name, ty: WovenType::Scalar(scalar), linkage, range, init: vec![init] });
    }
    for _ in 0..maker.dice.below(3) {
        let scalar = *maker.dice.pick(&[ScalarType::I32, ScalarType::U32, ScalarType::I16, ScalarType::U8]);
        let name = maker.fresh("table");
        let init = (0..16).map(|_| maker.dice.between(0, 99)).collect();
        push_global(
            maker,
            WeaveGlobal { name, ty: WovenType::Array(scalar, 16), linkage: GlobalLinkage::Private, range: scalar.range(), init },
        );
    }
    for prefix in ["probe", "sink"] {
        if maker.dice.chance(60) {
            let name = maker.fresh(prefix);
            let init = vec![maker.dice.between(0, 1)];
            let range = ScalarType::I32.range();
            push_global(maker, WeaveGlobal { name, ty: WovenType::Scalar(ScalarType::I32), linkage: GlobalLinkage::Volatile, range, init });
        }
    }
}

/// Adds a global and makes it visible: volatile ones only to the statements that read or write them as a
/// whole, flags only for reading.
fn push_global(maker: &mut Maker, global: WeaveGlobal) {
    if global.linkage != GlobalLinkage::Volatile {
        let mutability = if global.name.starts_with("flag") { Mutability::Fixed } else { Mutability::Free };
        maker.globals.push(VarInScope { name: global.name.clone(), ty: global.ty, range: global.range, mutability });
    }
    maker.module.globals.push(global);
}

fn write_main(maker: &mut Maker, cost: u64) {
    maker.begin(&[], None, cost);
    let mut body = Vec::new();
    maker.declare(&mut body);
    for index in 0..maker.signatures.len() {
        if maker.signatures[index].calls == 0 || maker.dice.chance(50) {
            maker.call(&mut body, index);
            maker.checksum(&mut body);
        }
        if maker.dice.chance(40) {
            maker.statement(&mut body, 1);
        }
    }
    for _ in 0..2 {
        maker.checksum(&mut body);
    }
    maker.module.main = body;
}

#[cfg(test)]
mod tests;

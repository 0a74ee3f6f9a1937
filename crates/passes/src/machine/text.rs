//! Machine functions read from what `-print-changed` and `-print-before/-after` print.

use super::function::{Held, MirBlock, MirDescription, MirFunction, MirInstruction, MirVariable};
use super::metadata::{ModuleMetadata, reference, split};
use super::registers::whole;

/// Which side of a pass a dump shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// In front of the pass.
    Before,
    /// Behind the pass.
    After,
}

/// One printed machine function.
#[derive(Clone, Debug)]
pub struct MirDump {
    /// The pass's name on command lines, `machine-sink`.
    pub pass: String,
    /// The pass's name in words, `Machine code sinking`.
    pub title: String,
    /// In front of or behind the pass.
    pub moment: Moment,
    /// The function.
    pub function: MirFunction,
}

/// Reads all dumps of machine functions, in the order they were printed; dumps of IR are passed over.
pub fn read(text: &str, metadata: &mut ModuleMetadata) -> Vec<MirDump> {
    let mut dumps = Vec::new();
    let mut header = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(found) = read_header(line) {
            header = Some(found);
        } else if let Some(rest) = line.strip_prefix("# Machine code for function ") {
            let (name, properties) = rest.split_once(": ").unwrap_or((rest.trim_end_matches(':'), ""));
            let body: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("# End machine code")).collect();
            let Some((pass, title, moment)) = header.take() else { continue };
            let is_ssa = properties.split(", ").any(|p| p == "IsSSA");
            let function = MirFunction { name: name.to_owned(), is_ssa, blocks: read_blocks(&body, metadata) };
            dumps.push(MirDump { pass, title, moment, function });
        }
    }
    dumps
}

/// `*** IR Dump After Machine code sinking (machine-sink) on f ***`
fn read_header(line: &str) -> Option<(String, String, Moment)> {
    let rest = line.trim_start_matches("# ").strip_prefix("*** IR Dump ")?;
    let (moment, rest) = match rest.split_once(' ')? {
        ("After", rest) => (Moment::After, rest),
        ("Before", rest) => (Moment::Before, rest),
        _ => return None,
    };
    // Titles hold parentheses of their own; the last pair in front of the end is the pass's name.
    let rest = rest.trim_end_matches(':').trim_end().trim_end_matches('*').trim_end();
    let close = rest.rfind(')')?;
    let open = rest[..close].rfind('(')?;
    Some((rest[open + 1..close].to_owned(), rest[..open].trim().to_owned(), moment))
}

fn read_blocks(lines: &[&str], metadata: &mut ModuleMetadata) -> Vec<MirBlock> {
    let mut blocks: Vec<MirBlock> = Vec::new();
    for line in lines {
        let line = strip_slot(line);
        if line.starts_with("bb.") {
            blocks.extend(read_label(line));
            continue;
        }
        let (Some(block), text) = (blocks.last_mut(), line.trim()) else { continue };
        if let Some(list) = text.strip_prefix("successors:") {
            let numbers = list.split(';').next().unwrap_or("").split(',');
            block.successors.extend(numbers.filter_map(|s| s.trim().strip_prefix("%bb.")?.split(['(', '.']).next()?.parse::<u32>().ok()));
        } else if !(text.is_empty() || text.starts_with(';') || text.starts_with("liveins:") || text == "}") {
            block.instructions.push(read_instruction(text, metadata));
        }
    }
    blocks
}

/// Without the slot that stands in front once slots are numbered: `16B\t`.
fn strip_slot(line: &str) -> &str {
    match line.split_once('\t') {
        Some((slot, rest)) if slot.trim_end_matches(|c: char| c.is_ascii_alphabetic()).bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => line,
    }
}

/// `bb.3 (%ir-block.9, align 16):` or `bb.3.for.body (landing-pad):`
fn read_label(line: &str) -> Option<MirBlock> {
    let rest = line.strip_prefix("bb.")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_end().trim_end_matches(':');
    let (named, attributes) = rest.split_once(" (").unwrap_or((rest, ""));
    let in_ir = attributes.trim_end_matches(')').split(", ").find_map(|a| a.strip_prefix("%ir-block."));
    let name = named.strip_prefix('.').or(in_ir).unwrap_or("").to_owned();
    Some(MirBlock { number, name, ..MirBlock::default() })
}

fn read_instruction(line: &str, metadata: &mut ModuleMetadata) -> MirInstruction {
    let comment = find_unquoted(line, "; ").map_or("", |at| &line[at + 2..]);
    let mut text = line.to_owned();
    let mut location = None;
    if let Some(at) = find_unquoted(line, "debug-location ") {
        let rest = &line[at + "debug-location ".len()..];
        let end = if rest.starts_with("!DILocation(") {
            rest.find(')').map_or(rest.len(), |e| e + 1)
        } else {
            rest.find(|c: char| c != '!' && !c.is_ascii_digit()).unwrap_or(rest.len())
        };
        location = metadata.location(&rest[..end]);
        text.truncate(at);
    }
    for mark in [" :: (", "; "] {
        if let Some(at) = find_unquoted(&text, mark) {
            text.truncate(at);
        }
    }
    let mut text = text.trim_end().trim_end_matches([',', '{']).trim_end().to_owned();
    let mut number = None;
    const NUMBER: &str = "debug-instr-number ";
    if let Some(at) = find_unquoted(&text, NUMBER) {
        number = text[at + NUMBER.len()..].split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
        text.truncate(at);
        text.truncate(text.trim_end().trim_end_matches(',').len());
    }
    let mut inst = parse(&text);
    inst.location = location;
    inst.number = number.or_else(|| match inst.opcode.as_str() {
        "DBG_PHI" => text.rsplit(", ").next().and_then(|n| n.trim().parse().ok()),
        _ => None,
    });
    inst.description = describe(&inst.opcode, &text, comment, location, metadata);
    inst.text = text;
    inst
}

/// Position of a pattern outside of strings.
fn find_unquoted(text: &str, pattern: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(pattern).map(|at| at + from) {
        if text[..at].bytes().filter(|b| *b == b'"').count() % 2 == 0 {
            return Some(at);
        }
        from = at + pattern.len();
    }
    None
}

/// Opcode and registers.
fn parse(text: &str) -> MirInstruction {
    let (left, body) = match find_unquoted(text, " = ") {
        Some(at) if !text[..at].contains(['!', '"', '<']) => (&text[..at], &text[at + 3..]),
        _ => ("", text),
    };
    // Flags such as `nsw` and `frame-setup` stand in front of the opcode, which begins with a capital.
    let mut rest = body.trim_start();
    while rest.starts_with(|c: char| c.is_ascii_lowercase()) {
        match rest.split_once(' ') {
            Some((_, after)) => rest = after.trim_start(),
            None => break,
        }
    }
    let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut inst = MirInstruction { opcode: opcode.to_owned(), is_call: operands.contains("<regmask"), ..MirInstruction::default() };
    let (mut key, mut shape) = (Vec::new(), vec![opcode.to_owned()]);
    for operand in split(left) {
        inst.defs.extend(register(operand).map(whole));
        key.push(normal(operand));
    }
    key.push(opcode.to_owned());
    for operand in split(operands) {
        let is_implicit = operand.starts_with("implicit");
        if let Some(register) = register(operand) {
            if operand.starts_with("implicit-def") { &mut inst.defs } else { &mut inst.uses }.push(whole(register));
        }
        if !is_implicit {
            key.push(normal(operand));
            shape.push(register(operand).map_or_else(|| normal(operand), |_| "register".to_owned()));
        }
    }
    inst.key = key.join(" ");
    inst.shape = shape.join(" ");
    inst
}

/// The register of an operand, without flags and class.
fn register(operand: &str) -> Option<&str> {
    let word = operand
        .split_whitespace()
        .find(|w| w.starts_with('$') || w.strip_prefix('%').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())))?;
    let name = word.split([':', '(']).next()?;
    (name != "$noreg").then_some(name)
}

/// An operand without the flags that passes set and clear at will.
fn normal(operand: &str) -> String {
    if operand.contains("%bb.") {
        return "%bb".to_owned();
    }
    match register(operand) {
        Some(register) => register.to_owned(),
        None => operand.to_owned(),
    }
}

fn describe(
    opcode: &str,
    text: &str,
    comment: &str,
    location: Option<crate::observation::LocationId>,
    metadata: &mut ModuleMetadata,
) -> Option<MirDescription> {
    let operands = split(text.strip_prefix(opcode)?.trim_start());
    let (variable, expression, held, is_indirect) = match opcode {
        "DBG_VALUE" => (operands.get(2)?, operands.get(3)?, vec![*operands.first()?], operands.get(1) != Some(&"$noreg")),
        "DBG_VALUE_LIST" | "DBG_INSTR_REF" => (operands.first()?, operands.get(1)?, operands[2..].to_vec(), false),
        _ => return None,
    };
    let inlined = location.and_then(|id| metadata.locations.get(id).inlined_at);
    let (name, line, scope) = match reference(variable) {
        Some(number) => {
            let declared = metadata.variable(number)?;
            (declared.name, declared.line, Some(declared.scope))
        }
        None => {
            let name = variable.trim_start_matches('!').trim_matches('"').to_owned();
            let digits = comment.rsplit_once("line no:").map_or("", |(_, n)| n.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
            let line = digits.parse().unwrap_or(0);
            let scope = metadata.scope_of(&name, line, location);
            (name, line, scope)
        }
    };
    let expression = expression.trim_start_matches("!DIExpression(").trim_end_matches(')').to_owned();
    let words: Vec<&str> = expression.split(", ").collect();
    let fragment = words
        .iter()
        .position(|w| *w == "DW_OP_LLVM_fragment")
        .and_then(|at| Some((words.get(at + 1)?.parse().ok()?, words.get(at + 2)?.parse().ok()?)));
    let inlined_at = inlined.map_or_else(String::new, |id| call_site(id, metadata));
    Some(MirDescription {
        variable: MirVariable { name, line, inlined_at, fragment },
        scope,
        inlined,
        held: held.iter().map(|operand| read_held(operand)).collect(),
        expression,
        is_indirect,
    })
}

/// A call site and those around it, as text.
pub(super) fn call_site(at: crate::observation::LocationId, metadata: &ModuleMetadata) -> String {
    let sites = std::iter::successors(Some(at), |id| metadata.locations.get(*id).inlined_at);
    let texts: Vec<String> = sites.map(|id| metadata.locations.get(id)).map(|l| format!("{}:{}:{}", l.file, l.line, l.column)).collect();
    texts.join(" @ ")
}

fn read_held(operand: &str) -> Held {
    if let Some(inner) = operand.strip_prefix("dbg-instr-ref(") {
        let mut numbers = inner.trim_end_matches(')').split(", ").filter_map(|n| n.trim().parse().ok());
        return match (numbers.next(), numbers.next()) {
            (Some(number), Some(index)) => Held::Reference(number, index),
            _ => Held::Nothing,
        };
    }
    match register(operand) {
        Some(name) => Held::Register(name.to_owned()),
        None if operand.contains("$noreg") => Held::Nothing,
        None if operand.contains("stack.") => Held::Slot(operand.to_owned()),
        None => Held::Constant(operand.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = r#"
*** IR Dump After X86 DAG->DAG Instruction Selection (x86-isel) on f ***
# Machine code for function f: IsSSA, TracksLiveness
Function Live Ins: $rdi in %9

bb.0 (%ir-block.3):
  successors: %bb.1(0x50000000), %bb.2(0x30000000); %bb.1(62.50%), %bb.2(37.50%)
  liveins: $rdi
  DBG_VALUE $rdi, $noreg, !"a", !DIExpression(), debug-location !25; a.c:0 line no:2
16B	  %9:gr64 = COPY $rdi
  %4:gr32 = nsw IMUL32rm killed %11:gr32(tied-def 0), %9:gr64, 4, $noreg, implicit-def dead $eflags, debug-instr-number 1, debug-location !35 :: (load (s32) from %ir.p); a.c:5:18
  DBG_INSTR_REF !"v", !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_fragment, 0, 16), dbg-instr-ref(1, 0), debug-location !25; a.c:0 line no:5
  JCC_1 %bb.2, 14, implicit $eflags, debug-location !DILocation(line: 4, column: 3, scope: !9); a.c:4:3

bb.1.for.body (align 16):
; predecessors: %bb.0
  frame-setup PUSH64r killed $rbp, implicit-def $rsp, implicit $rsp

# End machine code for function f.
"#;
    const MODULE: &str = "!1 = !DIFile(filename: \"a.c\")\n!9 = distinct !DISubprogram(name: \"f\", file: !1)\n\
                          !25 = !DILocation(line: 0, scope: !9)\n!35 = !DILocation(line: 5, column: 18, scope: !9)\n";

    #[test]
    fn blocks_instructions_and_descriptions_are_read_as_llvm_prints_them() {
        let mut metadata = ModuleMetadata::read(MODULE);
        let dumps = read(DUMP, &mut metadata);
        assert_eq!((dumps.len(), dumps[0].pass.as_str(), dumps[0].title.as_str()), (1, "x86-isel", "X86 DAG->DAG Instruction Selection"));
        let function = &dumps[0].function;
        assert!(function.is_ssa && function.name == "f");
        assert_eq!(function.blocks[0].successors, [1, 2]);
        assert_eq!((function.blocks[0].name.as_str(), function.blocks[1].name.as_str()), ("3", "for.body"));
        let line = |index: usize| {
            let location = function.blocks[0].instructions[index].location;
            location.map(|id| (metadata.locations.get(id).line, metadata.locations.get(id).column))
        };
        let multiply = &function.blocks[0].instructions[2];
        assert_eq!((multiply.opcode.as_str(), multiply.number, line(2)), ("IMUL32rm", Some(1), Some((5, 18))));
        assert_eq!(
            (multiply.defs.as_slice(), multiply.uses.as_slice()),
            (&["%4".into(), "$eflags".into()][..], &["%11".into(), "%9".into()][..])
        );
        assert_eq!(line(1), None);
        assert_eq!(line(4), Some((4, 3)), "a location without a number is read in full");
        assert_eq!(function.blocks[0].instructions[4].key, "JCC_1 %bb 14");
        let described: Vec<String> =
            function.blocks[0].instructions.iter().filter_map(|i| i.description.as_ref()).map(MirDescription::value).collect();
        assert_eq!(described[0], "$rdi");
        let fragment = function.blocks[0].instructions[3].description.as_ref().unwrap();
        assert_eq!((fragment.variable.line, fragment.variable.fragment), (5, Some((0, 16))));
        assert_eq!(fragment.held, [Held::Reference(1, 0)]);
        assert_eq!(function.blocks[1].instructions[0].opcode, "PUSH64r");
    }
}

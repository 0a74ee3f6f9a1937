//! Code that runs on variables of its own: nested and shadowed scopes, loops, switches, calls of a function that nothing else
//! calls. The program's variables are only read, so nothing has to be restored.
//!
//! It is what debug information is tested by, and free of undefined behaviour by construction rather than by the profile: every
//! variable holds a number from 0 to [`MASK`], every expression is one again, and loops count to a constant. Deliberately
//! absent: writes to the program's own state, which is what the always-true blocks do.

use crate::dice::MutationDice;

/// Largest value of a variable; products of two fit every type used.
const MASK: u32 = 1023;

/// Nesting of statements at most.
const DEPTH: u32 = 2;

/// Most iterations of one loop. Traces of a hunt are bounded, and loops nest.
const ITERATIONS: usize = 4;

/// The types of its variables: each holds `MASK`, none makes a product of two overflow.
const TYPES: [&str; 5] = ["int", "int", "unsigned", "long", "short"];

/// A block and the function it calls, if it calls one.
pub(crate) struct Local {
    /// The lines of the block.
    pub(crate) block: Vec<String>,
    /// The lines of the function, and of the structure it takes, to stand at file scope before the block.
    pub(crate) function: Option<Vec<String>>,
}

/// A function to call: a number first, then another one or a structure of two.
#[derive(Clone)]
struct LocalCallee {
    name: String,
    structure: Option<String>,
}

/// The members of the structure.
const MEMBERS: [(&str, &str); 2] = [("int", "a"), ("short", "b")];

/// Whether the block may call a function made for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallsAllowed {
    NewFunction,
    Nothing,
}

/// Whether a `continue` or `break` may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Loop,
    Straight,
}

/// Makes a block that reads `inputs`, integers of the program that are initialized. Its names start with `prefix`.
pub(crate) fn make(prefix: &str, inputs: &[String], calls: CallsAllowed, dice: &mut MutationDice) -> Local {
    let structure = dice.chance(0.4).then(|| format!("{prefix}s"));
    let callee = (calls == CallsAllowed::NewFunction).then(|| LocalCallee { name: format!("{prefix}f"), structure });
    let function = callee.as_ref().map(|callee| LocalWriter::new(prefix, "p", None, dice).function(callee));
    let block = LocalWriter::new(prefix, "v", callee, dice).block(inputs);
    Local { block, function }
}

/// Writes statements; knows which variables are in scope.
struct LocalWriter<'d> {
    prefix: String,
    callee: Option<LocalCallee>,
    /// In scope and assignable.
    variables: Vec<String>,
    /// In scope and only to be read: counters of loops.
    counters: Vec<String>,
    named: u32,
    dice: &'d mut MutationDice,
}

impl<'d> LocalWriter<'d> {
    fn new(prefix: &str, part: &str, callee: Option<LocalCallee>, dice: &'d mut MutationDice) -> Self {
        Self { prefix: format!("{prefix}{part}"), callee, variables: Vec::new(), counters: Vec::new(), named: 0, dice }
    }

    /// The volatile variable in front hides from the optimizer what comes in, the one behind makes it need what comes out.
    fn block(mut self, inputs: &[String]) -> Vec<String> {
        let input = self.dice.pick(inputs).map_or_else(|| self.constant(), |input| format!("(unsigned long)({input}) & {MASK}ul"));
        let opaque = format!("{}in", self.prefix);
        let mut lines = vec!["{".to_owned(), format!("  volatile int {opaque} = (int)({input});")];
        for _ in 0..2 + self.dice.below(2) {
            let value = match self.dice.pick(inputs) {
                Some(input) if self.dice.flip() => format!("(int)((unsigned long)({input}) & {MASK}ul)"),
                _ => format!("(({opaque} + {}) & {MASK})", self.constant()),
            };
            lines.push(format!("  {}", self.declare(&value)));
        }
        let mut work = self.body(DEPTH, Around::Straight, 3);
        if self.callee.is_some() {
            work.extend(self.call());
        }
        lines.extend(indent(work));
        let result = self.expression(1);
        lines.push(format!("  volatile int {}out = {result};", self.prefix));
        lines.push("}".to_owned());
        lines
    }

    fn function(mut self, callee: &LocalCallee) -> Vec<String> {
        let (first, second) = (self.fresh(), self.fresh());
        let mut lines = Vec::new();
        self.variables.push(first.clone());
        let second_type = match &callee.structure {
            Some(name) => {
                let members: Vec<String> = MEMBERS.map(|(ty, member)| format!("{ty} {member};")).to_vec();
                lines.push(format!("struct {name} {{ {} }};", members.join(" ")));
                self.variables.extend(MEMBERS.map(|(_, member)| format!("{second}.{member}")));
                format!("struct {name}")
            }
            None => {
                self.variables.push(second.clone());
                "int".to_owned()
            }
        };
        let linkage = ["static", "static inline", "static"][self.dice.below(3)];
        lines.push(format!("{linkage} int {}(int {first}, {second_type} {second}) {{", callee.name));
        let value = self.expression(1);
        lines.push(format!("  {}", self.declare(&value)));
        if self.dice.flip() {
            lines.push(format!("  if ({}) {{", self.condition()));
            lines.push(format!("    return {};", self.expression(1)));
            lines.push("  }".to_owned());
        }
        lines.extend(indent(self.body(DEPTH, Around::Straight, 2)));
        lines.push(format!("  return {};", self.expression(1)));
        lines.push("}".to_owned());
        lines
    }

    fn fresh(&mut self) -> String {
        self.named += 1;
        format!("{}{}", self.prefix, self.named)
    }

    /// A declaration; the variable is in scope afterwards.
    fn declare(&mut self, value: &str) -> String {
        let name = self.fresh();
        let ty = TYPES[self.dice.below(TYPES.len())];
        self.variables.push(name.clone());
        format!("{ty} {name} = {value};")
    }

    /// Up to `most` statements in a scope of their own.
    fn body(&mut self, depth: u32, around: Around, most: usize) -> Vec<String> {
        let (variables, counters) = (self.variables.len(), self.counters.len());
        let count = 1 + self.dice.below(most);
        let lines = (0..count).flat_map(|_| self.statement(depth, around)).collect();
        self.variables.truncate(variables);
        self.counters.truncate(counters);
        lines
    }

    /// The body of something in braces, indented.
    fn inside(&mut self, depth: u32, around: Around) -> Vec<String> {
        let variables = self.variables.len();
        let mut lines = Vec::new();
        if self.dice.flip() {
            let value = self.expression(1);
            lines.push(self.declare(&value));
        }
        lines.extend(self.body(depth - 1, around, 2));
        self.variables.truncate(variables);
        indent(lines)
    }

    fn statement(&mut self, depth: u32, around: Around) -> Vec<String> {
        match self.dice.below(if depth == 0 { 5 } else { 13 }) {
            0 => {
                let value = self.expression(2);
                vec![self.declare(&value)]
            }
            1 => {
                let (target, value) = (self.target(), self.expression(1));
                vec![format!("{target} {} {value};", ["^=", "|=", "&="][self.dice.below(3)])]
            }
            2 => {
                let target = self.target();
                let lines = [self.condition(), self.expression(1), self.expression(1)];
                vec![format!("{target} = ({})", lines[0]), format!("  ? {}", lines[1]), format!("  : {};", lines[2])]
            }
            3 => self.call(),
            5 | 6 => self.count(depth),
            7 => self.repeat(depth),
            8 => self.choose(depth),
            9 => self.shadow(depth),
            10 => self.table(),
            11 | 12 => {
                let mut lines = vec![format!("if ({}) {{", self.condition())];
                lines.extend(self.inside(depth, around));
                if around == Around::Loop && self.dice.flip() {
                    lines.push(format!("  {};", ["break", "continue"][self.dice.below(2)]));
                } else if self.dice.flip() {
                    lines.push("} else {".to_owned());
                    lines.extend(self.inside(depth, around));
                }
                lines.push("}".to_owned());
                lines
            }
            _ => {
                let (target, value) = (self.target(), self.expression(2));
                vec![format!("{target} = {value};")]
            }
        }
    }

    fn call(&mut self) -> Vec<String> {
        let (target, one, two) = (self.target(), self.expression(1), self.expression(1));
        let Some(LocalCallee { name, structure }) = self.callee.clone() else {
            return vec![format!("{target} = ({one} + {two}) & {MASK};")];
        };
        match structure {
            Some(structure) => {
                let argument = self.fresh();
                let (a, b) = (two, self.expression(1));
                vec![format!("struct {structure} {argument} = {{ {a}, {b} }};"), format!("{target} = {name}({one}, {argument});")]
            }
            None => vec![format!("{target} = {name}({one}, {two});")],
        }
    }

    /// A `for` up or down; its variable is read inside and never assigned to.
    fn count(&mut self, depth: u32) -> Vec<String> {
        let counter = self.fresh();
        let limit = 2 + self.dice.below(ITERATIONS - 1);
        let head = match self.dice.below(3) {
            0 => format!("for (int {counter} = {limit}; {counter} > 0; {counter}--) {{"),
            1 => format!("for (unsigned {counter} = 0u; {counter} < {}u; {counter} += 2u) {{", limit * 2),
            _ => format!("for (int {counter} = 0; {counter} < {limit}; {counter}++) {{"),
        };
        self.counters.push(counter);
        let mut lines = vec![head];
        lines.extend(self.inside(depth, Around::Loop));
        lines.push("}".to_owned());
        self.counters.pop();
        lines
    }

    /// A loop with its condition at the end, or at the start; it counts first thing, so that no `continue` keeps it going.
    fn repeat(&mut self, depth: u32) -> Vec<String> {
        let counter = self.fresh();
        let going = format!("({counter} < {}) && ({})", 1 + self.dice.below(ITERATIONS), self.condition());
        let (head, tail) = if self.dice.flip() {
            ("do {".to_owned(), format!("}} while ({going});"))
        } else {
            (format!("while ({going}) {{"), "}".to_owned())
        };
        let mut lines = vec![format!("int {counter} = 0;"), head, format!("  {counter} += 1;")];
        self.counters.push(counter.clone());
        lines.extend(self.inside(depth, Around::Loop));
        lines.push(tail);
        lines
    }

    fn choose(&mut self, depth: u32) -> Vec<String> {
        let mut lines = vec![format!("switch ({} & 3) {{", self.expression(1))];
        for label in ["case 0", "case 2", "default"] {
            lines.push(format!("{label}: {{"));
            lines.extend(self.inside(depth, Around::Straight));
            lines.extend(["  break;".to_owned(), "}".to_owned()]);
        }
        lines.push("}".to_owned());
        lines
    }

    /// A scope in which a name means another variable. Its first value cannot name the old one.
    fn shadow(&mut self, depth: u32) -> Vec<String> {
        let plain: Vec<String> = self.variables.iter().filter(|v| !v.contains('.')).cloned().collect();
        let hidden = self.dice.pick(&plain).cloned().expect("a block and a function begin with a variable");
        let visible = std::mem::take(&mut self.variables);
        self.variables = visible.iter().filter(|v| **v != hidden).cloned().collect();
        let value = self.expression(1);
        self.variables = visible;
        let mut lines = vec!["{".to_owned(), format!("  int {hidden} = {value};")];
        lines.extend(self.inside(depth, Around::Straight));
        lines.push("}".to_owned());
        lines
    }

    /// An array that one loop fills and another adds up.
    fn table(&mut self) -> Vec<String> {
        let (array, counter, sum) = (self.fresh(), self.fresh(), self.target());
        self.counters.push(counter.clone());
        let value = self.expression(1);
        self.counters.pop();
        vec![
            format!("short {array}[4];"),
            format!("for (int {counter} = 0; {counter} < 4; {counter}++) {{"),
            format!("  {array}[{counter}] = {value};"),
            "}".to_owned(),
            format!("for (int {counter} = 0; {counter} < 4; {counter}++) {{"),
            format!("  {sum} = ({sum} + {array}[{counter}]) & {MASK};"),
            "}".to_owned(),
        ]
    }

    fn target(&mut self) -> String {
        self.dice.pick(&self.variables).cloned().expect("a block and a function begin with a variable")
    }

    fn constant(&mut self) -> String {
        self.dice.below(MASK as usize + 1).to_string()
    }

    fn condition(&mut self) -> String {
        let relation = ["<", ">", "==", "!=", "<="][self.dice.below(5)];
        format!("{} {relation} {}", self.expression(1), self.expression(0))
    }

    /// A number from 0 to `MASK`, whatever the variables hold.
    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            let counters = self.counters.len();
            return match self.dice.below(4) {
                0 => self.constant(),
                1 if counters > 0 => self.counters[self.dice.below(counters)].clone(),
                // None is left where the only one is about to be hidden.
                _ => self.dice.pick(&self.variables).cloned().unwrap_or_else(|| "7".to_owned()),
            };
        }
        let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.dice.below(9) {
            0 | 1 => format!("(({left} + {right}) & {MASK})"),
            2 => format!("(({left} * {right}) & {MASK})"),
            3 => format!("(({left} - {right}) & {MASK})"),
            4 => format!("({left} / (({right} & 7) + 1))"),
            5 => format!("({left} % (({right} & 7) + 1))"),
            6 => format!("({left} >> ({right} & 3))"),
            7 => format!("({left} ^ {right})"),
            _ => left,
        }
    }
}

fn indent(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_toolchain::{Exit, Job, Limits, Scratch, find_compiler};

    #[test]
    fn the_same_seed_makes_the_same_block() {
        let text = |seed| make("x", &["a".to_owned()], CallsAllowed::NewFunction, &mut MutationDice::new(seed, 0)).block;
        assert_eq!(text(5), text(5));
        assert_ne!(text(5), text(6));
    }

    /// Two hundred blocks in one program, with inputs of every sign and width.
    #[test]
    fn blocks_compile_run_and_are_clean_under_the_sanitizer() {
        let Ok(gcc) = find_compiler("gcc") else { return };
        let inputs: Vec<String> = ["a", "b", "c", "s.f"].map(str::to_owned).to_vec();
        let mut functions = String::new();
        let mut blocks = String::new();
        for seed in 0..200 {
            let made = make(&format!("x{seed}_"), &inputs, CallsAllowed::NewFunction, &mut MutationDice::new(seed, 9));
            functions += &made.function.map(|lines| lines.join("\n") + "\n").unwrap_or_default();
            blocks += &(made.block.join("\n") + "\n");
        }
        let globals = "signed char a = -7; unsigned long b = ~0ul; long long c = 1ll << 63; struct { int f : 5; } s = { -3 };\n";
        let text = format!("{globals}{functions}int main(void) {{\n{blocks}return 0;\n}}\n");
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("blocks.c", &text).unwrap();
        let binary = scratch.join("blocks");
        let flags = ["-O0", "-Werror=uninitialized", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"];
        let built = gcc.job().args(flags).arg(&source).arg("-o").arg(&binary).limits(Limits::seconds(120)).run().unwrap();
        assert!(built.success(), "{}", built.stderr_text());
        // AddressSanitizer reserves terabytes of address space.
        let ran = Job::new(&binary).limits(Limits { memory: None, ..Limits::seconds(60) }).run().unwrap();
        assert_eq!(ran.exit, Exit::Code(0), "{}", ran.stderr_text());
    }
}

//! The model as C, one statement per line.

use super::model::{
    Arg, BinOp, Block, CmpOp, Cond, Expr, GlobalLinkage, Init, Inlining, LanguageText, ScalarType, Stmt, TernaryLayout, UnOp, VarPlace,
    WeaveCall, WeaveGlobal, WeaveProgram, WovenFunction, WovenType, WovenWord,
};
use super::native::{Tongue, closes, opens};
use std::fmt::Write;

/// Writes the whole program. `printf` is declared by hand: parsing `stdio.h` would be a third of the
/// compile time of a program this small.
pub fn write(module: &WeaveProgram, tongue: Tongue) -> String {
    let mut w = WeaveWriter { out: String::new(), indent: 0, module, tongue };
    w.line(&format!("{}int printf(const char *, ...);", tongue.c_linkage()));
    for line in &module.preamble {
        w.line(line);
    }
    for s in &module.structs {
        w.line(&format!("struct {} {{", s.name));
        for (name, scalar) in &s.fields {
            w.line(&format!("  {} {name};", scalar_name(*scalar)));
        }
        w.line("};");
    }
    for global in &module.globals {
        w.global(global);
    }
    for (index, function) in module.functions.iter().enumerate() {
        w.items(index);
        w.function(function);
    }
    w.items(module.functions.len());
    w.line("int main(void) {");
    w.indent += 1;
    w.block(&module.main);
    if let Some(sum) = &module.checksum {
        w.line(&format!("printf(\"%u\\n\", {sum});"));
    }
    for real in &module.reals {
        w.line(&format!("printf(\"%.17g\\n\", {real});"));
    }
    w.line("return 0;");
    w.indent -= 1;
    w.line("}");
    w.out
}

pub(super) fn scalar_name(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I8 => "signed char",
        ScalarType::U8 => "unsigned char",
        ScalarType::I16 => "short",
        ScalarType::U16 => "unsigned short",
        ScalarType::I32 => "int",
        ScalarType::U32 => "unsigned",
        ScalarType::I64 => "long",
    }
}

fn word_name(word: WovenWord) -> &'static str {
    match word {
        WovenWord::I32 => "int",
        WovenWord::U32 => "unsigned",
        WovenWord::I64 => "long",
    }
}

fn op_text(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
    }
}

pub(super) fn cmp_text(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

fn place(place: &VarPlace) -> String {
    match place {
        VarPlace::Var(name) => name.to_string(),
        VarPlace::Deref(name) => format!("*{name}"),
        VarPlace::Field(name, field) => format!("{name}.{field}"),
        VarPlace::Index(name, index) => format!("{name}[{}]", expr(index)),
    }
}

fn constant(value: i64, word: WovenWord) -> String {
    match word {
        WovenWord::I32 if value < 0 => format!("({value})"),
        WovenWord::I32 => value.to_string(),
        WovenWord::U32 => format!("{value}u"),
        WovenWord::I64 if value < 0 => format!("({value}L)"),
        WovenWord::I64 => format!("{value}L"),
    }
}

/// An expression as an operand: in parentheses unless it is one token.
pub(super) fn operand(e: &Expr) -> String {
    match e {
        Expr::Const(..) => expr(e),
        Expr::Load(VarPlace::Deref(_), ..) => format!("({})", expr(e)),
        Expr::Load(..) => expr(e),
        _ => format!("({})", expr(e)),
    }
}

pub(super) fn expr(e: &Expr) -> String {
    match e {
        Expr::Const(value, word) => constant(*value, *word),
        Expr::Load(p, scalar, word) => {
            let text = place(p);
            // Everything narrower than an int is promoted by C itself, to int.
            if scalar.word() == *word { text } else { format!("({}){text}", word_name(*word)) }
        }
        Expr::Unary(op, a, _) => format!("{}{}", if *op == UnOp::Neg { "-" } else { "~" }, operand(a)),
        Expr::Binary(op, a, b, _) => format!("{} {} {}", operand(a), op_text(*op), operand(b)),
        Expr::Select(c, a, b, _) => format!("{} ? {} : {}", condition(c), operand(a), operand(b)),
        Expr::Test(c, WovenWord::I32) => truth(c),
        Expr::Test(c, word) => format!("({})({})", word_name(*word), truth(c)),
        Expr::Convert(a, word) => format!("({}){}", word_name(*word), operand(a)),
    }
}

fn cond(c: &Cond) -> String {
    match c {
        Cond::Compare(op, a, b) => format!("{} {} {}", operand(a), cmp_text(*op), operand(b)),
        Cond::NonZero(a) => expr(a),
        Cond::Not(a) => format!("!{}", condition(a)),
        Cond::And(a, b) => format!("{} && {}", condition(a), condition(b)),
        Cond::Or(a, b) => format!("{} || {}", condition(a), condition(b)),
        Cond::Volatile(name) => name.to_string(),
    }
}

/// A condition as 0 or 1: a bare value would be itself.
fn truth(c: &Cond) -> String {
    match c {
        Cond::NonZero(a) => format!("{} != 0", operand(a)),
        _ => cond(c),
    }
}

/// A condition in parentheses.
pub(super) fn condition(c: &Cond) -> String {
    format!("({})", cond(c))
}

struct WeaveWriter<'m> {
    out: String,
    indent: usize,
    module: &'m WeaveProgram,
    tongue: Tongue,
}

impl WeaveWriter<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.indent * 2);
    }

    fn declarator(&self, ty: WovenType, name: &str) -> String {
        match ty {
            WovenType::Scalar(scalar) => format!("{} {name}", scalar_name(scalar)),
            WovenType::Struct(id) => format!("struct {} {name}", self.module.structs[id.0].name),
            WovenType::Array(scalar, len) => format!("{} {name}[{len}]", scalar_name(scalar)),
            WovenType::Pointer(scalar) => format!("{} *{name}", scalar_name(scalar)),
        }
    }

    fn global(&mut self, global: &WeaveGlobal) {
        let prefix = match global.linkage {
            GlobalLinkage::Private => "static ",
            GlobalLinkage::Public => "",
            GlobalLinkage::Volatile => "volatile ",
        };
        let text = self.declarator(global.ty, &global.name);
        let values: Vec<String> = global.init.iter().map(i64::to_string).collect();
        let init = if matches!(global.ty, WovenType::Array(..)) { format!("{{{}}}", values.join(", ")) } else { values.join("") };
        self.line(&format!("{prefix}{text} = {init};"));
    }

    fn function(&mut self, function: &WovenFunction) {
        let prefix = match function.inlining {
            Inlining::Free if !function.attributes.is_empty() => function.attributes,
            Inlining::Free => "static ",
            Inlining::Always => "static inline __attribute__((always_inline)) ",
            Inlining::Never => "static __attribute__((noinline)) ",
        };
        let params: Vec<String> = function.params.iter().map(|p| self.declarator(p.ty, &p.name)).collect();
        let head = match function.returns {
            Some(ty) => self.declarator(ty, &function.name),
            None => format!("void {}", function.name),
        };
        self.line(&format!("{prefix}{head}({}) {{", params.join(", ")));
        self.indent += 1;
        self.block(&function.body);
        self.indent -= 1;
        self.line("}");
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn braced(&mut self, head: &str, block: &[Stmt], tail: &str) {
        self.line(format!("{head} {{").trim_start());
        self.indent += 1;
        self.block(block);
        self.indent -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn call(&self, call: &WeaveCall) -> String {
        let args: Vec<String> = call
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Value(value, _) => expr(value),
                Arg::Struct(name) => name.to_string(),
                Arg::Address(name) => format!("&{name}"),
                Arg::Element(name, index) => format!("&{name}[{}]", expr(index)),
            })
            .collect();
        format!("{}({})", call.function, args.join(", "))
    }

    /// `head` followed by the value, on three lines where the layout asks for it.
    fn valued(&mut self, head: &str, value: &Expr) {
        match value {
            Expr::Select(c, a, b, TernaryLayout::ThreeLines) => {
                self.line(&format!("{head}{}", condition(c)));
                self.line(&format!("  ? {}", operand(a)));
                self.line(&format!("  : {};", operand(b)));
            }
            _ => self.line(&format!("{head}{};", expr(value))),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Declare { name, ty, init } => {
                let head = format!("{} = ", self.declarator(*ty, name));
                match init {
                    Init::Value(value) => self.valued(&head, value),
                    Init::Fields(values) => {
                        let values = self.field_values(*ty, values);
                        self.line(&format!("{head}{{{}}};", values.join(", ")));
                    }
                    Init::Elements(values) => {
                        let values: Vec<String> = values.iter().map(i64::to_string).collect();
                        self.line(&format!("{head}{{{}}};", values.join(", ")));
                    }
                    Init::Call(call) => self.line(&format!("{head}{};", self.call(call))),
                    Init::ReadVolatile(other) => self.line(&format!("{head}{other};")),
                }
            }
            Stmt::Assign { place: p, value, .. } => self.valued(&format!("{} = ", place(p)), value),
            Stmt::Update { place: p, op, value, .. } => self.line(&format!("{} {}= {};", place(p), op_text(*op), expr(value))),
            Stmt::WriteVolatile { name, value } => self.line(&format!("{name} = {};", expr(value))),
            Stmt::Call { into: Some((p, _)), call } => self.line(&format!("{} = {};", place(p), self.call(call))),
            Stmt::Call { into: None, call } => self.line(&format!("{};", self.call(call))),
            Stmt::If { cond: c, then, otherwise } => {
                if otherwise.is_empty() {
                    self.braced(&format!("if {}", condition(c)), then, "");
                } else {
                    self.braced(&format!("if {}", condition(c)), then, " else {");
                    self.indent += 1;
                    self.block(otherwise);
                    self.indent -= 1;
                    self.line("}");
                }
            }
            Stmt::For { var, scalar, from, cond: c, step, body, .. } => {
                let advance = match step {
                    1 => format!("{var}++"),
                    -1 => format!("{var}--"),
                    step => format!("{var} += {step}"),
                };
                self.braced(&format!("for ({} {var} = {}; {}; {advance})", scalar_name(*scalar), expr(from), cond(c)), body, "");
            }
            Stmt::While { cond: c, body, .. } => self.braced(&format!("while {}", condition(c)), body, ""),
            Stmt::DoWhile { body, cond: c, .. } => self.braced("do", body, &format!(" while {};", condition(c))),
            Stmt::Again { id, body, cond: c } => {
                self.line(&format!("again_{}:;", id.0));
                self.braced("", body, "");
                self.line(&format!("if {}", condition(c)));
                self.line(&format!("  goto again_{};", id.0));
            }
            Stmt::Labelled { id, body } => {
                self.braced("", body, "");
                self.line(&format!("out_{}:;", id.0));
            }
            Stmt::Leave(id) => self.line(&format!("goto out_{};", id.0)),
            Stmt::Break(_) => self.line("break;"),
            Stmt::Continue(_) => self.line("continue;"),
            Stmt::Switch { value, arms, default } => self.switch(value, arms, default),
            Stmt::Return(Some(value)) => self.valued("return ", value),
            Stmt::Return(None) => self.line("return;"),
            Stmt::ReturnVar(name) => self.line(&format!("return {name};")),
            Stmt::ReturnCall(call) => self.line(&format!("return {};", self.call(call))),
            Stmt::Scope(body) => self.braced("", body, ""),
            Stmt::Native(pieces) => self.pieces(pieces),
        }
    }

    /// C++ refuses to narrow what braces enclose.
    fn field_values(&self, ty: WovenType, values: &[Expr]) -> Vec<String> {
        match (ty, self.tongue) {
            (WovenType::Struct(id), Tongue::Cxx) => {
                let fields = self.module.structs[id.0].fields.iter();
                fields.zip(values).map(|((_, scalar), value)| format!("({}){}", scalar_name(*scalar), operand(value))).collect()
            }
            _ => values.iter().map(expr).collect(),
        }
    }

    /// The items that stand in front of function `index`.
    fn items(&mut self, index: usize) {
        let module = self.module;
        for item in module.items.iter().filter(|item| item.after == index) {
            self.pieces(&item.pieces);
        }
    }

    fn pieces(&mut self, pieces: &[LanguageText]) {
        for piece in pieces {
            match piece {
                LanguageText::Block(block) => self.block(block),
                LanguageText::Line(text) => {
                    self.indent -= usize::from(closes(text));
                    self.line(text);
                    self.indent += usize::from(opens(text));
                }
            }
        }
    }

    fn switch(&mut self, value: &Expr, arms: &[(Vec<i64>, Block)], default: &[Stmt]) {
        self.line(&format!("switch ({}) {{", expr(value)));
        for (labels, body) in arms {
            for (index, label) in labels.iter().enumerate() {
                let open = if index + 1 == labels.len() { " {" } else { "" };
                self.line(&format!("case {label}:{open}"));
            }
            self.arm(body);
        }
        self.line("default: {");
        self.arm(default);
        self.line("}");
    }

    fn arm(&mut self, body: &[Stmt]) {
        self.indent += 1;
        self.block(body);
        if !super::stmt::ends_block(body.last()) {
            self.line("break;");
        }
        self.indent -= 1;
        self.line("}");
    }
}

//! The model as Rust. Globals are `static mut` and pointers raw, as a C programmer would port them: the
//! point is the same program through another compiler, not idiomatic Rust. No reference to a global is
//! ever made, so that nothing here is undefined either.

mod text;

pub(super) use text::{cond, expr, operand, scalar_name, stored};

use super::model::{
    Arg, Cond, Expr, GlobalLinkage, Init, Inlining, LabelId, LanguageText, ScalarType, Stmt, TernaryLayout, WeaveCall, WeaveGlobal,
    WeaveProgram, WovenFunction, WovenType,
};
use super::native::{closes, opens};
use super::stmt::target_of;
use std::fmt::Write;
use text::place;

/// Writes the whole program.
pub fn write(module: &WeaveProgram) -> String {
    let mut w = WeaveWriter { out: String::new(), indent: 0, module };
    w.line("#![allow(warnings)]");
    for line in &module.preamble {
        w.line(line);
    }
    for s in &module.structs {
        w.line("#[derive(Clone, Copy)]");
        w.line(&format!("struct {} {{", s.name));
        for (name, scalar) in &s.fields {
            w.line(&format!("    {name}: {},", scalar_name(*scalar)));
        }
        w.line("}");
    }
    for global in &module.globals {
        w.global(global);
    }
    for (index, function) in module.functions.iter().enumerate() {
        w.items(index);
        w.function(function);
    }
    w.items(module.functions.len());
    w.line("unsafe fn run() {");
    w.indent += 1;
    w.block(&module.main);
    w.indent -= 1;
    w.line("}");
    w.line("fn main() {");
    w.line("    unsafe { run() };");
    if let Some(sum) = &module.checksum {
        w.line(&format!("    let checksum = unsafe {{ {sum} }};"));
        w.line("    println!(\"{}\", checksum);");
    }
    for real in &module.reals {
        w.line(&format!("    println!(\"{{:?}}\", unsafe {{ {real} }});"));
    }
    w.line("}");
    w.out
}

struct WeaveWriter<'m> {
    out: String,
    indent: usize,
    module: &'m WeaveProgram,
}

impl WeaveWriter<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.indent * 4);
    }

    fn type_name(&self, ty: WovenType) -> String {
        match ty {
            WovenType::Scalar(scalar) => scalar_name(scalar).to_owned(),
            WovenType::Struct(id) => self.module.structs[id.0].name.to_string(),
            WovenType::Array(scalar, len) => format!("[{}; {len}]", scalar_name(scalar)),
            WovenType::Pointer(scalar) => format!("*mut {}", scalar_name(scalar)),
        }
    }

    fn global(&mut self, global: &WeaveGlobal) {
        let values: Vec<String> = global.init.iter().map(i64::to_string).collect();
        let init = if matches!(global.ty, WovenType::Array(..)) { format!("[{}]", values.join(", ")) } else { values.join("") };
        let ty = self.type_name(global.ty);
        let prefix = if global.linkage == GlobalLinkage::Private { "" } else { "#[no_mangle] pub " };
        self.line(&format!("{prefix}static mut {}: {ty} = {init};", global.name));
    }

    fn function(&mut self, function: &WovenFunction) {
        if !function.attributes.is_empty() {
            self.line(function.attributes);
        }
        match function.inlining {
            Inlining::Free => {}
            Inlining::Always => self.line("#[inline(always)]"),
            Inlining::Never => self.line("#[inline(never)]"),
        }
        let params: Vec<String> = function.params.iter().map(|p| format!("mut {}: {}", p.name, self.type_name(p.ty))).collect();
        let returns = function.returns.map(|ty| format!(" -> {}", self.type_name(ty))).unwrap_or_default();
        self.line(&format!("unsafe fn {}({}){returns} {{", function.name, params.join(", ")));
        self.indent += 1;
        // A narrow function returns what its expressions truncate to.
        let scalar = match function.returns {
            Some(WovenType::Scalar(scalar)) => Some(scalar),
            _ => None,
        };
        self.body(&function.body, scalar);
        self.indent -= 1;
        self.line("}");
    }

    fn block(&mut self, block: &[Stmt]) {
        self.body(block, None);
    }

    fn body(&mut self, block: &[Stmt], returns: Option<ScalarType>) {
        for stmt in block {
            self.stmt(stmt, returns);
        }
    }

    fn braced(&mut self, head: &str, block: &[Stmt], returns: Option<ScalarType>, tail: &str) {
        self.line(format!("{} {{", head.trim_end()).trim_start());
        self.indent += 1;
        self.body(block, returns);
        self.indent -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn call(&self, call: &WeaveCall) -> String {
        let args: Vec<String> = call
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Value(value, scalar) => stored(value, *scalar),
                Arg::Struct(name) => name.to_string(),
                Arg::Address(name) => format!("&raw mut {name}"),
                Arg::Element(name, index) => format!("&raw mut {name}[({}) as usize]", expr(index)),
            })
            .collect();
        format!("{}({})", call.function, args.join(", "))
    }

    /// `head` followed by a value for a scalar, spread over lines where the layout asks for it.
    fn valued(&mut self, head: &str, value: &Expr, scalar: ScalarType) {
        match value {
            Expr::Select(c, a, b, TernaryLayout::ThreeLines) => {
                self.line(&format!("{head}if {} {{", cond(c)));
                self.line(&format!("    {}", stored(a, scalar)));
                self.line("} else {");
                self.line(&format!("    {}", stored(b, scalar)));
                self.line("};");
            }
            _ => self.line(&format!("{head}{};", stored(value, scalar))),
        }
    }

    fn stmt(&mut self, stmt: &Stmt, returns: Option<ScalarType>) {
        match stmt {
            Stmt::Declare { name, ty, init } => self.declare(name, *ty, init),
            Stmt::Assign { place: p, scalar, value } => self.valued(&format!("{} = ", place(p)), value, *scalar),
            Stmt::Update { place: p, scalar, op, value } => {
                let word = scalar.word();
                let load = Expr::Load(p.clone(), *scalar, word);
                let result = Expr::Binary(*op, Box::new(load), Box::new(value.clone()), word);
                self.line(&format!("{} = {};", place(p), stored(&result, *scalar)));
            }
            Stmt::WriteVolatile { name, value } => self.line(&format!("core::ptr::write_volatile(&raw mut {name}, {});", expr(value))),
            Stmt::Call { into: Some((p, _)), call } => self.line(&format!("{} = {};", place(p), self.call(call))),
            Stmt::Call { into: None, call } => self.line(&format!("{};", self.call(call))),
            Stmt::If { cond: c, then, otherwise } => {
                if otherwise.is_empty() {
                    self.braced(&format!("if {}", cond(c)), then, returns, "");
                } else {
                    self.braced(&format!("if {}", cond(c)), then, returns, " else {");
                    self.indent += 1;
                    self.body(otherwise, returns);
                    self.indent -= 1;
                    self.line("}");
                }
            }
            Stmt::For { id, var, scalar, from, cond: c, step, body } => self.counted(*id, var, *scalar, (from, c, *step), body, returns),
            Stmt::While { id, cond: c, body } => {
                let label = label_if(*id, body);
                self.braced(&format!("{label}while {}", cond(c)), body, returns, "");
            }
            Stmt::DoWhile { id, body, cond: c } | Stmt::Again { id, body, cond: c } => {
                let label = label_if(*id, body);
                self.line(&format!("{label}loop {{"));
                self.indent += 1;
                // The condition must not see what the body declares.
                self.braced("", body, returns, "");
                self.line(&format!("if !({}) {{", cond(c)));
                self.line("    break;");
                self.line("}");
                self.indent -= 1;
                self.line("}");
            }
            Stmt::Labelled { id, body } => {
                let label = label_if(*id, body);
                self.braced(&label, body, returns, "");
            }
            Stmt::Leave(id) | Stmt::Break(id) => self.line(&format!("break 'l{};", id.0)),
            Stmt::Continue(id) => self.line(&format!("break 'c{};", id.0)),
            Stmt::Switch { value, arms, default } => {
                self.line(&format!("match {} {{", expr(value)));
                self.indent += 1;
                for (labels, body) in arms {
                    let labels: Vec<String> = labels.iter().map(i64::to_string).collect();
                    self.braced(&format!("{} =>", labels.join(" | ")), body, returns, "");
                }
                self.braced("_ =>", default, returns, "");
                self.indent -= 1;
                self.line("}");
            }
            Stmt::Return(Some(value)) => self.valued("return ", value, returns.unwrap_or(ScalarType::I32)),
            Stmt::Return(None) => self.line("return;"),
            Stmt::ReturnVar(name) => self.line(&format!("return {name};")),
            Stmt::ReturnCall(call) => self.line(&format!("return {};", self.call(call))),
            Stmt::Scope(body) => self.braced("", body, returns, ""),
            Stmt::Native(pieces) => self.pieces(pieces, returns),
        }
    }

    /// The items that stand in front of function `index`.
    fn items(&mut self, index: usize) {
        let module = self.module;
        for item in module.items.iter().filter(|item| item.after == index) {
            self.pieces(&item.pieces, item.returns);
        }
    }

    fn pieces(&mut self, pieces: &[LanguageText], returns: Option<ScalarType>) {
        for piece in pieces {
            match piece {
                LanguageText::Block(block) => self.body(block, returns),
                LanguageText::Line(text) => {
                    self.indent -= usize::from(closes(text));
                    self.line(text);
                    self.indent += usize::from(opens(text));
                }
            }
        }
    }

    fn declare(&mut self, name: &str, ty: WovenType, init: &Init) {
        let head = format!("let mut {name}: {} = ", self.type_name(ty));
        match (init, ty) {
            (Init::Value(value), WovenType::Scalar(scalar)) => self.valued(&head, value, scalar),
            (Init::Value(value), _) => self.line(&format!("{head}{};", expr(value))),
            (Init::Fields(values), WovenType::Struct(id)) => {
                let shape = &self.module.structs[id.0];
                let fields = shape.fields.iter().zip(values).map(|((n, s), v)| format!("{n}: {}", stored(v, *s)));
                let text = format!("{head}{} {{ {} }};", shape.name, fields.collect::<Vec<_>>().join(", "));
                self.line(&text);
            }
            (Init::Fields(_), _) => unreachable!("only structs have fields"),
            (Init::Elements(values), _) => {
                let values: Vec<String> = values.iter().map(i64::to_string).collect();
                self.line(&format!("{head}[{}];", values.join(", ")));
            }
            (Init::Call(call), _) => self.line(&format!("{head}{};", self.call(call))),
            (Init::ReadVolatile(other), _) => self.line(&format!("{head}core::ptr::read_volatile(&raw const {other});")),
        }
    }

    /// A `for` becomes a `while`: what C's three clauses do is then on lines of their own too.
    fn counted(
        &mut self,
        id: LabelId,
        var: &str,
        scalar: ScalarType,
        head: (&Expr, &Cond, i64),
        body: &[Stmt],
        returns: Option<ScalarType>,
    ) {
        let (from, c, step) = head;
        self.line("{");
        self.indent += 1;
        self.line(&format!("let mut {var}: {} = {};", scalar_name(scalar), stored(from, scalar)));
        let label = label_if(id, body);
        self.line(&format!("{label}while {} {{", cond(c)));
        self.indent += 1;
        if uses(body, &|s| matches!(s, Stmt::Continue(other) if *other == id)) {
            self.braced(&format!("'c{}:", id.0), body, returns, "");
        } else {
            self.braced("", body, returns, "");
        }
        let sign = if step < 0 { "-" } else { "+" };
        self.line(&format!("{var} {sign}= {};", step.abs()));
        self.indent -= 1;
        self.line("}");
        self.indent -= 1;
        self.line("}");
    }
}

/// `'lN: ` where a jump inside names the loop or label.
fn label_if(id: LabelId, body: &[Stmt]) -> String {
    let named = |s: &Stmt| !matches!(s, Stmt::Continue(_)) && target_of(s) == Some(id);
    if uses(body, &named) { format!("'l{}: ", id.0) } else { String::new() }
}

fn uses(block: &[Stmt], wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    block.iter().any(|stmt| {
        wanted(stmt)
            || match stmt {
                Stmt::If { then, otherwise, .. } => uses(then, wanted) || uses(otherwise, wanted),
                Stmt::For { body, .. }
                | Stmt::While { body, .. }
                | Stmt::DoWhile { body, .. }
                | Stmt::Again { body, .. }
                | Stmt::Labelled { body, .. }
                | Stmt::Scope(body) => uses(body, wanted),
                Stmt::Switch { arms, default, .. } => arms.iter().any(|(_, b)| uses(b, wanted)) || uses(default, wanted),
                Stmt::Native(pieces) => pieces.iter().any(|piece| matches!(piece, LanguageText::Block(b) if uses(b, wanted))),
                _ => false,
            }
    })
}

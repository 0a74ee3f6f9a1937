//! Code that never runs: the bodies of always-false blocks and what is put into dead regions. It must
//! compile, and be as entangled with the program as possible; it need not be free of undefined behaviour.

use crate::dice::MutationDice;
use crate::expr::SafeExpr;
use crate::point::InsertPoint;
use crate::synthesis::random_constant;
use trueline_ctree::{
    Access, BinaryOp, CTypeId, CTypeKind, DeclId, DeclKind, DeclLinkage, IntType, NodeId, NodeKind, SourceUnit, StorageClass,
};

/// What dead code at a point can name.
pub(crate) struct DeadScope {
    readable: Vec<String>,
    writable: Vec<String>,
    arrays: Vec<(String, usize)>,
    pointer_moves: Vec<(String, Vec<String>)>,
    functions: Vec<DeadCallee>,
    labels: Vec<String>,
    in_loop: bool,
    in_switch: bool,
    result: ResultKind,
    printer: &'static str,
}

struct DeadCallee {
    name: String,
    arguments: Vec<CallArgument>,
    gives_int: bool,
}

enum CallArgument {
    Int,
    Text(Vec<String>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultKind {
    Void,
    Int,
    Other,
}

impl DeadScope {
    pub(crate) fn at(unit: &SourceUnit, point: &InsertPoint) -> Self {
        let offset = point.span.start;
        let integers = unit.integers_in_scope(offset, 4);
        let mut scope = Self {
            readable: integers.iter().map(|l| l.path.clone()).collect(),
            writable: integers.iter().filter(|l| l.access == Access::ReadWrite).map(|l| l.path.clone()).collect(),
            arrays: Vec::new(),
            pointer_moves: Vec::new(),
            functions: Vec::new(),
            labels: labels(unit, point.function),
            in_loop: false,
            in_switch: false,
            result: result_of(unit, point.function),
            printer: printer(unit, offset),
        };
        for ancestor in unit.ancestors(point.statement) {
            let kind = &unit.node(ancestor).kind;
            scope.in_loop |= kind.is_loop();
            scope.in_switch |= *kind == NodeKind::Switch;
        }
        scope.add_names(unit, offset);
        scope
    }

    fn add_names(&mut self, unit: &SourceUnit, offset: usize) {
        let names = unit.names_in_scope(offset);
        let variables: Vec<_> = names
            .iter()
            .map(|&id| unit.decl(id))
            .filter(|d| matches!(d.kind, DeclKind::Variable | DeclKind::Parameter) && !d.attributes)
            .collect();
        for decl in &variables {
            if let Some(rank) = int_array_rank(unit, decl.ty) {
                self.arrays.push((decl.name.clone(), rank));
            }
            self.add_pointer(unit, &decl.name, decl.ty);
            let ty = unit.ty(decl.ty);
            let CTypeKind::Pointer(pointee) = ty.kind else { continue };
            if ty.quals.constant {
                continue;
            }
            let same_type = variables.iter().filter(|v| v.name != decl.name && v.ty == decl.ty).map(|v| v.name.clone());
            let addressable =
                variables.iter().filter(|v| v.ty == pointee && v.storage != StorageClass::Register).map(|v| format!("&{}", v.name));
            let sources: Vec<String> = same_type.chain(addressable).collect();
            if !sources.is_empty() {
                self.pointer_moves.push((decl.name.clone(), sources));
            }
        }
        for &id in &names {
            let decl = unit.decl(id);
            if decl.kind != DeclKind::Function || decl.linkage != DeclLinkage::File || !is_callable(unit, id) {
                continue;
            }
            let CTypeKind::Function { result, params, variadic: false, prototype: true } = &unit.ty(decl.ty).kind else { continue };
            let argument = |&ty: &CTypeId| match unit.ty(ty).kind {
                CTypeKind::Int(_) | CTypeKind::Enum(_) => Some(CallArgument::Int),
                CTypeKind::Pointer(_) => {
                    let fitting = variables.iter().filter(|v| v.ty == ty).map(|v| v.name.clone());
                    Some(CallArgument::Text(fitting.chain(["0".to_owned()]).collect()))
                }
                CTypeKind::Record(record) => {
                    let of_type = |t: CTypeId| matches!(unit.ty(t).kind, CTypeKind::Record(r) if r == record);
                    let fitting: Vec<String> = variables.iter().filter(|v| of_type(v.ty)).map(|v| v.name.clone()).collect();
                    (!fitting.is_empty()).then_some(CallArgument::Text(fitting))
                }
                _ => None,
            };
            if let Some(arguments) = params.iter().map(argument).collect::<Option<Vec<_>>>() {
                let gives_int = matches!(unit.ty(*result).kind, CTypeKind::Int(_) | CTypeKind::Enum(_));
                self.functions.push(DeadCallee { name: decl.name.clone(), arguments, gives_int });
            }
        }
    }

    /// Integers behind a pointer: `(*p)`, `(**p)`, `p->f`.
    fn add_pointer(&mut self, unit: &SourceUnit, name: &str, ty: CTypeId) {
        let mut stars = String::new();
        let mut ty = ty;
        while let CTypeKind::Pointer(pointee) = unit.ty(ty).kind {
            stars.push('*');
            ty = pointee;
        }
        if stars.is_empty() {
            return;
        }
        let target = unit.ty(ty);
        match &target.kind {
            CTypeKind::Int(_) => {
                let path = format!("({stars}{name})");
                if !target.quals.constant {
                    self.writable.push(path.clone());
                }
                self.readable.push(path);
            }
            CTypeKind::Record(record) if stars.len() == 1 => {
                for field in unit.record(*record).fields.iter().filter(|f| !f.name.is_empty()) {
                    let ty = unit.ty(field.ty);
                    if matches!(ty.kind, CTypeKind::Int(_)) {
                        let path = format!("{name}->{}", field.name);
                        if !target.quals.constant && !ty.quals.constant {
                            self.writable.push(path.clone());
                        }
                        self.readable.push(path);
                    }
                }
            }
            _ => {}
        }
    }

    /// A few statements, each a line (or several) without indentation.
    pub(crate) fn body(&self, dice: &mut MutationDice) -> Vec<String> {
        let count = 1 + dice.below(3);
        (0..count).flat_map(|_| self.statement(2, self.in_loop, dice)).collect()
    }

    fn statement(&self, depth: u32, in_loop: bool, dice: &mut MutationDice) -> Vec<String> {
        let choice = dice.below(if depth == 0 { 8 } else { 12 });
        let line = match choice {
            0 | 1 => self.assignment(dice),
            2 => self.step(dice),
            3 => self.pointer_move(dice),
            4 => self.call(dice).map(|c| format!("{c};")),
            5 if in_loop => Some(if dice.flip() { "break;" } else { "continue;" }.to_owned()),
            5 if self.in_switch => Some("break;".to_owned()),
            5 => dice.pick(&self.labels).map(|l| format!("goto {l};")),
            6 if dice.chance(0.5) => match self.result {
                ResultKind::Void => Some("return;".to_owned()),
                ResultKind::Int => Some(format!("return {};", self.expr(1, dice))),
                ResultKind::Other => None,
            },
            7 => Some(format!("{}(\"%d\\n\", (int){});", self.printer, self.expr(1, dice))),
            8 | 9 => {
                let mut lines = vec![format!("if ({}) {{", self.expr(1, dice))];
                lines.extend(self.nested(depth, in_loop, dice));
                if dice.chance(0.3) {
                    lines.push("} else {".to_owned());
                    lines.extend(self.nested(depth, in_loop, dice));
                }
                lines.push("}".to_owned());
                return lines;
            }
            10 | 11 => {
                let head = match dice.pick(&self.writable) {
                    Some(v) if dice.chance(0.7) => {
                        let limit = 1 + dice.below(12);
                        format!("for ({v} = {}; {v} < {limit}; {v}++) {{", dice.below(2))
                    }
                    _ => format!("while ({}) {{", self.expr(1, dice)),
                };
                let mut lines = vec![head];
                lines.extend(self.nested(depth, true, dice));
                lines.push("}".to_owned());
                return lines;
            }
            _ => None,
        };
        let line = line.or_else(|| self.assignment(dice));
        vec![line.unwrap_or_else(|| format!("{}(\"%d\\n\", (int){});", self.printer, self.expr(1, dice)))]
    }

    fn nested(&self, depth: u32, in_loop: bool, dice: &mut MutationDice) -> Vec<String> {
        self.statement(depth - 1, in_loop, dice).into_iter().map(|l| format!("  {l}")).collect()
    }

    fn target(&self, dice: &mut MutationDice) -> Option<String> {
        dice.pick(&self.writable).cloned()
    }

    fn assignment(&self, dice: &mut MutationDice) -> Option<String> {
        const OPS: [&str; 8] = ["=", "=", "=", "+=", "-=", "^=", "|=", "&="];
        let target = self.target(dice)?;
        Some(format!("{target} {} {};", OPS[dice.below(OPS.len())], self.expr(2, dice)))
    }

    fn step(&self, dice: &mut MutationDice) -> Option<String> {
        let target = self.target(dice)?;
        Some(format!("{target}{};", if dice.flip() { "++" } else { "--" }))
    }

    fn pointer_move(&self, dice: &mut MutationDice) -> Option<String> {
        let (target, sources) = dice.pick(&self.pointer_moves)?;
        Some(format!("{target} = {};", dice.pick(sources)?))
    }

    fn call(&self, dice: &mut MutationDice) -> Option<String> {
        let callee = dice.pick(&self.functions)?;
        Some(self.call_of(callee, dice))
    }

    fn call_of(&self, callee: &DeadCallee, dice: &mut MutationDice) -> String {
        let arguments = callee.arguments.iter().map(|argument| match argument {
            CallArgument::Int => self.expr(1, dice),
            CallArgument::Text(fitting) => dice.pick(fitting).cloned().unwrap_or_else(|| "0".to_owned()),
        });
        format!("{}({})", callee.name, arguments.collect::<Vec<_>>().join(", "))
    }

    fn expr(&self, depth: u32, dice: &mut MutationDice) -> String {
        const OPS: [BinaryOp; 18] = BinaryOp::ALL;
        match dice.below(if depth == 0 { 5 } else { 9 }) {
            0 => SafeExpr::Const(random_constant(dice)).to_string(),
            4 if !self.arrays.is_empty() => {
                let (name, rank) = &self.arrays[dice.below(self.arrays.len())];
                let index = |dice: &mut MutationDice| dice.pick(&self.readable).cloned().unwrap_or_else(|| "0".to_owned());
                let indices: Vec<String> = (0..*rank).map(|_| format!("[{}]", index(dice))).collect();
                format!("{name}{}", indices.concat())
            }
            5 if dice.chance(0.5) => {
                let ints: Vec<&DeadCallee> = self.functions.iter().filter(|f| f.gives_int).collect();
                match dice.pick(&ints) {
                    Some(callee) => self.call_of(callee, dice),
                    None => self.expr(0, dice),
                }
            }
            6 => format!("({}{})", ["-", "~", "!"][dice.below(3)], self.expr(depth - 1, dice)),
            7 => format!("(({}){})", IntType::ALL[dice.below(IntType::ALL.len())].name(), self.expr(depth - 1, dice)),
            5 | 8 => {
                let op = OPS[dice.below(OPS.len())];
                format!("({} {op} {})", self.expr(depth - 1, dice), self.expr(depth - 1, dice))
            }
            _ => dice.pick(&self.readable).cloned().unwrap_or_else(|| SafeExpr::Const(random_constant(dice)).to_string()),
        }
    }
}

/// Whether a call may be added: the function must be there to link, and nothing about it may forbid the
/// call, as `always_inline` forbids recursion.
fn is_callable(unit: &SourceUnit, id: DeclId) -> bool {
    let decl = unit.decl(id);
    let same = || unit.decls().map(|(_, d)| d).filter(|d| d.entity == decl.entity);
    let linkable = same().any(|d| d.definition) && same().all(|d| !d.inline || d.storage == StorageClass::Static);
    linkable && decl.name != "main" && same().all(|d| !d.attributes)
}

/// Dimensions of an array of integers, `None` for other types.
fn int_array_rank(unit: &SourceUnit, ty: CTypeId) -> Option<usize> {
    let mut rank = 0;
    let mut ty = ty;
    while let CTypeKind::Array(element, Some(_)) = unit.ty(ty).kind {
        rank += 1;
        ty = element;
    }
    (rank > 0 && matches!(unit.ty(ty).kind, CTypeKind::Int(_))).then_some(rank)
}

/// Labels that a `goto` anywhere in the function may name. Jumps into the scope of an array of variable
/// length, or into a statement expression, are not C.
fn labels(unit: &SourceUnit, function: NodeId) -> Vec<String> {
    let inside = unit.descendants(function);
    let variable_length = |n: &NodeId| match unit.node(*n).kind {
        NodeKind::Variable(decl) => matches!(unit.ty(unit.decl(decl).ty).kind, CTypeKind::Array(_, None)),
        _ => false,
    };
    if inside.iter().any(variable_length) {
        return Vec::new();
    }
    let reachable = |id: NodeId| unit.ancestors(id).all(|a| unit.node(a).kind != NodeKind::StmtExpr);
    unit.labels(function).into_iter().filter(|(_, id)| reachable(*id)).map(|(name, _)| name).collect()
}

fn result_of(unit: &SourceUnit, function: NodeId) -> ResultKind {
    let NodeKind::Function(decl) = unit.node(function).kind else { return ResultKind::Other };
    let CTypeKind::Function { result, .. } = unit.ty(unit.decl(decl).ty).kind else { return ResultKind::Other };
    match unit.ty(result).kind {
        CTypeKind::Void => ResultKind::Void,
        CTypeKind::Int(_) | CTypeKind::Enum(_) => ResultKind::Int,
        _ => ResultKind::Other,
    }
}

/// `printf` where the program declares it before the place, otherwise the compilers' own name for it.
pub(crate) fn printer(unit: &SourceUnit, offset: usize) -> &'static str {
    let declared = unit.decls().any(|(_, d)| {
        d.name == "printf"
            && d.kind == DeclKind::Function
            && (d.linkage == DeclLinkage::Header || d.visible.has(offset))
            && d.linkage != DeclLinkage::Local
    });
    if declared { "printf" } else { "__builtin_printf" }
}

//! A parsed file: the tree, its tables, and the questions everybody asks of them.

use crate::build::{BuiltTables, TreeBuilder};
use crate::clang::{self, ParsedSource};
use crate::preprocess::StubHeaders;
use crate::types::{CType, RecordId, RecordType};
use crate::{CTypeId, Decl, DeclId, DeclKind, NodeId, NodeKind, Span, TextOrigin, Token, TreeNode, tokens};
use std::sync::Arc;
use trueline_model::{Language, Program};

/// Why a text has no tree.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ParseError {
    /// libclang is not there.
    #[error("libclang cannot be loaded ({0}); install it with `apt-get install libclang1-19`, or set LIBCLANG_PATH")]
    NoLibclang(String),
    /// The program is not C.
    #[error("{0} is not a C program")]
    NotC(String),
    /// The text is not C that the front end accepts.
    #[error("{name}:{line}:{column}: {message}")]
    Syntax {
        /// Name of the file that was parsed.
        name: String,
        /// Line of the first complaint.
        line: u32,
        /// Column of the first complaint.
        column: u32,
        /// The front end's words.
        message: String,
    },
    /// The stub headers cannot be written.
    #[error("cannot write the stub headers: {0}")]
    Stubs(String),
}

/// A parsed C file. Owned and immutable: it may be shared between threads.
pub struct SourceUnit {
    name: String,
    text: Arc<str>,
    tables: BuiltTables,
    lines: Vec<usize>,
}

/// A call in the text.
#[derive(Clone, Debug)]
pub struct CallText {
    /// The expression that is the call.
    pub node: NodeId,
    /// Name of the function, when it is called by name.
    pub callee: Option<String>,
    /// Its declaration, when it is called by name.
    pub decl: Option<DeclId>,
    /// The arguments that are passed, in order.
    pub arguments: Vec<NodeId>,
}

/// Parses a program with the flags of its compilation.
pub fn parse(program: &Program) -> Result<SourceUnit, ParseError> {
    if program.language != Language::C {
        return Err(ParseError::NotC(program.name.clone()));
    }
    parse_text(&program.name, &program.source, &program.cflags)
}

/// Parses text. Headers come from our stubs; a program that includes others is parsed with the system's.
pub fn parse_text(name: &str, text: &str, cflags: &[String]) -> Result<SourceUnit, ParseError> {
    clang::load().map_err(ParseError::NoLibclang)?;
    // `0`-terminated strings inside libclang: a NUL byte would silently cut the text.
    if let Some(at) = text.find('\0') {
        let line = text[..at].matches('\n').count() as u32 + 1;
        return Err(ParseError::Syntax { name: name.to_owned(), line, column: 1, message: "the text has a NUL byte".to_owned() });
    }
    let virtual_name = format!("/trueline-unit/{}", name.rsplit('/').next().unwrap_or(name));
    let attempt = |headers: &[String]| -> Result<SourceUnit, (bool, ParseError)> {
        let mut flags: Vec<String> = FRONT_END_FLAGS.iter().map(|f| (*f).to_owned()).collect();
        flags.extend(front_end_flags(cflags));
        flags.extend_from_slice(headers);
        let syntax = |line, column, message| ParseError::Syntax { name: name.to_owned(), line, column, message };
        let session = ParsedSource::parse(&virtual_name, text, &flags)
            .ok_or_else(|| (false, syntax(1, 1, "the front end gave up on the file".to_owned())))?;
        if let Some(problem) = session.problem() {
            let missing_header = problem.message.contains("file not found");
            return Err((missing_header, syntax(problem.line, problem.column, problem.message)));
        }
        let tables = TreeBuilder::new(&session, text).build();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Ok(SourceUnit { name: name.to_owned(), text: Arc::from(text), tables, lines })
    };
    if !text.contains("#include") && !text.contains("# include") {
        return attempt(&["-nostdinc".to_owned()]).map_err(|(_, e)| e);
    }
    let stubs = StubHeaders::shared().map_err(ParseError::Stubs)?;
    match attempt(&stubs.flags()) {
        Err((true, _)) => attempt(&[]).map_err(|(_, e)| e),
        other => other.map_err(|(_, e)| e),
    }
}

/// gcc's dialect with the old liberties that test-suites take.
const FRONT_END_FLAGS: [&str; 8] = [
    "-xc",
    "-std=gnu11",
    "-w",
    "-fsyntax-only",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
];

/// Flags with their value in the same word, and those without one.
const JOINED: [&str; 11] =
    ["-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter", "-std=", "-ansi", "-funsigned-char", "-fsigned-char"];

/// The flags of a compilation that change what the text means.
fn front_end_flags(cflags: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut flags = cflags.iter();
    while let Some(flag) = flags.next() {
        let takes_value = ["-I", "-D", "-U", "-isystem", "-include", "-idirafter", "-iquote"].contains(&flag.as_str());
        if takes_value {
            kept.push(flag.clone());
            kept.extend(flags.next().cloned());
        } else if JOINED.iter().any(|p| flag.starts_with(p)) {
            kept.push(flag.clone());
        }
    }
    kept
}

impl SourceUnit {
    /// The name of the file it was parsed from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a node.
    pub fn slice(&self, node: NodeId) -> &str {
        &self.text[self.node(node).span.range()]
    }

    /// A node by its number.
    pub fn node(&self, id: NodeId) -> &TreeNode {
        &self.tables.nodes[id.0 as usize]
    }

    /// Every node, parents before their children.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &TreeNode)> {
        self.tables.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// The declarations at file level, in order.
    pub fn roots(&self) -> &[NodeId] {
        &self.tables.roots
    }

    /// A declaration by its number.
    pub fn decl(&self, id: DeclId) -> &Decl {
        &self.tables.decls[id.0 as usize]
    }

    /// Every declaration, those of headers that the file refers to included.
    pub fn decls(&self) -> impl Iterator<Item = (DeclId, &Decl)> {
        self.tables.decls.iter().enumerate().map(|(i, decl)| (DeclId(i as u32), decl))
    }

    /// A type by its number.
    pub fn ty(&self, id: CTypeId) -> &CType {
        &self.tables.types[id.0 as usize]
    }

    /// A record by its number.
    pub fn record(&self, id: RecordId) -> &RecordType {
        &self.tables.records[id.0 as usize]
    }

    /// The one-based line of an offset.
    pub fn line(&self, offset: usize) -> u32 {
        self.lines.partition_point(|&start| start <= offset) as u32
    }

    /// The offset where the line of an offset starts.
    pub fn line_start(&self, offset: usize) -> usize {
        self.lines[self.line(offset) as usize - 1]
    }

    /// The white space in front of the first token of an offset's line.
    pub fn indent(&self, offset: usize) -> &str {
        let line = &self.text[self.line_start(offset)..offset];
        &line[..line.len() - line.trim_start().len()]
    }

    /// The nodes around a node, innermost first.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(id).parent, |&n| self.node(n).parent)
    }

    /// A node and everything in it.
    pub fn descendants(&self, id: NodeId) -> Vec<NodeId> {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(&id) = all.get(next) {
            all.extend_from_slice(&self.node(id).children);
            next += 1;
        }
        all
    }

    /// The function definitions of the file.
    pub fn functions(&self) -> impl Iterator<Item = (NodeId, DeclId)> + '_ {
        self.roots().iter().filter_map(|&id| match self.node(id).kind {
            NodeKind::Function(decl) if self.body(id).is_some() => Some((id, decl)),
            _ => None,
        })
    }

    /// The body of a function node.
    pub fn body(&self, function: NodeId) -> Option<NodeId> {
        self.node(function).children.last().copied().filter(|&n| self.node(n).kind == NodeKind::Block)
    }

    /// The function a node is in.
    pub fn enclosing_function(&self, id: NodeId) -> Option<NodeId> {
        self.ancestors(id).find(|&n| matches!(self.node(n).kind, NodeKind::Function(_)))
    }

    /// Every statement of every function, outer ones first.
    pub fn statements(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes().filter(|(_, n)| n.kind.is_statement()).map(|(id, _)| id)
    }

    /// True when a node and all around it is written out in the file, not made by a macro.
    pub fn is_text(&self, id: NodeId) -> bool {
        self.node(id).origin == TextOrigin::Text
    }

    /// The nodes that are integer literals written out in the file.
    pub fn integer_literals(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes().filter(|(_, n)| n.kind == NodeKind::Integer && n.origin == TextOrigin::Text).map(|(id, _)| id)
    }

    /// The nodes with an operator token written out in the file: unary, binary and assignments.
    pub fn operators(&self) -> impl Iterator<Item = (NodeId, Span)> + '_ {
        self.nodes().filter(|(_, n)| n.origin == TextOrigin::Text).filter_map(|(id, n)| match n.kind {
            NodeKind::Unary(_, at) | NodeKind::Binary(_, at) | NodeKind::Assign(_, at) => Some((id, at)),
            _ => None,
        })
    }

    /// An expression with the parentheses and implicit conversions around it taken off.
    pub fn peel(&self, mut id: NodeId) -> NodeId {
        while matches!(self.node(id).kind, NodeKind::Paren | NodeKind::Implicit) {
            match self.node(id).children.as_slice() {
                [inner] => id = *inner,
                _ => break,
            }
        }
        id
    }

    /// Every call in the unit, with what it calls.
    pub fn calls(&self) -> impl Iterator<Item = CallText> + '_ {
        self.nodes().filter(|(_, n)| n.kind == NodeKind::Call).map(|(id, node)| {
            let decl = node.children.first().and_then(|&callee| match self.node(self.peel(callee)).kind {
                NodeKind::Name(decl) => decl,
                _ => None,
            });
            let decl = decl.filter(|&d| self.decl(d).kind == DeclKind::Function);
            let callee = decl.map(|d| self.decl(d).name.clone());
            CallText { node: id, callee, decl, arguments: node.children.iter().skip(1).copied().collect() }
        })
    }

    /// The functions by which a program shows its result or checks it: what makes output of a computation.
    pub fn is_oracle_call(call: &CallText) -> bool {
        const ORACLES: [&str; 12] = [
            "printf",
            "puts",
            "putchar",
            "fprintf",
            "abort",
            "exit",
            "_exit",
            "__assert_fail",
            "transparent_crc",
            "__builtin_abort",
            "__builtin_printf",
            "__builtin_trap",
        ];
        call.callee.as_deref().is_some_and(|name| ORACLES.contains(&name))
    }

    /// The specifier and qualifier tokens in front of a declarator.
    pub fn specifier_tokens(&self, decl: DeclId) -> Vec<Token<'_>> {
        tokens(&self.text, self.decl(decl).specifiers).collect()
    }

    /// The labels that `goto`s in a function may name, and the statements that carry them.
    pub fn labels(&self, function: NodeId) -> Vec<(String, NodeId)> {
        let label = |id: NodeId| match &self.node(id).kind {
            NodeKind::Label(name) => Some((name.clone(), id)),
            _ => None,
        };
        self.descendants(function).into_iter().filter_map(label).collect()
    }
}

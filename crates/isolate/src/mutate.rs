//! Where each rule applies to a program, and the text that comes out. Every mutant is one edit of the
//! text; whether it is still a valid program is for the compiler to say.

use crate::oracle_code::OracleCode;
use crate::rule::{ConstantChange, Modifier, MutationRule, Qualifier, UNARY, category};
use std::collections::{BTreeMap, HashSet};
use trueline_ctree::{
    CTypeKind, Decl, DeclId, DeclKind, DeclLinkage, Edits, NodeId, NodeKind, SourceUnit, Span, TextOrigin, Token, UnaryOp, read_integer,
};

/// The places of one program where rules apply.
#[derive(Debug, Default)]
pub struct RuleSites {
    by_rule: BTreeMap<MutationRule, Vec<Edits>>,
}

impl RuleSites {
    /// Finds every place, `protected` code left out.
    pub fn find(unit: &SourceUnit, protected: &OracleCode) -> Self {
        let mut sites = Self::default();
        let mut finder = PlaceFinder { unit, protected, sites: &mut sites };
        finder.declarations();
        finder.operators();
        finder.constants();
        finder.variables();
        sites
    }

    /// The rules that apply somewhere.
    pub fn rules(&self) -> Vec<MutationRule> {
        self.by_rule.keys().copied().collect()
    }

    /// The mutants of one rule.
    pub fn of(&self, rule: MutationRule) -> &[Edits] {
        self.by_rule.get(&rule).map_or(&[], Vec::as_slice)
    }

    /// How many mutants there are.
    pub fn len(&self) -> usize {
        self.by_rule.values().map(Vec::len).sum()
    }

    /// True when no rule applies anywhere.
    pub fn is_empty(&self) -> bool {
        self.by_rule.is_empty()
    }

    pub(crate) fn add(&mut self, rule: MutationRule, edit: impl for<'e> FnOnce(&'e mut Edits) -> &'e mut Edits) {
        let mut edits = Edits::new();
        edit(&mut edits);
        self.by_rule.entry(rule).or_default().push(edits);
    }
}

struct PlaceFinder<'u> {
    unit: &'u SourceUnit,
    protected: &'u OracleCode,
    sites: &'u mut RuleSites,
}

impl PlaceFinder<'_> {
    fn may_edit(&self, id: NodeId) -> bool {
        self.unit.node(id).origin == TextOrigin::Text && !self.protected.covers(self.unit.node(id).span)
    }

    /// Qualifiers and modifiers of variables, parameters and members.
    fn declarations(&mut self) {
        let mut seen = HashSet::new();
        let kinds = [DeclKind::Variable, DeclKind::Parameter, DeclKind::Field];
        let decls: Vec<(DeclId, &Decl)> = self.unit.decls().collect();
        for (id, decl) in decls {
            let ours = kinds.contains(&decl.kind) && decl.linkage != DeclLinkage::Header && !decl.specifiers.is_empty();
            let text = decl.node.is_none_or(|node| self.unit.node(node).origin == TextOrigin::Text);
            if !ours || !text || self.protected.covers(decl.span) {
                continue;
            }
            // `restrict` belongs to the declarator; everything else to the specifiers that declarators share.
            if matches!(self.unit.ty(decl.ty).kind, CTypeKind::Pointer(_)) && !decl.name_span.is_empty() {
                self.restrict(decl);
            }
            let span = decl.specifiers;
            if seen.insert(span.start) {
                let tokens = self.unit.specifier_tokens(id);
                self.qualifiers(span, &tokens);
                self.modifiers(&tokens);
            }
        }
    }

    fn restrict(&mut self, decl: &Decl) {
        let declarator = &self.unit.text()[decl.span.start..decl.name_span.start];
        match declarator.rfind("restrict") {
            Some(at) => {
                let start = decl.span.start + at;
                self.sites
                    .add(MutationRule::RemoveQualifier(Qualifier::Restrict), |e| e.delete(Span::new(start, start + "restrict".len())));
            }
            None if declarator.trim_end().ends_with('*') => {
                self.sites.add(MutationRule::InsertQualifier(Qualifier::Restrict), |e| e.insert_before(decl.name_span.start, "restrict "));
            }
            None => {}
        }
    }

    fn qualifiers(&mut self, span: Span, tokens: &[Token<'_>]) {
        for qualifier in [Qualifier::Volatile, Qualifier::Const] {
            match tokens.iter().find(|t| t.text == qualifier.token()) {
                Some(token) => self.sites.add(MutationRule::RemoveQualifier(qualifier), |e| e.delete(token.span)),
                None => {
                    self.sites
                        .add(MutationRule::InsertQualifier(qualifier), |e| e.insert_before(span.start, format!("{} ", qualifier.token())));
                }
            }
        }
    }

    fn modifiers(&mut self, tokens: &[Token<'_>]) {
        let Some(current) = Specifiers::read(tokens) else { return };
        for (at, token) in &current.modifiers {
            // Without any other type word left, `int` has to be written out.
            let alone = current.base.is_none() && current.modifiers.len() == 1;
            if current.without(*token).is_valid() {
                self.sites.add(MutationRule::RemoveModifier(*token), |e| e.replace(*at, if alone { "int" } else { "" }));
            }
            for other in Modifier::ALL.into_iter().filter(|other| other != token) {
                if current.without(*token).with(other).is_valid() {
                    self.sites.add(MutationRule::ReplaceModifier(*token, other), |e| e.replace(*at, other.token()));
                }
            }
        }
        for modifier in Modifier::ALL {
            if current.with(modifier).is_valid() {
                self.sites
                    .add(MutationRule::InsertModifier(modifier), |e| e.insert_before(current.start, format!("{} ", modifier.token())));
            }
        }
    }

    fn operators(&mut self) {
        let operators: Vec<(NodeId, Span)> = self.unit.operators().collect();
        for (id, at) in operators {
            if !self.may_edit(id) {
                continue;
            }
            match self.unit.node(id).kind {
                NodeKind::Binary(op, _) => {
                    for &other in category(op).iter().filter(|other| **other != op) {
                        self.sites.add(MutationRule::ReplaceBinary(op, other), |e| e.replace(at, other.token()));
                    }
                }
                NodeKind::Assign(Some(op), _) => {
                    for &other in category(op).iter().filter(|other| **other != op) {
                        self.sites.add(MutationRule::ReplaceBinary(op, other), |e| e.replace(at, format!("{}=", other.token())));
                    }
                }
                NodeKind::Unary(op, _) if UNARY.contains(&op) => self.unary(id, op, at),
                _ => {}
            }
        }
    }

    fn unary(&mut self, id: NodeId, op: UnaryOp, at: Span) {
        let Some(&operand) = self.unit.node(id).children.first() else { return };
        let span = self.unit.node(operand).span;
        self.sites.add(MutationRule::RemoveUnary(op), |e| e.replace(at, " "));
        // Only what can be assigned to can be stepped.
        let kind = &self.unit.node(self.unit.peel(operand)).kind;
        let assignable = matches!(kind, NodeKind::Name(_) | NodeKind::Member(_) | NodeKind::Index | NodeKind::Unary(UnaryOp::Deref, _));
        for other in UNARY.into_iter().filter(|&other| other != op && (other == UnaryOp::Not || assignable)) {
            self.sites.add(MutationRule::ReplaceUnary(op, other), |e| {
                let postfix = |op| matches!(op, UnaryOp::PostIncrement | UnaryOp::PostDecrement);
                match (postfix(op), postfix(other)) {
                    (false, false) | (true, true) => e.replace(at, other.token()),
                    (false, true) => e.replace(at, " ").insert_after(span.end, other.token()),
                    (true, false) => e.replace(at, " ").insert_before(span.start, other.token()),
                }
            });
        }
    }

    fn constants(&mut self) {
        let literals: Vec<NodeId> = self.unit.integer_literals().collect();
        for id in literals {
            let Some(literal) = read_integer(self.unit.slice(id)).filter(|_| self.may_edit(id)) else { continue };
            let text = self.unit.slice(id);
            let suffix = &text[text.trim_end_matches(['u', 'U', 'l', 'L']).len()..];
            for change in ConstantChange::ALL {
                let Some(value) = change.apply(literal.value) else { continue };
                let digits = if literal.base == 16 && value >= 0 { format!("{value:#x}") } else { value.to_string() };
                let new = if value < 0 { format!("({digits}{suffix})") } else { format!("{digits}{suffix}") };
                self.sites.add(MutationRule::ChangeConstant(change), |e| e.replace(self.unit.node(id).span, new));
            }
        }
    }

    fn variables(&mut self) {
        let uses: Vec<(NodeId, DeclId)> = self
            .unit
            .nodes()
            .filter_map(|(id, node)| match node.kind {
                NodeKind::Name(Some(decl)) => Some((id, decl)),
                _ => None,
            })
            .collect();
        for (id, decl) in uses {
            let of = self.unit.decl(decl);
            if !matches!(of.kind, DeclKind::Variable | DeclKind::Parameter) || !self.may_edit(id) {
                continue;
            }
            let span = self.unit.node(id).span;
            for other in self.unit.names_in_scope(span.start) {
                let candidate = self.unit.decl(other);
                let variable = matches!(candidate.kind, DeclKind::Variable | DeclKind::Parameter);
                if variable && candidate.entity != of.entity && self.compatible(of, candidate) {
                    let name = candidate.name.clone();
                    self.sites.add(MutationRule::ReplaceVariable, |e| e.replace(span, name));
                }
            }
        }
    }

    fn compatible(&self, a: &Decl, b: &Decl) -> bool {
        let (a, b) = (self.unit.ty(a.ty), self.unit.ty(b.ty));
        match (&a.kind, &b.kind) {
            (CTypeKind::Int(_) | CTypeKind::Enum(_), CTypeKind::Int(_) | CTypeKind::Enum(_)) => true,
            (CTypeKind::Float(_), CTypeKind::Float(_)) => true,
            (CTypeKind::Pointer(x), CTypeKind::Pointer(y)) => self.unit.ty(*x).kind == self.unit.ty(*y).kind,
            (CTypeKind::Array(x, _), CTypeKind::Array(y, _)) => self.unit.ty(*x).kind == self.unit.ty(*y).kind,
            (x, y) => x == y && !matches!(x, CTypeKind::Other) || (a.spelling == b.spelling),
        }
    }
}

/// The type words of a declaration.
struct Specifiers {
    base: Option<String>,
    modifiers: Vec<(Span, Modifier)>,
    start: usize,
}

impl Specifiers {
    /// `None` when the type is not made of the words that modifiers go with.
    fn read(tokens: &[Token<'_>]) -> Option<Self> {
        let mut base = None;
        let mut modifiers = Vec::new();
        let mut start = None;
        for token in tokens {
            if let Some(modifier) = Modifier::of_token(token.text) {
                modifiers.push((token.span, modifier));
                start = start.or(Some(token.span.start));
            } else if matches!(token.text, "int" | "char" | "double") {
                base = Some(token.text.to_owned());
                start = start.or(Some(token.span.start));
            } else if !matches!(token.text, "static" | "extern" | "register" | "auto" | "const" | "volatile" | "restrict" | "inline") {
                return None;
            }
        }
        Some(Self { base, modifiers, start: start? })
    }

    fn words(&self) -> ProgramWords {
        ProgramWords { base: self.base.clone(), modifiers: self.modifiers.iter().map(|(_, m)| *m).collect() }
    }

    fn without(&self, modifier: Modifier) -> ProgramWords {
        self.words().without(modifier)
    }

    fn with(&self, modifier: Modifier) -> ProgramWords {
        self.words().with(modifier)
    }
}

struct ProgramWords {
    base: Option<String>,
    modifiers: Vec<Modifier>,
}

impl ProgramWords {
    fn without(mut self, modifier: Modifier) -> Self {
        if let Some(at) = self.modifiers.iter().position(|m| *m == modifier) {
            self.modifiers.remove(at);
        }
        self
    }

    fn with(mut self, modifier: Modifier) -> Self {
        self.modifiers.push(modifier);
        self
    }

    /// Whether C has such a type.
    fn is_valid(&self) -> bool {
        let count = |modifier| self.modifiers.iter().filter(|m| **m == modifier).count();
        let (longs, shorts, signs) = (count(Modifier::Long), count(Modifier::Short), count(Modifier::Signed) + count(Modifier::Unsigned));
        match self.base.as_deref() {
            None | Some("int") => longs <= 2 && shorts <= 1 && signs <= 1 && (longs == 0 || shorts == 0),
            Some("char") => longs == 0 && shorts == 0 && signs <= 1,
            Some("double") => longs <= 1 && shorts == 0 && signs == 0,
            Some(_) => false,
        }
    }
}

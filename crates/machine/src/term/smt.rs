//! Terms as SMT-LIB text.

use super::{Name, Term, TermNode, Terms};
use crate::algebra::Bin;
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl Terms {
    /// SMT-LIB declarations and definitions that `roots` need; a term `n` is afterwards called `tn`.
    pub fn smt(&self, roots: &[Term]) -> String {
        let mut needed = vec![false; self.nodes.len()];
        let mut work: Vec<Term> = roots.to_vec();
        while let Some(t) = work.pop() {
            if std::mem::replace(&mut needed[t.0 as usize], true) {
                continue;
            }
            self.nodes[t.0 as usize].push_operands(&mut work);
        }
        let mut out = String::new();
        let mut functions: BTreeMap<Name, String> = BTreeMap::new();
        for (_, node) in self.nodes.iter().enumerate().filter(|(n, _)| needed[*n]) {
            if let TermNode::Call(name, width, args) = node {
                let sorts: Vec<String> = args.iter().map(|a| format!("(_ BitVec {})", self.width(*a))).collect();
                let text = &self.names[name.0 as usize];
                functions.insert(*name, format!("(declare-fun |{text}| ({}) (_ BitVec {width}))\n", sorts.join(" ")));
            }
            if let TermNode::Var(width, name) = node {
                let _ = writeln!(out, "(declare-const |{}| (_ BitVec {width}))", self.names[name.0 as usize]);
            }
        }
        for text in functions.values() {
            out.push_str(text);
        }
        for (n, node) in self.nodes.iter().enumerate().filter(|(n, _)| needed[*n]) {
            let _ = writeln!(out, "(define-fun t{n} () (_ BitVec {}) {})", self.widths[n], self.show(node));
        }
        out
    }

    fn show(&self, node: &TermNode) -> String {
        let name = |t: &Term| format!("t{}", t.0);
        match node {
            TermNode::Const(w, v) => format!("(_ bv{v} {w})"),
            TermNode::Var(_, v) => format!("|{}|", self.names[v.0 as usize]),
            TermNode::Bin(op, a, b) => {
                let (f, bit) = match op {
                    Bin::Add => ("bvadd", false),
                    Bin::Sub => ("bvsub", false),
                    Bin::Mul => ("bvmul", false),
                    Bin::Udiv => ("bvudiv", false),
                    Bin::Urem => ("bvurem", false),
                    Bin::Sdiv => ("bvsdiv", false),
                    Bin::Srem => ("bvsrem", false),
                    Bin::And => ("bvand", false),
                    Bin::Or => ("bvor", false),
                    Bin::Xor => ("bvxor", false),
                    Bin::Shl => ("bvshl", false),
                    Bin::Lshr => ("bvlshr", false),
                    Bin::Ashr => ("bvashr", false),
                    Bin::Eq => ("=", true),
                    Bin::Ult => ("bvult", true),
                    Bin::Slt => ("bvslt", true),
                };
                let text = format!("({f} {} {})", name(a), name(b));
                if bit { format!("(ite {text} #b1 #b0)") } else { text }
            }
            TermNode::Extract(a, low, width) => format!("((_ extract {} {low}) {})", low + width - 1, name(a)),
            TermNode::Concat(a, b) => format!("(concat {} {})", name(a), name(b)),
            TermNode::Zext(a, w) => format!("((_ zero_extend {}) {})", w - self.width(*a), name(a)),
            TermNode::Sext(a, w) => format!("((_ sign_extend {}) {})", w - self.width(*a), name(a)),
            TermNode::Ite(c, a, b) => format!("(ite (= {} #b1) {} {})", name(c), name(a), name(b)),
            TermNode::Extreme(kind, all) => {
                let (op, swap) = kind.order();
                let less = if op == Bin::Slt { "bvslt" } else { "bvult" };
                let mut text = name(&all[0]);
                for t in &all[1..] {
                    let (yes, no) = if swap { ("m".to_owned(), name(t)) } else { (name(t), "m".to_owned()) };
                    text = format!("(let ((m {text})) (ite ({less} m {}) {yes} {no}))", name(t));
                }
                text
            }
            TermNode::Call(f, _, args) => {
                format!("(|{}| {})", self.names[f.0 as usize], args.iter().map(name).collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// The name of a term in [`Terms::smt`].
    pub fn name(t: Term) -> String {
        format!("t{}", t.0)
    }
}

//! Mutation of programs that the front end refuses: GNU C has things (nested functions, arrays of variable
//! length in structures) that only gcc accepts. Tokens are all there is then; what comes out wrong the
//! compiler refuses, which costs a compilation and nothing else.
//!
//! Deliberately absent: the rules that need scopes and declarators (another variable, `restrict`), and
//! protection of oracle code, since programs like these crash compilers rather than compute.

use crate::mutate::RuleSites;
use crate::rule::{ConstantChange, MutationRule, Qualifier, UNARY, category};
use trueline_ctree::{BinaryOp, Span, Token, TokenKind, UnaryOp, read_integer, tokens};

const TYPE_WORDS: [&str; 8] = ["int", "char", "long", "short", "unsigned", "signed", "float", "double"];

impl RuleSites {
    /// The places where rules apply as far as tokens tell.
    pub fn find_by_tokens(text: &str) -> Self {
        let all: Vec<Token<'_>> = tokens(text, Span::new(0, text.len())).collect();
        let mut sites = Self::default();
        for (index, token) in all.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| all[i]);
            match token.kind {
                TokenKind::Number => constant(&mut sites, token),
                TokenKind::Word if TYPE_WORDS.contains(&token.text) && starts_type(before) => {
                    for qualifier in [Qualifier::Volatile, Qualifier::Const] {
                        sites.add(MutationRule::InsertQualifier(qualifier), |e| {
                            e.insert_before(token.span.start, format!("{} ", qualifier.token()))
                        });
                    }
                }
                TokenKind::Word if matches!(token.text, "volatile" | "const") => {
                    let qualifier = if token.text == "const" { Qualifier::Const } else { Qualifier::Volatile };
                    sites.add(MutationRule::RemoveQualifier(qualifier), |e| e.delete(token.span));
                }
                TokenKind::Punct => operator(&mut sites, token, before),
                _ => {}
            }
        }
        sites
    }
}

fn starts_type(before: Option<Token<'_>>) -> bool {
    before.is_none_or(|t| matches!(t.text, ";" | "{" | "}" | "(" | ",") || t.text == "static")
}

fn constant(sites: &mut RuleSites, token: &Token<'_>) {
    let Some(literal) = read_integer(token.text) else { return };
    for change in ConstantChange::ALL {
        if let Some(value) = change.apply(literal.value) {
            sites.add(MutationRule::ChangeConstant(change), |e| e.replace(token.span, format!("({value})")));
        }
    }
}

fn operator(sites: &mut RuleSites, token: &Token<'_>, before: Option<Token<'_>>) {
    let ends_operand = |t: Token<'_>| {
        let word = t.kind == TokenKind::Word && !TYPE_WORDS.contains(&t.text) && !matches!(t.text, "return" | "case" | "sizeof");
        word || matches!(t.kind, TokenKind::Number | TokenKind::Quoted) || matches!(t.text, ")" | "]")
    };
    if token.text == "!" {
        sites.add(MutationRule::RemoveUnary(UnaryOp::Not), |e| e.replace(token.span, " "));
        return;
    }
    if matches!(token.text, "++" | "--") {
        let postfix = before.is_some_and(ends_operand);
        let find = |text: &str| UNARY.into_iter().find(|op| op.token() == text && is_postfix(*op) == postfix);
        let other = if token.text == "++" { "--" } else { "++" };
        if let (Some(op), Some(to)) = (find(token.text), find(other)) {
            sites.add(MutationRule::RemoveUnary(op), |e| e.replace(token.span, " "));
            sites.add(MutationRule::ReplaceUnary(op, to), |e| e.replace(token.span, other));
        }
        return;
    }
    let (text, assigns) = match token.text.strip_suffix('=') {
        Some(op) if BinaryOp::of_token(token.text).is_none() && !op.is_empty() => (op, "="),
        _ => (token.text, ""),
    };
    let Some(op) = BinaryOp::of_token(text).filter(|_| before.is_some_and(ends_operand)) else { return };
    for &other in category(op).iter().filter(|other| **other != op) {
        sites.add(MutationRule::ReplaceBinary(op, other), |e| e.replace(token.span, format!("{}{assigns}", other.token())));
    }
}

fn is_postfix(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::PostIncrement | UnaryOp::PostDecrement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_suffice_for_constants_operators_and_qualifiers() {
        let text = "int main (int c) { void f (int d) { c += d < 2; } return !c++; }";
        let sites = RuleSites::find_by_tokens(text);
        let apply = |rule| sites.of(rule).iter().map(|e| e.apply(text).unwrap()).collect::<Vec<_>>();
        assert_eq!(apply(MutationRule::ChangeConstant(ConstantChange::Increment)), [text.replace('2', "(3)")]);
        assert_eq!(apply(MutationRule::ReplaceBinary(BinaryOp::Add, BinaryOp::Sub)), [text.replace("+=", "-=")]);
        assert_eq!(apply(MutationRule::ReplaceBinary(BinaryOp::Lt, BinaryOp::Ge)), [text.replace("< 2", ">= 2")]);
        assert_eq!(apply(MutationRule::ReplaceUnary(UnaryOp::PostIncrement, UnaryOp::PostDecrement)), [text.replace("++", "--")]);
        assert_eq!(sites.of(MutationRule::InsertQualifier(Qualifier::Volatile)).len(), 3);
    }
}

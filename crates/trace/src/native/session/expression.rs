//! C expressions as people give them to a debugger: names, literals, members, elements, dereferences, addresses, casts,
//! `sizeof`, arithmetic and comparisons.
//!
//! Deliberately absent: assignments, calls, and what a debugger adds to C (`@`, `::`, `$1`), but for imaginary numbers (`2i`).

use std::fmt;

/// An expression, read but not evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(pub(super) Node);

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUnderstood(pub(super) String);

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A whole number, with the size and signedness of its type.
    Integer(i128, u8, bool),
    Real(f64, u8),
    /// The imaginary part of a complex number, with the size of a part.
    Imaginary(f64, u8),
    /// A string, with the zero at its end.
    Text(Vec<u8>),
    Name(String),
    Member(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Cast(TypeName, Box<Node>),
    SizeOf(Box<Node>),
    SizeOfType(TypeName),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Target,
    Address,
    Negative,
    Plus,
    Not,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    Both,
    Either,
}

/// A type as it is written: its words in order, and how many pointers lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeName {
    pub words: String,
    pub pointers: u32,
}

/// Binary operators by how tightly they bind, the loosest first. Longer spellings come before those they begin with.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::Either)],
    &[("&&", Binary::Both)],
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("==", Binary::Eq), ("!=", Binary::Ne)],
    &[("<=", Binary::Le), (">=", Binary::Ge), ("<", Binary::Lt), (">", Binary::Gt)],
    &[("<<", Binary::Shl), (">>", Binary::Shr)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div), ("%", Binary::Rem)],
];

/// Words that make a type by themselves.
pub(super) const TYPE_WORDS: [&str; 12] =
    ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "bool", "__int128"];
const QUALIFIERS: [&str; 4] = ["const", "volatile", "restrict", "register"];
const TAGS: [&str; 4] = ["struct", "union", "enum", "class"];

/// Expressions nested deeper are refused.
const DEEPEST: u32 = 100;

impl Expression {
    /// Reads an expression. `is_type` says whether a name alone is a type's: only then is `(name) x` a cast.
    pub fn parse(text: &str, is_type: &dyn Fn(&str) -> bool) -> Result<Self, NotUnderstood> {
        let mut parser = Parser { rest: text.trim(), is_type, depth: 0 };
        let node = parser.choice()?;
        match parser.rest {
            "" => Ok(Self(node)),
            rest => Err(NotUnderstood(format!("`{rest}` is not understood"))),
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    is_type: &'t dyn Fn(&str) -> bool,
    depth: u32,
}

impl<'t> Parser<'t> {
    fn choice(&mut self) -> Result<Node, NotUnderstood> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.choice()?;
        self.expect(":")?;
        let no = self.choice()?;
        Ok(Node::Choice(condition.into(), yes.into(), no.into()))
    }

    fn binary(&mut self, level: usize) -> Result<Node, NotUnderstood> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(&(text, operator)) = operators.iter().find(|(text, _)| self.is_operator(text)) {
            self.eat(text);
            let right = self.binary(level + 1)?;
            left = Node::Binary(operator, left.into(), right.into());
        }
        Ok(left)
    }

    /// Whether an operator stands here, and not a longer one that begins with it, or an assignment.
    fn is_operator(&self, text: &str) -> bool {
        let Some(after) = self.rest.strip_prefix(text) else { return false };
        match text {
            "|" | "&" => !after.starts_with(['=', text.as_bytes()[0] as char]),
            "<" | ">" => !after.starts_with(['=', text.as_bytes()[0] as char]),
            "==" | "!=" | "<=" | ">=" | "||" | "&&" => true,
            "-" => !after.starts_with(['=', '>']),
            _ => !after.starts_with('='),
        }
    }

    fn unary(&mut self) -> Result<Node, NotUnderstood> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NotUnderstood("the expression is nested too deeply".into()));
        }
        let node = self.unary_here();
        self.depth -= 1;
        node
    }

    fn unary_here(&mut self) -> Result<Node, NotUnderstood> {
        if self.rest.starts_with("++") || self.rest.starts_with("--") {
            return Err(NotUnderstood("a debugger that only looks changes nothing".into()));
        }
        let operators = [
            ("*", Unary::Target),
            ("&", Unary::Address),
            ("-", Unary::Negative),
            ("+", Unary::Plus),
            ("!", Unary::Not),
            ("~", Unary::Complement),
        ];
        for (text, operator) in operators {
            if self.eat(text) {
                return Ok(Node::Unary(operator, self.unary()?.into()));
            }
        }
        if self.word() == "sizeof" {
            self.advance("sizeof".len());
            if let Some(name) = self.type_in_parentheses() {
                return Ok(Node::SizeOfType(name));
            }
            return Ok(Node::SizeOf(self.unary()?.into()));
        }
        if let Some(name) = self.type_in_parentheses() {
            return Ok(Node::Cast(name, self.unary()?.into()));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Node, NotUnderstood> {
        let mut node = self.primary()?;
        loop {
            if self.eat("[") {
                let index = self.choice()?;
                self.expect("]")?;
                node = Node::Index(node.into(), index.into());
            } else if self.eat("->") || (self.rest.starts_with('.') && self.eat(".")) {
                let name = self.word();
                if name.is_empty() {
                    return Err(NotUnderstood("a member's name is missing".into()));
                }
                self.advance(name.len());
                node = Node::Member(node.into(), name.to_owned());
            } else if self.rest.starts_with('(') {
                return Err(NotUnderstood("calls are not made".into()));
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, NotUnderstood> {
        if self.eat("(") {
            let inner = self.choice()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.rest.starts_with('\'') {
            return self.character();
        }
        if self.rest.starts_with('"') {
            return self.string();
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) || self.rest.starts_with('.') {
            return self.number();
        }
        let name = self.word();
        if name.is_empty() || name == "sizeof" {
            let what = self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
            return Err(NotUnderstood(format!("{what} is not understood")));
        }
        self.advance(name.len());
        if self.rest.starts_with("::") {
            return Err(NotUnderstood("names of other scopes are not looked up".into()));
        }
        Ok(Node::Name(name.to_owned()))
    }

    fn character(&mut self) -> Result<Node, NotUnderstood> {
        let bad = || NotUnderstood("a character is not understood".into());
        let inside = &self.rest[1..];
        let (code, length) = match inside.strip_prefix('\\') {
            None => {
                let c = inside.chars().next().filter(|c| *c != '\'' && c.is_ascii()).ok_or_else(bad)?;
                (c as i128, 1)
            }
            Some(escape) => escaped(escape).ok_or_else(bad)?,
        };
        if inside.as_bytes().get(length) != Some(&b'\'') {
            return Err(bad());
        }
        self.advance(length + 2);
        Ok(Node::Integer(i128::from(code as u8 as i8), 1, true))
    }

    /// Strings that stand side by side are one.
    fn string(&mut self) -> Result<Node, NotUnderstood> {
        let bad = || NotUnderstood("a string is not understood".into());
        let mut bytes = Vec::new();
        while let Some(mut inside) = self.rest.strip_prefix('"') {
            loop {
                match inside.as_bytes().first().ok_or_else(bad)? {
                    b'"' => break,
                    b'\\' => {
                        let (code, length) = escaped(&inside[1..]).ok_or_else(bad)?;
                        bytes.push(code as u8);
                        inside = inside.get(length..).ok_or_else(bad)?;
                    }
                    _ => {
                        let c = inside.chars().next().ok_or_else(bad)?;
                        bytes.extend_from_slice(c.to_string().as_bytes());
                        inside = &inside[c.len_utf8()..];
                    }
                }
            }
            self.rest = inside[1..].trim_start();
        }
        bytes.push(0);
        Ok(Node::Text(bytes))
    }

    fn number(&mut self) -> Result<Node, NotUnderstood> {
        let bad = |text: &str| NotUnderstood(format!("the number `{text}` is not understood"));
        let is_hex = self.rest.starts_with("0x") || self.rest.starts_with("0X");
        let mut end = 0;
        let bytes = self.rest.as_bytes();
        while let Some(&c) = bytes.get(end) {
            let after_exponent = end > 0 && !is_hex && matches!(bytes[end - 1], b'e' | b'E');
            if !(c.is_ascii_alphanumeric() || c == b'.' || (after_exponent && matches!(c, b'+' | b'-'))) {
                break;
            }
            end += 1;
        }
        let text = &self.rest[..end];
        self.advance(end);
        let lower = text.to_ascii_lowercase();
        let (lower, is_imaginary) = match lower.strip_suffix('i').filter(|_| !is_hex) {
            Some(real) => (real.to_owned(), true),
            None => (lower, false),
        };
        if !is_hex && (lower.contains('.') || lower.contains('e')) {
            let (digits, size) = match lower.as_bytes().last() {
                Some(b'f') => (&lower[..lower.len() - 1], 4),
                Some(b'l') => (&lower[..lower.len() - 1], 8),
                _ => (&*lower, 8),
            };
            let value = digits.parse().map_err(|_| bad(text))?;
            return Ok(if is_imaginary { Node::Imaginary(value, size) } else { Node::Real(value, size) });
        }
        if is_imaginary {
            return lower.parse().map(|value| Node::Imaginary(value, 4)).map_err(|_| bad(text));
        }
        let digits = lower.trim_end_matches(['u', 'l']);
        let suffix = &lower[digits.len()..];
        if suffix.matches('u').count() > 1 || suffix.matches('l').count() > 2 {
            return Err(bad(text));
        }
        let (digits, radix) = match (digits.strip_prefix("0x"), digits) {
            (Some(hex), _) => (hex, 16),
            (None, "0") => ("0", 10),
            (None, d) if d.starts_with('0') => (&d[1..], 8),
            (None, d) => (d, 10),
        };
        let value = u64::from_str_radix(digits, radix).map_err(|_| bad(text))?;
        let (size, is_signed) = integer_type(value, suffix.contains('u'), suffix.contains('l'), radix == 10);
        Ok(Node::Integer(i128::from(value), size, is_signed))
    }

    /// A type in parentheses, if that is what stands here.
    fn type_in_parentheses(&mut self) -> Option<TypeName> {
        let before = self.rest;
        let found = self.eat("(").then(|| self.type_name()).flatten().filter(|_| self.eat(")"));
        if found.is_none() {
            self.rest = before;
        }
        found
    }

    fn type_name(&mut self) -> Option<TypeName> {
        let mut words: Vec<&str> = Vec::new();
        loop {
            let word = self.word();
            let is_named = words.last().is_some_and(|last| TAGS.contains(last));
            let is_basic = TYPE_WORDS.contains(&word);
            if word.is_empty() || !(is_named || is_basic || QUALIFIERS.contains(&word) || TAGS.contains(&word) || words.is_empty()) {
                break;
            }
            if words.is_empty() && !is_basic && !QUALIFIERS.contains(&word) && !TAGS.contains(&word) && !(self.is_type)(word) {
                return None;
            }
            self.advance(word.len());
            if !QUALIFIERS.contains(&word) {
                words.push(word);
            }
        }
        let mut pointers = 0;
        loop {
            if self.eat("*") {
                pointers += 1;
            } else if QUALIFIERS.contains(&self.word()) {
                self.advance(self.word().len());
            } else {
                break;
            }
        }
        (!words.is_empty()).then(|| TypeName { words: words.join(" "), pointers })
    }

    /// The name or keyword that stands here.
    fn word(&self) -> &'t str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if word.starts_with(|c: char| c.is_ascii_digit()) { "" } else { word }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_here = self.rest.starts_with(text);
        if is_here {
            self.advance(text.len());
        }
        is_here
    }

    fn expect(&mut self, text: &str) -> Result<(), NotUnderstood> {
        if self.eat(text) { Ok(()) } else { Err(NotUnderstood(format!("`{text}` is missing before `{}`", self.rest))) }
    }
}

/// The character that an escape stands for, without its backslash, and how long the escape is with it.
fn escaped(escape: &str) -> Option<(i128, usize)> {
    let digits = |radix: u32| escape.len() - escape.trim_start_matches(|c: char| c.is_digit(radix)).len();
    match escape.bytes().next().filter(u8::is_ascii)? {
        b'0'..=b'7' => {
            let n = digits(8).min(3);
            Some((i128::from_str_radix(&escape[..n], 8).ok()?, 1 + n))
        }
        b'x' => {
            let hex = &escape[1..];
            let n = hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
            Some((i128::from_str_radix(&hex[..n], 16).ok()?, 2 + n))
        }
        c => {
            let known = [(b'n', 10), (b't', 9), (b'r', 13), (b'a', 7), (b'b', 8), (b'f', 12), (b'v', 11), (b'e', 27)];
            let code = known.iter().find(|k| k.0 == c).map_or(i128::from(c), |k| k.1);
            Some((code, 2))
        }
    }
}

/// The type of a literal: the first that holds it, unsigned ones only where they are asked for or the literal is not decimal.
fn integer_type(value: u64, unsigned: bool, long: bool, is_decimal: bool) -> (u8, bool) {
    let fits = |size: u8, is_signed: bool| value <= u64::MAX >> (64 - u32::from(size) * 8 + u32::from(is_signed));
    let candidates = [(4, true), (4, false), (8, true), (8, false)];
    let is_allowed = |(size, is_signed): (u8, bool)| {
        let sign = if unsigned { !is_signed } else { is_signed || !is_decimal || value > i64::MAX as u64 };
        sign && (size == 8 || !long)
    };
    candidates.into_iter().find(|&(size, is_signed)| is_allowed((size, is_signed)) && fits(size, is_signed)).unwrap_or((8, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, NotUnderstood> {
        Expression::parse(text, &|name| name == "size_t").map(|e| e.0)
    }

    fn name(text: &str) -> Node {
        Node::Name(text.into())
    }

    #[test]
    fn members_bind_more_tightly_than_dereferences_and_these_than_sums() {
        let member = Node::Member(name("p").into(), "x".into());
        let target = Node::Unary(Unary::Target, member.into());
        assert_eq!(read("*p->x + 1"), Ok(Node::Binary(Binary::Add, target.into(), Node::Integer(1, 4, true).into())));
    }

    #[test]
    fn a_name_in_parentheses_is_a_cast_only_where_it_is_a_type() {
        assert!(matches!(read("(size_t) x"), Ok(Node::Cast(TypeName { words, pointers: 0 }, _)) if words == "size_t"));
        assert!(matches!(read("(struct pair *) x"), Ok(Node::Cast(TypeName { words, pointers: 1 }, _)) if words == "struct pair"));
        assert_eq!(read("(y) & 3"), Ok(Node::Binary(Binary::And, name("y").into(), Node::Integer(3, 4, true).into())));
        assert!(matches!(read("sizeof (unsigned long)"), Ok(Node::SizeOfType(_))));
        assert!(matches!(read("sizeof (y)"), Ok(Node::SizeOf(_))));
    }

    #[test]
    fn literals_have_the_types_that_c_gives_them() {
        for (text, expected) in [
            ("5", Node::Integer(5, 4, true)),
            ("0xffffffff", Node::Integer(0xffff_ffff, 4, false)),
            ("4294967295", Node::Integer(0xffff_ffff, 8, true)),
            ("7ul", Node::Integer(7, 8, false)),
            ("010", Node::Integer(8, 4, true)),
            ("'a'", Node::Integer(97, 1, true)),
            ("'\\n'", Node::Integer(10, 1, true)),
            ("'\\377'", Node::Integer(-1, 1, true)),
            ("2.5", Node::Real(2.5, 8)),
            ("1e-3f", Node::Real(1e-3, 4)),
            ("2.5i", Node::Imaginary(2.5, 8)),
            ("3i", Node::Imaginary(3.0, 4)),
            (r#""a\n\x41" "b""#, Node::Text(b"a\nAb\0".to_vec())),
            (r#""""#, Node::Text(vec![0])),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_would_change_or_call_something_is_refused() {
        for text in
            ["x = 1", "x += 1", "x++", "--x", "f(x)", "", "x.", "*", "x +", "(x", "a[1", "'ab'", "x y", "f::x", "1x", "\"a", "\"a\\"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_ends_in_an_error() {
        assert!(read(&"(".repeat(100_000)).is_err());
        assert!(read(&"-".repeat(100_000)).is_err());
    }
}

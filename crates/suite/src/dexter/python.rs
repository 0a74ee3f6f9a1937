//! The part of Python that arguments of Dexter's commands are written in: strings, numbers, lists, dictionaries, names with `=`, and
//! the calls `ref('label')` and `address('name')`.

use std::collections::HashMap;

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arg {
    Text(String),
    Whole(i64),
    Real(f64),
    Truth(bool),
    List(Vec<Arg>),
    Dict(Vec<(String, Arg)>),
    /// An address by its name, and how far behind it.
    Address(String, i64),
}

/// The arguments of a call: those without a name, and the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Args {
    pub plain: Vec<Arg>,
    pub named: Vec<(String, Arg)>,
}

impl Args {
    /// Takes an argument by its name.
    pub fn take(&mut self, name: &str) -> Option<Arg> {
        let at = self.named.iter().position(|(n, _)| n == name)?;
        Some(self.named.remove(at).1)
    }
}

/// Reads what stands between the parentheses of a call, up to the one that closes it; `labels` are what `ref` knows.
pub(super) fn arguments(text: &str, labels: &HashMap<String, u32>) -> Result<Args, String> {
    let mut reader = Reader { rest: text, labels };
    let mut args = Args::default();
    loop {
        if reader.eat(")") {
            return Ok(args);
        }
        let before = reader.rest;
        let word = reader.word();
        if !word.is_empty() && reader.eat("=") {
            args.named.push((word, reader.value()?));
        } else {
            reader.rest = before;
            args.plain.push(reader.value()?);
        }
        if !reader.eat(",") && !reader.rest.trim_start().starts_with(')') {
            return Err(format!("`{}` is not understood", reader.near()));
        }
    }
}

struct Reader<'r> {
    rest: &'r str,
    labels: &'r HashMap<String, u32>,
}

impl Reader<'_> {
    fn eat(&mut self, text: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Spaces, and the signs that go on with a comment on the next line.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix("//") {
                Some(rest) => self.rest = rest,
                None => return,
            }
        }
    }

    fn near(&self) -> String {
        self.rest.trim_start().chars().take_while(|c| *c != '\n').take(40).collect()
    }

    fn word(&mut self) -> String {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return String::new();
        }
        self.rest = rest;
        word.to_owned()
    }

    /// A value, and what is added to it.
    fn value(&mut self) -> Result<Arg, String> {
        let mut value = self.one()?;
        loop {
            let sign = if self.eat("+") {
                1
            } else if self.eat("-") {
                -1
            } else {
                return Ok(value);
            };
            value = match (value, self.one()?) {
                (Arg::Whole(a), Arg::Whole(b)) => Arg::Whole(a + sign * b),
                (Arg::Address(name, offset), Arg::Whole(b)) => Arg::Address(name, offset + sign * b),
                _ => return Err("a sum of other things than lines".to_owned()),
            };
        }
    }

    fn one(&mut self) -> Result<Arg, String> {
        self.skip();
        match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => {
                let mut text = self.text(quote)?;
                // Texts side by side are one.
                loop {
                    self.skip();
                    match self.rest.chars().next() {
                        Some(quote @ ('\'' | '"')) => text.push_str(&self.text(quote)?),
                        _ => return Ok(Arg::Text(text)),
                    }
                }
            }
            Some('[') => {
                self.eat("[");
                let mut items = Vec::new();
                while !self.eat("]") {
                    items.push(self.value()?);
                    self.comma(']')?;
                }
                Ok(Arg::List(items))
            }
            Some('{') => {
                self.eat("{");
                let mut entries = Vec::new();
                while !self.eat("}") {
                    let Arg::Text(name) = self.one()? else { return Err("a key is no text".to_owned()) };
                    if !self.eat(":") {
                        return Err(format!("`{}` is not understood", self.near()));
                    }
                    entries.push((name, self.value()?));
                    self.comma('}')?;
                }
                Ok(Arg::Dict(entries))
            }
            Some('-') => {
                self.eat("-");
                match self.one()? {
                    Arg::Whole(n) => Ok(Arg::Whole(-n)),
                    Arg::Real(n) => Ok(Arg::Real(-n)),
                    _ => Err("a sign stands before no number".to_owned()),
                }
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            _ => self.named(),
        }
    }

    fn comma(&mut self, end: char) -> Result<(), String> {
        if self.eat(",") || self.rest.trim_start().starts_with(end) {
            return Ok(());
        }
        self.skip();
        if self.rest.starts_with(end) { Ok(()) } else { Err(format!("`{}` is not understood", self.near())) }
    }

    fn text(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\n' => break,
                c => text.push(c),
            }
        }
        Err("a text has no end".to_owned())
    }

    fn number(&mut self) -> Result<Arg, String> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let whole = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let real = || digits.parse::<f64>().ok().map(Arg::Real);
        whole.map(Arg::Whole).or_else(real).ok_or_else(|| format!("the number `{digits}` is not understood"))
    }

    fn named(&mut self) -> Result<Arg, String> {
        let near = self.near();
        let word = self.word();
        match word.as_str() {
            "True" => return Ok(Arg::Truth(true)),
            "False" => return Ok(Arg::Truth(false)),
            "ref" | "address" if self.eat("(") => {}
            _ => return Err(format!("`{near}` is not understood")),
        }
        let args = arguments(self.rest, self.labels)?;
        // The arguments were read from a copy of the rest: go behind their end.
        self.rest = behind_parenthesis(self.rest);
        match (word.as_str(), &args.plain[..]) {
            ("ref", [Arg::Text(name)]) => {
                let line = self.labels.get(name).ok_or_else(|| format!("there is no label `{name}`"))?;
                Ok(Arg::Whole(i64::from(*line)))
            }
            ("address", [Arg::Text(name)]) => Ok(Arg::Address(name.clone(), 0)),
            ("address", [Arg::Text(name), Arg::Whole(offset)]) => Ok(Arg::Address(name.clone(), *offset)),
            _ => Err(format!("`{near}` is not understood")),
        }
    }
}

/// What follows the parenthesis that closes the call that a text begins in.
fn behind_parenthesis(text: &str) -> &str {
    let mut depth = 0;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return &text[at + 1..],
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_texts_numbers_lines_and_dictionaries() {
        let labels = HashMap::from([("here".to_owned(), 12)]);
        let mut args =
            arguments("'x', \"y\", 5, -2, address('p', 8), on_line=ref('here') + 3, require_in_order=False) tail", &labels).unwrap();
        let text = |t: &str| Arg::Text(t.to_owned());
        assert_eq!(args.plain, [text("x"), text("y"), Arg::Whole(5), Arg::Whole(-2), Arg::Address("p".into(), 8)]);
        assert_eq!(args.take("on_line"), Some(Arg::Whole(15)));
        assert_eq!(args.take("require_in_order"), Some(Arg::Truth(false)));
        let state =
            arguments("{'frames': [\n {'location': {'lineno': ref('here')}, 'watches': {'a': '1'}}\n]}, times=2)", &labels).unwrap();
        assert!(matches!(&state.plain[..], [Arg::Dict(entries)] if entries[0].0 == "frames"));
    }

    #[test]
    fn what_is_not_understood_is_an_error_that_says_what() {
        let read = |text: &str| arguments(text, &HashMap::new()).unwrap_err();
        assert!(read("ref('nowhere'))").contains("nowhere"));
        assert!(read("range(5))").contains("range(5)"));
        assert!(read("'x").contains("no end"));
    }
}

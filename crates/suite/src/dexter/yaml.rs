//! The part of YAML that Dexter's scripts are written in: block and flow mappings and lists, tags, quoted and plain scalars, keys
//! after `?`.
//!
//! Deliberately absent: anchors, block scalars, several documents, types of scalars.

/// A node; its tag is empty where it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub tag: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// A line without its comment: how far it is indented, and what stands there.
type Row = (usize, String);

/// Reads a document.
pub(super) fn read(lines: &[&str]) -> Result<Node, String> {
    let rows = rows(lines);
    let Some(first) = rows.first() else { return Err("the script is empty".to_owned()) };
    let mut reader = Reader { at: 0, rows: rows.clone() };
    let node = reader.block(first.0)?;
    match reader.rows.get(reader.at) {
        None => Ok(node),
        Some((_, text)) => Err(format!("`{text}` of the script is not understood")),
    }
}

/// Lines that say something; those inside brackets are one.
fn rows(lines: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut open = 0;
    for line in lines {
        let text = without_comment(&line.replace('\t', "  "));
        let trimmed = text.trim();
        if trimmed.is_empty() {
            continue;
        }
        if open > 0
            && let Some(last) = rows.last_mut()
        {
            last.1.push(' ');
            last.1.push_str(trimmed);
        } else {
            rows.push((text.len() - text.trim_start().len(), trimmed.to_owned()));
        }
        open += depth(trimmed);
    }
    rows
}

/// Characters outside quotes, with their places.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut previous = ' ';
    text.char_indices().filter(move |&(_, c)| {
        let was = quote;
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            // A quote inside a word is an apostrophe.
            None if matches!(c, '"' | '\'') && !previous.is_alphanumeric() => quote = Some(c),
            None => {}
        }
        previous = c;
        was.is_none() && quote.is_none()
    })
}

fn without_comment(text: &str) -> String {
    let mut previous = ' ';
    for (at, c) in unquoted(text) {
        if c == '#' && (at == 0 || previous == ' ') {
            return text[..at].to_owned();
        }
        previous = c;
    }
    text.to_owned()
}

fn depth(text: &str) -> i32 {
    unquoted(text).map(|(_, c)| i32::from(matches!(c, '[' | '{')) - i32::from(matches!(c, ']' | '}'))).sum()
}

/// The colon that ends a key, outside quotes and brackets.
fn colon(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in unquoted(text) {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ':' if depth == 0 && text[at + 1..].chars().next().is_none_or(char::is_whitespace) => return Some(at),
            _ => {}
        }
    }
    None
}

struct Reader {
    at: usize,
    rows: Vec<Row>,
}

impl Reader {
    fn here(&self) -> Option<&Row> {
        self.rows.get(self.at)
    }

    /// What stands in rows indented by exactly so much.
    fn block(&mut self, indent: usize) -> Result<Node, String> {
        let text = self.here().map(|r| r.1.clone()).unwrap_or_default();
        if text == "-" || text.starts_with("- ") {
            return self.list(indent);
        }
        if text.starts_with("? ") || text == "?" || colon(&text).is_some() {
            return self.map(indent);
        }
        self.at += 1;
        let node = flow(&text)?;
        // A tag alone belongs to the block that follows it; behind `?` that may stand right below it.
        if node.kind == Kind::Nothing
            && let Some(&(deeper, _)) = self.here()
            && deeper >= indent
        {
            let inner = self.block(deeper)?;
            return Ok(Node { tag: node.tag, kind: inner.kind });
        }
        Ok(node)
    }

    fn list(&mut self, indent: usize) -> Result<Node, String> {
        let mut items = Vec::new();
        while let Some((at, text)) = self.here()
            && *at == indent
            && (text == "-" || text.starts_with("- "))
        {
            items.push(self.behind(indent)?);
        }
        Ok(Node { tag: String::new(), kind: Kind::List(items) })
    }

    /// What stands behind the sign at the start of a row, as if the sign were a space.
    fn behind(&mut self, indent: usize) -> Result<Node, String> {
        let rest = self.rows[self.at].1[1..].to_owned();
        let text = rest.trim_start();
        if text.is_empty() {
            self.at += 1;
            return match self.here() {
                Some(&(deeper, _)) if deeper > indent => self.block(deeper),
                _ => Ok(Node { tag: String::new(), kind: Kind::Nothing }),
            };
        }
        let deeper = indent + 1 + rest.len() - text.len();
        self.rows[self.at] = (deeper, text.to_owned());
        self.block(deeper)
    }

    fn map(&mut self, indent: usize) -> Result<Node, String> {
        let mut entries = Vec::new();
        while let Some((at, text)) = self.here().cloned()
            && at == indent
        {
            if text == "?" || text.starts_with("? ") {
                let key = self.behind(indent)?;
                let has_value = self.here().is_some_and(|(at, text)| *at == indent && (text == ":" || text.starts_with(": ")));
                let value = if has_value { self.behind(indent)? } else { Node { tag: String::new(), kind: Kind::Nothing } };
                entries.push((key, value));
                continue;
            }
            let Some(end) = colon(&text) else { return Err(format!("`{text}` of the script is not understood")) };
            let key = flow(&text[..end])?;
            let rest = text[end + 1..].trim();
            self.at += 1;
            let value = if rest.is_empty() {
                match self.here() {
                    Some(&(deeper, _)) if deeper > indent => self.block(deeper)?,
                    Some((same, text)) if *same == indent && text.starts_with("- ") => self.list(indent)?,
                    _ => Node { tag: String::new(), kind: Kind::Nothing },
                }
            } else {
                flow(rest)?
            };
            entries.push((key, value));
        }
        Ok(Node { tag: String::new(), kind: Kind::Map(entries) })
    }
}

/// Reads what stands in one row.
fn flow(text: &str) -> Result<Node, String> {
    let mut rest = text.trim();
    let node = value(&mut rest, false)?;
    match rest.trim() {
        "" => Ok(node),
        rest => Err(format!("`{rest}` of the script is not understood")),
    }
}

fn value(rest: &mut &str, is_inside: bool) -> Result<Node, String> {
    *rest = rest.trim_start();
    let mut tag = String::new();
    if rest.starts_with('!') {
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}')).unwrap_or(rest.len());
        rest[..end].clone_into(&mut tag);
        *rest = rest[end..].trim_start();
    }
    let kind = match rest.chars().next() {
        Some('[') => Kind::List(items(rest, ']', &mut |rest| value(rest, true))?),
        Some('{') => Kind::Map(items(rest, '}', &mut entry)?),
        Some(quote @ ('"' | '\'')) => {
            let Some(end) = rest[1..].find(quote) else { return Err(format!("`{rest}` has no end")) };
            let text = rest[1..=end].to_owned();
            *rest = &rest[end + 2..];
            Kind::Scalar(text)
        }
        _ => {
            let stop = |c: char| is_inside && matches!(c, ',' | ']' | '}');
            let end = rest.find(stop).unwrap_or(rest.len());
            let text = rest[..end].trim().to_owned();
            *rest = &rest[end..];
            if text.is_empty() || text == "null" { Kind::Nothing } else { Kind::Scalar(text) }
        }
    };
    Ok(Node { tag, kind })
}

fn items<T>(rest: &mut &str, end: char, read: &mut dyn FnMut(&mut &str) -> Result<T, String>) -> Result<Vec<T>, String> {
    *rest = rest[1..].trim_start();
    let mut found = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix(end) {
            *rest = after;
            return Ok(found);
        }
        if rest.is_empty() {
            return Err(format!("`{end}` is missing"));
        }
        found.push(read(rest)?);
        *rest = rest.trim_start();
        *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

fn entry(rest: &mut &str) -> Result<(Node, Node), String> {
    let Some(end) = colon(rest) else { return Err(format!("`{rest}` has no value")) };
    let key = flow(&rest[..end])?;
    *rest = &rest[end + 1..];
    Ok((key, value(rest, true)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Node {
        Node { tag: String::new(), kind: Kind::Scalar(text.to_owned()) }
    }

    fn tagged(tag: &str, text: &str) -> Node {
        Node { tag: tag.to_owned(), ..scalar(text) }
    }

    fn entries(node: &Node) -> &[(Node, Node)] {
        let Kind::Map(entries) = &node.kind else { panic!("{node:?}") };
        entries
    }

    #[test]
    fn keys_carry_tags_and_values_nest() {
        let node =
            read(&["!where {function: run}: # here", "  !value 'a == 1': 'true'", "  !value b:", "    - x: 1", "      y: [2, 3]"]).unwrap();
        let (key, inside) = &entries(&node)[0];
        assert_eq!((key.tag.as_str(), entries(key)), ("!where", &[(scalar("function"), scalar("run"))][..]));
        let inside = entries(inside);
        assert_eq!(inside[0], (tagged("!value", "a == 1"), scalar("true")));
        let Kind::List(items) = &inside[1].1.kind else { panic!("{inside:?}") };
        assert_eq!(entries(&items[0])[1].1.kind, Kind::List(vec![scalar("2"), scalar("3")]));
    }

    #[test]
    fn a_key_after_a_question_mark_may_be_a_mapping() {
        let lines =
            ["? !and", "  lines: !label a", "  conditions: \"i == 0 || i == 4\"", ": !value n: 16", "  !value m: [1, 2,", "     3]"];
        let node = read(&lines).unwrap();
        let (key, inside) = &entries(&node)[0];
        assert_eq!((key.tag.as_str(), entries(key).len()), ("!and", 2));
        assert_eq!(entries(key)[0].1, tagged("!label", "a"));
        assert_eq!(entries(inside).len(), 2);
        let Kind::List(items) = &entries(inside)[1].1.kind else { panic!() };
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(read(&["a: [1, 2"]).is_err());
        assert!(read(&["a: 1", "  b"]).is_err());
        assert!(read(&[]).is_err());
    }
}

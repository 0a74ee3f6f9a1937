//! Reads gcc's dumps: the statements of GIMPLE with their locations, and the instructions of RTL.

use std::collections::BTreeMap;

/// Line and column.
pub type Spot = (String, u32, u32);

/// A statement of GIMPLE or an instruction of RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The uid of an RTL instruction.
    pub uid: Option<u32>,
    /// Its text without locations.
    pub text: String,
    /// The block it is in.
    pub block: u32,
    /// Its location.
    pub location: Option<Spot>,
    /// The variable that it describes and by what; `None` for what is no value.
    pub bind: Option<(String, Option<String>)>,
    /// The names or registers that it sets.
    pub sets: Vec<String>,
}

/// The functions of a dump.
pub fn read(dump: &str, family: char) -> BTreeMap<String, Vec<Statement>> {
    let mut functions: BTreeMap<String, Vec<Statement>> = BTreeMap::new();
    for (name, body) in bodies(dump) {
        let statements = if family == 't' { gimple(&body) } else { rtl(&body) };
        // A pass may print a function several times: the last is how it left it.
        functions.insert(name, statements);
    }
    functions
}

/// One function of a dump.
pub fn read_one(dump: &str, family: char, function: &str) -> Option<Vec<Statement>> {
    dump.contains(&format!(";; Function {function} (")).then(|| read(dump, family).remove(function)).flatten()
}

/// The text behind each `;; Function f (`.
fn bodies(dump: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in dump.lines() {
        if let Some(rest) = line.strip_prefix(";; Function ") {
            all.push((rest.split(" (").next().unwrap_or(rest).to_owned(), String::new()));
        } else if let Some((_, body)) = all.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    all
}

fn gimple(body: &str) -> Vec<Statement> {
    let (mut statements, mut block) = (Vec::new(), None);
    for line in body.lines() {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("<bb ") {
            block = rest.split('>').next().and_then(|n| n.parse().ok());
        }
        let (Some(block), false) = (block, trimmed.is_empty() || trimmed.starts_with("<bb ") || trimmed.starts_with(";;")) else {
            continue;
        };
        let (text, location) = without_locations(trimmed);
        if text.is_empty() || text == "}" || text == "else" || text.contains("DEBUG BEGIN_STMT") || text.starts_with("goto ") {
            continue;
        }
        let bind = text
            .strip_prefix("# DEBUG ")
            .and_then(|rest| rest.split_once(" => "))
            .map(|(variable, value)| (variable.to_owned(), Some(value.to_owned()).filter(|v| v != "NULL" && !v.starts_with("D#"))));
        let result = text.trim_start_matches("# ").split_once(" = ").map(|(result, _)| result.to_owned());
        let sets = result.into_iter().filter(|r| bind.is_none() && is_name(r)).collect();
        statements.push(Statement { uid: None, text, block, location, bind, sets });
    }
    statements
}

/// Whether a result is an SSA name: `v_13`, `_7`.
fn is_name(result: &str) -> bool {
    let version = result.rsplit('_').next().unwrap_or("");
    result.contains('_') && !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) && !result.contains([' ', '[', '.', '*'])
}

/// A statement without its `[file:line:column]` marks, and the first of them if it stands in front.
fn without_locations(line: &str) -> (String, Option<Spot>) {
    let (mut text, mut first) = (String::new(), None);
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').map(|at| open + at);
        let spot = close.and_then(|close| spot(&rest[open + 1..close]));
        let end = close.map_or(rest.len(), |close| close + 1);
        text.push_str(&rest[..open]);
        match spot {
            Some(spot) if first.is_none() && text.trim_start_matches("# ").trim().is_empty() => first = Some(spot),
            Some(_) => {}
            None => text.push_str(&rest[open..end]),
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    // Probabilities and what a discriminator adds change without the statement.
    let text = text.split("; [").next().unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
    (text, first)
}

/// `a.c:5:7`, with `discrim 1` behind it where one address has several.
fn spot(text: &str) -> Option<Spot> {
    let mut parts = text.split_whitespace().next()?.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some((file.to_owned(), line.parse().ok()?, column.parse().ok()?))
}

fn rtl(body: &str) -> Vec<Statement> {
    const KINDS: [&str; 4] = ["(insn ", "(jump_insn ", "(call_insn ", "(debug_insn "];
    let mut statements: Vec<Statement> = Vec::new();
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        let start = KINDS.iter().any(|kind| line.starts_with(kind));
        if !start {
            continue;
        }
        let mut whole = line.to_owned();
        while let Some(more) = lines.next_if(|l| l.starts_with(' ')) {
            whole.push(' ');
            whole.push_str(more.trim());
        }
        let Some(statement) = instruction(&whole) else { continue };
        // Some passes print instructions while they work: the last is how they left it.
        statements.retain(|s| s.uid != statement.uid);
        statements.push(statement);
    }
    statements
}

/// `(insn/f 11 10 12 2 (pattern) "a.c":5:7 …`, as one line.
fn instruction(whole: &str) -> Option<Statement> {
    let mut words = whole.split(' ').skip(1).filter(|w| !w.is_empty());
    let uid = words.next()?.parse().ok()?;
    let block = whole.split(' ').filter(|w| !w.is_empty()).nth(4).and_then(|w| w.parse().ok()).unwrap_or(0);
    let open = whole[1..].find('(')? + 1;
    let pattern = balanced(&whole[open..])?;
    let location = whole[open + pattern.len()..].trim_start().strip_prefix('"').and_then(|rest| {
        let (file, rest) = rest.split_once("\":")?;
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
        Some((file.to_owned(), numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    });
    let bind = pattern.strip_prefix("(var_location").and_then(|rest| {
        let rest = rest.split_once(' ')?.1;
        let (variable, value) = rest.split_once(' ')?;
        let value = value.strip_suffix(')')?.trim();
        Some((variable.to_owned(), Some(value.to_owned()).filter(|v| !v.starts_with("(clobber") && !v.starts_with("(nil"))))
    });
    let sets = pattern.match_indices("(set ").filter_map(|(at, _)| register(pattern[at + 5..].trim_start())).collect();
    let text = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Statement { uid: Some(uid), text, block, location, bind, sets })
}

/// The number of the register that an expression begins with: `(reg/v:SI 83 [ a ])`.
pub fn register(expression: &str) -> Option<String> {
    let rest = expression.strip_prefix("(reg")?;
    let number = rest.split(' ').nth(1)?.trim_end_matches(')');
    number.bytes().all(|b| b.is_ascii_digit()).then(|| number.to_owned())
}

/// The expression in parentheses that a text begins with.
fn balanced(text: &str) -> Option<&str> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..=at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_of_gimple_has_its_own_location_and_not_those_of_its_operands() {
        let body = ";; Function f (f, funcdef_no=0)\n\n  <bb 2> [local count: 1]:\n  [a.c:5:7 discrim 1] a_6 = x_5(D) + 7;\n  \
                    # s_1 = PHI <[a.c:6:7] 0(2), [a.c:9:7] s_14(5)>\n  [a.c:5:7] # DEBUG a => a_6\n  # DEBUG b => NULL\n  v_2 = t[3];\n";
        let read = read(body, 't').remove("f").unwrap();
        assert_eq!(read[0].location, Some(("a.c".to_owned(), 5, 7)));
        assert_eq!((read[0].text.as_str(), read[0].sets.as_slice()), ("a_6 = x_5(D) + 7;", ["a_6".to_owned()].as_slice()));
        assert_eq!((read[1].location.clone(), read[1].text.as_str()), (None, "# s_1 = PHI < 0(2), s_14(5)>"));
        assert_eq!(read[2].bind, Some(("a".to_owned(), Some("a_6".to_owned()))));
        assert_eq!(read[3].bind, Some(("b".to_owned(), None)));
        assert_eq!(read[4].text, "v_2 = t[3];");
    }

    #[test]
    fn an_instruction_of_rtl_is_known_by_its_uid() {
        let body = ";; Function f (f, funcdef_no=0)\n(insn 11 10 12 2 (parallel [\n            (set (reg/v:SI 83 [ a ])\n                \
                    (plus:SI (reg:SI 97)\n                    (const_int 7 [0x7])))\n        ]) \"a.c\":5:7 1 {addsi}\n     (nil))\n\
                    (debug_insn 12 11 13 3 (var_location:SI a (reg/v:SI 83 [ a ])) -1\n     (nil))\n\
                    (debug_insn 13 12 14 3 (var_location:SI b (clobber (const_int 0 [0]))) \"a.c\":6:1 -1\n     (nil))\n";
        let read = read(body, 'r').remove("f").unwrap();
        assert_eq!((read[0].uid, read[0].block, read[0].location.as_ref().map(|l| l.1)), (Some(11), 2, Some(5)));
        assert_eq!(read[0].sets, ["83"]);
        assert_eq!((read[1].location.clone(), read[1].block), (None, 3));
        assert_eq!(read[1].bind.as_ref().and_then(|b| register(b.1.as_ref()?)), Some("83".to_owned()));
        assert_eq!(read[2].bind, Some(("b".to_owned(), None)));
    }
}

//! Just enough of the C++ mangling to tell which function a symbol names: its qualified name, without
//! parameters and template arguments. What it does not understand it gives back as nothing.

/// `_ZN12ranger_cache9get_rangeEv` to `ranger_cache::get_range`; C names stay as they are.
pub fn qualified_name(symbol: &str) -> Option<String> {
    let Some(rest) = symbol.strip_prefix("_Z") else { return Some(symbol.to_owned()) };
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let Some(nested) = rest.strip_prefix('N') else { return component(rest).map(|(name, _)| name.to_owned()) };
    let mut rest = nested.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
    let mut parts: Vec<String> = Vec::new();
    loop {
        if let Some((name, tail)) = component(rest) {
            parts.push(if name.starts_with("_GLOBAL__N") { "(anonymous namespace)".to_owned() } else { name.to_owned() });
            rest = tail;
        } else if rest.starts_with('C') && rest[1..].starts_with(['1', '2', '3']) {
            parts.push(parts.last()?.clone());
            rest = &rest[2..];
        } else if rest.starts_with('D') && rest[1..].starts_with(['0', '1', '2']) {
            parts.push(format!("~{}", parts.last()?));
            rest = &rest[2..];
        } else if rest.starts_with('I') {
            rest = skip_arguments(rest)?;
        } else {
            break;
        }
    }
    (rest.starts_with('E') && !parts.is_empty()).then(|| parts.join("::"))
}

fn component(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text[..digits].parse().ok()?;
    Some((text.get(digits..digits + length)?, &text[digits + length..]))
}

/// Skips `I…E`, template arguments, counting the brackets that can nest in them.
fn skip_arguments(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((_, tail)) = component(rest) {
            rest = tail;
            continue;
        }
        // Literals and references back hold digits that are no lengths.
        if let Some(literal) = rest.strip_prefix('L').filter(|literal| !literal.starts_with("_Z")) {
            rest = &literal[literal.find('E')? + 1..];
            continue;
        }
        if let Some(back) = rest.strip_prefix(['S', 'T']) {
            let digits = back.bytes().take_while(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).count();
            rest = if back[digits..].starts_with('_') { &back[digits + 1..] } else { back.get(1..)? };
            continue;
        }
        match rest.as_bytes()[0] {
            b'I' | b'N' | b'X' | b'L' | b'F' | b'J' => depth += 1,
            b'E' => depth -= 1,
            _ => {}
        }
        rest = rest.get(1..)?;
        if depth == 0 {
            return Some(rest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_of_real_symbols() {
        let cases = [
            ("main", Some("main")),
            ("_Z5recogP7rtx_defP8rtx_insnPi", Some("recog")),
            ("_ZN12ranger_cache9get_rangeEv", Some("ranger_cache::get_range")),
            ("_ZNK4llvm5Value7getNameEv", Some("llvm::Value::getName")),
            ("_ZN3fooC2Ev", Some("foo::foo")),
            ("_ZN3fooD0Ev", Some("foo::~foo")),
            ("_ZN4llvm11SmallVectorIPNS_5ValueELj4EE4growEm", Some("llvm::SmallVector::grow")),
            ("_ZN12_GLOBAL__N_13DSE3runEv", Some("(anonymous namespace)::DSE::run")),
            ("_ZplRK1aS1_", None),
        ];
        for (symbol, name) in cases {
            assert_eq!(qualified_name(symbol).as_deref(), name, "{symbol}");
        }
    }
}

//! The metadata of a module as text: locations, scopes and variables by the numbers that machine functions print.
//!
//! LLVM numbers metadata by the module alone, and code generation changes nothing in the module once instructions are
//! selected, so that the numbers in every printed machine function are those of the module printed in front of selection.

use crate::observation::{Location, LocationId, Locations};
use std::collections::HashMap;

/// A variable's declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// Its scope, by number.
    pub scope: u32,
}

/// Locations, scopes and variables of a module.
#[derive(Clone, Debug, Default)]
pub struct ModuleMetadata {
    nodes: HashMap<u32, String>,
    /// The scope around each scope that is no function.
    parents: HashMap<u32, u32>,
    /// The scopes of all variables, by name and line.
    declared: HashMap<(String, u32), Vec<u32>>,
    /// The locations that were met.
    pub locations: Locations,
    known: HashMap<u32, Option<LocationId>>,
}

impl ModuleMetadata {
    /// Reads the metadata of a module: lines of the form `!7 = …`.
    pub fn read(module: &str) -> Self {
        let node = |line: &str| {
            let (number, text) = line.trim_start().strip_prefix('!')?.split_once(" = ")?;
            Some((number.parse().ok()?, text.strip_prefix("distinct ").unwrap_or(text).to_owned()))
        };
        let mut metadata = Self { nodes: module.lines().filter_map(node).collect(), ..Self::default() };
        metadata.parents = metadata.nodes.keys().filter_map(|scope| Some((*scope, metadata.parent_in_text(*scope)?))).collect();
        for variable in metadata.nodes.keys().filter_map(|number| metadata.variable(*number)).collect::<Vec<_>>() {
            metadata.declared.entry((variable.name, variable.line)).or_default().push(variable.scope);
        }
        metadata
    }

    /// The location that an instruction prints, as a number (`!25`) or in full (`!DILocation(line: 0, scope: !9)`).
    pub fn location(&mut self, text: &str) -> Option<LocationId> {
        let Some(number) = reference(text) else { return self.location_of(text) };
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let node = self.nodes.get(&number)?.clone();
        let id = self.location_of(&node);
        self.known.insert(number, id);
        id
    }

    fn location_of(&mut self, node: &str) -> Option<LocationId> {
        let fields = fields(node.strip_prefix("!DILocation(")?);
        let number = |name: &str| fields.get(name).and_then(|v| v.parse().ok()).unwrap_or(0);
        let scope = fields.get("scope").and_then(|v| reference(v)).unwrap_or(0);
        let inlined_at = fields.get("inlinedAt").and_then(|v| self.location(v));
        let file = self.file(scope).unwrap_or_default();
        let subprogram = u64::from(self.subprogram(scope));
        let location =
            Location { line: number("line"), column: number("column"), scope: u64::from(scope), inlined_at, file: file.into(), subprogram };
        Some(self.locations.add(location))
    }

    /// The variable of a number.
    pub fn variable(&self, number: u32) -> Option<Declared> {
        let fields = fields(self.nodes.get(&number)?.strip_prefix("!DILocalVariable(")?);
        Some(Declared {
            name: fields.get("name").map(|n| n.trim_matches('"').to_owned())?,
            line: fields.get("line").and_then(|l| l.parse().ok()).unwrap_or(0),
            scope: reference(fields.get("scope")?)?,
        })
    }

    /// The scope of the variable of this name and line that is declared in the function of a location.
    pub fn scope_of(&self, name: &str, line: u32, around: Option<LocationId>) -> Option<u32> {
        let subprogram = around.map(|id| self.locations.get(id).subprogram);
        let declared = self.declared.get(&(name.to_owned(), line)).into_iter().flatten().copied();
        let mut scopes: Vec<u32> = declared.filter(|scope| subprogram.is_none_or(|s| s == u64::from(self.subprogram(*scope)))).collect();
        scopes.sort_unstable();
        scopes.dedup();
        match scopes.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn parent_in_text(&self, scope: u32) -> Option<u32> {
        let node = self.nodes.get(&scope)?;
        let block = node.strip_prefix("!DILexicalBlock(").or_else(|| node.strip_prefix("!DILexicalBlockFile("))?;
        reference(fields(block).get("scope")?)
    }

    /// The scope around a scope.
    fn parent(&self, scope: u32) -> Option<u32> {
        self.parents.get(&scope).copied()
    }

    fn subprogram(&self, scope: u32) -> u32 {
        std::iter::successors(Some(scope), |s| self.parent(*s)).last().unwrap_or(scope)
    }

    fn file(&self, scope: u32) -> Option<String> {
        let node = self.nodes.get(&scope)?;
        let file = reference(fields(node.split_once('(')?.1).get("file")?)?;
        let file = fields(self.nodes.get(&file)?.strip_prefix("!DIFile(")?);
        Some(file.get("filename")?.trim_matches('"').to_owned())
    }

    /// Whether a variable's scope, inlined at a call site, is around a location.
    pub fn is_in_scope(&self, scope: u32, inlined_at: Option<LocationId>, location: LocationId) -> bool {
        let mut at = Some(location);
        while let Some(place) = at.map(|id| self.locations.get(id)) {
            if place.inlined_at == inlined_at {
                let mut around = std::iter::successors(u32::try_from(place.scope).ok(), |s| self.parent(*s));
                return around.any(|s| s == scope);
            }
            at = place.inlined_at;
        }
        false
    }
}

/// The number of `!25`.
pub fn reference(text: &str) -> Option<u32> {
    text.trim().strip_prefix('!')?.parse().ok()
}

/// The fields of a node, up to its closing parenthesis: `line: 3, scope: !9)`.
fn fields(text: &str) -> HashMap<&str, &str> {
    let inner = text.rfind(')').map_or(text, |end| &text[..end]);
    split(inner).into_iter().filter_map(|field| field.split_once(": ")).map(|(name, value)| (name.trim(), value.trim())).collect()
}

/// Splits at commas that are in no string and in no brackets.
pub fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut start) = (0usize, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '<' | '[' | '{' if !quoted => depth += 1,
            ')' | '>' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
  !1 = !DIFile(filename: "a, b.c", directory: "/")
  !9 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 2)
  !10 = distinct !DILexicalBlock(scope: !9, file: !1, line: 4, column: 3)
  !11 = !DILocalVariable(name: "i", scope: !10, file: !1, line: 4, type: !3)
  !20 = !DILocation(line: 4, column: 21, scope: !10)
  !21 = !DILocation(line: 9, column: 1, scope: !9)
  !22 = !DILocation(line: 5, column: 2, scope: !10, inlinedAt: !21)
"#;

    #[test]
    fn locations_scopes_and_variables_are_read_by_their_numbers() {
        let mut metadata = ModuleMetadata::read(MODULE);
        let inside = metadata.location("!20").unwrap();
        let outside = metadata.location("!21").unwrap();
        let inlined = metadata.location("!22").unwrap();
        assert_eq!((metadata.locations.get(inside).line, metadata.locations.get(inside).column), (4, 21));
        assert_eq!(&*metadata.locations.get(inside).file, "a, b.c");
        assert_eq!(metadata.locations.get(inlined).inlined_at, Some(outside));
        assert_eq!(metadata.location("!DILocation(line: 4, column: 21, scope: !10)"), Some(inside), "equal ones share their number");
        let variable = metadata.variable(11).unwrap();
        assert_eq!((variable.name.as_str(), variable.line, variable.scope), ("i", 4, 10));
        assert!(metadata.is_in_scope(10, None, inside));
        assert!(!metadata.is_in_scope(10, None, outside), "the block is inside the function, not around it");
        assert!(metadata.is_in_scope(10, Some(outside), inlined) && !metadata.is_in_scope(10, None, inlined));
    }
}

//! The functions of a preprocessed unit, and the unit's text with only some of them optimized.
//!
//! Functions are told apart by their text: a declaration with a parameter list and a body, at the level of files, namespaces
//! and classes. What is from headers of the system keeps the unit's level. Pragmas stand in front of and behind a function,
//! and line markers behind them keep every line where it was.
//!
//! Deliberately absent: lambdas, and functions inside functions, which go with what is around them.

use crate::names::token_length;
use std::fmt;
use trueline_model::CompilerKind;

/// A unit after the preprocessor, with its own functions.
#[derive(Clone, Debug)]
pub struct UnitFunctions {
    text: String,
    functions: Vec<UnitFunction>,
}

/// A function of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFunction {
    /// Its name as its definition has it, with a class or namespace where these are written there.
    pub name: String,
    /// The file that it is defined in.
    pub file: String,
    /// The line on which its definition begins.
    pub line: u64,
    start: usize,
    /// Where the file goes on behind it.
    end: usize,
    last_line: u64,
}

impl fmt::Display for UnitFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.name, self.file, self.line)
    }
}

impl UnitFunctions {
    /// Finds the functions in what a preprocessor wrote.
    pub(crate) fn of(text: String) -> Self {
        let functions = Scan::new(&text).functions();
        Self { text, functions }
    }

    /// The functions, in the order of the text.
    pub fn functions(&self) -> &[UnitFunction] {
        &self.functions
    }

    /// The unit with only these functions optimized.
    pub(crate) fn with_optimized(&self, kept: &[UnitFunction], kind: CompilerKind) -> String {
        let (off, on) = match kind {
            CompilerKind::Clang => ("#pragma clang optimize off", "#pragma clang optimize on"),
            _ => ("#pragma GCC push_options\n#pragma GCC optimize(\"O0\")", "#pragma GCC pop_options"),
        };
        let mut out = String::with_capacity(self.text.len() + 256 * self.functions.len());
        let mut at = 0;
        for function in self.functions.iter().filter(|f| !kept.contains(f)) {
            let file = function.file.replace('\\', "\\\\").replace('"', "\\\"");
            out.push_str(&self.text[at..function.start]);
            out.push_str(&format!("\n{off}\n# {} \"{file}\"\n", function.line));
            out.push_str(&self.text[function.start..function.end]);
            out.push_str(&format!("\n{on}\n# {} \"{file}\"\n", function.last_line));
            at = function.end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}

/// Whose text a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Project,
    System,
}

/// A walk over a unit's text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    file: String,
    line: u64,
    owner: Owner,
    /// The words of the declaration that is being read; what stands in parentheses or braces is one word.
    header: Vec<&'a str>,
    /// Where that declaration begins: byte, line, and whose it is.
    began: (usize, u64, Owner),
    found: Vec<UnitFunction>,
}

/// What an opening brace begins.
enum Brace {
    Function(String),
    /// A namespace, a class, a block of linkage: declarations go on inside.
    Scope,
    /// An initializer or a list of constants.
    Value,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let began = (0, 1, Owner::Project);
        Self { text, at: 0, file: String::new(), line: 1, owner: Owner::Project, header: Vec::new(), began, found: Vec::new() }
    }

    fn functions(mut self) -> Vec<UnitFunction> {
        while let Some((start, token)) = self.token() {
            if self.header.is_empty() {
                self.began = (start, self.line, self.owner);
            }
            match token {
                "(" | "[" => {
                    self.skip(token);
                    self.header.push(token);
                }
                "<" if self.header.last() == Some(&"template") => self.skip(token),
                ";" if !is_old_style(&self.header) => self.header.clear(),
                "}" => self.header.clear(),
                ":" if matches!(self.header.as_slice(), ["public" | "private" | "protected"]) => self.header.clear(),
                "{" => match brace(&self.header) {
                    Brace::Scope => self.header.clear(),
                    Brace::Value => {
                        self.skip(token);
                        self.header.push("{");
                    }
                    Brace::Function(name) => {
                        self.skip(token);
                        let (start, line, owner) = self.began;
                        if owner == Owner::Project {
                            let (end, last_line) = (self.at, self.line);
                            self.found.push(UnitFunction { name, file: self.file.clone(), line, start, end, last_line });
                        }
                        self.header.clear();
                    }
                },
                word => self.header.push(word),
            }
        }
        self.found
    }

    /// The next token with its place, behind white space, comments and directives.
    fn token(&mut self) -> Option<(usize, &'a str)> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            if first == '#' {
                let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
                self.directive(rest[..length].trim_end());
                self.at += length;
                continue;
            }
            let (start, token) = (self.at, &rest[..token_length(rest, first)]);
            self.at += token.len();
            self.line += token.matches('\n').count() as u64;
            if !first.is_whitespace() && !token.starts_with("//") && !token.starts_with("/*") {
                return Some((start, token));
            }
        }
    }

    /// A line marker says where the next line is from; any other directive is a line.
    fn directive(&mut self, text: &str) {
        let marker = text.strip_prefix("# ").and_then(|rest| rest.split_once(' ')).and_then(|(number, rest)| {
            let (file, flags) = rest.strip_prefix('"')?.rsplit_once('"')?;
            Some((number.parse::<u64>().ok()?, file, flags))
        });
        let Some((number, file, flags)) = marker else {
            self.line += 1;
            return;
        };
        self.line = number;
        self.file = file.replace("\\\\", "\\");
        let is_system = file.starts_with('<') || flags.split_whitespace().any(|f| f == "3");
        self.owner = if is_system { Owner::System } else { Owner::Project };
    }

    /// Goes behind what closes an opening token that was just read.
    fn skip(&mut self, opening: &str) {
        let is_angle = opening == "<";
        let mut depth = 1_usize;
        while depth > 0 {
            let Some((_, token)) = self.token() else { return };
            match token {
                "(" | "[" | "{" if is_angle => self.skip(token),
                "<" if is_angle => depth += 1,
                ">" if is_angle => depth -= 1,
                "(" | "[" | "{" if !is_angle => depth += 1,
                ")" | "]" | "}" if !is_angle => depth -= 1,
                _ => {}
            }
        }
    }
}

/// Words in front of parentheses that are no parameters.
const NO_FUNCTIONS: [&str; 14] = [
    "__attribute__",
    "__attribute",
    "__declspec",
    "alignas",
    "_Alignas",
    "decltype",
    "noexcept",
    "__asm__",
    "asm",
    "__asm",
    "throw",
    "requires",
    "explicit",
    "__typeof__",
];

/// The place of a declaration's parameters among its words.
fn parameters(header: &[&str]) -> Option<usize> {
    let operator = header.iter().position(|w| *w == "operator");
    // What is given a value is no function, unless the sign is part of its name.
    if operator.is_none() && header.contains(&"=") {
        return None;
    }
    // `operator()(int)`: its own parentheses are part of the name.
    let from = operator.map_or(1, |o| o + 2);
    (from..header.len()).find(|&i| {
        let before = header[i - 1];
        header[i] == "(" && (operator.is_some() || is_name(before) && !NO_FUNCTIONS.contains(&before) || before == ">")
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// What a brace behind these words begins.
fn brace(header: &[&str]) -> Brace {
    let begin = header.iter().position(|w| !matches!(*w, "template" | "inline" | "export" | "typedef" | "static" | "const"));
    let first = begin.map_or("", |i| header[i]);
    let last = header.last().copied().unwrap_or("");
    match first {
        "namespace" => return Brace::Scope,
        "enum" if parameters(header).is_none() => return Brace::Value,
        "extern" if last.starts_with('"') => return Brace::Scope,
        "class" | "struct" | "union" if !matches!(last, "(" | "const" | "noexcept" | "override") || parameters(header).is_none() => {
            return Brace::Scope;
        }
        "" => return Brace::Scope,
        _ => {}
    }
    let Some(at) = parameters(header) else { return Brace::Value };
    // A member's initializer in braces, in front of a constructor's body.
    let is_initializing = header[at..].windows(2).any(|w| w[0] != ":" && w[1] == ":") && header[at + 1..].contains(&":");
    if is_initializing && (is_name(last) || last == ">") {
        return Brace::Value;
    }
    Brace::Function(name_of(header, at))
}

/// The name in front of the parameters, with the scopes that are written there.
fn name_of(header: &[&str], at: usize) -> String {
    if let Some(operator) = header.iter().position(|w| *w == "operator") {
        return header[operator..at].concat().replace("operator(", "operator()");
    }
    let mut begin = at - 1;
    while begin > 0 && (header[begin - 1] == ":" || header[begin - 1] == "~" || header[begin] == ":" && is_name(header[begin - 1])) {
        begin -= 1;
    }
    header[begin..at].concat()
}

/// Whether a declaration goes on behind its semicolon: the types of an old function's parameters.
fn is_old_style(header: &[&str]) -> bool {
    let Some(at) = parameters(header) else { return false };
    let mut behind = header[at + 1..].iter();
    while let Some(word) = behind.next() {
        match *word {
            word if NO_FUNCTIONS.contains(&word) => {
                behind.next();
            }
            "const" | "override" | "final" | "noexcept" | "=" | "-" | ":" | "," | "&" | "(" | "[" | "{" => return false,
            word => return is_name(word) && at >= 1 && header.first() != Some(&"typedef"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        UnitFunctions::of(text.to_owned()).functions().iter().map(|f| format!("{}:{}", f.name, f.line)).collect()
    }

    #[test]
    fn functions_of_c_are_told_from_what_only_looks_like_them() {
        let text = "# 1 \"a.c\"\nextern int puts(const char *) __attribute__((nothrow));\n# 1 \"/usr/include/x.h\" 1 3\n\
                    static inline int theirs(int a) { return a; }\n# 2 \"a.c\" 2\nstruct s { int a; } x = { 1 };\n\
                    enum e { A = '{' };\nint old(a, b)\n  int a; char *b;\n{ return a + '}'; }\nint (*table[])(int) = { 0 };\n\
                    struct s *make(int n) { if (n) { return 0; } return &x; }\n__attribute__((noinline)) int last(void)\n{\n  return 2;\n}\n";
        assert_eq!(names(text), ["old:4", "make:8", "last:9"]);
    }

    #[test]
    fn functions_of_cpp_are_found_in_namespaces_and_classes() {
        let text = "# 1 \"a.cpp\"\nnamespace a { namespace b {\ntemplate <class T, int N = (3 > 2)> T twice(T x) { return x + x; }\n\
                    class C : public D<int> {\n public:\n  C(int a) : m{a}, n(2) { m++; }\n  ~C() noexcept { }\n\
                    int get() const { return 1'000; }\n  bool operator()(int i) const { return i; }\n private:\n  int m, n = 3;\n};\n}\n}\n\
                    void a::b::C::later(int) { auto l = [](int q) { return q; }; }\nextern \"C\" {\nint c(void) { return R\"({)\"[0]; }\n}\n\
                    auto value = [](int q) { return q; };\nenum class E : int { X };\n";
        assert_eq!(names(text), ["twice:2", "C:5", "~C:6", "get:7", "operator():8", "a::b::C::later:14", "c:16"]);
    }

    #[test]
    fn what_is_not_optimized_stays_on_its_lines() {
        let text = "# 1 \"a.c\"\nint f(void)\n{\n  return 1;\n}\nint g(void) { return 2; }\n";
        let unit = UnitFunctions::of(text.to_owned());
        let kept = [unit.functions()[1].clone()];
        let made = unit.with_optimized(&kept, CompilerKind::Clang);
        assert!(made.contains("#pragma clang optimize off\n# 1 \"a.c\"\nint f(void)\n{"), "{made}");
        assert!(made.contains("}\n#pragma clang optimize on\n# 4 \"a.c\"\n\nint g"), "{made}");
        assert_eq!(UnitFunctions::of(made).functions()[1].line, 5);
        assert_eq!(unit.with_optimized(unit.functions(), CompilerKind::Gcc), text);
    }
}

//! What the functions of the C library do to memory that a program can see, as its standard says.
//!
//! A name counts only where it is imported: a function of the program's own that is called `log` is the program's own.
//! Deliberately absent: what they compute; the emulator's answers are in `emulate`.

use crate::symbolic::call::{Argument, Effect};

/// Whether a function comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryEnding {
    /// It returns to its caller.
    Returns,
    /// It never returns.
    Never,
    /// It returns twice, elsewhere, or in another process.
    Strange,
}

/// A name without its symbol version.
pub fn plain(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// How a call of an imported function ends.
pub fn ending(name: &str) -> LibraryEnding {
    match plain(name) {
        "exit"
        | "abort"
        | "_exit"
        | "_Exit"
        | "quick_exit"
        | "__assert_fail"
        | "__assert_perror_fail"
        | "__stack_chk_fail"
        | "__fortify_fail"
        | "__chk_fail"
        | "err"
        | "errx" => LibraryEnding::Never,
        "setjmp" | "_setjmp" | "__sigsetjmp" | "sigsetjmp" | "longjmp" | "_longjmp" | "siglongjmp" | "fork" | "vfork" | "clone"
        | "pthread_create" | "getcontext" | "setcontext" | "swapcontext" => LibraryEnding::Strange,
        _ => LibraryEnding::Returns,
    }
}

/// Whether a function that stores nothing else may set `errno`. `free` is one: before glibc 2.33 it did.
pub fn may_set_errno(name: &str) -> bool {
    let plain = plain(name);
    let classifies = plain.starts_with("is") && plain.len() > 4;
    let compares = plain.starts_with("str") && plain != "strcoll";
    !(classifies
        || compares
        || matches!(plain, "memcmp" | "bcmp" | "memchr" | "memrchr" | "abs" | "toupper" | "tolower" | "fabs" | "fabsf"))
}

/// What a call does, and how its arguments are passed where their number is fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What it does to memory.
    pub effect: Effect,
    /// Its arguments; `None` where their number depends on the call.
    pub arguments: Option<Vec<Argument>>,
    /// Which argument is a format that must not contain `%n`, by number.
    pub format: Option<usize>,
}

/// The model of an imported function; `None` for one that may do anything.
pub fn model(name: &str) -> Option<Model> {
    // P a pointer or long, I an int; then what it does.
    let (shape, effect) = match plain(name) {
        // Output: the answer is nobody's business, and compilers turn one of these into another.
        "puts" | "putchar" | "fputs" | "fputc" | "putc" | "_IO_putc" | "fwrite" | "write" | "fflush" | "fclose" | "free" => {
            return Some(Model { effect: Effect::Reads, arguments: None, format: None });
        }
        "strlen" | "atoi" | "atol" | "atoll" | "feof" | "ferror" => ("P", Effect::Reads),
        "malloc" => ("P", Effect::Reads),
        "strcmp" | "strstr" | "strcoll" | "strspn" | "strcspn" | "strpbrk" | "strcasecmp" => ("PP", Effect::Reads),
        "strncmp" | "memcmp" | "bcmp" | "strncasecmp" => ("PPP", Effect::Reads),
        "strchr" | "strrchr" => ("PI", Effect::Reads),
        "memchr" | "memrchr" => ("PIP", Effect::Reads),
        "strnlen" => ("PP", Effect::Reads),
        "toupper" | "tolower" | "isalpha" | "isdigit" | "isalnum" | "isspace" | "isupper" | "islower" | "isprint" | "ispunct"
        | "isxdigit" | "iscntrl" | "isgraph" | "abs" => ("I", Effect::Reads),
        "memcpy" | "memmove" | "mempcpy" | "strncpy" | "strncat" | "bcopy" => ("PPP", Effect::Writes),
        "memset" => ("PIP", Effect::Writes),
        "strcpy" | "strcat" | "stpcpy" | "calloc" | "realloc" => ("PP", Effect::Writes),
        "fread" => ("PPPP", Effect::Writes),
        "read" => ("IPP", Effect::Writes),
        "fgets" => ("PIP", Effect::Writes),
        "getc" | "fgetc" | "_IO_getc" => ("P", Effect::Writes),
        "getchar" | "rand" => ("", Effect::Writes),
        "srand" => ("I", Effect::Writes),
        "printf" => return Some(Model { effect: Effect::Reads, arguments: None, format: Some(0) }),
        "fprintf" | "__printf_chk" | "dprintf" => return Some(Model { effect: Effect::Reads, arguments: None, format: Some(1) }),
        "__fprintf_chk" => return Some(Model { effect: Effect::Reads, arguments: None, format: Some(2) }),
        _ => return None,
    };
    let arguments = shape.chars().map(|c| Argument::Integer(if c == 'P' { 8 } else { 4 })).collect();
    Some(Model { effect, arguments: Some(arguments), format: None })
}

//! Commands as people type them: gdb's words and their short forms.

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugCommand {
    /// Stops the program at a place from now on.
    Break(StopPlace),
    /// Start the program.
    Run,
    /// On to the next breakpoint.
    Continue,
    /// To the next line, into calls.
    Step(u32),
    /// To the next line, over calls.
    Next(u32),
    /// Out of the function.
    Finish,
    /// Shows the frames, the innermost first.
    Backtrace,
    /// The local variables.
    Locals,
    /// Shows the parameters of the selected frame.
    Args,
    /// The value of an expression.
    Print(String),
    /// Ends the program and the conversation.
    Quit,
}

/// Where to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopPlace {
    /// A line of a file, or of the one that main is in.
    Line(Option<String>, u32),
    /// Where a function's body begins.
    Function(String),
    /// An address, as the file has it.
    Address(u64),
}

/// Reads a line; nothing for an empty one or a comment.
pub fn parse(line: &str) -> Result<Option<DebugCommand>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (word, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    let count = |rest: &str| match rest {
        "" => Ok(1),
        text => text.parse::<u32>().map_err(|_| format!("`{text}` is no number of steps")),
    };
    let bare = |command: DebugCommand| match rest {
        "" => Ok(command),
        rest => Err(format!("`{word}` takes nothing behind it, not `{rest}`")),
    };
    Ok(Some(match word {
        "break" | "b" => DebugCommand::Break(place(rest)?),
        "run" | "r" => bare(DebugCommand::Run)?,
        "continue" | "c" => bare(DebugCommand::Continue)?,
        "step" | "s" => DebugCommand::Step(count(rest)?),
        "next" | "n" => DebugCommand::Next(count(rest)?),
        "finish" | "fin" => bare(DebugCommand::Finish)?,
        "backtrace" | "bt" | "where" => bare(DebugCommand::Backtrace)?,
        "info" | "i" => match rest {
            "locals" | "lo" => DebugCommand::Locals,
            "args" | "ar" => DebugCommand::Args,
            _ => return Err("`info` shows `locals` or `args`".to_owned()),
        },
        "print" | "p" if !rest.is_empty() => DebugCommand::Print(rest.to_owned()),
        "quit" | "q" | "exit" => bare(DebugCommand::Quit)?,
        _ => return Err(format!("`{line}` is not understood; use break, run, continue, step, next, finish, bt, info, print, quit")),
    }))
}

fn place(text: &str) -> Result<StopPlace, String> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
    if let Some(address) = text.strip_prefix('*') {
        let digits = address.trim().strip_prefix("0x").unwrap_or(address.trim());
        return u64::from_str_radix(digits, 16).map(StopPlace::Address).map_err(|_| format!("`{text}` is no address: write *0x1139"));
    }
    if let Some((file, line)) = text.rsplit_once(':')
        && let Some(line) = number(line)
    {
        return Ok(StopPlace::Line(Some(file.to_owned()), line));
    }
    match (text, number(text)) {
        ("", _) => Err("`break` needs FILE:LINE, LINE, a function or *ADDRESS".to_owned()),
        (_, Some(line)) => Ok(StopPlace::Line(None, line)),
        _ => Ok(StopPlace::Function(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_functions_and_addresses() {
        let read = |text: &str| match parse(text) {
            Ok(Some(DebugCommand::Break(place))) => place,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(read("b list.c:12"), StopPlace::Line(Some("list.c".into()), 12));
        assert_eq!(read("break 7"), StopPlace::Line(None, 7));
        assert_eq!(read("break ns::insert"), StopPlace::Function("ns::insert".into()));
        assert_eq!(read("b *0x1139"), StopPlace::Address(0x1139));
    }

    #[test]
    fn short_forms_comments_and_mistakes() {
        assert_eq!(parse("  # nothing"), Ok(None));
        assert_eq!(parse("n 3"), Ok(Some(DebugCommand::Next(3))));
        assert_eq!(parse("p *list->next"), Ok(Some(DebugCommand::Print("*list->next".into()))));
        for wrong in ["fly", "info registers", "print", "step far", "break", "run fast"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

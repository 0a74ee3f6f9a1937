//! The protocol's framing: a header with the length of the content, an empty line, the content.

use super::{Adapter, Launch, Talk};
use serde_json::Value;
use std::io::{self, BufRead, Write};

/// Longest message that is read: what a client sends is a path, a list of lines or an expression.
const LONGEST: usize = 16 << 20;

/// Why a conversation broke off.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// A pipe broke.
    #[error("the client cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// What came is not the protocol.
    #[error("this is not the Debug Adapter Protocol: {0}")]
    Malformed(String),
}

/// Reads one message; nothing at the end of the input.
pub fn read(input: &mut dyn BufRead) -> Result<Option<Value>, WireError> {
    let malformed = |reason: &str| WireError::Malformed(reason.to_owned());
    let mut length: Option<usize> = None;
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return if is_first { Ok(None) } else { Err(malformed("it ends within a header")) };
        }
        is_first = false;
        match line.trim_end_matches(['\r', '\n']) {
            "" => break,
            header => {
                let (name, value) = header.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
                if name.eq_ignore_ascii_case("content-length") {
                    length = Some(value.trim().parse().map_err(|_| malformed("a length that is no number"))?);
                }
            }
        }
    }
    let length = length.filter(|&l| l <= LONGEST).ok_or_else(|| malformed("no length, or one that is too great"))?;
    let mut content = vec![0; length];
    io::Read::read_exact(input, &mut content)?;
    serde_json::from_slice(&content).map(Some).map_err(|e| WireError::Malformed(e.to_string()))
}

/// Writes one message.
pub fn write(output: &mut dyn Write, message: &Value) -> io::Result<()> {
    let content = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{content}", content.len())?;
    output.flush()
}

/// Answers a client until it says goodbye or goes away; some go without waiting for the answer to their goodbye.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, launch: &Launch<'_>) -> Result<(), WireError> {
    let mut adapter = Adapter::new(launch);
    while let Some(request) = read(input)? {
        let (messages, talk) = adapter.answer(&request);
        match messages.iter().try_for_each(|message| write(output, message)) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => break,
            written => written?,
        }
        if talk == Talk::Over {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_one_message_after_the_other() {
        let messages = [serde_json::json!({ "text": "ü\r\n" }), serde_json::json!({ "seq": 2 })];
        let mut pipe = Vec::new();
        messages.iter().for_each(|m| write(&mut pipe, m).unwrap());
        let mut input = io::Cursor::new(pipe);
        assert_eq!(read(&mut input).unwrap().as_ref(), Some(&messages[0]));
        assert_eq!(read(&mut input).unwrap().as_ref(), Some(&messages[1]));
        assert!(read(&mut input).unwrap().is_none());
    }

    #[test]
    fn what_is_not_the_protocol_is_an_error_and_no_panic() {
        for text in
            ["hello\r\n\r\n", "Content-Length: x\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 3\r\n\r\nab", "A: b"]
        {
            assert!(read(&mut io::Cursor::new(text)).is_err(), "{text}");
        }
        assert!(matches!(read(&mut io::Cursor::new("Content-Length: 2\r\n\r\nxx")), Err(WireError::Malformed(_))));
    }
}

//! Frames and variables in the protocol's words.

use crate::{DebugCommand, Mark, ShownFrame, ShownVariable};
use serde_json::{Value, json};

/// The number of the frame whose variables can be seen.
pub(super) const INNERMOST: i64 = 1;

/// Variables that are shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableGroup {
    Locals,
    Arguments,
}

impl VariableGroup {
    const ALL: [(i64, Self, &'static str, &'static str); 2] =
        [(1, Self::Locals, "Locals", "locals"), (2, Self::Arguments, "Arguments", "arguments")];

    pub(super) fn of_number(number: i64) -> Option<Self> {
        Self::ALL.iter().find(|of| of.0 == number).map(|of| of.1)
    }

    pub(super) fn command(self) -> DebugCommand {
        match self {
            Self::Locals => DebugCommand::Locals,
            Self::Arguments => DebugCommand::Args,
        }
    }

    /// The groups of a frame; frames further out have none.
    pub(super) fn scopes(is_innermost: bool) -> Value {
        let scope = |&(number, _, name, hint): &(i64, Self, &str, &str)| json!({ "name": name, "presentationHint": hint, "variablesReference": number, "expensive": false });
        let all: Vec<Value> = Self::ALL.iter().filter(|_| is_innermost).map(scope).collect();
        json!({ "scopes": all })
    }
}

pub(super) fn frame(id: i64, frame: &ShownFrame) -> Value {
    let name = if frame.inlined { format!("{} (inlined)", frame.function) } else { frame.function.clone() };
    let mut shown = json!({
        "id": id, "name": name, "line": frame.line.unwrap_or(0), "column": u8::from(frame.line.is_some()),
        "instructionPointerReference": format!("{:#x}", frame.pc)
    });
    if let Some(path) = &frame.file {
        shown["source"] = json!({ "name": path.rsplit('/').next(), "path": path });
    }
    shown
}

/// A variable; what the source contradicts says so in its value, which every client shows, and in its hint.
pub(super) fn variable(shown: &ShownVariable) -> Value {
    let value = match (&shown.value, &shown.absent) {
        (Some(value), _) => value.clone(),
        (None, absent) => format!("<{}>", absent.as_deref().unwrap_or("no value")),
    };
    let (remark, attribute) = match &shown.mark {
        None => (String::new(), None),
        Some(Mark::NotTheSources { source }) => (format!("  ! source has {}", source.join(" or ")), Some("notTheSources")),
        Some(Mark::Lost { source }) => (format!("  ! lost: source has {}", source.join(" or ")), Some("lost")),
    };
    let attributes: Vec<&str> = ["readOnly"].into_iter().chain(attribute).collect();
    json!({
        "name": shown.name, "value": value + &remark, "evaluateName": shown.name, "variablesReference": 0,
        "presentationHint": { "kind": "data", "attributes": attributes }
    })
}

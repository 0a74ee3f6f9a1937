//! Who traces, and by whose habits the native engine reads: the names that command lines, documents and databases share.
//!
//! Deliberately absent: where a debugger is found, and what a policy does.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A debugger, of whatever version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Debugger {
    /// The GNU debugger.
    Gdb,
    /// LLVM's debugger.
    Lldb,
}

impl Debugger {
    /// The debugger and the release of a name such as `gdb-18`.
    fn of_name(name: &str) -> Option<(Self, u16)> {
        let (family, release) = name.split_once('-')?;
        let debugger = [Self::Gdb, Self::Lldb].into_iter().find(|d| d.to_string() == family)?;
        let is_number = !release.starts_with('0') && release.bytes().all(|c| c.is_ascii_digit());
        Some((debugger, is_number.then(|| release.parse().ok())??))
    }
}

impl fmt::Display for Debugger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gdb => "gdb",
            Self::Lldb => "lldb",
        })
    }
}

/// Who did the tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EngineKind {
    /// Our own ptrace engine.
    Native,
    /// gdb, stepping: the one on PATH.
    Gdb,
    /// lldb, stepping: the one on PATH, or the newest of the host's.
    Lldb,
    /// A debugger of one release, the host's or a fetched one.
    Numbered(Debugger, u16),
}

impl EngineKind {
    /// The debugger that it runs; none for our own.
    pub fn debugger(self) -> Option<Debugger> {
        match self {
            Self::Native => None,
            Self::Gdb => Some(Debugger::Gdb),
            Self::Lldb => Some(Debugger::Lldb),
            Self::Numbered(debugger, _) => Some(debugger),
        }
    }

    /// The name of its program where a release was asked for.
    pub fn program(self) -> Option<String> {
        matches!(self, Self::Numbered(..)).then(|| self.to_string())
    }

    /// Whether a policy is known to predict it: one was held against this release. Plain names are taken for gdb 13 and lldb 16.
    pub fn is_predicted(self) -> bool {
        match self {
            Self::Native | Self::Gdb | Self::Lldb => true,
            Self::Numbered(Debugger::Gdb, release) => matches!(release, 13 | 16 | 18),
            Self::Numbered(Debugger::Lldb, release) => matches!(release, 16 | 19 | 22),
        }
    }

    /// The policy that predicts it, or comes nearest where none was held against its release; gdb's for our own, which has no
    /// habits.
    pub fn policy(self) -> Policy {
        match self {
            Self::Native | Self::Gdb => Policy::Gdb,
            Self::Numbered(Debugger::Lldb, 21..) => Policy::Lldb22,
            Self::Lldb | Self::Numbered(Debugger::Lldb, _) => Policy::Lldb,
            Self::Numbered(Debugger::Gdb, 18..) => Policy::Gdb18,
            Self::Numbered(Debugger::Gdb, 16..) => Policy::Gdb16,
            Self::Numbered(Debugger::Gdb, _) => Policy::Gdb,
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Gdb => f.write_str("gdb"),
            Self::Lldb => f.write_str("lldb"),
            Self::Numbered(debugger, release) => write!(f, "{debugger}-{release}"),
        }
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "native" => Ok(Self::Native),
            "gdb" => Ok(Self::Gdb),
            "lldb" => Ok(Self::Lldb),
            _ => match Debugger::of_name(text) {
                Some((debugger, release)) => Ok(Self::Numbered(debugger, release)),
                None => Err(format!("unknown engine `{text}`; use native, gdb, lldb, or a release such as gdb-18")),
            },
        }
    }
}

/// How the native engine reads the line table: whose habits it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// gdb 13: the last is_stmt row at an address.
    Gdb,
    /// lldb 16 and 19: the last row at an address, whatever its flag.
    Lldb,
    /// The DWARF standard read literally: every is_stmt row.
    Standard,
    /// gdb 16: as gdb 13, with other habits where lines and inlined calls begin.
    #[serde(rename = "gdb-16")]
    Gdb16,
    /// gdb 18: as gdb 16, but empty ranges of inlined calls hold a byte.
    #[serde(rename = "gdb-18")]
    Gdb18,
    /// lldb 22: as lldb 16, but an inlined call that it has run to is shown from inside.
    #[serde(rename = "lldb-22")]
    Lldb22,
}

impl Policy {
    /// The debugger whose habits they are; none for the standard's.
    pub fn debugger(self) -> Option<Debugger> {
        match self {
            Self::Gdb | Self::Gdb16 | Self::Gdb18 => Some(Debugger::Gdb),
            Self::Lldb | Self::Lldb22 => Some(Debugger::Lldb),
            Self::Standard => None,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gdb => "gdb",
            Self::Lldb => "lldb",
            Self::Standard => "standard",
            Self::Gdb16 => "gdb-16",
            Self::Gdb18 => "gdb-18",
            Self::Lldb22 => "lldb-22",
        })
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "gdb" => Ok(Self::Gdb),
            "lldb" => Ok(Self::Lldb),
            "standard" => Ok(Self::Standard),
            _ => match text.parse::<EngineKind>() {
                Ok(engine @ EngineKind::Numbered(..)) if engine.is_predicted() => Ok(engine.policy()),
                _ => Err(format!("unknown policy `{text}`; use standard, gdb (13), gdb-16, gdb-18, lldb (16, 19), or lldb-22")),
            },
        }
    }
}

impl TryFrom<String> for EngineKind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<EngineKind> for String {
    fn from(engine: EngineKind) -> Self {
        engine.to_string()
    }
}

impl JsonSchema for EngineKind {
    fn schema_name() -> Cow<'static, str> {
        "EngineKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Who did the tracing: `native`, `gdb`, `lldb`, or one release of a debugger, such as `gdb-18`.",
            "type": "string"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_read_back_as_they_are_written_and_nothing_else_is_one() {
        for name in ["native", "gdb", "lldb", "gdb-18", "lldb-22"] {
            let engine: EngineKind = name.parse().unwrap();
            assert_eq!(engine.to_string(), name);
            assert_eq!(serde_json::to_string(&engine).unwrap(), format!("\"{name}\""));
        }
        for name in ["gdb-", "gdb-018", "gdb-x", "native-1", "lldb-16-1", "gdb-99999999", "standard"] {
            assert!(name.parse::<EngineKind>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_release_of_a_debugger_is_run_by_its_own_name_and_predicted_by_its_familys_policy() {
        let engine: EngineKind = "gdb-18".parse().unwrap();
        assert_eq!((engine.program().as_deref(), engine.policy()), (Some("gdb-18"), Policy::Gdb18));
        assert_eq!("gdb-14".parse::<EngineKind>().unwrap().policy(), Policy::Gdb);
        assert_eq!((EngineKind::Lldb.program(), EngineKind::Lldb.policy()), (None, Policy::Lldb));
    }

    #[test]
    fn a_policy_is_named_by_a_release_that_it_was_held_against_and_by_no_other() {
        for (name, policy) in [
            ("gdb-13", Policy::Gdb),
            ("gdb-16", Policy::Gdb16),
            ("gdb-18", Policy::Gdb18),
            ("lldb-19", Policy::Lldb),
            ("lldb-22", Policy::Lldb22),
        ] {
            assert_eq!(name.parse::<Policy>(), Ok(policy));
        }
        for name in ["gdb-17", "lldb-23", "native", "gdb-"] {
            assert!(name.parse::<Policy>().is_err(), "{name}");
        }
        for policy in [Policy::Gdb, Policy::Lldb, Policy::Standard, Policy::Gdb16, Policy::Gdb18, Policy::Lldb22] {
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{policy}\""));
            assert_eq!(policy.to_string().parse::<Policy>(), Ok(policy));
        }
    }
}

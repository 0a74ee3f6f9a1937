//! The adversary of `trueline repair`: small C functions made so that a relation which holds on every ordinary run
//! fails on a rare one, and a judge that runs the repaired file on the rare inputs in gdb and compares every value
//! with the -O0 build at the one matching moment.
//!
//! The repair is a command to it, and its sidecar a document: nothing is shared with the code that is judged.
//! Deliberately absent: how relations are found or proved, and any knowledge of which kinds are hard for it.

pub mod calls;
pub mod gdb;
pub mod judge;
pub mod kinds;
pub mod program;
pub mod repaired;
pub mod tally;
pub mod trial;
pub mod written;

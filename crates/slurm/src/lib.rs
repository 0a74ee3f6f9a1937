//! Runs the shards of a campaign as a Slurm job array: submit, follow, bring lost tasks back, collect.
//!
//! The seam is the shard: a task runs `trueline hunt … --shard K/N` with a database on the node's own
//! disk and leaves it in a directory that all nodes share. What a task has finished is told by the file it
//! leaves there, never by the queue alone: queues forget.
//!
//! Deliberately absent: what is in a database (the campaign merges them) and any printing.

mod array;
mod queue;
mod script;

pub use array::{Array, ArrayError, ArrayProgress, ArraySpec, Following};
pub use queue::{JobId, QueueError};

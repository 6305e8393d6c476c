//! The loop around the loop: a frozen, approved set of tasks, each run, verified and checked up (spec 2).
//!
//! In: what a person typed, a requirement document, issues, and the journal. Out: a plan, the state of every task, what
//! halts the set, and the one step that comes next. Nothing here is read from the model's memory, and nothing is written.

pub mod decision;
pub mod document;
pub mod graph;
pub mod halt;
pub mod intent;
pub mod key;
pub mod lease;
pub mod mirror;
pub mod plan;
pub mod revision;
pub mod state;
pub mod task;

#[cfg(test)]
mod model;

//! The rules, pure: plain values in, plain values out.
//!
//! Modules stand in the order in which data flows through them. Nothing here reads a clock, the environment, a
//! file or a process, and nothing prints; `tests/layering.rs` holds it to that.

pub mod oid;
pub mod path_rules;
pub mod settings;

pub mod facts;
pub mod failing_set;
pub mod task_set;
pub mod ticket;

pub mod test_run;

pub mod event;
pub mod state;

pub mod evidence;
pub mod indicator;
pub mod signal;

pub mod gate;
pub mod phase;
pub mod stagnation;

pub mod decision;
pub mod marker;
pub mod status;

pub mod check;
pub mod compaction;
pub mod diagnosis;
pub mod iteration;
pub mod plumbing;
pub mod success;
pub mod trigger;

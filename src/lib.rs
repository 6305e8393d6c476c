//! `git nav-loop`: a coding agent's "done", proven by git.
//!
//! ```text
//! git objects ─ Facts → evidence → Indicators ─┬→ gate ────────┐
//! journal ──── Events → State (fold) ──────────┼→ stagnation ──┼→ Decision → Event → journal
//!                                              └→ phase, Status ─ render → the reader
//! ```
//!
//! Left of `Facts` and right of the last arrows is the only IO. Everything between is plain values in, plain values
//! out ([`domain`]). [`git`] is the only code that touches git, [`turn`] the only place where the two meet,
//! [`commands`] turns arguments into turns and turns into words ([`render`]).

pub mod domain;

pub mod git;

pub mod agent;

pub mod failpoint;

pub mod exit_code;

pub mod error;

pub mod context;

pub mod config;

pub mod turn;

pub mod testing;

pub mod tracker;

pub mod signature;

pub mod begin;

pub mod completion;

pub mod check;

pub mod driver;

pub mod task_set;

pub mod render;

pub mod cli;

pub mod commands;

//! The edge of a task set: where its rules meet git, the agent, the tracker and the files below `.mino/` (spec 2).
//!
//! `resolve` makes a plan, `lease` lets one driver in, `store` reads and writes the journal and its mirror, `steps` runs,
//! verifies and checks up one task, `drive` goes round until the goal is reached or something halts it.

pub mod drive;
pub mod finish;
pub mod lease;
pub mod resolve;
mod run_lock;
pub mod steps;
pub mod store;

//! The integration tests: one binary, this file is its index. Each drives the built programs and real git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    missing_docs,
    unreachable_pub,
    clippy::too_many_lines,
    reason = "tests fail by panicking, start programs and read their environment"
)]

mod support;

/// What the gate answers, over its whole truth table and in real repositories.
mod gate;

/// Each indicator with its traps.
mod indicators;

/// What the hooks do, and do not do, at every operation of git.
mod hooks;

/// The journal under concurrency, on every format, beside other writers.
mod journal;

/// Install, uninstall, doctor: checklist I1-I15.
mod install;

/// Broken, hostile and missing input: one clear sentence, the right exit code, nothing lost.
mod bad_input;

/// A crash at every step of a write; needs `--features failpoints`.
#[cfg(feature = "failpoints")]
mod crash;

/// What the tool says of real histories, recomputed with the git program alone.
mod history;

/// The layers: who may import whom.
mod layering;

/// `install.sh`, its demo, and the commands that the READMEs show.
mod readme;

/// What is printed, English and 中文 side by side.
mod words;

/// Properties that hold for every input of a kind.
mod properties;

/// The pre-merge check: ranges, CI systems, forgery, formats, attestations, server hooks.
mod check;

/// Every recorded verdict derived again.
mod replay;

/// The journal exchanged with a remote.
mod sync;

/// A frozen set of tasks: plan, approval, halts, resume, lease, mirror.
mod task_set;

/// The tracker's word on a ticket.
mod ticket;

/// Real agent clients, where they are installed.
mod real_clients;

/// The Claude plugin and its skills.
mod plugin;

/// The four functions of the seed, from arguments alone.
mod plumbing;

/// Which prompts ask for a loop.
mod trigger;

/// Stagnation, limits, approval; who decides and what follows.
mod pauses;

/// The completion protocol, step by step.
mod completion;

/// Our entries in the settings of agent clients.
mod client_settings;

/// Two clones that exchange notes.
mod clones;

/// What `doctor --repair` and `compact` do.
mod repair;

/// Help, man pages, completions.
mod help;

/// The driver, with scripted agents.
mod run;

/// What agent clients' own hooks are answered.
mod agent_hook;

/// What agents' last messages say.
mod signals;

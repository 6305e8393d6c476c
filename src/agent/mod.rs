//! Somebody else's program: starting it, passing its output through, ending it with everything it started, and reading
//! what it said last.

pub mod last_message;
pub mod process;
pub mod prompt;
pub mod stop_hook;

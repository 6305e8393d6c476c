//! Somebody else's program: starting it, passing its output through, ending it with everything it started.

pub mod process;

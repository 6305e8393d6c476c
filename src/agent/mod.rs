//! Somebody else's program: starting it, passing its output through, ending it with everything it started, and reading
//! what it said last.

pub mod client_settings;
pub mod last_message;
pub mod process;
pub mod prompt;
pub mod settings_file;
pub mod stop_hook;
pub mod usage_limit;

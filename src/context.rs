//! What a command is handed: clock, environment marks, language, and where to write.
//!
//! The clock and the process environment are read here and in `config.rs`, nowhere else.
#![expect(clippy::disallowed_methods, reason = "this file reads clock and environment")]

use std::{
    io::{IsTerminal, Write},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    domain::gate::Verdict,
    error::{Error, ErrorKind},
    git::{journal::Writer, repo::Repo},
    render::Language,
};

/// Environment marks that an agent client sets for the programs it starts.
const AGENT_MARKS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "COPILOT_CLI",
    "NAV_LOOP_DRIVER",
];

/// How long a hook may wait for a write.
pub const HOOK_PATIENCE: Duration = Duration::from_millis(1_600);
/// How long a command may wait for a write.
pub const COMMAND_PATIENCE: Duration = Duration::from_secs(10);

/// What a command is handed.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The language of what is printed.
    pub language: Language,
    /// Whether stdout may carry colour.
    pub colour: bool,
    /// Whether the answer is asked for as JSON.
    pub json: bool,
    /// Whether nothing is printed: a step inside a set's own driver.
    pub silent: bool,
}

impl Context {
    /// The context of this process. `typed` is `--lang`.
    pub fn new(typed: Option<Language>, json: bool) -> Self {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self { language: typed.unwrap_or_else(language_of_environment), colour, json, silent: false }
    }

    /// Prints `text`; a reader that went away is no error.
    pub fn print(&self, text: &str) {
        if self.silent {
            return;
        }
        let mut out = std::io::stdout().lock();
        drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Prints one line.
    pub fn say(&self, line: &str) {
        self.print(&format!("{line}\n"));
    }

    /// Prints the line of a verdict, in its colour where there is colour.
    pub fn say_verdict(&self, line: &str, verdict: Verdict) {
        let colour = match verdict {
            Verdict::Exit => 32,
            Verdict::Continue => 33,
            Verdict::Blocked | Verdict::Paused | Verdict::Unknown => 31,
        };
        if self.colour { self.say(&format!("\u{1b}[{colour}m{line}\u{1b}[0m")) } else { self.say(line) }
    }

    /// Shows how a wait stands: on a terminal each time in place; elsewhere a line, where this is a milestone.
    pub fn progress(&self, line: &str, is_milestone: bool) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() {
            drop(write!(err, "\r\u{1b}[K{line}").and_then(|()| err.flush()));
        } else if is_milestone {
            drop(writeln!(err, "nav-loop: {line}"));
        }
    }

    /// Ends what [`Context::progress`] showed.
    pub fn progress_ended(&self, line: &str) {
        let mut err = std::io::stderr().lock();
        let clear = if err.is_terminal() { "\r\u{1b}[K" } else { "" };
        drop(writeln!(err, "{clear}nav-loop: {line}"));
    }

    /// Prints one line on stderr.
    pub fn warn(&self, line: &str) {
        let mut err = std::io::stderr().lock();
        drop(writeln!(err, "nav-loop: {line}"));
    }
}

/// The first non-empty of `LC_ALL`, `LC_MESSAGES`, `LANG`.
fn language_of_environment() -> Language {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().filter_map(std::env::var_os).find(|v| !v.is_empty());
    Language::of_locale(&set.unwrap_or_default().to_string_lossy())
}

/// The first agent mark in the environment.
pub fn agent_mark() -> Option<&'static str> {
    AGENT_MARKS.iter().copied().find(|m| std::env::var_os(m).is_some_and(|v| !v.is_empty()))
}

/// The loop whose driver started us, if one did.
pub fn driver_mark() -> Option<String> {
    std::env::var_os("NAV_LOOP_DRIVER").filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
}

/// A variable of the environment, where it is set to something: what a CI system tells.
pub fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
}

/// The task set whose driver started us, if one did.
pub fn set_mark() -> Option<String> {
    std::env::var_os("NAV_LOOP_SET").filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
}

/// Refuses a person's act under an agent's mark, unless git config allows it; else who acts (spec 1.9).
pub fn who_acts(repo: &Repo, act: &str) -> Result<&'static str, Error> {
    let allowed = repo.config_string("navLoop", None, "allowAgentActs").is_some_and(|v| v == "true" || v == "1");
    if let Some(mark) = agent_mark().filter(|_| !allowed) {
        let message = format!("{act} is a person's act, and {mark} in the environment says that an agent runs this");
        let hint = "ask the person; who lets agents act sets git config navLoop.allowAgentActs true";
        return Err(Error::new(ErrorKind::NeedsPerson, message, hint));
    }
    Ok(if std::io::stdin().is_terminal() { "person" } else { "unattended" })
}

/// Now, as the journal writes times.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let stamp = jiff::Timestamp::from_millisecond(i64::try_from(since.as_millis()).unwrap_or(0)).unwrap_or_default();
    stamp.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Now, in milliseconds since 1970.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(0)
}

/// A writer for the journal.
pub fn writer(by: &str, patience: Duration) -> Writer {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Writer { by: by.to_owned(), now: now(), now_seconds: i64::try_from(since.as_secs()).unwrap_or(0), patience }
}

/// Whether `NAV_LOOP=0` switches everything off.
pub fn is_switched_off() -> bool {
    std::env::var_os("NAV_LOOP").is_some_and(|v| v == "0")
}

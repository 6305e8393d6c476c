//! Runs the `git` program for this repository, quietly and without side effects.
//!
//! In: arguments, and where asked bytes on stdin. Out: its stdout. Children run with our hooks and the user's hooks
//! off, without garbage collection, lazy fetch, optional locks, replacements or a terminal, in the C locale.
#![expect(clippy::disallowed_methods, reason = "this file starts the git program")]

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::GitError;

/// One call of git, ready to run.
#[derive(Debug)]
pub struct Git {
    command: Command,
    name: String,
}

const NO_HOOKS: &str = if cfg!(windows) { "core.hooksPath=NUL" } else { "core.hooksPath=/dev/null" };

impl Git {
    /// `git NAME` with the environment described above.
    pub fn new(name: &str) -> Self {
        Self::with_settings(name, &[NO_HOOKS, "gc.auto=0", "maintenance.auto=false", "advice.addEmbeddedRepo=false"])
    }

    /// As [`Git::new`], with the user's own `core.hooksPath`: for looking at it, and for `git hook run`.
    pub fn with_own_hooks(name: &str) -> Self {
        Self::with_settings(name, &["gc.auto=0", "maintenance.auto=false"])
    }

    fn with_settings(name: &str, settings: &[&str]) -> Self {
        let mut command = Command::new("git");
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        command.arg(name);
        command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_TERMINAL_PROMPT", "0").env("NAV_LOOP_HOOK", "1");
        for name in ["GIT_INDEX_FILE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF", "GIT_TRACE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, name: name.to_owned() }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable for the child.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Takes a variable away from the child.
    pub fn without_env(mut self, key: &str) -> Self {
        self.command.env_remove(key);
        self
    }

    /// Runs in `dir`.
    pub fn in_dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Takes the repository's variables away, for a call that is about another place.
    pub fn without_repository_variables(mut self) -> Self {
        for name in REPOSITORY_VARIABLES {
            self.command.env_remove(name);
        }
        self
    }

    /// Runs to the end; a non-zero exit is an error.
    pub fn output(self) -> Result<Vec<u8>, GitError> {
        self.output_with_input(&[])
    }

    /// Runs to the end and returns the one line it printed.
    pub fn line(self) -> Result<String, GitError> {
        let bytes = self.output()?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Runs with `input` on stdin.
    pub fn output_with_input(self, input: &[u8]) -> Result<Vec<u8>, GitError> {
        let name = self.name.clone();
        match self.status_with_input(input)? {
            (0, stdout, _) => Ok(stdout),
            (_, _, stderr) => Err(GitError::Program { command: name, message: last_line(&stderr) }),
        }
    }

    /// Runs and returns the exit code, stdout and stderr; a signal is code 128.
    pub fn status_with_input(mut self, input: &[u8]) -> Result<(i32, Vec<u8>, Vec<u8>), GitError> {
        if !input.is_empty() {
            self.command.stdin(Stdio::piped());
        }
        let failed = |e: std::io::Error| GitError::Program { command: self.name.clone(), message: cannot_start(&e) };
        let mut child = self.command.spawn().map_err(failed)?;
        let writer = child.stdin.take().map(|mut stdin| {
            let input = input.to_vec();
            std::thread::spawn(move || drop(stdin.write_all(&input)))
        });
        let output = child.wait_with_output().map_err(failed)?;
        if let Some(writer) = writer {
            drop(writer.join());
        }
        Ok((output.status.code().unwrap_or(128), output.stdout, output.stderr))
    }

    /// Starts it and lets it run beside us.
    pub fn spawn(mut self) -> Result<Running, GitError> {
        let name = self.name.clone();
        let spawned = self.command.spawn();
        let child = spawned.map_err(|e| GitError::Program { command: name.clone(), message: cannot_start(&e) })?;
        Ok(Running { child, name })
    }
}

/// A call of git that is under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Waits for it; a non-zero exit is an error.
    pub fn output(self) -> Result<Vec<u8>, GitError> {
        let name = self.name;
        let failed = |e: std::io::Error| GitError::Program { command: name.clone(), message: e.to_string() };
        let output = self.child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Program { command: name, message: last_line(&output.stderr) })
    }
}

/// What `git rev-parse --local-env-vars` lists.
pub const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_REFERENCE_BACKEND",
    // Not in that list, but of no meaning elsewhere: with it, git refuses to move any ref.
    "GIT_QUARANTINE_PATH",
];

fn cannot_start(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::NotFound {
        return "the git program is not on PATH".to_owned();
    }
    error.to_string()
}

fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|l| l.starts_with("fatal:") || l.starts_with("error:")).or(text.lines().next_back());
    line.unwrap_or("failed without a word").trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned()
}

/// `paths` as git reads them from `--stdin -z`.
pub fn nul_separated<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path);
        input.push(0);
    }
    input
}

/// A path as an argument, byte for byte where the platform can.
pub fn os_path(bytes: &[u8]) -> OsString {
    use bstr::ByteSlice;
    bytes.to_os_str_lossy().into_owned()
}

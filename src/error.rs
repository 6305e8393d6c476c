//! An error as a person meets it: what and where, and what to do next. Printed once, at the top.

use crate::{exit_code::ExitCode, git::GitError};

/// What sort of error it is; decides the exit code and the name in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line or the configuration is off.
    Usage,
    /// Understood, and refused.
    Refused,
    /// A person's act, asked for by an agent.
    NeedsPerson,
    /// No loop here.
    NoLoop,
    /// The answer cannot be known.
    CannotJudge,
    /// Somebody else is at it.
    Held,
    /// A remote or a tracker cannot be reached, or refused.
    Remote,
    /// Git failed, or there is no repository.
    Git,
    /// A defect of ours.
    Internal,
    /// Stopped by a signal.
    Interrupted,
}

impl ErrorKind {
    /// The exit code.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Usage | Self::Refused => ExitCode::Usage,
            Self::NeedsPerson => ExitCode::NeedsPerson,
            Self::NoLoop => ExitCode::NoLoop,
            Self::CannotJudge => ExitCode::CannotJudge,
            Self::Held => ExitCode::Held,
            Self::Remote => ExitCode::Remote,
            Self::Git => ExitCode::Git,
            Self::Internal => ExitCode::Internal,
            Self::Interrupted => ExitCode::Interrupted,
        }
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::NeedsPerson => "needs_person",
            Self::NoLoop => "no_loop",
            Self::CannotJudge => "cannot_judge",
            Self::Held => "held",
            Self::Remote => "remote",
            Self::Git => "git",
            Self::Internal => "internal",
            Self::Interrupted => "interrupted",
        }
    }
}

/// An error with the next step.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What sort.
    pub kind: ErrorKind,
    /// What and where, one sentence.
    pub message: String,
    /// What to do next; may be empty.
    pub hint: String,
}

impl Error {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }

    /// A command line or configuration that is off.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message, hint)
    }

    /// Understood, and refused.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message, hint)
    }

    /// No loop here.
    pub fn no_loop() -> Self {
        Self::new(ErrorKind::NoLoop, "no loop on this branch", "git nav-loop start \"what is to be done\"")
    }

    /// The same error as one that stands in the way of an answer.
    #[must_use]
    pub fn as_cannot_judge(mut self) -> Self {
        if self.kind == ErrorKind::Internal || matches!(self.kind, ErrorKind::Git) {
            self.kind = ErrorKind::CannotJudge;
        }
        self
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        let message = error.to_string();
        let (kind, hint) = match &error {
            GitError::NoRepository(_) => (ErrorKind::Git, "run it inside a git repository"),
            GitError::WrongOwner(_) => {
                (ErrorKind::Git, "if you trust it: git config --global --add safe.directory PATH")
            }
            GitError::Bare => (ErrorKind::Git, "run it in a work tree: git worktree add PATH BRANCH"),
            GitError::Object(_) => (ErrorKind::CannotJudge, "git fsck; in a shallow clone: git fetch --unshallow"),
            GitError::Locked(_) => (ErrorKind::Git, "try again; if no git runs, remove that file"),
            GitError::Busy(_) => (ErrorKind::Held, "try again when it has ended"),
            GitError::Io { .. } => (ErrorKind::Git, "make that place writable for you"),
            GitError::Symlink(_) => (ErrorKind::Refused, "replace the link by a real folder"),
            GitError::Program { .. } | GitError::Other(_) => (ErrorKind::Git, ""),
        };
        Self::new(kind, message, hint)
    }
}

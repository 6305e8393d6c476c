//! What can go wrong between us and git: one variant for each thing a person would do something else about.

use std::path::PathBuf;

/// A failure on the way to or from git.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No repository here, or it cannot be opened.
    #[error("{0}")]
    NoRepository(String),
    /// The repository belongs to somebody else.
    #[error("the repository at {0} belongs to another user")]
    WrongOwner(String),
    /// A command needs a work tree and the repository is bare.
    #[error("this is a bare repository: it has no work tree to work in")]
    Bare,
    /// An object that the answer needs is not here.
    #[error("an object that this needs cannot be read: {0}")]
    Object(String),
    /// A ref that is locked by somebody who does not let go.
    #[error("{0} is locked by another process")]
    Locked(PathBuf),
    /// Our own lock was not free before the deadline.
    #[error("another nav-loop program holds {0}")]
    Busy(PathBuf),
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A path would leave its folder, or goes through a symbolic link.
    #[error("{0} goes through a symbolic link")]
    Symlink(PathBuf),
    /// The git program failed.
    #[error("git {command}: {message}")]
    Program {
        /// Its subcommand.
        command: String,
        /// The last line it said.
        message: String,
    },
    /// Anything else, in the words of the library.
    #[error("{0}")]
    Other(String),
}

impl GitError {
    /// Wraps an error of the file system.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Wraps what a library said about an object.
    pub fn object(what: impl std::fmt::Display) -> Self {
        Self::Object(what.to_string())
    }
}

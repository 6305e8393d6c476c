//! Refs behind one trait: git2 where the repository is plain, the `git` program where it is not.
//!
//! In: full ref names. Out: ids, or a compare-and-swap. git2's `reference_matching` takes no `packed-refs.lock` that
//! a kill could leave in the user's way; the program is the only correct one on reftable, shared permissions and
//! extensions we do not know.

use std::fmt;

use super::{GitError, program::Git};
use crate::domain::oid::Oid;

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` before the first one.
    pub id: Option<Oid>,
}

/// How a compare-and-swap ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// The ref moved.
    Done,
    /// Somebody moved it first.
    Lost,
    /// Its lock is held.
    Locked,
}

/// Reads and moves refs.
pub trait RefStore: fmt::Debug {
    /// Reads HEAD.
    fn head(&self) -> Result<Head, GitError>;
    /// The id that `name` leads to.
    fn read(&self, name: &str) -> Result<Option<Oid>, GitError>;
    /// The name that the symbolic ref `name` points to.
    fn symbolic(&self, name: &str) -> Result<Option<String>, GitError>;
    /// Moves `name` from `expected` (`None` = it must not exist) to `new`.
    fn swap(&self, name: &str, new: &Oid, expected: Option<&Oid>, why: &str) -> Result<Swap, GitError>;
    /// Deletes `name`, when it is there.
    fn delete(&self, name: &str) -> Result<(), GitError>;
    /// Which backend this is, for `doctor`.
    fn backend(&self) -> &'static str;
}

/// Refs through libgit2.
pub struct Git2Refs(git2::Repository);

impl fmt::Debug for Git2Refs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Git2Refs")
    }
}

impl Git2Refs {
    /// Opens strictly: an error when the repository belongs to another user or has an unknown extension.
    pub fn open() -> Result<Self, git2::Error> {
        git2::Repository::open_from_env().map(Self)
    }

    fn id(&self, oid: &Oid) -> Result<git2::Oid, GitError> {
        git2::Oid::from_str_ext(oid.as_str(), self.0.object_format()).map_err(other)
    }

    /// The repository, for `doctor`'s second reading of the notes.
    pub fn repository(&self) -> &git2::Repository {
        &self.0
    }
}

fn other(error: git2::Error) -> GitError {
    GitError::Other(error.message().to_owned())
}

fn found<T>(result: Result<T, git2::Error>) -> Result<Option<T>, GitError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.code(), git2::ErrorCode::NotFound | git2::ErrorCode::UnbornBranch) => Ok(None),
        Err(e) => Err(other(e)),
    }
}

impl RefStore for Git2Refs {
    fn head(&self) -> Result<Head, GitError> {
        let branch = self.symbolic("HEAD")?;
        Ok(Head { branch, id: self.read("HEAD")? })
    }

    fn read(&self, name: &str) -> Result<Option<Oid>, GitError> {
        Ok(found(self.0.refname_to_id(name))?.and_then(|id| Oid::parse(&id.to_string())))
    }

    fn symbolic(&self, name: &str) -> Result<Option<String>, GitError> {
        let reference = found(self.0.find_reference(name))?;
        Ok(reference.and_then(|r| r.symbolic_target_bytes().map(|t| String::from_utf8_lossy(t).into_owned())))
    }

    fn swap(&self, name: &str, new: &Oid, expected: Option<&Oid>, why: &str) -> Result<Swap, GitError> {
        let new_id = self.id(new)?;
        let expected = self.id(expected.unwrap_or(&new.null_like()))?;
        match self.0.reference_matching(name, new_id, true, expected, why) {
            Ok(_) => Ok(Swap::Done),
            Err(e) if e.code() == git2::ErrorCode::Locked => Ok(Swap::Locked),
            Err(e) if matches!(e.code(), git2::ErrorCode::Modified | git2::ErrorCode::Exists) => Ok(Swap::Lost),
            Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(Swap::Lost),
            Err(e) if e.class() == git2::ErrorClass::Os && e.message().contains(".lock") => Err(other(e)),
            Err(e) => Err(other(e)),
        }
    }

    fn delete(&self, name: &str) -> Result<(), GitError> {
        match found(self.0.find_reference(name))? {
            Some(mut reference) => reference.delete().map_err(other),
            None => Ok(()),
        }
    }

    fn backend(&self) -> &'static str {
        "git2"
    }
}

/// Refs through the `git` program.
#[derive(Debug)]
pub struct ProgramRefs;

impl RefStore for ProgramRefs {
    fn head(&self) -> Result<Head, GitError> {
        let branch = self.symbolic("HEAD")?;
        Ok(Head { branch, id: self.read("HEAD")? })
    }

    fn read(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let call = Git::new("rev-parse").args(["-q", "--verify", "--end-of-options"]).arg(name);
        let (code, stdout, stderr) = call.status_with_input(&[])?;
        if code == 128 && !stderr.is_empty() {
            let message = String::from_utf8_lossy(&stderr).trim().to_owned();
            return Err(GitError::Program { command: "rev-parse".into(), message });
        }
        Ok(Oid::parse(String::from_utf8_lossy(&stdout).trim()))
    }

    fn symbolic(&self, name: &str) -> Result<Option<String>, GitError> {
        let (code, stdout, _) = Git::new("symbolic-ref").args(["-q", name]).status_with_input(&[])?;
        let target = String::from_utf8_lossy(&stdout).trim().to_owned();
        Ok((code == 0 && !target.is_empty()).then_some(target))
    }

    fn swap(&self, name: &str, new: &Oid, expected: Option<&Oid>, why: &str) -> Result<Swap, GitError> {
        let null = new.null_like();
        let old = expected.unwrap_or(&null).as_str();
        let call = Git::new("update-ref").args(["-m", why, name, new.as_str(), old]);
        let (code, _, stderr) = call.status_with_input(&[])?;
        let said = String::from_utf8_lossy(&stderr);
        if code == 0 {
            Ok(Swap::Done)
        } else if said.contains(".lock") || said.contains("Unable to create") {
            Ok(Swap::Locked)
        } else if said.contains("cannot lock ref") || said.contains("but expected") || said.contains("already exists") {
            Ok(Swap::Lost)
        } else {
            Err(GitError::Program { command: "update-ref".into(), message: said.trim().to_owned() })
        }
    }

    fn delete(&self, name: &str) -> Result<(), GitError> {
        if self.read(name)?.is_some() {
            Git::new("update-ref").args(["-d", name]).output()?;
        }
        Ok(())
    }

    fn backend(&self) -> &'static str {
        "git program"
    }
}

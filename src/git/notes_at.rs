//! The notes of one notes commit, whoever made it: read, and never believed by that alone.

use super::{GitError, notes_tree::NotesTree, repo::Repo};
use crate::domain::{
    oid::Oid,
    state::{NoteContent, read_note},
};

/// Notes as one commit has them.
pub struct NotesAt<'r>(NotesTree<'r>);

impl std::fmt::Debug for NotesAt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NotesAt")
    }
}

impl<'r> NotesAt<'r> {
    /// Those of `tip`.
    pub fn open(repo: &'r Repo, tip: &Oid) -> Result<Self, GitError> {
        NotesTree::open(repo, Some(tip)).map(Self)
    }

    /// What is recorded on `on`.
    pub fn read(&mut self, on: &Oid) -> Result<NoteContent, GitError> {
        Ok(read_note(on, &self.0.read(on)?))
    }
}

//! The tree of the notes ref: finding and replacing the note of one object at any fan-out.
//!
//! In: the tip of the notes ref. Out: note text; or a new tree in git's own layout. An object whose note stands at
//! two depths (other tools leave such trees) is read as the union of both and written back as one.

use std::collections::BTreeMap;

use bstr::ByteSlice;
use gix::{
    note::plumbing::State,
    objs::{Kind, Write},
};

use super::{
    GitError,
    object_store::ObjectStore,
    repo::{Repo, gix_id},
};
use crate::domain::oid::Oid;

/// Notes are read up to this size.
pub(super) const NOTE_LIMIT: u64 = 32 << 20;

pub(super) struct NotesTree<'r> {
    repo: &'r Repo,
    store: ObjectStore<'r>,
    root: gix::ObjectId,
    state: Option<State>,
}

impl<'r> NotesTree<'r> {
    /// The tree of the notes commit `tip`, or an empty one.
    pub(super) fn open(repo: &'r Repo, tip: Option<&Oid>) -> Result<Self, GitError> {
        let root = match tip {
            Some(tip) => {
                let commit = repo.gix.find_commit(gix_id(tip)?).map_err(GitError::object)?;
                commit.tree_id().map_err(GitError::object)?.detach()
            }
            None => gix::ObjectId::empty_tree(repo.gix.object_hash()),
        };
        let store = repo.store();
        let state = State::new(root, &store).ok();
        Ok(Self { repo, store, root, state })
    }

    /// The raw text of the note on `on`; empty when there is none.
    pub(super) fn read(&mut self, on: &Oid) -> Result<Vec<u8>, GitError> {
        let id = gix_id(on)?;
        if let Some(state) = &mut self.state
            && let Ok(found) = state.get(&id, &self.store)
        {
            return found.map_or(Ok(Vec::new()), |blob| self.blob(blob));
        }
        let mut text = Vec::new();
        for (_, blob) in self.all_depths(on)? {
            text.extend(self.blob(blob)?);
            text.push(b'\n');
        }
        Ok(text)
    }

    /// The text of a note's blob.
    pub(super) fn blob_text(&self, blob: &Oid) -> Result<Vec<u8>, GitError> {
        self.blob(gix_id(blob)?)
    }

    fn blob(&self, id: gix::ObjectId) -> Result<Vec<u8>, GitError> {
        let read = self.repo.blob(&super::repo::oid(&id), NOTE_LIMIT)?;
        read.ok_or_else(|| GitError::Object(format!("note {id} is missing or larger than 32 MiB")))
    }

    /// Every path at which `on` is annotated, with the blob there.
    fn all_depths(&self, on: &Oid) -> Result<Vec<(String, gix::ObjectId)>, GitError> {
        let mut found = Vec::new();
        let mut tree = self.root;
        let (mut prefix, mut rest) = (String::new(), on.as_str());
        loop {
            let entries = self.repo.gix.find_tree(tree).map_err(GitError::object)?;
            let mut below = None;
            for entry in entries.iter() {
                let entry = entry.map_err(GitError::object)?;
                let name = entry.filename();
                if name == rest.as_bytes().as_bstr() && entry.mode().is_blob() {
                    found.push((format!("{prefix}{rest}"), entry.object_id()));
                } else if rest.len() > 2 && name == rest.as_bytes()[..2].as_bstr() && entry.mode().is_tree() {
                    below = Some(entry.object_id());
                }
            }
            let Some(next) = below else { return Ok(found) };
            prefix = format!("{prefix}{}/", &rest[..2]);
            rest = &rest[2..];
            tree = next;
        }
    }

    /// Makes `text` the note of `on`, exactly once in the tree.
    pub(super) fn replace(&mut self, on: &Oid, text: &[u8]) -> Result<(), GitError> {
        let blob = self.store.write_buf(Kind::Blob, text).map_err(GitError::object)?;
        let id = gix_id(on)?;
        if let Some(state) = &mut self.state
            && state.edit(id, Some(blob), &self.store).is_ok()
        {
            return Ok(());
        }
        self.join_duplicates()?;
        let state = self.state.as_mut().ok_or_else(unreadable)?;
        state.edit(id, Some(blob), &self.store).map_err(GitError::object)?;
        Ok(())
    }

    /// Objects whose note stands at more than one path.
    pub(super) fn duplicates(&self) -> Result<Vec<Oid>, GitError> {
        let mut seen = BTreeMap::new();
        for (on, _) in self.list()? {
            *seen.entry(on).or_insert(0) += 1;
        }
        Ok(seen.into_iter().filter(|(_, count)| *count > 1).map(|(on, _)| on).collect())
    }

    /// Leaves exactly one path for each object: the union of what stood at its paths.
    pub(super) fn join_duplicates(&mut self) -> Result<usize, GitError> {
        let duplicates = self.duplicates()?;
        let mut joined = Vec::new();
        let mut editor = self.repo.gix.edit_tree(self.root).map_err(GitError::object)?;
        for on in &duplicates {
            let mut text = Vec::new();
            for (path, blob) in self.all_depths(on)? {
                text.extend(self.blob(blob)?);
                text.push(b'\n');
                editor.remove(path.as_str()).map_err(GitError::object)?;
            }
            joined.push((gix_id(on)?, self.store.write_buf(Kind::Blob, &text).map_err(GitError::object)?));
        }
        if !duplicates.is_empty() {
            self.root = editor.write().map_err(GitError::object)?.detach();
        }
        let mut state = State::new(self.root, &self.store).map_err(GitError::object)?;
        for (on, blob) in joined {
            state.edit(on, Some(blob), &self.store).map_err(GitError::object)?;
        }
        self.state = Some(state);
        Ok(duplicates.len())
    }

    /// Writes the tree.
    pub(super) fn write(&mut self) -> Result<gix::ObjectId, GitError> {
        let state = self.state.as_mut().ok_or_else(unreadable)?;
        state.write(&self.store).map_err(GitError::object)
    }

    /// Every annotated object whose path is well formed, with its note's blob; duplicates appear twice.
    pub(super) fn list(&self) -> Result<Vec<(Oid, Oid)>, GitError> {
        if self.root.is_empty_tree() {
            return Ok(Vec::new());
        }
        let tree = self.repo.gix.find_tree(self.root).map_err(GitError::object)?;
        let mut recorder = gix::traverse::tree::Recorder::default();
        tree.traverse().depthfirst(&mut recorder).map_err(GitError::object)?;
        let notes = recorder.records.iter().filter(|r| r.mode.is_blob()).filter_map(|r| {
            let hex: Vec<u8> = r.filepath.iter().copied().filter(|b| *b != b'/').collect();
            Some((Oid::parse(hex.to_str().ok()?)?, super::repo::oid(&r.oid)))
        });
        Ok(notes.collect())
    }
}

fn unreadable() -> GitError {
    GitError::Other("the notes tree cannot be read; run git nav-loop doctor".to_owned())
}

//! Paths that git was told not to look at: assume-unchanged and skip-worktree (spec 1.4, 1.13).
//!
//! In: the index and the disk. Out: flagged paths that exist, so that a hidden change is looked at all the same.

use bstr::{BString, ByteSlice};
use gix::index::entry::Flags;

use super::{
    GitError,
    program::{Git, os_path},
    repo::{Repo, oid},
};
use crate::domain::oid::Oid;

/// A flagged path that exists on disk.
#[derive(Debug, Clone)]
pub struct Flagged {
    /// The path.
    pub path: BString,
    /// What the index holds.
    pub id: Oid,
}

/// Flagged paths that exist on disk.
pub fn flagged(repo: &Repo) -> Result<Vec<Flagged>, GitError> {
    let Some(top) = repo.work_tree() else { return Ok(Vec::new()) };
    if !repo.gix.index_path().exists() {
        return Ok(Vec::new());
    }
    let index = repo.gix.open_index().map_err(GitError::object)?;
    let hidden = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE;
    let entries = index.entries().iter().filter(|e| e.flags.intersects(hidden));
    let found = entries.filter_map(|e| {
        let path = e.path(&index).to_owned();
        let on_disk = top.join(os_path(&path));
        on_disk.symlink_metadata().is_ok_and(|m| !m.is_dir()).then(|| Flagged { path, id: oid(&e.id) })
    });
    Ok(found.collect())
}

/// Those whose content on disk is not what the index holds.
pub fn hidden_changes(repo: &Repo) -> Result<Vec<BString>, GitError> {
    let flagged = flagged(repo)?;
    let top = repo.need_work_tree()?;
    let mut changed = Vec::new();
    for batch in flagged.chunks(500) {
        let paths = batch.iter().map(|f| os_path(&f.path));
        let printed = Git::new("hash-object").in_dir(top).arg("--").args(paths).output()?;
        let ids = printed.lines().map(|l| Oid::parse(&l.to_str_lossy()));
        changed.extend(batch.iter().zip(ids).filter(|(f, id)| id.as_ref() != Some(&f.id)).map(|(f, _)| f.path.clone()));
    }
    Ok(changed)
}

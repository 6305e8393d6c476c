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
    let paths: Vec<BString> = flagged.iter().map(|f| f.path.clone()).collect();
    let ids = ids_on_disk(repo, &paths)?;
    let changed = flagged.into_iter().zip(ids).filter(|(f, id)| id.as_ref() != Some(&f.id));
    Ok(changed.map(|(f, _)| f.path).collect())
}

/// How many files are hashed in one look; with more dirty files than that, the rest count by name.
const HASHED: usize = 1_000;

/// The id that each path's content on disk has as a blob, with git's own filters; `None` = no plain file there.
pub fn ids_on_disk(repo: &Repo, paths: &[BString]) -> Result<Vec<Option<Oid>>, GitError> {
    let top = repo.need_work_tree()?;
    let is_file = |p: &BString| top.join(os_path(p)).symlink_metadata().is_ok_and(|m| m.is_file());
    let mut ids = vec![None; paths.len()];
    let files: Vec<usize> = (0..paths.len()).filter(|i| is_file(&paths[*i])).take(HASHED).collect();
    for batch in files.chunks(250) {
        let names = batch.iter().map(|i| os_path(&paths[*i]));
        let printed = Git::new("hash-object").in_dir(top).arg("--").args(names).output()?;
        for (place, line) in batch.iter().zip(printed.lines()) {
            ids[*place] = Oid::parse(&line.to_str_lossy());
        }
    }
    Ok(ids)
}

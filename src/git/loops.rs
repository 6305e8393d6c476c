//! Which loop belongs to the place we stand in: branch or detached work tree → loop id → anchor (spec 3.2).
//!
//! In: HEAD and our local files. Out: a pointer into the journal. All of it can be rebuilt from the journal.

use std::{fs, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{GitError, program::Git, repo::Repo};
use crate::domain::{oid::Oid, state::LoopState};

/// A loop as the place points to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopPointer {
    /// Its id.
    pub id: String,
    /// The object that carries its journal.
    pub anchor: Oid,
    /// The branch, short; `None` = this detached work tree.
    pub branch: Option<String>,
}

/// What a file in `running/` holds.
#[derive(Debug, Serialize, Deserialize)]
struct RunningFile {
    anchor: Oid,
    branch: Option<String>,
}

/// Whether `id` has the shape of a loop id, so that it may become a file name.
pub fn is_loop_id(id: &str) -> bool {
    let shape = "dddd-dd-dd-dddd-xxxxxx";
    id.len() == shape.len()
        && id.bytes().zip(shape.bytes()).all(|(b, s)| match s {
            b'd' => b.is_ascii_digit(),
            b'x' => b.is_ascii_digit() || matches!(b, b'a'..=b'f'),
            _ => b == s,
        })
}

/// The branch we are on, short: the one a rebase will move counts.
pub fn branch_here(repo: &Repo) -> Result<Option<String>, GitError> {
    let branch = repo.head()?.branch.or_else(|| repo.rebased_branch());
    Ok(branch.map(|b| b.strip_prefix("refs/heads/").unwrap_or(&b).to_owned()))
}

/// The newest loop of this place.
pub fn here(repo: &Repo) -> Result<Option<LoopPointer>, GitError> {
    let branch = branch_here(repo)?;
    let id = match &branch {
        Some(branch) => repo.config_string("branch", Some(branch), "navLoop").or_else(|| moved_to_branch(repo, branch)),
        None => fs::read_to_string(detached_file(repo)).ok(),
    };
    let Some(id) = id.map(|i| i.trim().to_owned()).filter(|i| is_loop_id(i)) else { return Ok(None) };
    Ok(anchor_of(repo, &id)?.map(|anchor| LoopPointer { id, anchor, branch }))
}

/// A loop begun on a detached HEAD goes with the branch that is made there.
fn moved_to_branch(repo: &Repo, branch: &str) -> Option<String> {
    let id = fs::read_to_string(detached_file(repo)).ok()?;
    let message = repo.last_reflog_message()?;
    let from = message.strip_prefix("checkout: moving from ")?.split(' ').next()?;
    Oid::parse(from).filter(|_| is_created_here(repo, branch)).map(|_| id)
}

/// Whether `branch` was just made in this clone: one reflog entry, which says so.
pub fn is_created_here(repo: &Repo, branch: &str) -> bool {
    match repo.branch_reflog(branch).as_slice() {
        [only] => only.starts_with("branch: Created from"),
        _ => false,
    }
}

/// Whether the loop's branch is another one that this branch was copied from.
pub fn is_copy(repo: &Repo, pointer: &LoopPointer, state: &LoopState) -> bool {
    let (Some(here), Some(recorded)) = (&pointer.branch, &state.branch) else { return false };
    here != recorded
        && repo.config_string("branch", Some(recorded), "navLoop").is_some_and(|id| id == pointer.id)
        && repo.refs().read(&format!("refs/heads/{recorded}")).is_ok_and(|id| id.is_some())
}

/// The anchor of loop `id`, from its ref or from its running file.
pub fn anchor_of(repo: &Repo, id: &str) -> Result<Option<Oid>, GitError> {
    if let Some(anchor) = repo.refs().read(&anchor_ref(id))? {
        return Ok(Some(anchor));
    }
    let text = fs::read_to_string(running_file(repo, id)).unwrap_or_default();
    Ok(serde_json::from_str::<RunningFile>(&text).ok().map(|f| f.anchor))
}

/// Whether the loop has a running file, which makes hooks look.
pub fn is_registered(repo: &Repo, id: &str) -> bool {
    running_file(repo, id).exists()
}

/// The ref that keeps the anchor from garbage collection.
pub fn anchor_ref(id: &str) -> String {
    format!("refs/nav-loop/anchors/{id}")
}

fn running_file(repo: &Repo, id: &str) -> PathBuf {
    repo.state_dir().join("running").join(id)
}

fn detached_file(repo: &Repo) -> PathBuf {
    repo.git_dir().join("nav-loop").join("loop")
}

/// Names the anchor in a ref, before anything else points to it.
pub fn keep_anchor(repo: &Repo, pointer: &LoopPointer) -> Result<(), GitError> {
    if pointer.anchor == repo.empty_tree() {
        // gix knows the empty tree without having it; a ref must name an object that is there.
        Git::new("hash-object").args(["-t", "tree", "-w", "--stdin"]).output()?;
    }
    repo.refs().swap(&anchor_ref(&pointer.id), &pointer.anchor, None, "nav-loop: start")?;
    Ok(())
}

/// Makes hooks see the loop and the branch (or this detached work tree) point to it.
pub fn register(repo: &Repo, pointer: &LoopPointer) -> Result<(), GitError> {
    point(repo, pointer)?;
    register_running(repo, pointer)
}

/// Makes hooks see the loop.
pub fn register_running(repo: &Repo, pointer: &LoopPointer) -> Result<(), GitError> {
    let content = RunningFile { anchor: pointer.anchor.clone(), branch: pointer.branch.clone() };
    let text = serde_json::to_string(&content).unwrap_or_default();
    write_file(&running_file(repo, &pointer.id), &text)
}

/// Makes the branch, or this detached work tree, point to the loop.
pub fn point(repo: &Repo, pointer: &LoopPointer) -> Result<(), GitError> {
    match &pointer.branch {
        Some(branch) => {
            Git::new("config").arg("--local").arg(format!("branch.{branch}.navLoop")).arg(&pointer.id).output()?;
            drop(fs::remove_file(detached_file(repo)));
            Ok(())
        }
        None => write_file(&detached_file(repo), &pointer.id),
    }
}

/// Makes hooks look away again.
pub fn unregister(repo: &Repo, id: &str) {
    drop(fs::remove_file(running_file(repo, id)));
}

/// The random id of this clone, when it has one.
pub fn clone_id(repo: &Repo) -> Option<String> {
    let id = fs::read_to_string(repo.state_dir().join("clone")).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The random id of this clone, made when it has none.
pub fn make_clone_id(repo: &Repo) -> Result<String, GitError> {
    if let Some(id) = clone_id(repo) {
        return Ok(id);
    }
    let id = super::journal::random_id()?;
    write_file(&repo.state_dir().join("clone"), &id)?;
    Ok(id)
}

/// Writes a small file of ours: temporary file, then rename.
pub fn write_file(path: &std::path::Path, text: &str) -> Result<(), GitError> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(GitError::io(dir))?;
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&temporary, text).map_err(GitError::io(&temporary))?;
    fs::rename(&temporary, path).map_err(GitError::io(path))
}

/// The text of a file that others may have put there; `None` when it is no plain file of at most 1 MiB.
pub fn read_file(path: &std::path::Path) -> Option<String> {
    path.metadata().ok().filter(|m| m.is_file() && m.len() <= 1 << 20)?;
    fs::read_to_string(path).ok()
}

/// What a loop keeps beside the journal.
#[derive(Debug, Default, Deserialize)]
pub struct Secrets {
    /// The word that every signal must carry.
    pub nonce: Option<String>,
    /// The promise text.
    pub promise: Option<String>,
}

/// The secrets of loop `id`; none when they are gone.
pub fn secrets(repo: &Repo, id: &str) -> Secrets {
    let text = fs::read_to_string(repo.state_dir().join("secret").join(id)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// As [`write_file`], readable by the owner only.
pub fn write_secret(path: &std::path::Path, text: &str) -> Result<(), GitError> {
    write_file(path, "")?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(GitError::io(path))?;
    }
    fs::write(path, text).map_err(GitError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_shaped_ids_become_file_names() {
        assert!(is_loop_id("2026-11-30-0900-ab12cd"));
        for id in ["2026-11-30-0900-AB12CD", "../../../etc/passwd12345", "2026-11-30-0900-ab12c", ""] {
            assert!(!is_loop_id(id), "{id}");
        }
    }
}

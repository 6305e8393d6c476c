//! A range in any clone: its commits by name, merge base, ancestry, whether it is cut, and files at a commit.
//!
//! In: names or ids. Out: ids and texts, or an error that fails closed. Inside a push's quarantine everything is read
//! through a scratch repository beside it, so that nothing is written there.

use std::{collections::HashSet, path::PathBuf};

use super::{
    GitError,
    program::Git,
    repo::{Repo, gix_id},
};
use crate::domain::oid::Oid;

/// `git NAME` in the repository that `repo` reads.
fn git(repo: &Repo, name: &str) -> Git {
    match repo.scratch() {
        None => Git::new(name),
        Some(dir) => Git::new(name).without_repository_variables().env("GIT_DIR", dir),
    }
}

/// The commit that `name` stands for; `None` when this clone has none.
pub fn commit(repo: &Repo, name: &str) -> Result<Option<Oid>, GitError> {
    let call = git(repo, "rev-parse").args(["--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
    let (code, printed, _) = call.status_with_input(&[])?;
    Ok(Oid::parse(String::from_utf8_lossy(&printed).trim()).filter(|_| code == 0))
}

/// The best common ancestor.
pub fn merge_base(repo: &Repo, a: &Oid, b: &Oid) -> Result<Option<Oid>, GitError> {
    let (code, printed, stderr) = git(repo, "merge-base").args([a.as_str(), b.as_str()]).status_with_input(&[])?;
    match code {
        0 => Ok(Oid::parse(String::from_utf8_lossy(&printed).lines().next().unwrap_or_default().trim())),
        1 => Ok(None),
        _ => Err(GitError::Object(String::from_utf8_lossy(&stderr).trim().to_owned())),
    }
}

/// Whether `a` is `b` or one of its ancestors.
pub fn is_ancestor(repo: &Repo, a: &Oid, b: &Oid) -> Result<bool, GitError> {
    let call = git(repo, "merge-base").args(["--is-ancestor", a.as_str(), b.as_str()]);
    match call.status_with_input(&[])? {
        (0, ..) => Ok(true),
        (1, ..) => Ok(false),
        (.., stderr) => Err(GitError::Object(String::from_utf8_lossy(&stderr).trim().to_owned())),
    }
}

/// The parents of a commit.
pub fn parents(repo: &Repo, id: &Oid) -> Result<Vec<Oid>, GitError> {
    let commit = repo.gix.find_commit(gix_id(id)?).map_err(GitError::object)?;
    Ok(commit.parent_ids().map(|p| super::repo::oid(&p)).collect())
}

/// The tree of a commit.
pub fn tree(repo: &Repo, id: &Oid) -> Result<Oid, GitError> {
    let commit = repo.gix.find_commit(gix_id(id)?).map_err(GitError::object)?;
    Ok(super::repo::oid(&commit.tree_id().map_err(GitError::object)?))
}

/// Commits at which this clone's history is cut.
pub fn cuts(repo: &Repo) -> HashSet<String> {
    let text = std::fs::read_to_string(repo.common_dir().join("shallow")).unwrap_or_default();
    text.lines().map(|l| l.trim().to_owned()).collect()
}

/// The text of a file at a commit; `None` when it is not there.
pub fn file_at(repo: &Repo, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>, GitError> {
    let tree = repo.gix.find_commit(gix_id(commit)?).map_err(GitError::object)?.tree().map_err(GitError::object)?;
    let Some(entry) = tree.lookup_entry_by_path(path).map_err(GitError::object)? else { return Ok(None) };
    if !entry.mode().is_blob() {
        return Ok(None);
    }
    repo.blob(&super::repo::oid(&entry.object_id()), 1 << 20)
}

/// A scratch repository that sees what a push brings, without writing into its quarantine: an empty object folder whose
/// alternates are the quarantine and the repository.
#[derive(Debug)]
pub struct Scratch {
    /// Its git directory.
    pub dir: PathBuf,
}

impl Scratch {
    /// Made where git says that we stand in a quarantine.
    pub fn beside(repo: &Repo, objects: &str, alternates: &str) -> Result<Self, GitError> {
        let dir = std::env::temp_dir().join(format!("nav-loop-{}", super::journal::random_id()?));
        let format = format!("--object-format={}", if repo.null_id().as_str().len() == 64 { "sha256" } else { "sha1" });
        let init = Git::new("init").without_repository_variables().args(["--bare", "--quiet", &format]).arg(&dir);
        init.output()?;
        let absolute = |p: PathBuf| std::path::absolute(&p).unwrap_or(p).display().to_string();
        let mut lines: Vec<String> = vec![absolute(PathBuf::from(objects))];
        let others = std::env::split_paths(alternates).filter(|p| !p.as_os_str().is_empty());
        lines.extend(others.map(absolute));
        lines.push(repo.common_dir().join("objects").display().to_string());
        let file = dir.join("objects/info/alternates");
        std::fs::write(&file, lines.join("\n") + "\n").map_err(GitError::io(&file))?;
        Ok(Self { dir })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.dir));
    }
}

//! Commits of ours in the user's name: only where a command was told `--commit`.
//!
//! In: paths. Out: a commit of exactly these, made by the git program with the user's own hooks and signing.

use std::collections::HashSet;

use bstr::ByteSlice;

use super::{
    GitError,
    program::{Git, nul_separated},
    repo::Repo,
};
use crate::domain::{
    oid::Oid,
    path_rules::{PathClass, PathRules},
};

/// Paths that differ from HEAD or are untracked, of the classes that `wanted` takes. Names that are not UTF-8 are left.
pub fn uncommitted(
    repo: &Repo,
    wanted: impl Fn(PathClass) -> bool,
    rules: &PathRules,
) -> Result<Vec<String>, GitError> {
    let top = repo.need_work_tree()?;
    let call = Git::new("status").in_dir(top).args(["--porcelain=v1", "-z", "-uall", "--no-renames"]);
    let printed = call.arg("--ignore-submodules=dirty").output()?;
    let entries = printed.split(|b| *b == 0).filter_map(|e| e.get(3..));
    let paths = entries.filter(|p| wanted(rules.class(p.as_bstr()))).filter_map(|p| p.to_str().ok());
    Ok(paths.map(str::to_owned).collect())
}

/// Untracked paths that git does not ignore.
pub fn untracked(repo: &Repo) -> Result<Vec<String>, GitError> {
    let top = repo.need_work_tree()?;
    let printed = Git::new("ls-files").in_dir(top).args(["-o", "--exclude-standard", "-z"]).output()?;
    Ok(printed
        .split(|b| *b == 0)
        .filter_map(|p| p.to_str().ok())
        .filter(|p| !p.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Commits `paths` as they are in the work tree; refused where anything else is staged. The new commit's id.
pub fn commit(repo: &Repo, paths: &[String], message: &str) -> Result<Oid, GitError> {
    let top = repo.need_work_tree()?;
    let literal = |git: Git| git.in_dir(top).env("GIT_LITERAL_PATHSPECS", "1");
    let tracked = literal(Git::new("ls-files")).args(["-z", "--"]).args(paths).output()?;
    let tracked: HashSet<&[u8]> = tracked.split(|b| *b == 0).collect();
    let is_there = |p: &&String| tracked.contains(p.as_bytes()) || top.join(p.as_str()).symlink_metadata().is_ok();
    let to_add: Vec<&[u8]> = paths.iter().filter(is_there).map(|p| p.as_bytes()).collect();
    if !to_add.is_empty() {
        let input = nul_separated(to_add);
        let add = literal(Git::new("add")).args(["-A", "--pathspec-from-file=-", "--pathspec-file-nul"]);
        add.output_with_input(&input)?;
    }
    let staged = literal(Git::new("diff")).args(["--cached", "--name-only", "-z", "--no-renames"]).output()?;
    let other = staged.split(|b| *b == 0).find(|s| !s.is_empty() && !paths.iter().any(|p| p.as_bytes() == *s));
    if let Some(other) = other {
        return Err(GitError::Other(format!("{} is staged beside it; commit or unstage that first", other.as_bstr())));
    }
    let call = literal(Git::with_own_hooks("commit")).without_env("NAV_LOOP_HOOK").args(["-q", "-m", message]);
    call.output()?;
    let head = repo.refs().read("HEAD")?;
    head.ok_or_else(|| GitError::Other("git commit left no commit".to_owned()))
}

//! Which branch the work will be merged into (spec 1.1, 1.13).
//!
//! In: the loop's branch, git's configuration and refs. Out: the full name of a ref, or none: then nothing is foreign.

use super::{GitError, repo::Repo};
use crate::domain::facts::Target;

/// The remote of `branch`: its own, else `origin`, else the only one, else none.
pub fn remote_of(repo: &Repo, branch: Option<&str>) -> Option<String> {
    if let Some(own) = branch.and_then(|b| repo.config_string("branch", Some(b), "remote")) {
        return Some(own).filter(|r| r != ".");
    }
    let remotes = repo.config_subsections("remote");
    if remotes.iter().any(|r| r == "origin") {
        return Some("origin".to_owned());
    }
    match remotes.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// The default target of a loop on `branch` (short; `None` = detached).
pub fn default_target(repo: &Repo, branch: Option<&str>) -> Result<Option<String>, GitError> {
    let remote = remote_of(repo, branch);
    if let Some(remote) = &remote
        && let Some(head) = repo.refs().symbolic(&format!("refs/remotes/{remote}/HEAD"))?
        && repo.refs().read(&head)?.is_some()
    {
        return Ok(Some(head));
    }
    let configured = repo.config_string("init", None, "defaultBranch");
    for name in configured.iter().map(String::as_str).chain(["main", "master"]) {
        let full = format!("refs/heads/{name}");
        if branch == Some(name) {
            let tracking = remote.as_ref().map(|r| format!("refs/remotes/{r}/{name}"));
            return tracking.map_or(Ok(None), |t| Ok(repo.refs().read(&t)?.map(|_| t)));
        }
        if repo.refs().read(&full)?.is_some() {
            return Ok(Some(full));
        }
    }
    Ok(None)
}

/// Whether `branch` is the branch that others merge into: the remote's default, or one of the usual names when it is
/// the one that this repository has.
pub fn is_default_branch(repo: &Repo, branch: &str) -> Result<bool, GitError> {
    let elsewhere = default_target(repo, None)?;
    Ok(elsewhere.is_some_and(|t| t.rsplit('/').next() == branch.rsplit('/').next() && t.ends_with(branch)))
}

/// The full name of what a person typed after `--target`, when it is there.
pub fn named_target(repo: &Repo, typed: &str) -> Result<Option<String>, GitError> {
    for prefix in ["", "refs/", "refs/heads/", "refs/remotes/", "refs/tags/"] {
        let name = format!("{prefix}{typed}");
        if name.starts_with("refs/") && git2::Reference::is_valid_name(&name) && repo.refs().read(&name)?.is_some() {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Where the target stands now.
pub fn resolve(repo: &Repo, name: Option<&str>) -> Result<Option<Target>, GitError> {
    let Some(name) = name else { return Ok(None) };
    Ok(repo.refs().read(name)?.map(|id| Target { name: name.to_owned(), id }))
}

/// `owner/repo` of the remote's address, when it has that shape.
pub fn remote_slug(repo: &Repo, branch: Option<&str>) -> Option<String> {
    let url = repo.config_string("remote", Some(&remote_of(repo, branch)?), "url")?;
    let path = url.trim_end_matches('/').trim_end_matches(".git");
    let mut parts = path.rsplit(['/', ':']);
    let (name, owner) = (parts.next()?, parts.next()?);
    let is_word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_word(name) && is_word(owner)).then(|| format!("{owner}/{name}"))
}

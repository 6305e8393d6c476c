//! Writes a context marker into the work tree: a new file, never over one that is there, never through a link.

use std::{fs, io::Write};

use super::{GitError, history::goes_through_link, repo::Repo};
use crate::domain::{
    marker::{MARKER_DIR, file_name, text},
    oid::Oid,
    status::Status,
};

/// Writes the marker; its path relative to the top, and the id its text has as a blob.
pub fn write(repo: &Repo, status: &Status, name: &str, at: &str, partial: bool) -> Result<(String, Oid), GitError> {
    let content = text(status, name, partial);
    let path = put(repo, &file_name(at, name, partial), &content)?;
    Ok((path, repo.blob_id(content.as_bytes())?))
}

/// Writes the marker of a task set; its path relative to the top.
pub fn write_text(repo: &Repo, at: &str, name: &str, content: &str) -> Result<String, GitError> {
    put(repo, &file_name(at, name, false), content)
}

fn put(repo: &Repo, base: &str, content: &str) -> Result<String, GitError> {
    let top = repo.need_work_tree()?;
    let dir = top.join(MARKER_DIR);
    if goes_through_link(top, &dir) {
        return Err(GitError::Symlink(dir));
    }
    fs::create_dir_all(&dir).map_err(GitError::io(&dir))?;
    for n in 1..100 {
        let name = if n == 1 { base.to_owned() } else { numbered(base, n) };
        let path = dir.join(&name);
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(content.as_bytes()).map_err(GitError::io(&path))?;
                return Ok(format!("{MARKER_DIR}/{name}"));
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(GitError::io(&path)(e)),
        }
    }
    Err(GitError::Other(format!("{MARKER_DIR} holds a hundred markers of that name already")))
}

/// `x-complete.md` → `x-2-complete.md`.
fn numbered(base: &str, n: u32) -> String {
    match base.rsplit_once('-') {
        Some((stem, kind)) => format!("{stem}-{n}-{kind}"),
        None => format!("{n}-{base}"),
    }
}

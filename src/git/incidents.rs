//! What went wrong without anybody looking: one line each, kept where `status` and `doctor` find it.
//!
//! Hooks must stay silent and exit 0, so a failure of theirs is written here. The file is bounded.

use std::{fs, io::Write, path::PathBuf};

use super::repo::Repo;

const LIMIT: u64 = 64 << 10;

/// Where the lines lie.
pub fn file(repo: &Repo) -> PathBuf {
    repo.state_dir().join("incidents.log")
}

/// Adds a line; whatever fails here is let go.
pub fn note(repo: &Repo, what: &str) {
    let path = file(repo);
    if fs::metadata(&path).is_ok_and(|m| m.len() > LIMIT) {
        drop(fs::remove_file(&path));
    }
    let line: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(&path) {
        drop(writeln!(file, "{line}"));
    }
}

/// The lines, oldest first.
pub fn read(repo: &Repo) -> Vec<String> {
    let text = fs::read_to_string(file(repo)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Forgets them.
pub fn clear(repo: &Repo) {
    drop(fs::remove_file(file(repo)));
}

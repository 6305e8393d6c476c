//! Our block in `info/exclude`: the mirror below `.mino/` is nobody's change. No `.gitignore` is ever edited.

use std::{fs, path::Path};

use super::{GitError, program::Git, repo::Repo};

const BEGIN: &str = "# >>> git nav-loop: the mirror of a task set";
const END: &str = "# <<< git nav-loop";

/// Adds the block, unless `.mino/` is ignored or tracked already. Whether it was added.
pub fn add(repo: &Repo, top: &Path) -> Result<bool, GitError> {
    let path = repo.common_dir().join("info").join("exclude");
    let text = fs::read_to_string(&path).unwrap_or_default();
    if text.contains(BEGIN) {
        return Ok(false);
    }
    let ignored = Git::new("check-ignore").in_dir(top).args(["-q", "--", ".mino/loops/x"]).status_with_input(&[])?;
    let tracked = Git::new("ls-files").in_dir(top).args(["--", ".mino"]).output()?;
    if ignored.0 == 0 || !tracked.is_empty() {
        return Ok(false);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    super::loops::write_file(&path, &format!("{text}{gap}{BEGIN}\n/.mino/\n{END}\n"))?;
    Ok(true)
}

/// Takes the block out again. Whether it was there.
pub fn remove(repo: &Repo) -> Result<bool, GitError> {
    let path = repo.common_dir().join("info").join("exclude");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(false) };
    let block = format!("{BEGIN}\n/.mino/\n{END}\n");
    let Some(at) = text.find(&block) else { return Ok(false) };
    super::loops::write_file(&path, &format!("{}{}", &text[..at], &text[at + block.len()..]))?;
    Ok(true)
}

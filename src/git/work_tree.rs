//! Index and work tree, through the git program: what is dirty, and which tree a test run looks at (spec 1.4).
//!
//! In: the work tree as it is. Out: dirty paths; or the digest of what `git add -A` would write, made with a copy of
//! the index and a throw-away object directory. The user's index, refs and objects are never touched.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::PathBuf,
};

use bstr::{BString, ByteSlice};

use super::{
    GitError,
    history::{digest_of, goes_through_link},
    index_flags,
    program::{Git, nul_separated, os_path},
    repo::Repo,
};
use crate::domain::{
    facts::{Change, DirtyPath, Entry, MarkerFile, WorkTree},
    marker,
    oid::Oid,
    path_rules::{PathClass, PathRules},
};

/// Looks at index and work tree.
pub fn look(repo: &Repo, rules: &PathRules) -> Result<WorkTree, GitError> {
    if repo.work_tree().is_none() {
        return Ok(WorkTree::NotLooked);
    }
    let status = Git::new("status")
        .args(["--porcelain=v1", "-z", "-uno", "--no-renames", "--ignore-submodules=dirty"])
        .spawn()?;
    let hidden = index_flags::hidden_changes(repo)?;
    let printed = status.output()?;
    let mut dirty: BTreeSet<BString> = hidden.into_iter().collect();
    dirty.extend(printed.split(|b| *b == 0).filter_map(|e| e.get(3..)).map(BString::from));
    let dirty: Vec<BString> = dirty.into_iter().collect();
    let ids = index_flags::ids_on_disk(repo, &dirty)?;
    let (mut code, mut docs) = (Vec::new(), Vec::new());
    for (path, id) in dirty.into_iter().zip(ids) {
        let path = DirtyPath { path, id };
        match rules.class(path.path.as_bstr()) {
            PathClass::Docs => docs.push(path),
            _ if rules.is_code(path.path.as_bstr()) => code.push(path),
            _ => {}
        }
    }
    Ok(WorkTree::Looked { code, docs })
}

/// Markers on disk that git ignores and that name loop `loop_id`.
pub fn ignored_markers(repo: &Repo, patterns: &[String], loop_id: &str) -> Result<Vec<MarkerFile>, GitError> {
    let Some(top) = repo.work_tree() else { return Ok(Vec::new()) };
    let mut named = Vec::new();
    for pattern in patterns {
        let dir: PathBuf = pattern.split('/').take_while(|p| !p.contains(['*', '?', '['])).collect();
        let root = top.join(&dir);
        if dir.as_os_str().is_empty() || goes_through_link(top, &root) {
            continue;
        }
        let files = walkdir::WalkDir::new(&root).max_depth(4).into_iter().flatten().filter(|e| e.file_type().is_file());
        for file in files.take(2_000) {
            let Ok(relative) = file.path().strip_prefix(top) else { continue };
            let path = BString::from(<[u8]>::from_path(relative).unwrap_or_default());
            let small = file.metadata().is_ok_and(|m| m.len() <= 1 << 20);
            if small && marker::may_count(&path.to_str_lossy()) && names(file.path(), loop_id) {
                named.push(path);
            }
        }
    }
    ignored_of(named, loop_id)
}

fn names(file: &std::path::Path, loop_id: &str) -> bool {
    fs::read(file).is_ok_and(|text| marker::names(&text).as_deref() == Some(loop_id))
}

fn ignored_of(named: Vec<BString>, loop_id: &str) -> Result<Vec<MarkerFile>, GitError> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let input = nul_separated(named.iter().map(|p| p.as_bytes()));
    let (code, printed, _) = Git::new("check-ignore").args(["-z", "--stdin"]).status_with_input(&input)?;
    if code > 1 {
        return Ok(Vec::new());
    }
    let ignored: HashSet<&[u8]> = printed.split(|b| *b == 0).collect();
    let markers = named.into_iter().filter(|p| ignored.contains(p.as_bytes()));
    Ok(markers.map(|path| MarkerFile { path, names: Some(loop_id.to_owned()), blob: None, own: false }).collect())
}

/// The code that a test run looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedTree {
    /// Digest against the base, without untracked files that do not count.
    pub code: String,
    /// Digest with every untracked file.
    pub code_all: String,
    /// Untracked files, at most 20 names.
    pub untracked: Vec<String>,
    /// Every tested path that differs from the base, so that a move during the run can be named.
    pub entries: Vec<Change>,
}

/// Why a run in this work tree can be no evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfaithful(pub String);

/// A folder of ours that goes away with the value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Takes the tested tree now. The outer error is git's; the inner one makes the run unfaithful.
pub fn tested_tree(repo: &Repo, rules: &PathRules, base: &Oid) -> Result<Result<TestedTree, Unfaithful>, GitError> {
    let top = repo.need_work_tree()?.to_owned();
    let scratch = Scratch(repo.state_dir().join("tmp").join(super::journal::random_id()?));
    let objects = scratch.0.join("objects");
    fs::create_dir_all(&objects).map_err(GitError::io(&objects))?;
    let index = scratch.0.join("index");
    if repo.gix.index_path().exists() {
        fs::copy(repo.gix.index_path(), &index).map_err(GitError::io(&index))?;
    }
    let alternate = quoted_alternate(&repo.common_dir().join("objects"));
    let git = |name: &str| {
        let git = Git::new(name).in_dir(&top).env("GIT_INDEX_FILE", &index).env("GIT_OBJECT_DIRECTORY", &objects);
        git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &alternate)
    };
    if let Some(path) = dirty_submodule(&top)? {
        return Ok(Err(Unfaithful(format!("submodule {path} has uncommitted changes"))));
    }
    unhide(repo, &git)?;
    let listed = git("ls-files").args(["-o", "--exclude-standard", "-z"]).output()?;
    let untracked: Vec<BString> = listed.split(|b| *b == 0).filter(|p| !p.is_empty()).map(BString::from).collect();
    if let Err(GitError::Program { message, .. }) = git("add").args(["-A", "."]).output() {
        return Ok(Err(Unfaithful(format!("git add cannot take the work tree in: {message}"))));
    }
    let tree = git("write-tree").line()?;
    let raw = git("diff-tree").args(["-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff"]);
    let printed = raw.args([base_tree(repo, base)?.as_str(), &tree]).output()?;
    let scratch_files = uncounted(repo, rules, &untracked)?;
    let changes = raw_changes(&printed);
    let tested = || changes.iter().filter(|c| rules.is_tested(c.path.as_bstr()));
    let code_all = digest_of(tested(), base);
    let entries: Vec<Change> = tested().filter(|c| !scratch_files.contains(&c.path)).cloned().collect();
    let names = untracked.iter().take(20).map(|p| p.to_str_lossy().chars().take(100).collect()).collect();
    Ok(Ok(TestedTree { code: digest_of(entries.iter(), base), code_all, untracked: names, entries }))
}

fn base_tree(repo: &Repo, base: &Oid) -> Result<String, GitError> {
    if *base == repo.empty_tree() {
        return Ok(base.to_string());
    }
    Git::new("rev-parse").args(["--verify", "--end-of-options"]).arg(format!("{base}^{{tree}}")).line()
}

/// A path in `GIT_ALTERNATE_OBJECT_DIRECTORIES`: quoted where the separator stands in it.
fn quoted_alternate(path: &std::path::Path) -> std::ffi::OsString {
    let separator = if cfg!(windows) { ';' } else { ':' };
    match path.to_str() {
        Some(text) if text.contains(separator) || text.starts_with('"') => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into()
        }
        _ => path.into(),
    }
}

/// A submodule whose own work tree is not what its checked-out commit says.
fn dirty_submodule(top: &std::path::Path) -> Result<Option<String>, GitError> {
    if !top.join(".gitmodules").exists() {
        return Ok(None);
    }
    let call = Git::new("status").in_dir(top).args(["--porcelain=v2", "-z", "-uno", "--ignore-submodules=none"]);
    let printed = call.output()?;
    let dirty = printed.split(|b| *b == 0).find_map(|entry| {
        let fields: Vec<&[u8]> = entry.splitn(9, |b| *b == b' ').collect();
        let sub = fields.get(2)?;
        let is_dirty = sub.starts_with(b"S") && (sub.contains(&b'M') || sub.contains(&b'U'));
        is_dirty.then(|| fields.last().map(|p| p.to_str_lossy().into_owned()))?
    });
    Ok(dirty)
}

/// Makes the copy of the index look at flagged files that exist on disk.
fn unhide(repo: &Repo, git: &dyn Fn(&str) -> Git) -> Result<(), GitError> {
    let flagged = index_flags::flagged(repo)?;
    if flagged.is_empty() {
        return Ok(());
    }
    let input = nul_separated(flagged.iter().map(|f| f.path.as_bytes()));
    for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
        git("update-index").args([flag, "-z", "--stdin"]).output_with_input(&input)?;
    }
    Ok(())
}

/// Untracked files that do not count: no tracked code path has their extension.
fn uncounted(repo: &Repo, rules: &PathRules, untracked: &[BString]) -> Result<HashSet<BString>, GitError> {
    if untracked.is_empty() {
        return Ok(HashSet::new());
    }
    let known: HashSet<Vec<u8>> = if repo.gix.index_path().exists() {
        let index = repo.gix.open_index().map_err(GitError::object)?;
        let paths = index.entries().iter().map(|e| e.path(&index)).filter(|p| rules.is_code(p));
        paths.filter_map(extension).collect()
    } else {
        HashSet::new()
    };
    let counts = |path: &BString| extension(path.as_bstr()).is_some_and(|e| known.contains(&e));
    Ok(untracked.iter().filter(|p| !counts(p)).cloned().collect())
}

fn extension(path: &bstr::BStr) -> Option<Vec<u8>> {
    let name = path.rsplit(|b| *b == b'/').next()?;
    let dot = name.rfind_byte(b'.').filter(|d| *d > 0)?;
    Some(name[dot + 1..].to_vec())
}

/// Reads `diff-tree -z --raw`.
pub fn raw_changes(printed: &[u8]) -> Vec<Change> {
    let mut fields = printed.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next() {
        let Some(head) = head.strip_prefix(b":") else { continue };
        let Some(path) = fields.next() else { break };
        let text = head.to_str_lossy();
        let parts: Vec<&str> = text.split(' ').collect();
        let [old_mode, new_mode, old, new, ..] = parts.as_slice() else { continue };
        changes.push(Change { path: path.into(), before: entry(old_mode, old), after: entry(new_mode, new) });
    }
    changes
}

fn entry(mode: &str, id: &str) -> Option<Entry> {
    let mode = u32::from_str_radix(mode, 8).ok().filter(|m| *m != 0)?;
    Some(Entry { mode, id: Oid::parse(id)? })
}

/// A temporary clean work tree of one commit; it goes away with the value.
#[derive(Debug)]
pub struct CleanTree {
    /// Its top.
    pub dir: PathBuf,
}

impl CleanTree {
    /// Checks `commit` out into a folder of the system's temporary directory.
    pub fn of(commit: &Oid) -> Result<Self, GitError> {
        let dir = std::env::temp_dir().join(format!("nav-loop-{}", super::journal::random_id()?));
        let path = os_path(&<[u8]>::from_path(&dir).map(<[u8]>::to_vec).unwrap_or_default());
        Git::new("worktree").args(["add", "--detach", "--quiet"]).arg(path).arg(commit.as_str()).output()?;
        Ok(Self { dir })
    }
}

impl Drop for CleanTree {
    fn drop(&mut self) {
        drop(Git::new("worktree").args(["remove", "--force"]).arg(&self.dir).output());
        drop(fs::remove_dir_all(&self.dir));
    }
}

//! Puts our hooks where git will look for them, and takes exactly them out again (spec 3.4).
//!
//! In: the hooks directory as git resolves it, and what lies there. Out: links to the installed programs, or a refusal
//! that shows the choice. A foreign hook is never edited, never overwritten, never written through.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    GitError,
    program::{Git, nul_separated},
    repo::Repo,
};
use crate::domain::oid::Oid;

/// The hooks that we install.
pub const HOOKS: [&str; 2] = ["post-commit", "post-checkout"];

const COPY_MARK: &str = "NAV-LOOP-HOOK ";

/// Where git looks for hooks, and whose place that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksDir {
    /// Absolute.
    pub path: PathBuf,
    /// Whose.
    pub kind: HooksDirKind,
    /// Scope and file that set `core.hooksPath`, when it is set.
    pub origin: Option<String>,
}

/// Whose place the hooks directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksDirKind {
    /// The common hooks directory of this repository.
    Common,
    /// Inside the work tree: tracked, or a hook manager's.
    InWorkTree,
    /// Outside this repository.
    Outside,
}

/// What lies at a hook's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A link to one of our programs.
    OwnLink(PathBuf),
    /// A copy of one of our programs, as it was written.
    OwnCopy {
        /// The version that wrote it.
        version: String,
        /// The path embedded in it.
        program: PathBuf,
    },
    /// A copy of ours that somebody changed.
    EditedCopy,
    /// Somebody else's.
    Foreign {
        /// The hook manager it is recognised as.
        manager: Option<&'static str>,
        /// A directory or something else that cannot be chained.
        odd: bool,
    },
}

/// Finds the hooks directory; an empty `core.hooksPath` is an error.
pub fn hooks_dir(repo: &Repo) -> Result<HooksDir, GitError> {
    let configured = Git::with_own_hooks("config").args(["--show-scope", "--show-origin", "--get", "core.hooksPath"]);
    let (_, printed, _) = configured.status_with_input(&[])?;
    let line = String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned();
    let mut fields = line.splitn(3, '\t');
    let (scope, origin, value) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""), fields.next());
    if value == Some("") {
        return Err(GitError::Other(format!(
            "core.hooksPath is set to nothing ({scope}, {origin}): git finds no hooks"
        )));
    }
    let call = Git::with_own_hooks("rev-parse").args(["--path-format=absolute", "--git-path", "hooks"]);
    let path = PathBuf::from(call.line()?);
    let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
    let kind = if real(&path) == real(&repo.common_dir().join("hooks")) {
        HooksDirKind::Common
    } else if repo.work_tree().is_some_and(|top| real(&path).starts_with(real(top))) {
        HooksDirKind::InWorkTree
    } else {
        HooksDirKind::Outside
    };
    let origin = value.map(|v| format!("{scope} {origin}: core.hooksPath={v}"));
    Ok(HooksDir { path, kind, origin })
}

/// The installed hook program `name`, beside `program`.
pub fn hook_program(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(format!("nav-loop-{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Looks at hook `name` in `dir`.
pub fn look(dir: &Path, name: &str) -> Found {
    let path = dir.join(name);
    let Ok(meta) = path.symlink_metadata() else { return Found::Nothing };
    if meta.is_symlink() {
        let target = fs::read_link(&path).unwrap_or_default();
        let own = target.file_stem().is_some_and(|n| n == format!("nav-loop-{name}").as_str());
        return if own { Found::OwnLink(target) } else { Found::Foreign { manager: None, odd: false } };
    }
    if !meta.is_file() {
        return Found::Foreign { manager: None, odd: true };
    }
    let bytes = fs::read(&path).unwrap_or_default();
    match copy_mark(&bytes) {
        Some(mark) if mark.is_intact => Found::OwnCopy { version: mark.version, program: mark.program },
        Some(_) => Found::EditedCopy,
        None => Found::Foreign { manager: manager_of(&bytes), odd: false },
    }
}

struct CopyMark {
    version: String,
    program: PathBuf,
    is_intact: bool,
}

fn copy_mark(bytes: &[u8]) -> Option<CopyMark> {
    let body_end = bytes.strip_suffix(b"\n")?.iter().rposition(|b| *b == b'\n')?;
    let line = std::str::from_utf8(&bytes[body_end + 1..]).ok()?.trim_end().strip_prefix(COPY_MARK)?;
    let mut fields = line.splitn(3, ' ');
    let (version, digest, program) = (fields.next()?, fields.next()?, fields.next()?);
    let is_intact = hex_digest(&bytes[..body_end]) == digest;
    Some(CopyMark { version: version.to_owned(), program: PathBuf::from(program), is_intact })
}

fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// The hook manager that wrote a file, by its own words.
fn manager_of(bytes: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]).to_lowercase();
    let known =
        [("lefthook", "lefthook"), ("husky", "husky"), ("pre-commit.com", "pre-commit"), ("git lfs", "git-lfs")];
    known.into_iter().find(|(word, _)| text.contains(word)).map(|(_, name)| name)
}

/// The hook manager whose directory this is, by its name.
pub fn manager_of_dir(dir: &Path) -> Option<&'static str> {
    let text = dir.to_string_lossy().to_lowercase();
    ["husky", "lefthook", "pre-commit"].into_iter().find(|name| text.contains(name))
}

/// Where a foreign hook is kept while ours runs it first.
pub fn previous(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.nav-loop-prev"))
}

/// Puts hook `name` into `dir`: a link to `program`, or with `copy` a copy that knows where `main` is.
/// Whether anything was written.
pub fn put(dir: &Path, name: &str, program: &Path, main: Option<&Path>) -> Result<bool, GitError> {
    let path = dir.join(name);
    fs::create_dir_all(dir).map_err(GitError::io(dir))?;
    let temporary = dir.join(format!(".{name}.{}", super::journal::random_id()?));
    let written = match main {
        None if fs::read_link(&path).is_ok_and(|t| t == program) => return Ok(false),
        None => link(program, &temporary),
        Some(main) => {
            let content = copy_content(program, main)?;
            if fs::read(&path).is_ok_and(|there| there == content) {
                return Ok(false);
            }
            write_executable(&temporary, &content)
        }
    };
    let placed = written.and_then(|()| fs::rename(&temporary, &path).map_err(GitError::io(&path)));
    if placed.is_err() {
        drop(fs::remove_file(&temporary));
    }
    placed.map(|()| true)
}

#[cfg(unix)]
fn link(program: &Path, at: &Path) -> Result<(), GitError> {
    std::os::unix::fs::symlink(program, at).map_err(GitError::io(at))
}

#[cfg(not(unix))]
fn link(program: &Path, at: &Path) -> Result<(), GitError> {
    let main = program.with_file_name(format!("git-nav-loop{}", std::env::consts::EXE_SUFFIX));
    write_executable(at, &copy_content(program, &main)?)
}

fn copy_content(program: &Path, main: &Path) -> Result<Vec<u8>, GitError> {
    let mut content = fs::read(program).map_err(GitError::io(program))?;
    let digest = hex_digest(&content);
    let line = format!("\n{COPY_MARK}{} {digest} {}\n", env!("CARGO_PKG_VERSION"), main.display());
    content.extend(line.as_bytes());
    Ok(content)
}

fn write_executable(path: &Path, content: &[u8]) -> Result<(), GitError> {
    fs::write(path, content).map_err(GitError::io(path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let readable = fs::metadata(path).map_err(GitError::io(path))?.permissions().mode();
        let mode = readable | ((readable & 0o444) >> 2);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(GitError::io(path))?;
    }
    Ok(())
}

/// Moves a foreign hook aside, so that ours runs it first. Never over a file that is there.
pub fn set_aside(dir: &Path, name: &str) -> Result<(), GitError> {
    let to = previous(dir, name);
    if to.symlink_metadata().is_ok() {
        return Err(GitError::Other(format!("{} is there already", to.display())));
    }
    fs::rename(dir.join(name), &to).map_err(GitError::io(&to))
}

/// Takes our hook out and puts a set-aside one back. Whether anything changed.
pub fn take_out(dir: &Path, name: &str) -> Result<bool, GitError> {
    let path = dir.join(name);
    let is_own = matches!(look(dir, name), Found::OwnLink(_) | Found::OwnCopy { .. });
    let aside = previous(dir, name);
    let has_aside = aside.symlink_metadata().is_ok();
    if is_own && !has_aside {
        fs::remove_file(&path).map_err(GitError::io(&path))?;
    }
    if has_aside && (is_own || path.symlink_metadata().is_err()) {
        fs::rename(&aside, &path).map_err(GitError::io(&path))?;
        return Ok(true);
    }
    Ok(is_own)
}

/// Asks git to run hook `name` with a mark that makes it only say that it is ours. Whether it said so.
pub fn probe(name: &str) -> Result<bool, GitError> {
    let call = Git::with_own_hooks("hook").args(["run", "--ignore-missing", name]);
    let (_, stdout, stderr) = call.without_env("NAV_LOOP_HOOK").env("NAV_LOOP_PROBE", "1").status_with_input(&[])?;
    let said = format!("nav-loop-probe {} {name}", env!("CARGO_PKG_VERSION"));
    Ok([stdout, stderr].iter().any(|s| String::from_utf8_lossy(s).contains(&said)))
}

/// `major.minor` of the git on PATH.
pub fn git_version() -> Result<(u32, u32), GitError> {
    let line = Git::new("version").line()?;
    let digits = line.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = digits.split('.').map_while(|p| p.parse::<u32>().ok());
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => Ok((major, minor)),
        _ => Err(GitError::Other(format!("git says {line:?} of its version"))),
    }
}

/// Settings of the config form, in the order in which writing them never leaves an event without a command: git
/// 2.54 refuses every commit where one stands alone.
pub fn config_hook_settings(program: &Path) -> Vec<(String, String)> {
    let settings = HOOKS.iter().flat_map(|name| {
        let quoted = format!("'{}'", hook_program(program, name).display().to_string().replace('\'', "'\\''"));
        [(format!("hook.nav-loop-{name}.command"), quoted), (format!("hook.nav-loop-{name}.event"), (*name).to_owned())]
    });
    settings.collect()
}

/// Writes the config form.
pub fn put_config(program: &Path) -> Result<(), GitError> {
    for (key, value) in config_hook_settings(program) {
        Git::new("config").args(["--local", key.as_str(), value.as_str()]).output()?;
    }
    Ok(())
}

/// Takes the config form out, events first. Whether anything was there.
pub fn take_config_out(repo: &Repo) -> Result<bool, GitError> {
    let mut changed = false;
    for name in HOOKS {
        for key in ["event", "command"] {
            if repo.config_string("hook", Some(&format!("nav-loop-{name}")), key).is_some() {
                Git::new("config").args(["--local", "--unset-all", &format!("hook.nav-loop-{name}.{key}")]).output()?;
                changed = true;
            }
        }
        if repo.config_subsections("hook").contains(&format!("nav-loop-{name}")) {
            drop(Git::new("config").args(["--local", "--remove-section", &format!("hook.nav-loop-{name}")]).output());
        }
    }
    Ok(changed)
}

/// Deletes the journal and everything of ours in the git directory.
pub fn purge(repo: &Repo) -> Result<(), GitError> {
    repo.refs().delete(repo.journal_ref())?;
    let printed = Git::new("for-each-ref").args(["--format=delete %(refname)", "refs/nav-loop/"]).output()?;
    if !printed.is_empty() {
        Git::new("update-ref").arg("--stdin").output_with_input(&printed)?;
    }
    let branches = repo.config_subsections("branch");
    for branch in branches.iter().filter(|b| repo.config_string("branch", Some(b), "navLoop").is_some()) {
        Git::new("config").args(["--local", "--unset-all", &format!("branch.{branch}.navLoop")]).output()?;
    }
    for dir in [repo.state_dir(), repo.git_dir().join("nav-loop")] {
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(GitError::io(&dir))?;
        }
    }
    Ok(())
}

/// Whether git reads the note of every object in `objects` as `read` does: a second reader for `doctor`.
pub fn second_reading(repo: &Repo, notes: &[(Oid, Oid)]) -> Result<Vec<String>, GitError> {
    let Some(tip) = repo.refs().read(repo.journal_ref())? else { return Ok(Vec::new()) };
    let printed = Git::new("notes").args(["--ref", repo.journal_ref(), "list"]).output()?;
    let by_git: std::collections::BTreeSet<String> =
        String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect();
    let by_us: std::collections::BTreeSet<String> = notes.iter().map(|(on, blob)| format!("{blob} {on}")).collect();
    let mut differ: Vec<String> = by_git.symmetric_difference(&by_us).cloned().collect();
    let input = nul_separated(notes.iter().map(|(_, blob)| blob.as_str().as_bytes()));
    let lines: Vec<u8> = input.into_iter().map(|b| if b == 0 { b'\n' } else { b }).collect();
    let checked = Git::new("cat-file").arg("--batch-check").output_with_input(&lines)?;
    differ.extend(String::from_utf8_lossy(&checked).lines().filter(|l| l.ends_with("missing")).map(str::to_owned));
    if differ.is_empty() && !repo.has_object(&tip) {
        differ.push(format!("{tip} missing"));
    }
    Ok(differ)
}

/// Every setting of `core.hooksPath`, in every scope and work tree, and whether it leads to a folder.
pub fn hooks_paths(repo: &Repo) -> Result<Vec<(String, bool)>, GitError> {
    let mut found = Vec::new();
    let listed = Git::new("worktree").args(["list", "--porcelain", "-z"]).output()?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let trees: Vec<PathBuf> = text.split('\0').filter_map(|f| f.strip_prefix("worktree ")).map(PathBuf::from).collect();
    let here = repo.work_tree().unwrap_or(repo.git_dir()).to_owned();
    for tree in if trees.is_empty() { vec![here] } else { trees } {
        if !tree.is_dir() {
            continue;
        }
        let call = Git::with_own_hooks("config").in_dir(&tree).without_repository_variables();
        let (_, printed, _) =
            call.args(["--show-scope", "--type=path", "--get-all", "core.hooksPath"]).status_with_input(&[])?;
        for line in String::from_utf8_lossy(&printed).lines() {
            let (scope, value) = line.split_once('\t').unwrap_or(("", line));
            let said = format!("{scope} {value} in {}", tree.display());
            let there = !value.is_empty() && tree.join(value).is_dir();
            if !found.contains(&(said.clone(), there)) {
                found.push((said, there));
            }
        }
    }
    Ok(found)
}

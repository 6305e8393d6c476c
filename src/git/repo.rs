//! The repository we stand in: where its parts lie and which backend is right for it.
//!
//! In: the working directory and git's own environment variables. Out: an opened repository, or one clear error.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::{
    GitError,
    object_store::ObjectStore,
    refs::{Git2Refs, Head, ProgramRefs, RefStore},
};
use crate::domain::oid::Oid;

/// The default place of the journal.
pub const JOURNAL_REF: &str = "refs/notes/nav-loop";

/// An opened repository.
#[derive(Debug)]
pub struct Repo {
    pub(super) gix: gix::Repository,
    refs: Box<dyn RefStore>,
    writes_through_program: bool,
    journal_ref: String,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    scratch: Option<PathBuf>,
}

impl Repo {
    /// Opens the repository of the working directory.
    pub fn discover() -> Result<Self, GitError> {
        let here = std::env::current_dir().map_err(GitError::io("."))?;
        let mut gix = gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            here,
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() },
            Default::default(),
        )
        .map_err(|e| no_repository(&e))?
        .to_thread_local();
        gix.object_cache_size_if_unset(4 << 20);
        gix.objects.ignore_replacements = true;
        let plain = is_plain(&gix)?;
        let git_dir = absolute(gix.git_dir());
        let common_dir = absolute(gix.common_dir());
        let refs = open_refs(plain, &git_dir)?;
        let journal_ref = journal_ref(&gix)?;
        let work_tree = gix.workdir().map(absolute);
        let writes_through_program = !plain;
        Ok(Self { gix, refs, writes_through_program, journal_ref, git_dir, common_dir, work_tree, scratch: None })
    }

    /// The same repository as seen through the scratch repository at `dir`: its objects are those of both.
    pub fn through_scratch(self, dir: &Path) -> Result<Self, GitError> {
        let mut gix = gix::open(dir).map_err(|e| GitError::Other(format!("{}: {e}", dir.display())))?;
        gix.objects.ignore_replacements = true;
        Ok(Self { gix, work_tree: None, scratch: Some(dir.to_owned()), ..self })
    }

    /// The scratch repository that objects are read through, in a push's quarantine.
    pub fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// The refs of this repository.
    pub fn refs(&self) -> &dyn RefStore {
        self.refs.as_ref()
    }

    /// The same repository with refs and object writes through the git program; for tests of that backend.
    #[must_use]
    pub fn through_program(self) -> Self {
        Self { refs: Box::new(ProgramRefs), writes_through_program: true, ..self }
    }

    pub(super) fn store(&self) -> ObjectStore<'_> {
        ObjectStore::new(&self.gix, self.writes_through_program)
    }

    /// Reads HEAD.
    pub fn head(&self) -> Result<Head, GitError> {
        self.refs.head()
    }

    /// The ref that carries the journal.
    pub fn journal_ref(&self) -> &str {
        &self.journal_ref
    }

    /// The directory of this work tree's own git files.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The directory that all work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Our directory in the common git directory.
    pub fn state_dir(&self) -> PathBuf {
        self.common_dir.join("nav-loop")
    }

    /// The top of the work tree; `None` in a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// The top of the work tree, or a clear error.
    pub fn need_work_tree(&self) -> Result<&Path, GitError> {
        self.work_tree().ok_or(GitError::Bare)
    }

    /// The id of the empty tree in this repository's hash.
    pub fn empty_tree(&self) -> Oid {
        oid(gix::ObjectId::empty_tree(self.gix.object_hash()).as_ref())
    }

    /// The null id of this repository's hash.
    pub fn null_id(&self) -> Oid {
        oid(gix::ObjectId::null(self.gix.object_hash()).as_ref())
    }

    /// A string from git's configuration.
    pub fn config_string(&self, section: &str, subsection: Option<&str>, key: &str) -> Option<String> {
        let snapshot = self.gix.config_snapshot();
        let subsection = subsection.map(|s| s.as_bytes().as_bstr());
        let value = snapshot.plumbing().string_by(section, subsection, key)?;
        Some(value.to_str_lossy().into_owned())
    }

    /// Names of the subsections of `section`, e.g. remotes or branches.
    pub fn config_subsections(&self, section: &str) -> Vec<String> {
        let snapshot = self.gix.config_snapshot();
        let Some(sections) = snapshot.plumbing().sections_by_name(section) else { return Vec::new() };
        let names = sections.filter_map(|s| s.header().subsection_name().map(|n| n.to_str_lossy().into_owned()));
        let mut names: Vec<String> = names.collect();
        names.dedup();
        names
    }

    /// The content of a blob, at most `limit` bytes of it; `None` when the object is not here.
    pub fn blob(&self, id: &Oid, limit: u64) -> Result<Option<Vec<u8>>, GitError> {
        let Some(header) = self.gix.try_find_header(gix_id(id)?).map_err(GitError::object)? else { return Ok(None) };
        if header.size() > limit {
            return Ok(None);
        }
        // Past the object cache, which serves trees and commits: a blob is read once, and a cache would copy it.
        let (objects, mut content) = (&*self.gix.objects, Vec::new());
        gix::prelude::FindExt::find(objects, &gix_id(id)?, &mut content).map_err(GitError::object)?;
        Ok(Some(content))
    }

    /// The id that `bytes` have as a blob; nothing is written.
    pub fn blob_id(&self, bytes: &[u8]) -> Result<Oid, GitError> {
        let id = gix::objs::compute_hash(self.gix.object_hash(), gix::objs::Kind::Blob, bytes);
        Ok(oid(&id.map_err(GitError::object)?))
    }

    /// Whether object `id` is here.
    pub fn has_object(&self, id: &Oid) -> bool {
        gix_id(id).is_ok_and(|id| self.gix.has_object(id))
    }

    /// Whether a sequence of commits is being made: rebase, am, cherry-pick or revert of several.
    pub fn is_in_sequence(&self) -> bool {
        ["rebase-merge", "rebase-apply", "sequencer"].iter().any(|d| self.git_dir.join(d).exists())
    }

    /// The branch that a rebase in progress will move.
    pub fn rebased_branch(&self) -> Option<String> {
        let file = |dir: &str| std::fs::read_to_string(self.git_dir.join(dir).join("head-name")).ok();
        let name = file("rebase-merge").or_else(|| file("rebase-apply"))?;
        Some(name.trim().to_owned()).filter(|n| n.starts_with("refs/heads/"))
    }

    /// The newest messages of a branch's reflog, at most two.
    pub fn branch_reflog(&self, branch: &str) -> Vec<String> {
        let name = format!("refs/heads/{branch}");
        let call = super::program::Git::new("log").args(["-g", "-2", "--format=%gs", "--end-of-options", &name, "--"]);
        let printed = call.output().unwrap_or_default();
        String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect()
    }

    /// The newest message of HEAD's reflog.
    pub fn last_reflog_message(&self) -> Option<String> {
        if self.refs.backend() == "git2" {
            let log = self.git_dir.join("logs").join("HEAD");
            let line = last_line_of(&log)?;
            return line.split_once('\t').map(|(_, message)| message.to_owned());
        }
        super::program::Git::new("log").args(["-g", "-1", "--format=%gs", "HEAD"]).line().ok()
    }
}

fn last_line_of(path: &Path) -> Option<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(8192))).ok()?;
    let mut tail = Vec::new();
    file.take(8192).read_to_end(&mut tail).ok()?;
    let text = String::from_utf8_lossy(&tail);
    text.trim_end_matches('\n').rsplit('\n').next().map(str::to_owned)
}

/// Extensions that both libraries are known to read and write correctly.
const KNOWN_EXTENSIONS: &[&str] = &["objectformat", "worktreeconfig", "preciousobjects", "noop", "noop-v1"];

/// Whether the libraries may be trusted with this repository; gix would open others silently.
fn is_plain(gix: &gix::Repository) -> Result<bool, GitError> {
    let snapshot = gix.config_snapshot();
    let mut plain = !object_directory_is_foreign(gix);
    if let Some(sections) = snapshot.plumbing().sections_by_name("extensions") {
        let names =
            sections.flat_map(|s| s.body().value_names().map(|n| n.to_string().to_lowercase()).collect::<Vec<_>>());
        for name in names {
            plain &= KNOWN_EXTENSIONS.contains(&name.as_str());
        }
    }
    let shared = snapshot.string("core.sharedRepository").map(|s| s.to_string().to_lowercase());
    plain &= shared.is_none_or(|s| matches!(s.as_str(), "umask" | "false" | "0" | "no"));
    Ok(plain)
}

#[expect(clippy::disallowed_methods, reason = "git's own variable; the libraries ignore it, so it is looked at here")]
fn object_directory_is_foreign(gix: &gix::Repository) -> bool {
    let Some(dir) = std::env::var_os("GIT_OBJECT_DIRECTORY") else { return false };
    absolute(Path::new(&dir)) != absolute(&gix.common_dir().join("objects"))
}

fn open_refs(plain: bool, git_dir: &Path) -> Result<Box<dyn RefStore>, GitError> {
    if plain {
        match Git2Refs::open() {
            Ok(refs) => return Ok(Box::new(refs)),
            Err(e) if e.code() == git2::ErrorCode::Owner => {
                return Err(GitError::WrongOwner(git_dir.display().to_string()));
            }
            Err(_) => {}
        }
    }
    let check = super::program::Git::new("rev-parse").arg("--git-dir").output();
    check.map_err(|e| match e {
        GitError::Program { message, .. } if message.contains("dubious ownership") => {
            GitError::WrongOwner(git_dir.display().to_string())
        }
        GitError::Program { message, .. } => GitError::NoRepository(message),
        e => e,
    })?;
    Ok(Box::new(ProgramRefs))
}

fn journal_ref(gix: &gix::Repository) -> Result<String, GitError> {
    let Some(name) = gix.config_snapshot().string("navLoop.ref") else { return Ok(JOURNAL_REF.to_owned()) };
    let name = name.to_string();
    let is_name =
        name.strip_prefix("refs/notes/").is_some_and(|n| !n.is_empty()) && git2::Reference::is_valid_name(&name);
    if is_name {
        return Ok(name);
    }
    Err(GitError::Other(format!("git config navLoop.ref: {name:?} is not a ref below refs/notes/")))
}

/// gix's error chain as one sentence.
fn no_repository(error: &(impl std::error::Error + ?Sized)) -> GitError {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    if text.contains("not find") || text.contains("not a git repo") || text.contains("No git repo") {
        return GitError::NoRepository("not a git repository (or any of the parent directories)".to_owned());
    }
    GitError::NoRepository(format!("this repository cannot be opened: {first}"))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// gix's id as ours.
pub(super) fn oid(id: &gix::hash::oid) -> Oid {
    Oid::parse(&id.to_hex().to_string()).unwrap_or_else(|| unreachable!("gix writes well-formed ids"))
}

/// Our id as gix's; an id of the other hash is not here.
pub(super) fn gix_id(id: &Oid) -> Result<gix::ObjectId, GitError> {
    gix::ObjectId::from_hex(id.as_str().as_bytes()).map_err(|e| GitError::object(format!("{id}: {e}")))
}

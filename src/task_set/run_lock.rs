//! What guards one run of a task: its lock, and what was there before its agent.

use std::{collections::HashSet, path::PathBuf};

use crate::{
    context::now,
    domain::task_set::{plan::Task, state::SetState},
    error::Error,
    git::{commit, history::goes_through_link, lock::Lock, loops, repo::Repo},
    task_set::{lease::main_tree, store::Store},
};

/// The lock of a run, below the top of the main work tree; the public skills look at it, too.
const RUN_LOCK: &str = ".mino/run.lock";
const RUN_LOCK_STALE_SECONDS: i64 = 2 * 3_600;

/// `.mino/run.lock`, while the agent works, and a lock of the operating system that goes with its holder.
pub(super) struct RunLock {
    path: PathBuf,
    _lock: Lock,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

impl RunLock {
    /// `None` when another run holds it. What a killed driver of ours left holds nothing: its lock went with it.
    pub(super) fn take(repo: &Repo, set: &SetState, task: &Task) -> Result<Option<Self>, Error> {
        let top = main_tree(repo)?;
        let path = top.join(RUN_LOCK);
        if goes_through_link(&top, &path) {
            return Err(Error::refused(format!("{} goes through a symbolic link", path.display()), "replace the link"));
        }
        let lock = Lock::try_take(repo.state_dir().join("task-run.lock"))?;
        let Some(lock) = lock else { return Ok(None) };
        if let Some(text) = loops::read_file(&path) {
            let there: serde_json::Value = serde_saphyr::from_str(&text).unwrap_or_default();
            let acquired = there["acquired_at"].as_str().and_then(|t| t.parse::<jiff::Timestamp>().ok());
            let age = acquired.zip(now().parse::<jiff::Timestamp>().ok()).map(|(a, n)| n.as_second() - a.as_second());
            let is_fresh = age.is_some_and(|age| age < RUN_LOCK_STALE_SECONDS);
            let is_ours = there["loop_id"].as_str().is_some_and(|id| Store::of(repo, id).is_ok());
            if is_fresh && !is_ours {
                return Ok(None);
            }
        }
        let content = serde_json::json!({
            "task_key": task.task_key, "issue_number": task.issue, "acquired_at": now(),
            "host": gethostname::gethostname().to_string_lossy(), "loop_id": set.id,
        });
        loops::write_file(&path, &serde_saphyr::to_string(&content).unwrap_or_default())?;
        Ok(Some(Self { path, _lock: lock }))
    }
}

/// What lay untracked before the agent of a task was first started: never committed. It is kept on disk until the run is
/// over, so that what the agent of a killed or interrupted driver made does not become somebody else's.
pub(super) struct Untouched {
    pub(super) paths: HashSet<String>,
    file: PathBuf,
}

impl Untouched {
    pub(super) fn of(repo: &Repo, set: &SetState, task: &Task) -> Result<Self, Error> {
        let file = repo.state_dir().join("sets").join(format!("{}-{}.untracked", set.id, task.task_key));
        let kept = std::fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
        let paths: HashSet<String> = match kept {
            Some(paths) => paths,
            None => commit::untracked(repo)?.into_iter().collect(),
        };
        loops::write_file(&file, &serde_json::to_string(&paths).unwrap_or_default())?;
        Ok(Self { paths, file })
    }

    pub(super) fn forget(&self) {
        drop(std::fs::remove_file(&self.file));
    }
}

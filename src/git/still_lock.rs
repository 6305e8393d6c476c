//! Telling a dead writer's lock on our ref from a living one's.
//!
//! In: looks at the lock file, while we hold our own lock. Out: it is removed, and that is noted, when inode and time
//! stood still for a second: no writer of ours can be at it, and git holds such a lock for milliseconds.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use super::repo::Repo;

/// A lock file of our ref that stands still for a second while we hold our own lock is a dead writer's.
#[derive(Default)]
pub(super) struct StillLock {
    seen: Option<(SystemTime, u64, Instant)>,
}

impl StillLock {
    /// Looks once.
    pub(super) fn look(&mut self, lock: &Path, repo: &Repo) {
        let Ok(meta) = std::fs::metadata(lock) else { return self.seen = None };
        let Ok(modified) = meta.modified() else { return };
        let identity = identity(&meta);
        match self.seen {
            Some((time, id, since)) if time == modified && id == identity => {
                if since.elapsed() >= Duration::from_secs(1) && std::fs::remove_file(lock).is_ok() {
                    super::incidents::note(repo, &format!("removed a stale lock: {}", lock.display()));
                    self.seen = None;
                }
            }
            _ => self.seen = Some((modified, identity, Instant::now())),
        }
    }
}

#[cfg(unix)]
fn identity(meta: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn identity(meta: &std::fs::Metadata) -> u64 {
    meta.len()
}

//! An advisory lock of the operating system: it goes away with the process that holds it, however that ends.
//!
//! In: a path in the common git directory and a deadline. Out: a guard. Nothing here can be left stale.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::GitError;

/// A held lock.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

fn open(path: &Path) -> Result<File, GitError> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(GitError::io(dir))?;
    }
    let options = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    options.map_err(GitError::io(path))
}

impl Lock {
    /// Takes the lock, waiting until `deadline` at most.
    pub fn take(path: PathBuf, deadline: Instant) -> Result<Self, GitError> {
        let taken = Self::take_unless(&path, deadline, || false)?;
        taken.ok_or(GitError::Busy(path))
    }

    /// Takes the lock, waiting until `deadline` at most, or until `is_needless`: then there is no lock and no error.
    pub fn take_unless(
        path: &Path,
        deadline: Instant,
        is_needless: impl Fn() -> bool,
    ) -> Result<Option<Self>, GitError> {
        let file = open(path)?;
        let mut pause = Duration::from_micros(300);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(TryLockError::WouldBlock) if is_needless() => return Ok(None),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(jittered(pause)),
                Err(TryLockError::WouldBlock) => return Err(GitError::Busy(path.to_owned())),
                Err(TryLockError::Error(e)) => return Err(GitError::io(path)(e)),
            }
            pause = (pause * 2).min(Duration::from_millis(8));
        }
    }

    /// Takes the lock when it is free.
    pub fn try_take(path: PathBuf) -> Result<Option<Self>, GitError> {
        match Self::take(path, Instant::now()) {
            Ok(lock) => Ok(Some(lock)),
            Err(GitError::Busy(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Whether somebody holds the lock now; takes nothing and creates nothing.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = OpenOptions::new().write(true).open(path) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

/// Between half and the whole of `pause`, so that writers do not march in step.
pub(super) fn jittered(pause: Duration) -> Duration {
    let mut byte = [0u8; 1];
    if getrandom::fill(&mut byte).is_err() {
        return pause;
    }
    pause / 2 + pause.mul_f64(f64::from(byte[0]) / 512.0)
}

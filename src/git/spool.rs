//! Events on their way into the journal, one file each, written before anything else is tried.
//!
//! In: a record without its place in the order. Out: the files that wait. A file goes away only after its event was
//! read back from the note; whatever fails before that, the next run of any of our programs finds it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::GitError;
use crate::domain::event::{Line, Record};

/// At most this many files are drained at once.
const BATCH: usize = 2_000;

/// The spool directory of one repository.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
}

/// A record with the file it waits in.
#[derive(Debug)]
pub struct Waiting {
    /// The file.
    pub file: PathBuf,
    /// The event.
    pub record: Record,
}

impl Spool {
    /// The spool below our directory `state_dir`.
    pub fn new(state_dir: &Path) -> Self {
        Self { dir: state_dir.join("spool") }
    }

    /// Puts `record` in, by writing a temporary file and renaming it.
    pub fn put(&self, record: &Record, index: usize) -> Result<PathBuf, GitError> {
        fs::create_dir_all(&self.dir).map_err(GitError::io(&self.dir))?;
        let stamp: String = record.at.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("{stamp}-{index:04}-{}-{:08x}", record.id, random()?);
        let temporary = self.dir.join(format!(".{name}"));
        let file = self.dir.join(format!("{name}.json"));
        fs::write(&temporary, record.to_line()).map_err(GitError::io(&temporary))?;
        crate::failpoint::hit("spool-written");
        fs::rename(&temporary, &file).map_err(GitError::io(&file))?;
        Ok(file)
    }

    /// What waits, in the order in which it was put in; files that cannot be read are left alone.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut files = self.files();
        files.sort();
        files.truncate(BATCH);
        let read = |file: PathBuf| {
            let text = fs::read_to_string(&file).ok()?;
            match Record::parse(text.trim()) {
                Line::Known(record) => Some(Waiting { file, record: *record }),
                _ => None,
            }
        };
        files.into_iter().filter_map(read).collect()
    }

    /// Every event file, readable or not.
    pub fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let files = entries.flatten().map(|e| e.path());
        files.filter(|f| f.extension().is_some_and(|e| e == "json")).collect()
    }

    /// Takes `file` out.
    pub fn remove(&self, file: &Path) {
        drop(fs::remove_file(file));
    }
}

fn random() -> Result<u32, GitError> {
    getrandom::u32().map_err(|e| GitError::Other(format!("the system gives no random numbers: {e}")))
}

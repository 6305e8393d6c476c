//! A client's settings file on disk: merged in place, and put back to the byte where nobody changed it since.
//!
//! In: the top of a work tree, and a folder of ours for what the file was. Links are written through, modes kept.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    client_settings::{Unreadable, has_ours, merge, take_out},
    stop_hook::HookClient,
};

/// A larger settings file is not one.
const SIZE_LIMIT: u64 = 4 << 20;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing had to be done.
    None,
    /// It was written.
    Written,
    /// It was ours alone, and is gone.
    Removed,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// What stands in the way.
    pub why: String,
}

/// What the file was before us, and what we made of it.
#[derive(Debug, Serialize, Deserialize)]
struct Before {
    /// `None`: there was no file.
    text: Option<String>,
    /// Folders that we made, the outermost first.
    folders: Vec<PathBuf>,
    /// SHA-256 of what we wrote.
    written: String,
}

/// The settings file of `client`, its entries, and what it was.
#[derive(Debug)]
pub struct SettingsFile {
    client: HookClient,
    /// As the client names it.
    pub path: PathBuf,
    record: PathBuf,
}

impl SettingsFile {
    /// That of the work tree at `top`; what it was is kept in `kept`.
    pub fn new(client: HookClient, top: &Path, kept: &Path) -> Self {
        let path = top.join(client.settings_file());
        let place = digest(path.to_string_lossy().as_bytes());
        let record = kept.join(format!("{}-{}.json", client.name(), &place[..8]));
        Self { client, path, record }
    }

    /// Puts our entries in.
    pub fn install(&self) -> Result<Change, SettingsError> {
        let target = self.target()?;
        let text = self.read(&target)?;
        let merged = merge(self.client, text.as_deref().unwrap_or_default()).map_err(|e| self.off(e))?;
        if text.as_deref() == Some(merged.as_str()) {
            return Ok(Change::None);
        }
        let before = self.before(text, &target, &merged).map_err(|e| self.off(e))?;
        let record = serde_json::to_string(&before).map_err(|e| self.off(e))?;
        self.write(&self.record, &record)?;
        self.write(&target, &merged)?;
        Ok(Change::Written)
    }

    /// What to go back to; entries of an older version of ours are no part of it.
    fn before(&self, text: Option<String>, target: &Path, merged: &str) -> Result<Before, Unreadable> {
        let written = digest(merged.as_bytes());
        let Some(there) = text.as_deref().filter(|t| has_ours(self.client, t)) else {
            return Ok(Before { text, folders: missing_folders(target), written });
        };
        match self.untouched(there) {
            Some(before) => Ok(Before { written, ..before }),
            None => Ok(Before { text: Some(take_out(self.client, there)?), folders: Vec::new(), written }),
        }
    }

    /// What was before `text`, when we wrote it and nobody changed it since.
    fn untouched(&self, text: &str) -> Option<Before> {
        let record = fs::read_to_string(&self.record).ok()?;
        serde_json::from_str::<Before>(&record).ok().filter(|r| r.written == digest(text.as_bytes()))
    }

    /// Whether our entries are in, and whether they should be: they were put in and not taken out by us.
    pub fn state(&self) -> (bool, bool) {
        let text = self.target().and_then(|t| self.read(&t)).ok().flatten();
        (text.is_some_and(|t| has_ours(self.client, &t)), self.record.exists())
    }

    /// Takes our entries out: to the byte when the file is as we wrote it, else entry by entry.
    pub fn uninstall(&self) -> Result<Change, SettingsError> {
        let target = self.target()?;
        let Some(text) = self.read(&target)?.filter(|t| has_ours(self.client, t)) else {
            drop(fs::remove_file(&self.record));
            return Ok(Change::None);
        };
        let change = match self.untouched(&text) {
            Some(Before { text: Some(before), .. }) => self.write(&target, &before).map(|()| Change::Written)?,
            Some(Before { text: None, folders, .. }) => {
                fs::remove_file(&target).map_err(|e| self.off(e))?;
                folders.iter().rev().for_each(|f| drop(fs::remove_dir(f)));
                Change::Removed
            }
            None => {
                let out = take_out(self.client, &text).map_err(|e| self.off(e))?;
                self.write(&target, &out).map(|()| Change::Written)?
            }
        };
        drop(fs::remove_file(&self.record));
        Ok(change)
    }

    /// Where the file really lies.
    fn target(&self) -> Result<PathBuf, SettingsError> {
        match self.path.canonicalize() {
            Ok(real) => Ok(real),
            Err(_) if self.path.symlink_metadata().is_ok() => Err(self.off("it is a link that leads nowhere")),
            Err(_) => Ok(self.path.clone()),
        }
    }

    fn read(&self, target: &Path) -> Result<Option<String>, SettingsError> {
        let Ok(meta) = target.metadata() else { return Ok(None) };
        if !meta.is_file() || meta.len() > SIZE_LIMIT {
            return Err(self.off("it is no file of settings"));
        }
        let bytes = fs::read(target).map_err(|e| self.off(e))?;
        String::from_utf8(bytes).map(Some).map_err(|_| self.off("it is not UTF-8"))
    }

    /// Beside it and over it, in its mode.
    fn write(&self, path: &Path, text: &str) -> Result<(), SettingsError> {
        let folder = path.parent().ok_or_else(|| self.off("it has no folder"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = folder.join(format!(".{name}.nav-loop-{}", std::process::id()));
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = fs::File::create_new(&beside)?;
            file.write_all(text.as_bytes())?;
            if let Ok(meta) = path.metadata() {
                file.set_permissions(meta.permissions())?;
            }
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        write().map_err(|e| {
            drop(fs::remove_file(&beside));
            self.off(e)
        })
    }

    fn off(&self, why: impl ToString) -> SettingsError {
        SettingsError { path: self.path.clone(), why: why.to_string() }
    }
}

fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path.ancestors().skip(1).filter(|p| !p.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

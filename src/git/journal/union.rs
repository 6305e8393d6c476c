//! Two journals made one: each note becomes the union of its lines (spec 4.5).
//!
//! In: the tip of other notes. Out: notes that have both, in a commit with both as parents, so that a push moves forward.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::{Envelope, Journal, Writer, scan_envelopes};
use crate::{
    domain::oid::Oid,
    git::{
        GitError,
        lock::{Lock, jittered},
        notes_tree::NotesTree,
        range,
        refs::Swap,
    },
};

impl Journal<'_> {
    /// Takes in everything that the notes commit `theirs` has: each note becomes the union of its lines. How many notes
    /// changed, or were new.
    pub fn merge(&self, writer: &Writer, theirs: &Oid) -> Result<usize, GitError> {
        let deadline = Instant::now() + writer.patience;
        let _lock = Lock::take(self.repo.state_dir().join("lock"), deadline)?;
        let mut pause = Duration::from_millis(1);
        loop {
            let ours = self.repo.refs().read(self.repo.journal_ref())?;
            let (next, changed) = match &ours {
                None => (theirs.clone(), NotesTree::open(self.repo, Some(theirs))?.list()?.len()),
                Some(ours) if ours == theirs || range::is_ancestor(self.repo, theirs, ours)? => return Ok(0),
                Some(ours) => {
                    let mut tree = NotesTree::open(self.repo, Some(ours))?;
                    let changed = union(&mut tree, &NotesTree::open(self.repo, Some(theirs))?)?;
                    (self.commit(writer, tree.write()?, [ours, theirs].into_iter())?, changed)
                }
            };
            if self.repo.refs().swap(self.repo.journal_ref(), &next, ours.as_ref(), "nav-loop: sync")? == Swap::Done {
                self.read.replace(None);
                return Ok(changed);
            }
            if Instant::now() >= deadline {
                return Err(GitError::Locked(self.ref_lock()));
            }
            std::thread::sleep(jittered(pause));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// Adds to `ours` what only `theirs` has, line by line; a line whose id is there already is there. How many notes grew.
fn union(ours: &mut NotesTree<'_>, theirs: &NotesTree<'_>) -> Result<usize, GitError> {
    let known: HashMap<Oid, Oid> = ours.list()?.into_iter().collect();
    let mut changed = 0;
    for (on, blob) in theirs.list()? {
        if known.get(&on) == Some(&blob) {
            continue;
        }
        let mut text = ours.read(&on)?;
        let mut ids = scan_envelopes(&text, &mut HashMap::new());
        let mut lines: HashSet<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let mut grew = false;
        for line in theirs.blob_text(&blob)?.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            let id = serde_json::from_slice::<Envelope<'_>>(line).ok().map(|e| e.id.to_owned());
            let is_new = id.is_none_or(|id| ids.insert(id)) && lines.insert(line.to_vec());
            if is_new {
                if !text.is_empty() && !text.ends_with(b"\n") {
                    text.push(b'\n');
                }
                text.extend(line);
                text.push(b'\n');
                grew = true;
            }
        }
        if grew {
            ours.replace(&on, &text)?;
            changed += 1;
        }
    }
    Ok(changed)
}

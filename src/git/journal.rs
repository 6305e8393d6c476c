//! The journal: append-only events as notes, never lost, never half written (spec 3.1, 3.2).
//!
//! In: events to append; an object whose events are asked for. Out: what was written, or what is there. The write
//! path: spool file → OS lock → compare-and-swap → read back → out of the spool, all within the caller's deadline.

mod union;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::{
    GitError,
    lock::{Lock, jittered},
    notes_tree::NotesTree,
    refs::Swap,
    repo::{Repo, gix_id, oid},
    spool::{Spool, Waiting},
    still_lock::StillLock,
};
use crate::{
    domain::{
        event::{Event, LINE_LIMIT, Record},
        oid::Oid,
        state::{NoteContent, read_note},
    },
    failpoint,
};

/// An event to append.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The object to annotate.
    pub on: Oid,
    /// The loop.
    pub loop_id: String,
    /// The commit it is about, where that is another.
    pub commit: Option<Oid>,
    /// How often the loop was taken over.
    pub epoch: u32,
    /// What happened.
    pub event: Event,
}

/// Whether an append has reached the notes.
#[derive(Debug)]
pub enum Appended {
    /// It is in the notes.
    Written,
    /// It waits in the spool; the next run of any of our programs writes it. Why it could not be written now.
    Waiting(GitError),
}

/// Who writes, and when.
#[derive(Debug, Clone)]
pub struct Writer {
    /// The program, as it stands in `by`.
    pub by: String,
    /// Now, as the journal writes times.
    pub now: String,
    /// Seconds since 1970, for the notes commit.
    pub now_seconds: i64,
    /// How long the caller can wait.
    pub patience: Duration,
}

/// The journal of one repository.
#[derive(Debug)]
pub struct Journal<'r> {
    repo: &'r Repo,
    spool: Spool,
    read: RefCell<Option<Snapshot<'r>>>,
}

struct Snapshot<'r> {
    tree: NotesTree<'r>,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Snapshot")
    }
}

/// The envelope fields that an append needs of the lines already there.
#[derive(Deserialize)]
struct Envelope<'a> {
    id: &'a str,
    #[serde(rename = "loop")]
    loop_id: &'a str,
    seq: u64,
}

impl<'r> Journal<'r> {
    /// The journal of `repo`.
    pub fn new(repo: &'r Repo) -> Self {
        Self { repo, spool: Spool::new(&repo.state_dir()), read: RefCell::new(None) }
    }

    /// The events about `on`: its note as it was when this journal was first read, and what waits in the spool.
    pub fn read(&self, on: &Oid) -> Result<NoteContent, GitError> {
        let mut content = read_note(on, &self.raw(on)?);
        content.records.extend(self.spool.waiting().into_iter().map(|w| w.record).filter(|r| r.on == *on));
        Ok(content)
    }

    /// The raw text of the note on `on`.
    pub fn raw(&self, on: &Oid) -> Result<Vec<u8>, GitError> {
        let mut read = self.read.borrow_mut();
        if read.is_none() {
            let tip = self.repo.refs().read(self.repo.journal_ref())?;
            *read = Some(Snapshot { tree: NotesTree::open(self.repo, tip.as_ref())? });
        }
        match read.as_mut() {
            Some(snapshot) => snapshot.tree.read(on),
            None => Ok(Vec::new()),
        }
    }

    /// Every annotated object with the blob of its note.
    pub fn list(&self) -> Result<Vec<(Oid, Oid)>, GitError> {
        let tip = self.repo.refs().read(self.repo.journal_ref())?;
        NotesTree::open(self.repo, tip.as_ref())?.list()
    }

    /// Objects whose note stands at two depths.
    pub fn duplicates(&self) -> Result<Vec<Oid>, GitError> {
        let tip = self.repo.refs().read(self.repo.journal_ref())?;
        NotesTree::open(self.repo, tip.as_ref())?.duplicates()
    }

    /// Files that wait in the spool.
    pub fn waiting(&self) -> usize {
        self.spool.files().len()
    }

    /// The anchor and the records of loop `loop_id`, wherever in the journal it lies.
    pub fn find_loop(&self, loop_id: &str) -> Result<Option<(Oid, Vec<Record>)>, GitError> {
        if let Some(anchor) = super::loops::anchor_of(self.repo, loop_id)? {
            return Ok(Some((anchor.clone(), self.read(&anchor)?.records)));
        }
        let found = self.loops()?.into_iter().find(|(id, ..)| id == loop_id);
        Ok(found.map(|(_, anchor, records)| (anchor, records)))
    }

    /// Every loop in the journal, with its anchor and its note's records.
    pub fn loops(&self) -> Result<Vec<(String, Oid, Vec<Record>)>, GitError> {
        let mut loops = Vec::new();
        for (on, blob) in self.list()? {
            let Some(text) = self.repo.blob(&blob, super::notes_tree::NOTE_LIMIT)? else { continue };
            if !text.windows(b"loop_started".len()).any(|w| w == b"loop_started") {
                continue;
            }
            let content = self.read(&on)?;
            let started = content.records.iter().filter(|r| matches!(r.event, Event::LoopStarted(_)));
            let ids: HashSet<String> = started.map(|r| r.loop_id.clone()).collect();
            loops.extend(ids.into_iter().map(|id| (id, on.clone(), content.records.clone())));
        }
        Ok(loops)
    }

    /// Every task set in the journal: its id and the object that carries it.
    pub fn sets(&self) -> Result<Vec<(String, Oid)>, GitError> {
        let mut sets = Vec::new();
        for (on, blob) in self.list()? {
            let Some(text) = self.repo.blob(&blob, super::notes_tree::NOTE_LIMIT)? else { continue };
            if !text.windows(b"set_started".len()).any(|w| w == b"set_started") {
                continue;
            }
            let started = self.read(&on)?.records.into_iter().filter(|r| matches!(r.event, Event::SetStarted(_)));
            sets.extend(started.map(|r| (r.loop_id, on.clone())));
        }
        Ok(sets)
    }

    /// Every record of loop `loop_id`, on whatever object it stands.
    pub fn records_of(&self, loop_id: &str) -> Result<Vec<Record>, GitError> {
        let mut records = Vec::new();
        for (on, blob) in self.list()? {
            let Some(text) = self.repo.blob(&blob, super::notes_tree::NOTE_LIMIT)? else { continue };
            if text.windows(loop_id.len()).any(|w| w == loop_id.as_bytes()) {
                records.extend(self.read(&on)?.records.into_iter().filter(|r| r.loop_id == loop_id));
            }
        }
        Ok(records)
    }

    /// Takes events with the ids in `drop` out of the note on `anchor` and records how many. Asked for explicitly; the
    /// only place where an event leaves a note.
    pub fn compact(
        &self,
        writer: &Writer,
        anchor: &Oid,
        loop_id: &str,
        drop: &HashSet<String>,
    ) -> Result<u32, GitError> {
        if drop.is_empty() {
            return Ok(0);
        }
        let deadline = Instant::now() + writer.patience;
        let _lock = Lock::take(self.repo.state_dir().join("lock"), deadline)?;
        let dropped = RefCell::new(0);
        self.write(writer, deadline, |tree| {
            let text = tree.read(anchor)?;
            let mut next = HashMap::new();
            scan_envelopes(&text, &mut next);
            let is_dropped = |line: &&[u8]| {
                let envelope = serde_json::from_slice::<Envelope<'_>>(line);
                envelope.is_ok_and(|e| e.loop_id == loop_id && drop.contains(e.id))
            };
            let all: Vec<&[u8]> = text.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()).collect();
            let kept: Vec<&[u8]> = all.iter().copied().filter(|l| !is_dropped(l)).collect();
            let count = u32::try_from(all.len() - kept.len()).unwrap_or(u32::MAX);
            let event = Event::LoopCompacted { dropped: count };
            let draft = Draft { on: anchor.clone(), loop_id: loop_id.to_owned(), commit: None, epoch: 0, event };
            let seq = next.get(loop_id).copied().unwrap_or(0) + 1;
            let line = Record { seq, ..record(draft, writer)? }.to_line();
            let mut text = kept.join(&b'\n');
            text.push(b'\n');
            text.extend(line.as_bytes());
            text.push(b'\n');
            *dropped.borrow_mut() = count;
            tree.replace(anchor, &text)
        })?;
        Ok(dropped.into_inner())
    }

    /// Puts lost lines back, as they were.
    pub fn restore(&self, writer: &Writer, lost: &BTreeMap<Oid, Vec<String>>) -> Result<(), GitError> {
        let deadline = Instant::now() + writer.patience;
        let _lock = Lock::take(self.repo.state_dir().join("lock"), deadline)?;
        self.write(writer, deadline, |tree| {
            for (on, lines) in lost {
                let mut text = tree.read(on)?;
                let ids = scan_envelopes(&text, &mut HashMap::new());
                let is_new = |l: &&String| serde_json::from_str::<Envelope<'_>>(l).is_ok_and(|e| !ids.contains(e.id));
                for line in lines.iter().filter(is_new) {
                    if !text.is_empty() && !text.ends_with(b"\n") {
                        text.push(b'\n');
                    }
                    text.extend(line.as_bytes());
                    text.push(b'\n');
                }
                tree.replace(on, &text)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Appends `drafts`, and whatever else waits.
    pub fn append(&self, writer: &Writer, drafts: Vec<Draft>) -> Result<Appended, GitError> {
        let records = drafts.into_iter().map(|d| record(d, writer)).collect::<Result<Vec<_>, _>>()?;
        let mut files = Vec::new();
        for (index, record) in records.iter().enumerate() {
            files.push(self.spool.put(record, index)?);
        }
        failpoint::hit("spooled");
        match self.drain(writer, &files) {
            Ok(()) => Ok(Appended::Written),
            Err(e) => Ok(Appended::Waiting(e)),
        }
    }

    /// Writes what waits in the spool.
    pub fn catch_up(&self, writer: &Writer) -> Result<(), GitError> {
        if self.spool.files().is_empty() {
            return Ok(());
        }
        self.drain(writer, &[])
    }

    fn drain(&self, writer: &Writer, own: &[PathBuf]) -> Result<(), GitError> {
        let deadline = Instant::now() + writer.patience;
        // Who holds the lock drains for everybody: our events may be written while we wait.
        let is_drained = || !own.is_empty() && own.iter().all(|f| !f.exists());
        let lock = Lock::take_unless(&self.repo.state_dir().join("lock"), deadline, is_drained)?;
        failpoint::hit("locked");
        if lock.is_none() || is_drained() {
            return Ok(());
        }
        let waiting = self.spool.waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        let written = self.write(writer, deadline, |tree| add_lines(tree, &waiting))?;
        self.read_back(&written, &waiting)?;
        failpoint::hit("read-back");
        for file in waiting {
            self.spool.remove(&file.file);
        }
        Ok(())
    }

    /// Keeps `text` as the note of its own blob, so that gc, push and merge keep it.
    pub fn keep_text(&self, writer: &Writer, text: &[u8]) -> Result<Oid, GitError> {
        use gix::objs::Write;
        let blob = self.repo.store().write_buf(gix::objs::Kind::Blob, text).map_err(GitError::object)?;
        let id = oid(&blob);
        let deadline = Instant::now() + writer.patience;
        let _lock = Lock::take(self.repo.state_dir().join("lock"), deadline)?;
        self.write(writer, deadline, |tree| tree.replace(&id, text))?;
        Ok(id)
    }

    /// Leaves one path for each annotated object; how many had two.
    pub fn join_duplicates(&self, writer: &Writer) -> Result<usize, GitError> {
        let deadline = Instant::now() + writer.patience;
        let _lock = Lock::take(self.repo.state_dir().join("lock"), deadline)?;
        let count = RefCell::new(0);
        self.write(writer, deadline, |tree| {
            *count.borrow_mut() = tree.join_duplicates()?;
            Ok(())
        })?;
        Ok(count.into_inner())
    }

    /// Edits the notes tree and moves the ref by compare-and-swap, again while somebody else was first.
    fn write(
        &self,
        writer: &Writer,
        deadline: Instant,
        edit: impl Fn(&mut NotesTree<'_>) -> Result<(), GitError>,
    ) -> Result<Oid, GitError> {
        let mut still = StillLock::default();
        let mut pause = Duration::from_millis(1);
        loop {
            let tip = self.repo.refs().read(self.repo.journal_ref())?;
            let mut tree = NotesTree::open(self.repo, tip.as_ref())?;
            edit(&mut tree)?;
            let commit = self.commit(writer, tree.write()?, tip.iter())?;
            failpoint::hit("commit-written");
            match self.repo.refs().swap(self.repo.journal_ref(), &commit, tip.as_ref(), "nav-loop: record")? {
                Swap::Done => {
                    failpoint::hit("swapped");
                    self.read.replace(None);
                    return Ok(commit);
                }
                Swap::Lost => {}
                Swap::Locked => still.look(&self.ref_lock(), self.repo),
            }
            if Instant::now() >= deadline {
                return Err(GitError::Locked(self.ref_lock()));
            }
            std::thread::sleep(jittered(pause));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    fn ref_lock(&self) -> PathBuf {
        self.repo.common_dir().join(format!("{}.lock", self.repo.journal_ref()))
    }

    fn commit<'o>(
        &self,
        writer: &Writer,
        tree: gix::ObjectId,
        parents: impl Iterator<Item = &'o Oid>,
    ) -> Result<Oid, GitError> {
        use gix::objs::Write;
        let name = self.repo.config_string("user", None, "name").filter(|n| !n.trim().is_empty());
        let email = self.repo.config_string("user", None, "email").filter(|e| !e.trim().is_empty());
        let (name, email) = match (name, email) {
            (Some(name), Some(email)) => (name, email),
            _ => ("git nav-loop".to_owned(), "nav-loop@localhost".to_owned()),
        };
        let time = gix::date::Time::new(writer.now_seconds, 0);
        let signature = gix::actor::Signature { name: name.into(), email: email.into(), time };
        let commit = gix::objs::Commit {
            tree,
            parents: parents.map(gix_id).collect::<Result<_, _>>()?,
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: "Notes added by 'git nav-loop'\n".into(),
            extra_headers: Vec::new(),
        };
        Ok(oid(&self.repo.store().write(&commit).map_err(GitError::object)?))
    }

    /// Looks whether every event is there; a ref that has moved on is read anew.
    fn read_back(&self, written: &Oid, waiting: &[Waiting]) -> Result<(), GitError> {
        if self.repo.refs().read(self.repo.journal_ref())?.as_ref() == Some(written) {
            return Ok(());
        }
        let mut ids: HashMap<Oid, HashSet<String>> = HashMap::new();
        for Waiting { record, .. } in waiting {
            if !ids.contains_key(&record.on) {
                let there = self.read_without_spool(&record.on)?;
                ids.insert(record.on.clone(), there.records.into_iter().map(|r| r.id).collect());
            }
            if !ids.get(&record.on).is_some_and(|there| there.contains(&record.id)) {
                return Err(GitError::Other("somebody else's write took an event out again; it waits".to_owned()));
            }
        }
        Ok(())
    }

    fn read_without_spool(&self, on: &Oid) -> Result<NoteContent, GitError> {
        self.read.replace(None);
        Ok(read_note(on, &self.raw(on)?))
    }
}

fn record(draft: Draft, writer: &Writer) -> Result<Record, GitError> {
    let is_shared = matches!(draft.event, Event::CommitSeen(_) | Event::GateOpened { .. });
    let mut record = Record {
        v: 1,
        id: String::new(),
        on: draft.on,
        loop_id: draft.loop_id,
        seq: 0,
        at: writer.now.clone(),
        commit: draft.commit,
        by: writer.by.clone(),
        epoch: draft.epoch,
        event: draft.event,
    };
    record.id = if is_shared { record.content_id() } else { random_id()? };
    if record.to_line().len() > LINE_LIMIT {
        return Err(GitError::Other(format!("an event of more than {LINE_LIMIT} bytes cannot be recorded")));
    }
    Ok(record)
}

/// Six random bytes in hex.
pub fn random_id() -> Result<String, GitError> {
    let mut bytes = [0u8; 6];
    getrandom::fill(&mut bytes).map_err(|e| GitError::Other(format!("the system gives no random numbers: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Adds the lines of `waiting` to their notes: each once, with the next place in its loop's order.
fn add_lines(tree: &mut NotesTree<'_>, waiting: &[Waiting]) -> Result<(), GitError> {
    let mut next: HashMap<String, u64> = HashMap::new();
    let mut notes: BTreeMap<&Oid, (Vec<u8>, HashSet<String>)> = BTreeMap::new();
    for Waiting { record, .. } in waiting {
        if !notes.contains_key(&record.on) {
            let text = tree.read(&record.on)?;
            let ids = scan_envelopes(&text, &mut next);
            notes.insert(&record.on, (text, ids));
        }
        if let Event::CommitSeen(seen) = &record.event
            && !next.contains_key(&record.loop_id)
        {
            scan_envelopes(&tree.read(&seen.anchor)?, &mut next);
        }
        let Some((text, ids)) = notes.get_mut(&record.on) else { continue };
        if !ids.insert(record.id.clone()) {
            continue;
        }
        let seq = next.entry(record.loop_id.clone()).or_insert(0);
        *seq += 1;
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend(Record { seq: *seq, ..record.clone() }.to_line().as_bytes());
        text.push(b'\n');
    }
    for (on, (text, _)) in &notes {
        tree.replace(on, text)?;
    }
    Ok(())
}

/// The ids in a note, and into `highest` the highest plausible `seq` of each loop in it.
fn scan_envelopes(text: &[u8], highest: &mut HashMap<String, u64>) -> HashSet<String> {
    let lines: Vec<Envelope<'_>> = text
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .filter_map(|l| serde_json::from_slice::<Envelope<'_>>(l).ok())
        .collect();
    let limit = lines.len() as u64 + 1_000;
    for line in lines.iter().filter(|l| l.seq <= limit) {
        let seq = highest.entry(line.loop_id.to_owned()).or_insert(0);
        *seq = (*seq).max(line.seq);
    }
    lines.into_iter().map(|l| l.id.to_owned()).collect()
}

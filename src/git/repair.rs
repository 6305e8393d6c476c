//! Finds what the journal lost and what of our local files is gone, and puts it back (spec 3.2, 3.5).
//!
//! In: the notes ref's history and reflog. Out: lines that a racing writer took out; local files rebuilt from the journal.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bstr::ByteSlice;

use super::{
    GitError,
    history::goes_through_link,
    journal::Journal,
    loops::{self, LoopPointer},
    program::Git,
    repo::Repo,
    work_tree::raw_changes,
};
use crate::domain::{
    event::{Event, Line, Record},
    oid::Oid,
    state::{LoopState, read_note},
};

const NOTE_LIMIT: u64 = 32 << 20;

/// Lines of ours that stood in a note once and stand in none now, by annotated object. What a compaction took out is
/// not lost.
pub fn lost_lines(repo: &Repo, journal: &Journal<'_>) -> Result<BTreeMap<Oid, Vec<String>>, GitError> {
    let mut lost: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
    let mut compacted: HashMap<String, u64> = HashMap::new();
    for (on, blobs) in every_version(repo)? {
        let there = read_note(&on, &journal.raw(&on)?);
        for record in &there.records {
            if matches!(record.event, Event::LoopCompacted { .. }) {
                compacted.insert(record.loop_id.clone(), record.seq);
            }
        }
        let mut ids: HashSet<String> = there.records.into_iter().map(|r| r.id).collect();
        for blob in blobs {
            let Some(text) = repo.blob(&blob, NOTE_LIMIT)? else { continue };
            for line in text.lines().filter_map(|l| l.to_str().ok()) {
                let Line::Known(record) = Record::parse(line.trim()) else { continue };
                if record.on == on && ids.insert(record.id.clone()) {
                    lost.entry(on.clone()).or_default().push(line.trim().to_owned());
                }
            }
        }
    }
    lost.retain(|_, lines| {
        lines.retain(|line| match Record::parse(line) {
            Line::Known(record) => compacted.get(&record.loop_id).is_none_or(|seq| record.seq > *seq),
            _ => false,
        });
        !lines.is_empty()
    });
    Ok(lost)
}

/// Each annotated object with every blob that was its note, over the history and the reflog of the notes ref.
fn every_version(repo: &Repo) -> Result<BTreeMap<Oid, BTreeSet<Oid>>, GitError> {
    let name = repo.journal_ref();
    if repo.refs().read(name)?.is_none() {
        return Ok(BTreeMap::new());
    }
    let reflog = Git::new("rev-list").args(["--walk-reflogs", name, "--"]).output().unwrap_or_default();
    let mut tips: Vec<u8> = format!("{name}\n").into_bytes();
    tips.extend(reflog);
    let call = Git::new("log").args(["--stdin", "--format=", "-m", "--root", "--raw", "-r", "-t", "-z"]);
    let printed = call.args(["--no-renames", "--no-abbrev", "--no-ext-diff"]).output_with_input(&tips)?;
    let mut versions: BTreeMap<Oid, BTreeSet<Oid>> = BTreeMap::new();
    for change in raw_changes(&printed) {
        let hex: Vec<u8> = change.path.iter().copied().filter(|b| *b != b'/').collect();
        let on = hex.to_str().ok().and_then(Oid::parse);
        for entry in [change.before, change.after].into_iter().flatten().filter(|e| e.mode == 0o100_644) {
            if let Some(on) = &on {
                versions.entry(on.clone()).or_default().insert(entry.id);
            }
        }
    }
    Ok(versions)
}

/// One local file, ref or setting that should be there and is not.
enum Missing {
    Clone(String),
    Anchor(LoopPointer),
    Running(LoopPointer),
    Branch(LoopPointer),
}

impl Missing {
    fn name(&self) -> String {
        match self {
            Self::Clone(_) => "the id of this clone".to_owned(),
            Self::Anchor(p) => loops::anchor_ref(&p.id),
            Self::Running(p) => format!("running/{}", p.id),
            Self::Branch(p) => format!("branch.{}.navLoop", p.branch.as_deref().unwrap_or_default()),
        }
    }

    fn put_back(&self, repo: &Repo) -> Result<(), GitError> {
        match self {
            Self::Clone(id) => loops::write_file(&repo.state_dir().join("clone"), id),
            Self::Anchor(p) => loops::keep_anchor(repo, p),
            Self::Running(p) => loops::register_running(repo, p),
            Self::Branch(p) => loops::point(repo, p),
        }
    }
}

/// What is missing of anchors, running files, branch pointers and the clone's id, in words.
pub fn missing_local_files(repo: &Repo, journal: &Journal<'_>) -> Result<Vec<String>, GitError> {
    Ok(missing(repo, journal)?.iter().map(Missing::name).collect())
}

/// Rebuilds it from the journal. What was put back, in words.
pub fn local_files(repo: &Repo, journal: &Journal<'_>) -> Result<Vec<String>, GitError> {
    let missing = missing(repo, journal)?;
    missing.iter().try_for_each(|m| m.put_back(repo))?;
    Ok(missing.iter().map(Missing::name).collect())
}

fn missing(repo: &Repo, journal: &Journal<'_>) -> Result<Vec<Missing>, GitError> {
    let states = journal.loops()?.into_iter().filter_map(|(id, _, records)| LoopState::fold(records, &id));
    let states: Vec<LoopState> = states.filter(|s| loops::is_loop_id(&s.id)).collect();
    let known = loops::clone_id(repo);
    let Some(own_id) = known.clone().or_else(|| owner_by_anchor(repo, &states)) else { return Ok(Vec::new()) };
    let mut missing = Vec::new();
    if known.is_none() {
        missing.push(Missing::Clone(own_id.clone()));
    }
    for state in states.iter().filter(|s| s.owner == own_id) {
        let pointer = LoopPointer { id: state.id.clone(), anchor: state.anchor.clone(), branch: state.branch.clone() };
        let has_anchor = repo.has_object(&state.anchor) || state.anchor == repo.empty_tree();
        if repo.refs().read(&loops::anchor_ref(&state.id))?.is_none() && has_anchor {
            missing.push(Missing::Anchor(pointer.clone()));
        }
        if state.is_ended() {
            continue;
        }
        if !loops::is_registered(repo, &state.id) {
            missing.push(Missing::Running(pointer.clone()));
        }
        let Some(branch) = &state.branch else { continue };
        let exists = repo.refs().read(&format!("refs/heads/{branch}"))?.is_some();
        if exists && repo.config_string("branch", Some(branch), "navLoop").is_none() {
            missing.push(Missing::Branch(pointer));
        }
    }
    Ok(missing)
}

/// The clone's id is gone with our folder: the owner of the newest loop whose anchor this clone keeps.
fn owner_by_anchor(repo: &Repo, states: &[LoopState]) -> Option<String> {
    let kept = |s: &&LoopState| repo.refs().read(&loops::anchor_ref(&s.id)).is_ok_and(|id| id.is_some());
    states.iter().filter(kept).max_by(|a, b| a.id.cmp(&b.id)).map(|s| s.owner.clone())
}

/// The loop id on the `Loop:` line of a marker file.
pub fn loop_of_marker(repo: &Repo, path: &std::path::Path) -> Result<Option<String>, GitError> {
    let absolute = std::path::absolute(path).map_err(GitError::io(path))?;
    if let Some(top) = repo.work_tree()
        && absolute.starts_with(top)
        && goes_through_link(top, &absolute)
    {
        return Err(GitError::Symlink(absolute));
    }
    let text = std::fs::read(&absolute).map_err(GitError::io(path))?;
    Ok(crate::domain::marker::names(&text[..text.len().min(64 << 10)]).filter(|id| loops::is_loop_id(id)))
}

//! A set in the journal, and its mirror below `.mino/` (spec 2.6). The journal is the truth; the files follow it.

use std::path::Path;

use crate::{
    context::{COMMAND_PATIENCE, writer},
    domain::{
        event::{Event, SetStarted},
        evidence::sha256_hex,
        oid::Oid,
        task_set::{
            halt::HaltReason,
            mirror::{self, Content},
            plan::Plan,
            state::{SetState, SetStatus},
        },
    },
    error::Error,
    git::{
        exclude,
        history::goes_through_link,
        journal::{Appended, Draft, Journal},
        loops::{self, LoopPointer},
        repo::Repo,
    },
    task_set::lease::main_tree,
};

/// The largest plan that is read back.
const PLAN_LIMIT: u64 = 64 << 20;

/// A set with its journal.
#[derive(Debug)]
pub struct Store<'r> {
    /// The repository.
    pub repo: &'r Repo,
    /// The set as the journal has it.
    pub set: SetState,
}

impl<'r> Store<'r> {
    /// Begins an approved set: freezes plan and approval in the journal.
    pub fn begin(repo: &'r Repo, id: &str, plan: &Plan, how: Beginning) -> Result<Self, Error> {
        let journal = Journal::new(repo);
        let writer = writer("task", COMMAND_PATIENCE);
        let text = serde_json::to_string(plan).unwrap_or_default();
        let started = SetStarted {
            plan_blob: journal.keep_text(&writer, text.as_bytes())?,
            revision: plan.revision(),
            intent_hash: sha256_hex(&plan.intent).chars().take(8).collect(),
            branch: loops::branch_here(repo)?,
            approved_by: how.approved_by,
            clone: loops::make_clone_id(repo)?,
            push: how.push,
            test_command: how.test_command,
        };
        let anchor = repo.head()?.id.unwrap_or_else(|| repo.empty_tree());
        let pointer = LoopPointer { id: id.to_owned(), anchor: anchor.clone(), branch: None };
        loops::keep_anchor(repo, &pointer)?;
        append(repo, &anchor, id, vec![Event::SetStarted(Box::new(started))])?;
        loops::write_file(&newest_file(repo), id)?;
        let store = Self::of(repo, id)?;
        store.mirror()?;
        Ok(store)
    }

    /// The set of this id.
    pub fn of(repo: &'r Repo, id: &str) -> Result<Self, Error> {
        let unknown = || Error::refused(format!("no set {id} in this repository's journal"), "git nav-loop task list");
        if !loops::is_loop_id(id) {
            return Err(unknown());
        }
        let set = fold(repo, id)?.ok_or_else(unknown)?;
        Ok(Self { repo, set })
    }

    /// The newest set of this clone.
    pub fn newest(repo: &'r Repo) -> Result<Option<Self>, Error> {
        let id = std::fs::read_to_string(newest_file(repo)).unwrap_or_default();
        let known = Some(id.trim().to_owned()).filter(|id| loops::is_loop_id(id));
        let id = match known {
            Some(id) => Some(id),
            None => Journal::new(repo).sets()?.into_iter().map(|(id, _)| id).max(),
        };
        let Some(id) = id else { return Ok(None) };
        Ok(fold(repo, &id)?.map(|set| Self { repo, set }))
    }

    /// As [`Store::newest`], where a set is needed.
    pub fn need(repo: &'r Repo) -> Result<Self, Error> {
        Self::newest(repo)?.ok_or_else(|| {
            let hint = "git nav-loop task PRD.md -- AGENT";
            Error::new(crate::error::ErrorKind::NoLoop, "no task set in this repository", hint)
        })
    }

    /// Appends events, reads the set anew, and writes the mirror.
    pub fn append(&mut self, events: Vec<Event>) -> Result<(), Error> {
        append(self.repo, &self.set.anchor, &self.set.id, events)?;
        self.refresh()?;
        self.mirror()
    }

    /// Reads the set anew.
    pub fn refresh(&mut self) -> Result<(), Error> {
        if let Some(set) = fold(self.repo, &self.set.id)? {
            self.set = set;
        }
        Ok(())
    }

    /// Halts it.
    pub fn halt(&mut self, reason: HaltReason, also: Vec<HaltReason>, task_key: Option<String>) -> Result<(), Error> {
        self.append(vec![Event::SetHalted { reason, also, task_key }])
    }

    /// A set that says `running` without a live driver counts as halted.
    pub fn take_over(&mut self) -> Result<(), Error> {
        if self.set.status == SetStatus::Running {
            self.halt(HaltReason::StaleTakeover, Vec::new(), None)?;
        }
        Ok(())
    }

    /// Writes every file whose content is not what the journal says.
    pub fn mirror(&self) -> Result<(), Error> {
        let top = main_tree(self.repo)?;
        exclude::add(self.repo, &top)?;
        for (path, content) in mirror::files(&self.set) {
            let text = match content {
                Content::Text(text) => text,
                Content::Yaml(value) => serde_saphyr::to_string(&value).unwrap_or_default(),
            };
            put(&top, &top.join(path), &text)?;
        }
        Ok(())
    }
}

/// How a set begins, beside its plan.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// Who approved it: `person`, or `unattended`.
    pub approved_by: String,
    /// Whether verified work is pushed.
    pub push: bool,
    /// The test command of tasks without checks.
    pub test_command: Option<crate::domain::settings::CommandSpec>,
}

fn put(top: &Path, path: &Path, text: &str) -> Result<(), Error> {
    if goes_through_link(top, path) {
        return Err(Error::refused(format!("{} goes through a symbolic link", path.display()), "replace the link"));
    }
    if loops::read_file(path).is_some_and(|there| there == text) {
        return Ok(());
    }
    Ok(loops::write_file(path, text)?)
}

fn newest_file(repo: &Repo) -> std::path::PathBuf {
    repo.state_dir().join("sets").join("newest")
}

fn append(repo: &Repo, anchor: &Oid, id: &str, events: Vec<Event>) -> Result<(), Error> {
    let draft = |event| Draft { on: anchor.clone(), loop_id: id.to_owned(), commit: None, epoch: 0, event };
    match Journal::new(repo).append(&writer("task", COMMAND_PATIENCE), events.into_iter().map(draft).collect())? {
        Appended::Written => Ok(()),
        // A driver that goes on from what is not in the journal would decide from memory.
        Appended::Waiting(why) => Err(why.into()),
    }
}

fn fold(repo: &Repo, id: &str) -> Result<Option<SetState>, Error> {
    let journal = Journal::new(repo);
    let anchor = match loops::anchor_of(repo, id)? {
        Some(anchor) => Some(anchor),
        None => journal.sets()?.into_iter().find(|(set, _)| set == id).map(|(_, anchor)| anchor),
    };
    let Some(anchor) = anchor else { return Ok(None) };
    let records = journal.read(&anchor)?.records;
    let text = |blob: &Oid| {
        let bytes = repo.blob(blob, PLAN_LIMIT).ok().flatten()?;
        String::from_utf8(bytes).ok()
    };
    Ok(SetState::fold(records, id, &text))
}

/// The id of a new set.
pub fn new_id() -> Result<String, Error> {
    let stamp: String = crate::context::now()[..16].replace('T', "-").replace(':', "");
    Ok(format!("{stamp}-{}", &crate::git::journal::random_id()?[..6]))
}

/// Every set in the journal with its state, newest first.
pub fn all(repo: &Repo) -> Result<Vec<SetState>, Error> {
    let mut sets = Vec::new();
    for (id, _) in Journal::new(repo).sets()? {
        sets.extend(fold(repo, &id)?);
    }
    sets.sort_by(|a, b| b.id.cmp(&a.id));
    Ok(sets)
}

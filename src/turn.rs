//! One turn: observe → judge → record. The only place where git and the rules meet.
//!
//! In: a repository and, mostly, the loop of the place we stand in. Out: a status, and events for the journal.

use crate::{
    domain::{
        event::{CommitSeen, Event, Operation},
        evidence::ticket_of,
        facts::{Facts, MarkerFile, WorkTree},
        oid::Oid,
        path_rules::{MARKER_PATHS, PathRules},
        state::{LoopState, seen_in},
        status::{Moment, Status, view},
    },
    error::Error,
    git::{
        GitError, history,
        history::Range,
        journal::{Draft, Journal},
        lock::Lock,
        loops,
        loops::LoopPointer,
        repo::Repo,
        target, work_tree,
    },
};

/// A loop with everything needed to judge it.
#[derive(Debug)]
pub struct Turn<'r> {
    /// The repository.
    pub repo: &'r Repo,
    /// Its journal.
    pub journal: Journal<'r>,
    /// Where the loop was found.
    pub pointer: LoopPointer,
    /// The loop.
    pub state: LoopState,
    /// Lines of its note that could not be read.
    pub corrupt: usize,
    rules: PathRules,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// HEAD only: hooks and CI.
    HeadOnly,
    /// HEAD, index and work tree: commands.
    WorkTree,
}

impl<'r> Turn<'r> {
    /// The newest loop of this place; `None` when there is none, or its journal is another clone's.
    pub fn here(repo: &'r Repo) -> Result<Option<Self>, Error> {
        let Some(pointer) = loops::here(repo)? else { return Ok(None) };
        let journal = Journal::new(repo);
        let content = journal.read(&pointer.anchor)?;
        let corrupt = content.corrupt;
        let Some(state) = LoopState::fold(content.records, &pointer.id) else { return Ok(None) };
        let elsewhere = loops::clone_id(repo).is_some_and(|id| id != state.owner);
        if elsewhere || loops::is_copy(repo, &pointer, &state) {
            return Ok(None);
        }
        let rules = PathRules::new(&state.settings, state.started.task_file.as_deref());
        Ok(Some(Self { repo, journal, pointer, state, corrupt, rules }))
    }

    /// As [`Turn::here`], where a loop is needed.
    pub fn need(repo: &'r Repo) -> Result<Self, Error> {
        Self::here(repo)?.ok_or_else(Error::no_loop)
    }

    /// A turn over a loop that is at hand.
    pub fn of(repo: &'r Repo, pointer: LoopPointer, state: LoopState) -> Self {
        let rules = PathRules::new(&state.settings, state.started.task_file.as_deref());
        Self { repo, journal: Journal::new(repo), pointer, state, corrupt: 0, rules }
    }

    /// The path rules of this loop.
    pub fn rules(&self) -> &PathRules {
        &self.rules
    }

    /// Reads the state anew, after events were written.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let content = Journal::new(self.repo).read(&self.pointer.anchor)?;
        if let Some(state) = LoopState::fold(content.records, &self.pointer.id) {
            self.state = state;
        }
        Ok(())
    }

    fn range(&self) -> Result<Range, GitError> {
        let head = self.repo.head()?.id.unwrap_or_else(|| self.repo.null_id());
        let target = target::resolve(self.repo, self.state.started.target.as_deref())?;
        Ok(Range { anchor: self.pointer.anchor.clone(), head, target })
    }

    /// Looks everything up.
    pub fn observe(&self, look: Look) -> Result<Facts, Error> {
        let (work_tree, disk) = match look {
            Look::HeadOnly => (WorkTree::NotLooked, Vec::new()),
            Look::WorkTree => (work_tree::look(self.repo, &self.rules)?, self.disk_markers()?),
        };
        let changed = if look == Look::WorkTree { self.changed_task()? } else { None };
        let facts = self.observe_range(&self.range()?, &self.state, work_tree, disk)?;
        Ok(Facts { tests_running: Lock::is_held(&test_lock(self.repo)), task_changed: changed, ..facts })
    }

    /// Looks a range up as `state` had it: with what was in the work tree then, and the markers on disk.
    pub fn observe_range(
        &self,
        range: &Range,
        state: &LoopState,
        work_tree: WorkTree,
        mut disk: Vec<MarkerFile>,
    ) -> Result<Facts, Error> {
        let reader = history::Reader::new(self.repo, &self.rules, range);
        let seen = |commit: &Oid| Ok(self.seen(commit)?.is_some());
        let read = reader.read(&seen, !state.simplified.is_empty())?;
        let mut markers = read.markers;
        markers.append(&mut disk);
        Ok(Facts {
            anchor: range.anchor.clone(),
            head: range.head.clone(),
            target: range.target.clone(),
            own: read.own,
            net: read.net,
            code: read.code,
            work_tree,
            markers,
            remote_slug: ticket_of(&self.state)
                .and_then(|_| target::remote_slug(self.repo, self.pointer.branch.as_deref())),
            tests_running: false,
            task_changed: None,
        })
    }

    /// The task's file, when it lies there and is not what was frozen.
    fn changed_task(&self) -> Result<Option<String>, GitError> {
        let (Some(file), Some(top)) = (&self.state.started.task_file, self.repo.work_tree()) else { return Ok(None) };
        let path = top.join(file);
        if history::goes_through_link(top, &path) || path.metadata().map_or(true, |m| m.len() > 1 << 20) {
            return Ok(None);
        }
        let Ok(bytes) = std::fs::read(&path) else { return Ok(None) };
        Ok((self.repo.blob_id(&bytes)? != self.state.started.task_blob).then(|| file.clone()))
    }

    fn disk_markers(&self) -> Result<Vec<MarkerFile>, GitError> {
        let default = || MARKER_PATHS.iter().map(ToString::to_string).collect();
        let patterns: Vec<String> = self.state.settings.marker_paths.clone().unwrap_or_else(default);
        work_tree::ignored_markers(self.repo, &patterns, &self.state.id)
    }

    fn seen(&self, commit: &Oid) -> Result<Option<CommitSeen>, GitError> {
        Ok(seen_in(&self.journal.read(commit)?, &self.pointer.id))
    }

    /// Whether `commit` carries a line of this loop.
    pub fn has_line(&self, commit: &Oid) -> Result<bool, Error> {
        Ok(self.seen(commit)?.is_some())
    }

    /// Derives the status.
    pub fn status(&self, look: Look, moment: Moment) -> Result<Status, Error> {
        Ok(view(&self.observe(look)?, &self.state, moment))
    }

    /// The digest of the tested code at `commit`.
    pub fn code_at(&self, commit: &Oid) -> Result<String, Error> {
        let range = Range { head: commit.clone(), ..self.range()? };
        let reader = history::Reader::new(self.repo, &self.rules, &range);
        Ok(reader.digest(&reader.diff(&range.anchor, commit)?))
    }

    /// How many own commits touch code.
    pub fn own_commits_touching_code(&self) -> Result<usize, Error> {
        let range = self.range()?;
        let reader = history::Reader::new(self.repo, &self.rules, &range);
        let seen = |commit: &Oid| Ok(self.seen(commit)?.is_some());
        let read = reader.read(&seen, true)?;
        Ok(read.own.iter().filter(|c| c.touches_code == Some(true)).count())
    }

    /// A draft of a loop-level event.
    pub fn draft(&self, event: Event) -> Draft {
        Draft {
            on: self.pointer.anchor.clone(),
            loop_id: self.pointer.id.clone(),
            commit: None,
            epoch: self.state.epoch,
            event,
        }
    }

    /// A draft of the line on a commit's own note.
    pub fn commit_line(&self, commit: &Oid, op: Operation, status: Option<&Status>) -> Draft {
        let seen = CommitSeen {
            anchor: self.pointer.anchor.clone(),
            op,
            met: status.map(|s| s.indicators.letters()),
            phase: status.map(|s| s.phase),
            verdict: status.map(|s| s.gate.verdict),
        };
        let event = Event::CommitSeen(seen);
        Draft { on: commit.clone(), loop_id: self.pointer.id.clone(), commit: None, epoch: self.state.epoch, event }
    }

    /// Lines for own commits without one, back to the newest that has one: no hook fired for them.
    pub fn back_fill(&self, facts: &Facts, except: Option<&Oid>) -> Result<Vec<Draft>, Error> {
        let mut drafts = Vec::new();
        for commit in facts.own.iter().rev().map(|c| &c.id).filter(|c| except != Some(*c)) {
            if self.seen(commit)?.is_some() {
                break;
            }
            drafts.push(self.commit_line(commit, Operation::Backfill, None));
        }
        Ok(drafts)
    }
}

/// The lock that a test run of this work tree holds.
pub fn test_lock(repo: &Repo) -> std::path::PathBuf {
    repo.git_dir().join("nav-loop").join("test.lock")
}

/// Where the end of the newest test run's output lies, for `diagnose`.
pub fn last_test_output(repo: &Repo) -> std::path::PathBuf {
    repo.git_dir().join("nav-loop").join("last-test.log")
}

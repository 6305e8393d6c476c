//! The journal's events: facts that happened, one line of compact JSON each (spec 3.1).
//!
//! In: a line of a note, or an event to write. Out: a record, or the line. A reader keeps what it does not know and
//! skips it; order in the file means nothing.

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

mod one_pass;
mod set;

pub use set::{SetStarted, TaskDecided, TaskMoved};

use super::{gate::Verdict, oid::Oid, phase::Phase, settings::Settings, task_set::halt::HaltReason, test_run::TestRun};

/// The longest line that is written, in bytes.
pub const LINE_LIMIT: usize = 4096;

/// One event with its envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format version, 1.
    pub v: u32,
    /// Unique; derived from the content where one fact could be written twice.
    pub id: String,
    /// The annotated object. A record that stands elsewhere was copied and is no fact there.
    pub on: Oid,
    /// The loop.
    #[serde(rename = "loop")]
    pub loop_id: String,
    /// Place in the loop's order, given under the lock; 0 while the event waits in the spool.
    pub seq: u64,
    /// UTC, `2026-11-30T09:00:00.123Z`.
    pub at: String,
    /// The commit the event is about, where that is not `on`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<Oid>,
    /// Which of our programs wrote it.
    pub by: String,
    /// How often the loop had been taken over when it was written.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub epoch: u32,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(epoch: &u32) -> bool {
    *epoch == 0
}

/// What happened. Past tense; unknown kinds are kept in the note and skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the format of spec 3.1")]
pub enum Event {
    LoopStarted(Box<LoopStarted>),
    LoopAdopted {
        clone: String,
    },
    LoopCompacted {
        dropped: u32,
    },
    ConfigChanged {
        config: Box<Settings>,
    },
    DriverChanged {
        driver: Driver,
    },
    CommitSeen(CommitSeen),
    BranchEntered {
        branch: String,
        head: Oid,
        met: String,
        phase: Phase,
        verdict: Verdict,
    },
    FilesReported {
        read: u32,
        changed: u32,
    },
    TestsRan(Box<TestRun>),
    SignalGiven(SignalGiven),
    IndicatorRecorded {
        name: String,
        code: String,
        head: Oid,
    },
    MarkerCreated {
        path: String,
        blob: Oid,
        partial: bool,
    },
    TicketChecked {
        ticket: String,
        state: String,
        source: String,
    },
    IterationEnded(Box<IterationEnded>),
    EvaluationFailed {
        what: String,
    },
    Diversified {
        strategy: String,
    },
    LoopPaused {
        reason: PauseReason,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    LoopResumed {
        choice: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text_blob: Option<Oid>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<u32>,
        who: String,
    },
    GateOpened {
        head: Oid,
        met: u32,
        total: u32,
    },
    StepDone {
        step: String,
        result: String,
        why: String,
    },
    LoopCompleted {
        basis: String,
    },
    LoopAborted {
        reason: String,
        who: String,
    },
    LockRemoved {
        path: String,
    },
    Attested {
        envelope_blob: Oid,
        tree: Oid,
    },
    SetStarted(Box<SetStarted>),
    TaskMoved(Box<TaskMoved>),
    TaskDecided(Box<TaskDecided>),
    TasksSkipped {
        task_key: String,
        cancelled: Vec<String>,
        who: String,
    },
    SetHalted {
        reason: HaltReason,
        also: Vec<HaltReason>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        task_key: Option<String>,
    },
    SetResumed {
        choice: String,
        who: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        plan_blob: Option<Oid>,
    },
    SetCompleted {},
    SetCancelled {
        who: String,
    },
}

/// The fields that every event has.
#[derive(Deserialize)]
struct Envelope<'a> {
    v: u32,
    id: &'a str,
    on: Oid,
    #[serde(rename = "loop")]
    loop_id: &'a str,
    seq: u64,
    at: &'a str,
    #[serde(default)]
    commit: Option<Oid>,
    by: &'a str,
    #[serde(default)]
    epoch: u32,
    #[serde(rename = "type")]
    kind: &'a str,
}

impl Envelope<'_> {
    fn with(self, event: Event) -> Record {
        Record {
            v: self.v,
            id: self.id.to_owned(),
            on: self.on,
            loop_id: self.loop_id.to_owned(),
            seq: self.seq,
            at: self.at.to_owned(),
            commit: self.commit,
            by: self.by.to_owned(),
            epoch: self.epoch,
            event,
        }
    }
}

impl Event {
    /// Reads the fields of an event of `kind`; an error for fields that do not fit. Rare kinds are left to serde,
    /// which finds the kind among the fields by itself.
    fn read<'a, D: Deserializer<'a>>(kind: &str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "loop_started" => Deserialize::deserialize(fields).map(|e| Self::LoopStarted(Box::new(e))),
            "commit_seen" => Deserialize::deserialize(fields).map(Self::CommitSeen),
            "tests_ran" => Deserialize::deserialize(fields).map(|e| Self::TestsRan(Box::new(e))),
            "signal_given" => Deserialize::deserialize(fields).map(Self::SignalGiven),
            "iteration_ended" => Deserialize::deserialize(fields).map(|e| Self::IterationEnded(Box::new(e))),
            _ => Deserialize::deserialize(fields),
        }
    }

    fn parse(kind: &str, line: &str) -> Option<Self> {
        Self::read(kind, &mut serde_json::Deserializer::from_str(line)).ok()
    }
}

/// How a loop began; everything that later commands must not read anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the format of spec 3.1")]
pub struct LoopStarted {
    pub kind: String,
    pub task_blob: Oid,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
    pub config: Settings,
    pub clone: String,
    pub driver: Driver,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ticket: Option<String>,
    #[serde(default)]
    pub docs_only: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub promise_sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nonce_sha: Option<String>,
}

/// Who ends iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// Each plain commit.
    Commit,
    /// `git nav-loop run`.
    Run,
    /// An agent's stop hook.
    Hook,
    /// `git nav-loop step`.
    Step,
    /// A task set.
    Task,
}

/// A commit made in the loop, on the commit's own note: at most 300 bytes in a SHA-1 repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitSeen {
    /// Where the loop's journal lies.
    pub anchor: Oid,
    /// What made the commit.
    pub op: Operation,
    /// Met indicators, one letter each out of `CTSDKM`. Absent when no hook fired.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub met: Option<String>,
    /// The phase found there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<Phase>,
    /// The verdict found there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
}

/// What made a commit, as the reflog names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `git commit`.
    Commit,
    /// `git commit --amend`.
    Amend,
    /// A merge that was concluded by a commit.
    Merge,
    /// `git cherry-pick`.
    Pick,
    /// `git revert`.
    Revert,
    /// `git rebase`.
    Rebase,
    /// `git am`.
    Am,
    /// No hook fired; found later.
    Backfill,
}

impl Operation {
    /// The operation that a HEAD reflog message tells.
    pub fn of_reflog(message: &str) -> Self {
        let action = message.split(':').next().unwrap_or_default();
        match action {
            "commit (amend)" => Self::Amend,
            "commit (merge)" => Self::Merge,
            "cherry-pick" | "commit (cherry-pick)" => Self::Pick,
            "am" => Self::Am,
            _ if action.starts_with("rebase") => Self::Rebase,
            _ if action.starts_with("revert") => Self::Revert,
            _ if action.starts_with("merge") || action.starts_with("pull") => Self::Merge,
            _ => Self::Commit,
        }
    }

    /// Whether it ends an iteration under the driver `commit` (spec 1.9).
    pub fn ends_iteration(self) -> bool {
        matches!(self, Self::Commit | Self::Revert)
    }
}

/// Somebody's explicit word (spec 1.5). It may ask for exit; it is never evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignalGiven {
    /// What it says.
    pub kind: SignalKind,
    /// In which form.
    pub dialect: String,
    /// Its words, bounded.
    pub reason: String,
    /// The iteration it was given in.
    pub iteration: u32,
    /// HEAD then.
    pub head: Oid,
    /// The code digest then; a later code change makes it stale.
    pub code: String,
}

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalKind {
    /// The task is finished.
    Exit,
    /// It is not: a veto.
    False,
    /// It cannot be finished: the loop pauses.
    Failed,
}

/// The end of an iteration, with the inputs of its verdict that are no objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the format of spec 3.1")]
pub struct IterationEnded {
    pub iteration: u32,
    pub driver: Driver,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<String>,
    pub head: Oid,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_oid: Option<Oid>,
    /// Dirty code paths; `None` = the work tree was not looked at.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dirty: Option<u32>,
    #[serde(default)]
    pub disk_marker: bool,
    pub phase: Phase,
    pub met: Vec<String>,
    pub skipped: Vec<String>,
    pub state_hash: String,
    pub failing: Vec<String>,
    pub streak: u32,
    pub verdict: Verdict,
    /// Milliseconds that the agent worked, where a driver ran it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ms: Option<u64>,
    /// What the agent's client said it cost, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_micros: Option<u64>,
}

/// Why a loop waits for a person (spec 1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// The same state again and again.
    Stagnation,
    /// The iteration limit.
    MaxIterations,
    /// Another limit.
    Limit,
    /// The agent said it cannot go on.
    AgentBlocked,
    /// A person's approval is due.
    Approval,
    /// The agent failed three times running.
    AgentFailed,
}

impl PauseReason {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stagnation => "stagnation",
            Self::MaxIterations => "max_iterations",
            Self::Limit => "limit",
            Self::AgentBlocked => "agent_blocked",
            Self::Approval => "approval",
            Self::AgentFailed => "agent_failed",
        }
    }
}

/// What a line of a note turned out to be.
#[derive(Debug)]
pub enum Line {
    /// An event that this version knows.
    Known(Box<Record>),
    /// A well-formed event of a kind it does not know.
    Unknown,
    /// Not an event at all.
    Corrupt,
}

impl Record {
    /// Reads one line.
    pub fn parse(line: &str) -> Line {
        if line.len() > 16 * LINE_LIMIT {
            return Line::Corrupt;
        }
        match one_pass::parse(line) {
            Some(record) => Line::Known(Box::new(record)),
            None => Self::parse_in_any_order(line),
        }
    }

    /// Reads one line whose fields stand in any order: the envelope first, and the event by its kind after it. Two
    /// plain passes are a third of what one costs that has to keep every field until it meets the kind.
    fn parse_in_any_order(line: &str) -> Line {
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(line) else {
            return match serde_json::from_str::<serde_json::Value>(line) {
                Ok(value) if value.get("type").is_some_and(serde_json::Value::is_string) => Line::Unknown,
                _ => Line::Corrupt,
            };
        };
        match Event::parse(envelope.kind, line) {
            Some(event) if envelope.v == 1 => Line::Known(Box::new(envelope.with(event))),
            _ => Line::Unknown,
        }
    }

    /// Writes the line, without its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The id of a fact that two writers may both report: from the line without `id`, `seq` and `at`.
    pub fn content_id(&self) -> String {
        let bare = Self { id: String::new(), seq: 0, at: String::new(), by: String::new(), ..self.clone() };
        let digest = Sha256::digest(bare.to_line().as_bytes());
        digest.iter().take(4).map(|b| format!("{b:02x}")).collect()
    }
}

//! A set's state: the pure fold over its journal (spec 2.4, 2.6).
//!
//! In: the records of the set, and the texts that they name. Out: every task, what was spent, and where the set stands.

use super::{
    halt::HaltReason,
    plan::{Plan, Task},
    task::TaskState,
};
use crate::domain::{
    event::{Event, Record, SetStarted},
    oid::Oid,
    state::in_order,
};

/// Where a set stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetStatus {
    /// A driver works on it, or was killed.
    Running,
    /// It waits for a person.
    Halted,
    /// Its goal is reached.
    Completed,
    /// A person ended it.
    Cancelled,
}

impl SetStatus {
    /// The name in mirror and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Halted => "halted",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One transition, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub iso: String,
    /// Of which task.
    pub task_key: String,
    /// `run`, `verify` or `checkup`.
    pub skill: String,
    /// What it came to.
    pub outcome: String,
}

/// An event of one task, as the mirror shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEvent {
    /// Its name, e.g. `verify_passed`.
    pub event: String,
    /// The state after it.
    pub state: TaskState,
}

/// An event of the whole set, as the mirror shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of spec 2.6")]
pub enum SetEvent {
    Started,
    Halted { reason: HaltReason, task_key: Option<String>, used: u32 },
    Resumed { previous: Option<HaltReason>, used: u32 },
    Completed { at: String, used: u32 },
    Cancelled { at: String, task_key: Option<String> },
}

/// A set, folded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "most fields are those of spec 2.6")]
pub struct SetState {
    pub id: String,
    pub anchor: Oid,
    pub created_at: String,
    pub started: SetStarted,
    pub plan: Plan,
    /// In the plan's order.
    pub tasks: Vec<TaskState>,
    /// When each task last moved, as `seq`; 0 = never.
    pub activity: Vec<u64>,
    pub status: SetStatus,
    pub halt_reason: Option<HaltReason>,
    pub halt_also: Vec<HaltReason>,
    pub halt_at_task_key: Option<String>,
    pub halt_at_iso: Option<String>,
    pub transitions: Vec<Transition>,
    pub completed_at: Option<String>,
    pub events: Vec<SetEvent>,
    /// Of each task, in the plan's order.
    pub task_events: Vec<Vec<TaskEvent>>,
    /// A transition of a task that the plan does not have, or whose number is not the next one.
    pub has_gap: bool,
    pub last_seq: u64,
}

impl SetState {
    /// Folds the records of set `id`; `text` reads what they name. `None` without a start whose plan can be read.
    pub fn fold(records: Vec<Record>, id: &str, text: &dyn Fn(&Oid) -> Option<String>) -> Option<Self> {
        let mut ordered = in_order(records, id).into_iter();
        let mut state = ordered.by_ref().find_map(|r| Self::begun(r, text))?;
        for record in ordered {
            state.last_seq = record.seq;
            state.apply(record, text);
        }
        Some(state)
    }

    fn begun(record: Record, text: &dyn Fn(&Oid) -> Option<String>) -> Option<Self> {
        let Event::SetStarted(started) = record.event else { return None };
        let plan = Plan::read(&text(&started.plan_blob)?)?;
        let tasks: Vec<TaskState> = plan.tasks.iter().map(TaskState::approved).collect();
        let adopted = |(task, state): (&Task, &TaskState)| {
            let event = if task.issue.is_some() { "task_adopted" } else { "task_published" };
            vec![TaskEvent { event: event.to_owned(), state: state.clone() }]
        };
        Some(Self {
            id: record.loop_id,
            anchor: record.on,
            created_at: record.at,
            started: *started,
            activity: vec![0; tasks.len()],
            task_events: plan.tasks.iter().zip(&tasks).map(adopted).collect(),
            plan,
            tasks,
            status: SetStatus::Running,
            halt_reason: None,
            halt_also: Vec::new(),
            halt_at_task_key: None,
            halt_at_iso: None,
            transitions: Vec::new(),
            completed_at: None,
            events: vec![SetEvent::Started],
            has_gap: false,
            last_seq: record.seq,
        })
    }

    fn apply(&mut self, record: Record, text: &dyn Fn(&Oid) -> Option<String>) {
        if matches!(self.status, SetStatus::Completed | SetStatus::Cancelled) {
            return;
        }
        match record.event {
            Event::TaskMoved(moved) => {
                let expected = self.used() + 1;
                self.has_gap |= moved.n != expected;
                self.transitions.push(Transition {
                    iso: record.at,
                    task_key: moved.task_key.clone(),
                    skill: moved.skill,
                    outcome: moved.outcome.clone(),
                });
                self.set(&moved.task_key, moved.outcome, moved.state, record.seq);
            }
            Event::TaskDecided(decided) => {
                self.set(&decided.task_key, decided.what, decided.state, record.seq);
            }
            Event::SetHalted { reason, also, task_key } => {
                let (used, task_key) = (self.used(), task_key.filter(|key| self.place(key).is_some()));
                self.status = SetStatus::Halted;
                self.events.push(SetEvent::Halted { reason, task_key: task_key.clone(), used });
                (self.halt_reason, self.halt_also, self.halt_at_task_key) = (Some(reason), also, task_key);
                self.halt_at_iso = Some(record.at);
            }
            Event::SetResumed { plan_blob, .. } => {
                self.status = SetStatus::Running;
                self.events.push(SetEvent::Resumed { previous: self.halt_reason, used: self.used() });
                (self.halt_reason, self.halt_at_task_key, self.halt_at_iso) = (None, None, None);
                self.halt_also = Vec::new();
                let plan = plan_blob.and_then(|b| text(&b)).and_then(|t| Plan::read(&t));
                if let Some(plan) = plan.filter(|p| self.has_the_tasks_of(p)) {
                    self.plan = plan;
                }
            }
            Event::SetCompleted {} => {
                self.status = SetStatus::Completed;
                self.completed_at = Some(record.at.clone());
                self.events.push(SetEvent::Completed { at: record.at, used: self.used() });
            }
            Event::SetCancelled { .. } => {
                self.status = SetStatus::Cancelled;
                self.events.push(SetEvent::Cancelled { at: record.at, task_key: None });
            }
            Event::TasksSkipped { task_key, cancelled, .. } => {
                for key in &cancelled {
                    let Some(at) = self.place(key) else { continue };
                    let state = TaskState { cancelled: true, ..self.tasks[at].clone() };
                    self.set(key, "task_cancelled".to_owned(), state, record.seq);
                }
                self.events.push(SetEvent::Cancelled { at: record.at, task_key: Some(task_key) });
            }
            _ => {}
        }
    }

    /// Whether `plan` holds the same tasks in the same places: a set never grows.
    fn has_the_tasks_of(&self, plan: &Plan) -> bool {
        self.plan.tasks.iter().map(|t| &t.task_key).eq(plan.tasks.iter().map(|t| &t.task_key))
    }

    fn set(&mut self, key: &str, event: String, state: TaskState, seq: u64) {
        let Some(at) = self.place(key) else {
            self.has_gap = true;
            return;
        };
        self.task_events[at].push(TaskEvent { event, state: state.clone() });
        (self.tasks[at], self.activity[at]) = (state, seq);
    }

    /// The place of a task in the plan.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.plan.tasks.iter().position(|t| t.task_key == key)
    }

    /// Where a task stands.
    pub fn task(&self, key: &str) -> Option<&TaskState> {
        self.place(key).map(|at| &self.tasks[at])
    }

    /// How many transitions were made.
    pub fn used(&self) -> u32 {
        u32::try_from(self.transitions.len()).unwrap_or(u32::MAX)
    }

    /// Each task with its state.
    pub fn each(&self) -> impl Iterator<Item = (&Task, &TaskState)> {
        self.plan.tasks.iter().zip(&self.tasks)
    }

    /// Whether every task is over; `Some(false)` when not one of them is done.
    pub fn goal(&self) -> Option<bool> {
        self.tasks.iter().all(TaskState::is_over).then(|| self.tasks.iter().any(TaskState::is_done))
    }

    /// Whether every task that `at` waits for is done; a cancelled sub-task holds its composite up no longer.
    pub fn is_ready(&self, at: usize) -> bool {
        let task = &self.plan.tasks[at];
        super::graph::waits_for(&self.plan.tasks, task).iter().all(|key| {
            let Some(place) = self.place(key) else { return false };
            let inside = self.plan.tasks[place].parent.as_deref() == Some(&task.task_key);
            self.tasks[place].is_done() || (inside && self.tasks[place].cancelled)
        })
    }
}

//! A loop's state: the pure fold over its journal (spec 3.1).
//!
//! In: the lines of the note on the anchor, in any order, with repeats. Out: where the loop stands. The same set of
//! lines gives the same state, whatever their order.

use std::collections::HashSet;

use bstr::ByteSlice;

use super::{
    event::{CommitSeen, Driver, Event, IterationEnded, Line, LoopStarted, PauseReason, Record, SignalGiven},
    gate::Verdict,
    oid::Oid,
    settings::{CommandSpec, DiversifyStrategy, Settings},
    test_run::TestRun,
};

/// Where a loop stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopStatus {
    /// Iterations may end.
    Running,
    /// A person decides.
    Paused(PauseReason),
    /// Ended; the text says on what basis.
    Completed(String),
    /// Ended without completion; the text says why.
    Aborted(String),
}

impl LoopStatus {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused(_) => "paused",
            Self::Completed(_) => "completed",
            Self::Aborted(_) => "aborted",
        }
    }
}

/// An event with the envelope fields that rules ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated<T> {
    /// UTC, as in the journal.
    pub at: String,
    /// Place in the loop's order.
    pub seq: u64,
    /// The event.
    pub what: T,
}

impl<T> Dated<T> {
    fn new((at, seq): (String, u64), what: T) -> Self {
        Self { at, seq, what }
    }
}

/// A step of the completion protocol, as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolStep {
    /// Its name.
    pub step: String,
    /// `done`, `skipped` or `failed`.
    pub result: String,
    /// Why, where that is not plain.
    pub why: String,
}

/// A marker that the journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedMarker {
    /// Where it was written.
    pub path: String,
    /// The blob of its text.
    pub blob: Oid,
    /// Partial markers never count.
    pub partial: bool,
}

/// What the tracker said of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedTicket {
    /// The ticket.
    pub ticket: String,
    /// `closed` or `open`.
    pub state: String,
}

/// A loop, folded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopState {
    /// Its id.
    pub id: String,
    /// The object that carries its journal.
    pub anchor: Oid,
    /// When it was started.
    pub started_at: String,
    /// How it was started.
    pub started: LoopStarted,
    /// The clone that owns it.
    pub owner: String,
    /// How often it was taken over.
    pub epoch: u32,
    /// The settings in force.
    pub settings: Settings,
    /// The branch it was last seen on.
    pub branch: Option<String>,
    /// Who ends iterations.
    pub driver: Driver,
    /// The number of the newest iteration; it never goes back.
    pub iteration: u32,
    /// Whether that iteration has ended.
    pub iteration_over: bool,
    /// Running, paused or ended.
    pub status: LoopStatus,
    /// The words that came with a pause.
    pub pause_why: String,
    /// Test runs, oldest first.
    pub runs: Vec<Dated<TestRun>>,
    /// Signals given by command or block, oldest first.
    pub signals: Vec<Dated<SignalGiven>>,
    /// Records of `record code_simplified`: code digest and HEAD then.
    pub simplified: Vec<Dated<(String, Oid)>>,
    /// Markers by `mark`.
    pub markers: Vec<RecordedMarker>,
    /// What the tracker last said.
    pub ticket_check: Option<CheckedTicket>,
    /// Ended iterations, oldest first.
    pub history: Vec<Dated<IterationEnded>>,
    /// Where in `history` the current streak may begin (a person's decision resets it).
    pub streak_start: usize,
    /// Whether files were reported read.
    pub files_read: bool,
    /// How often it diversified.
    pub diversified: u32,
    /// What the iteration under way is to try, after a diversification.
    pub diversify: Option<DiversifyStrategy>,
    /// How often it paused by stagnation.
    pub stagnation_pauses: u32,
    /// The clarification that came with the newest resume.
    pub last_text: Option<Oid>,
    /// Whether the gate was seen open.
    pub gate_opened: bool,
    /// Protocol steps that are recorded, in order.
    pub steps: Vec<ProtocolStep>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Highest `seq` seen.
    pub last_seq: u64,
}

/// Bytes of a usual line, to reserve room by.
const TYPICAL_LINE: usize = 400;

/// What the lines of one note hold.
#[derive(Debug, Default)]
pub struct NoteContent {
    /// Events about the annotated object.
    pub records: Vec<Record>,
    /// Well-formed lines that this version does not know, or that were copied from another object.
    pub skipped: usize,
    /// Lines that are no events.
    pub corrupt: usize,
}

/// Reads the note on `on`: `text` is its raw content, of any kind.
pub fn read_note(on: &Oid, text: &[u8]) -> NoteContent {
    let mut content = NoteContent::default();
    content.records.reserve(text.len() / TYPICAL_LINE);
    for line in text.lines() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match std::str::from_utf8(line).map(Record::parse) {
            Ok(Line::Known(record)) if record.on == *on => content.records.push(*record),
            Ok(Line::Known(_) | Line::Unknown) => content.skipped += 1,
            Ok(Line::Corrupt) | Err(_) => content.corrupt += 1,
        }
    }
    content
}

/// Brings a loop's records into their order: by `seq`, `at`, `id`; of equal ids the first; a `seq` far past the
/// number of lines is no fact.
pub(super) fn in_order(records: Vec<Record>, loop_id: &str) -> Vec<Record> {
    let mut own: Vec<Record> = records.into_iter().filter(|r| r.loop_id == loop_id).collect();
    let limit = own.len() as u64 + 1_000;
    own.retain(|r| r.seq <= limit);
    own.sort_by(|a, b| (a.seq, &a.at, &a.id).cmp(&(b.seq, &b.at, &b.id)));
    let mut seen = HashSet::with_capacity(own.len());
    let first: Vec<bool> = own.iter().map(|r| seen.insert(r.id.as_str())).collect();
    let mut first = first.into_iter();
    own.retain(|_| first.next().unwrap_or(true));
    own
}

impl LoopState {
    /// Folds the records of loop `loop_id`; `None` when there is no start among them.
    pub fn fold(records: Vec<Record>, loop_id: &str) -> Option<Self> {
        let mut ordered = in_order(records, loop_id).into_iter();
        let mut state = ordered.by_ref().find_map(Self::begun)?;
        for record in ordered {
            state.last_seq = record.seq;
            state.apply(record);
        }
        Some(state)
    }

    fn begun(record: Record) -> Option<Self> {
        let Event::LoopStarted(started) = record.event else { return None };
        Some(Self {
            id: record.loop_id,
            anchor: record.on,
            started_at: record.at,
            owner: started.clone.clone(),
            epoch: 0,
            settings: started.config.clone(),
            branch: started.branch.clone(),
            driver: started.driver,
            started: *started,
            iteration: 1,
            iteration_over: false,
            status: LoopStatus::Running,
            pause_why: String::new(),
            runs: Vec::new(),
            signals: Vec::new(),
            simplified: Vec::new(),
            markers: Vec::new(),
            ticket_check: None,
            history: Vec::new(),
            streak_start: 0,
            files_read: false,
            diversified: 0,
            diversify: None,
            stagnation_pauses: 0,
            last_text: None,
            gate_opened: false,
            steps: Vec::new(),
            ended_at: None,
            last_seq: record.seq,
        })
    }

    fn apply(&mut self, record: Record) {
        // Events that the former owner wrote after somebody took the loop over are kept, and not folded.
        if record.epoch < self.epoch || !self.takes(&record.event) {
            return;
        }
        let dated = |at: String| (at, record.seq);
        match record.event {
            Event::LoopAdopted { clone } => (self.owner, self.epoch) = (clone, record.epoch),
            Event::ConfigChanged { config } => self.settings = *config,
            Event::DriverChanged { driver } => self.driver = driver,
            Event::BranchEntered { branch, .. } => self.branch = Some(branch),
            Event::FilesReported { read, .. } => self.files_read |= read > 0,
            Event::TestsRan(run) => self.runs.push(Dated::new(dated(record.at), *run)),
            Event::SignalGiven(signal) => self.signals.push(Dated::new(dated(record.at), signal)),
            Event::IndicatorRecorded { name, code, head } if name == "code_simplified" => {
                self.simplified.push(Dated::new(dated(record.at), (code, head)));
            }
            Event::MarkerCreated { path, blob, partial } => self.markers.push(RecordedMarker { path, blob, partial }),
            Event::TicketChecked { ticket, state, .. } => self.ticket_check = Some(CheckedTicket { ticket, state }),
            Event::IterationEnded(ended) => self.end_iteration(Dated::new(dated(record.at), *ended)),
            Event::Diversified { strategy } => {
                self.diversified += 1;
                self.diversify = DiversifyStrategy::of_name(&strategy);
            }
            Event::LoopPaused { reason, why } => self.pause(reason, why),
            Event::LoopResumed { choice, n, text_blob, .. } => self.resume(&choice, n, text_blob),
            Event::GateOpened { .. } => self.gate_opened = true,
            Event::StepDone { step, result, why } => self.steps.push(ProtocolStep { step, result, why }),
            Event::LoopCompleted { basis } => self.end(record.at, LoopStatus::Completed(basis)),
            Event::LoopAborted { reason, .. } => self.end(record.at, LoopStatus::Aborted(reason)),
            _ => {}
        }
    }

    /// An aborted loop takes nothing more; a completed one is judged anew, so it takes evidence and protocol steps.
    fn takes(&self, event: &Event) -> bool {
        match self.status {
            LoopStatus::Running | LoopStatus::Paused(_) => true,
            LoopStatus::Aborted(_) => false,
            LoopStatus::Completed(_) => matches!(
                event,
                Event::TestsRan(_)
                    | Event::SignalGiven(_)
                    | Event::IndicatorRecorded { .. }
                    | Event::MarkerCreated { .. }
                    | Event::TicketChecked { .. }
                    | Event::StepDone { .. }
            ),
        }
    }

    /// Whether it was aborted: nothing can be added.
    pub fn is_aborted(&self) -> bool {
        matches!(self.status, LoopStatus::Aborted(_))
    }

    fn end_iteration(&mut self, ended: Dated<IterationEnded>) {
        self.iteration = self.iteration.max(ended.what.iteration);
        self.iteration_over = true;
        self.diversify = None;
        self.history.push(ended);
    }

    fn pause(&mut self, reason: PauseReason, why: String) {
        self.status = LoopStatus::Paused(reason);
        self.pause_why = why;
        self.stagnation_pauses += u32::from(reason == PauseReason::Stagnation);
    }

    fn resume(&mut self, choice: &str, n: Option<u32>, text: Option<Oid>) {
        self.last_text = text;
        self.status = LoopStatus::Running;
        self.pause_why.clear();
        self.iteration = self.iteration.saturating_add(1);
        self.iteration_over = false;
        self.streak_start = self.history.len();
        if choice == "extend" {
            self.settings.max_iterations = self.settings.max_iterations.saturating_add(n.unwrap_or(3));
        }
    }

    fn end(&mut self, at: String, status: LoopStatus) {
        self.iteration = self.shown_iteration();
        self.iteration_over = false;
        self.status = status;
        self.ended_at = Some(at);
    }

    /// Whether it is completed or aborted.
    pub fn is_ended(&self) -> bool {
        matches!(self.status, LoopStatus::Completed(_) | LoopStatus::Aborted(_))
    }

    /// The number to show: the iteration under way, or while paused or ended the one that stood last. A pause
    /// keeps the number, resuming adds one; so does an iteration that ended with an open gate.
    pub fn shown_iteration(&self) -> u32 {
        let opened = self.history.last().is_some_and(|h| h.what.verdict == Verdict::Exit);
        let under_way = self.status == LoopStatus::Running && self.iteration_over && !opened;
        self.iteration.saturating_add(u32::from(under_way))
    }

    /// The test command: the frozen one, else the first that was run (spec 1.4).
    pub fn pinned_command(&self) -> Option<&CommandSpec> {
        self.settings.test_command.as_ref().or_else(|| self.runs.first().map(|r| &r.what.command))
    }

    /// Hashes of the iterations that count for stagnation, oldest first.
    pub fn streak_history(&self) -> &[Dated<IterationEnded>] {
        &self.history[self.streak_start.min(self.history.len())..]
    }
}

/// The line of loop `loop_id` on a commit's own note, when it was seen being made there.
pub fn seen_in(content: &NoteContent, loop_id: &str) -> Option<CommitSeen> {
    content.records.iter().filter(|r| r.loop_id == loop_id).find_map(|r| match &r.event {
        Event::CommitSeen(seen) => Some(seen.clone()),
        _ => None,
    })
}

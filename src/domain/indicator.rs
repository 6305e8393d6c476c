//! The six completion indicators: met, unmet or skipped, each with its reason (spec 1.3).
//!
//! In: the evidence. Out: the six with a reason and the object ids that a person can check with plain git.

use super::{
    evidence::{Evidence, MarkerEvidence, Simplified, TicketEvidence},
    oid::Oid,
    test_run::TestVerdict,
};

/// One of the six, in the order of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Indicator {
    /// The work is in commits.
    CodeCommitted,
    /// The test command passed on this code.
    TestsPassing,
    /// The code was simplified after it worked.
    CodeSimplified,
    /// Documentation changed with it.
    DocsUpdated,
    /// The ticket is closed.
    TicketClosed,
    /// A completion marker exists.
    MarkerCreated,
}

impl Indicator {
    /// All six, in order.
    pub const ALL: [Self; 6] = [
        Self::CodeCommitted,
        Self::TestsPassing,
        Self::CodeSimplified,
        Self::DocsUpdated,
        Self::TicketClosed,
        Self::MarkerCreated,
    ];

    /// Its name in JSON and in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::CodeCommitted => "code_committed",
            Self::TestsPassing => "tests_passing",
            Self::CodeSimplified => "code_simplified",
            Self::DocsUpdated => "docs_updated",
            Self::TicketClosed => "ticket_closed",
            Self::MarkerCreated => "marker_created",
        }
    }

    /// The indicator of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|i| i.name() == name)
    }

    /// Its letter in a commit's line.
    pub fn letter(self) -> char {
        match self {
            Self::CodeCommitted => 'C',
            Self::TestsPassing => 'T',
            Self::CodeSimplified => 'S',
            Self::DocsUpdated => 'D',
            Self::TicketClosed => 'K',
            Self::MarkerCreated => 'M',
        }
    }
}

/// Whether an indicator counts for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndicatorState {
    /// It counts.
    Met,
    /// It does not.
    Unmet,
    /// It leaves the total.
    Skipped,
}

impl IndicatorState {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Skipped => "skipped",
        }
    }
}

/// Why an indicator is what it is. Words come last, in `render`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is worded in render/en.rs")]
pub enum Reason {
    Committed { commits: usize, paths: usize, looked: bool },
    NoOwnCommit,
    NoNetChange,
    Dirty { first: String, count: usize },
    TestsPassed { command: String, head: Oid },
    NoTestRun { pinned: Option<String> },
    TestsFailed { command: String, failing: Vec<String> },
    TestsError { command: String, why: String },
    TestsStale { passed: bool, head: Oid },
    OtherCommandPassed { command: String, pinned: String },
    SimplificationDisabled,
    NoCodeToSimplify,
    SimplifiedBy { commit: Oid },
    SimplifiedRecorded { commit: Oid },
    NoSimplification,
    SimplifiedButFailing,
    DocsChanged { path: String, count: usize },
    NoDocs,
    DocsWhiteSpaceOnly,
    NoTracker,
    NoTicketNamed,
    TicketOpen { ticket: String },
    TicketClosedBy { ticket: String, commit: Oid },
    TaskDocArchived { path: String },
    TaskDocDone { path: String },
    TrackerClosed { ticket: String },
    MarkerInTree { path: String },
    MarkerRecorded { path: String },
    MarkerOnDisk { path: String },
    NoMarker,
}

/// One indicator with its state, its reason and the ids that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub indicator: Indicator,
    /// Whether it counts.
    pub state: IndicatorState,
    /// Why.
    pub reason: Reason,
    /// Object ids, at most eight.
    pub evidence: Vec<Oid>,
}

/// The six findings, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indicators(pub Vec<Finding>);

impl Indicators {
    /// How many are met.
    pub fn met(&self) -> u32 {
        self.count(IndicatorState::Met)
    }

    /// How many are not skipped.
    pub fn total(&self) -> u32 {
        6 - self.count(IndicatorState::Skipped)
    }

    fn count(&self, state: IndicatorState) -> u32 {
        self.0.iter().filter(|f| f.state == state).count() as u32
    }

    /// Whether `indicator` is met.
    pub fn is_met(&self, indicator: Indicator) -> bool {
        self.0.iter().any(|f| f.indicator == indicator && f.state == IndicatorState::Met)
    }

    /// Those in `state`, in order.
    pub fn in_state(&self, state: IndicatorState) -> impl Iterator<Item = Indicator> + '_ {
        self.0.iter().filter(move |f| f.state == state).map(|f| f.indicator)
    }

    /// The letters of those that are met, for a commit's line.
    pub fn letters(&self) -> String {
        self.in_state(IndicatorState::Met).map(Indicator::letter).collect()
    }
}

/// Judges the evidence.
pub fn assess(evidence: &Evidence) -> Indicators {
    Indicators(vec![
        code_committed(evidence),
        tests_passing(evidence),
        code_simplified(evidence),
        docs_updated(evidence),
        ticket_closed(evidence),
        marker_created(evidence),
    ])
}

fn finding(indicator: Indicator, state: IndicatorState, reason: Reason, evidence: Vec<Oid>) -> Finding {
    Finding { indicator, state, reason, evidence: evidence.into_iter().take(8).collect() }
}

use IndicatorState::{Met, Skipped, Unmet};

fn code_committed(evidence: &Evidence) -> Finding {
    let (state, reason) = if evidence.own.is_empty() {
        (Unmet, Reason::NoOwnCommit)
    } else if evidence.work.is_empty() {
        (Unmet, Reason::NoNetChange)
    } else if let Some([first, rest @ ..]) = evidence.dirty.as_deref() {
        (Unmet, Reason::Dirty { first: first.clone(), count: rest.len() + 1 })
    } else {
        let (commits, paths) = (evidence.own.len(), evidence.work.len());
        (Met, Reason::Committed { commits, paths, looked: evidence.dirty.is_some() })
    };
    let blobs = evidence.work.iter().filter_map(|(_, blob)| blob.clone());
    let shown = evidence.own.iter().rev().take(4).cloned().chain(blobs).collect();
    finding(Indicator::CodeCommitted, state, reason, if state == Met { shown } else { Vec::new() })
}

fn tests_passing(evidence: &Evidence) -> Finding {
    let tests = &evidence.tests;
    let (state, reason) = if let Some(failed) = &tests.failure {
        let failing = failed.failing.clone();
        (Unmet, Reason::TestsFailed { command: failed.command.to_string(), failing })
    } else if let Some(run) = &tests.newest_pinned {
        match run.verdict {
            TestVerdict::Pass => {
                (Met, Reason::TestsPassed { command: run.command.to_string(), head: run.head.clone() })
            }
            _ => {
                let why = run.why.clone().unwrap_or_default();
                (Unmet, Reason::TestsError { command: run.command.to_string(), why })
            }
        }
    } else if let Some(run) = &tests.stale {
        (Unmet, Reason::TestsStale { passed: run.verdict == TestVerdict::Pass, head: run.head.clone() })
    } else if let (Some(other), Some(pinned)) = (&tests.other_pass, &tests.pinned) {
        (Unmet, Reason::OtherCommandPassed { command: other.command.to_string(), pinned: pinned.clone() })
    } else {
        (Unmet, Reason::NoTestRun { pinned: tests.pinned.clone() })
    };
    let shown = tests.newest_pinned.iter().filter(|_| state == Met).map(|r| r.head.clone()).collect();
    finding(Indicator::TestsPassing, state, reason, shown)
}

fn code_simplified(evidence: &Evidence) -> Finding {
    let failing = evidence.tests.newest.as_ref().is_some_and(|r| r.verdict == TestVerdict::Fail);
    let (state, reason, shown) = match &evidence.simplified {
        Simplified::Disabled => (Skipped, Reason::SimplificationDisabled, None),
        Simplified::NoCode => (Skipped, Reason::NoCodeToSimplify, None),
        Simplified::No => (Unmet, Reason::NoSimplification, None),
        Simplified::By(_) | Simplified::Recorded(_) if failing => (Unmet, Reason::SimplifiedButFailing, None),
        Simplified::By(id) => (Met, Reason::SimplifiedBy { commit: id.clone() }, Some(id)),
        Simplified::Recorded(id) => (Met, Reason::SimplifiedRecorded { commit: id.clone() }, Some(id)),
    };
    finding(Indicator::CodeSimplified, state, reason, shown.into_iter().cloned().collect())
}

fn docs_updated(evidence: &Evidence) -> Finding {
    let (state, reason) = match evidence.docs.first() {
        Some((path, _)) => (Met, Reason::DocsChanged { path: path.clone(), count: evidence.docs.len() }),
        None if evidence.docs_only_white_space => (Unmet, Reason::DocsWhiteSpaceOnly),
        None => (Unmet, Reason::NoDocs),
    };
    let shown = evidence.docs.iter().filter_map(|(_, blob)| blob.clone()).collect();
    finding(Indicator::DocsUpdated, state, reason, shown)
}

fn ticket_closed(evidence: &Evidence) -> Finding {
    let (state, reason, shown) = match evidence.ticket.clone() {
        TicketEvidence::NoTracker => (Skipped, Reason::NoTracker, vec![]),
        TicketEvidence::Unnamed => (Unmet, Reason::NoTicketNamed, vec![]),
        TicketEvidence::Open(ticket) => (Unmet, Reason::TicketOpen { ticket }, vec![]),
        TicketEvidence::ClosedBy(ticket, commit) => {
            (Met, Reason::TicketClosedBy { ticket, commit: commit.clone() }, vec![commit])
        }
        TicketEvidence::Archived(path) => (Met, Reason::TaskDocArchived { path }, vec![]),
        TicketEvidence::StatusDone(path) => (Met, Reason::TaskDocDone { path }, vec![]),
        TicketEvidence::Tracker(ticket, _) => (Met, Reason::TrackerClosed { ticket }, vec![]),
    };
    finding(Indicator::TicketClosed, state, reason, shown)
}

fn marker_created(evidence: &Evidence) -> Finding {
    let (state, reason, shown) = match evidence.marker.clone() {
        Some(MarkerEvidence::InTree(path, blob)) => (Met, Reason::MarkerInTree { path }, vec![blob]),
        Some(MarkerEvidence::Recorded(path, blob)) => (Met, Reason::MarkerRecorded { path }, vec![blob]),
        Some(MarkerEvidence::OnDisk(path)) => (Met, Reason::MarkerOnDisk { path }, vec![]),
        None => (Unmet, Reason::NoMarker, vec![]),
    };
    finding(Indicator::MarkerCreated, state, reason, shown)
}

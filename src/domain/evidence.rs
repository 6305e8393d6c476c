//! Which facts speak for the loop, and which against it (spec 1.3, 1.4, 1.5).
//!
//! In: the facts from git and the folded journal. Out: for each question the rules ask, the finding with the object
//! ids that show it. A signal is carried along but is never evidence.

use std::collections::HashSet;
use std::sync::LazyLock;

use bstr::ByteSlice;
use regex::Regex;
use sha2::{Digest, Sha256};

use super::{
    event::SignalKind,
    facts::{DirtyPath, Facts, OwnCommit, WorkTree},
    oid::Oid,
    settings::ProjectManagement,
    state::LoopState,
    test_run::{TestRun, TestVerdict},
    ticket::{DocStatus, Ticket},
};

/// All findings of one judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Own commits, oldest first.
    pub own: Vec<Oid>,
    /// Paths of the net change that stand for code here, with the blob at HEAD.
    pub work: Vec<(String, Option<Oid>)>,
    /// Tracked paths of that kind that differ from HEAD; `None` = not looked at.
    pub dirty: Option<Vec<String>>,
    /// The same with the ids of their content, for the state hash.
    pub dirty_content: Vec<String>,
    /// Test runs.
    pub tests: Tests,
    /// Simplification.
    pub simplified: Simplified,
    /// Documentation paths of the net change that say something, with the blob at HEAD.
    pub docs: Vec<(String, Option<Oid>)>,
    /// Whether documentation changed without saying anything.
    pub docs_only_white_space: bool,
    /// The ticket.
    pub ticket: TicketEvidence,
    /// A completion marker.
    pub marker: Option<MarkerEvidence>,
    /// The newest signal.
    pub signal: Signal,
}

/// What the recorded test runs say about the code at HEAD.
#[derive(Debug, Clone, PartialEq)]
pub struct Tests {
    /// The pinned command, as people read it.
    pub pinned: Option<String>,
    /// Whether the first run pinned it.
    pub pinned_by_first_run: bool,
    /// The newest run of the pinned command that holds for this code.
    pub newest_pinned: Option<TestRun>,
    /// The newest run of any command that holds.
    pub newest: Option<TestRun>,
    /// A failure that no later pass of the pinned command answers.
    pub failure: Option<TestRun>,
    /// The newest run of the pinned command, when it does not hold.
    pub stale: Option<TestRun>,
    /// A holding pass of another command: shown, never evidence.
    pub other_pass: Option<TestRun>,
    /// Whether any run is recorded.
    pub any: bool,
}

/// Whether the code was simplified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Simplified {
    /// Switched off in the configuration.
    Disabled,
    /// The net change holds no code.
    NoCode,
    /// This commit did.
    By(Oid),
    /// `record code_simplified` at this commit.
    Recorded(Oid),
    /// Nothing shows it.
    No,
}

/// Whether the loop's ticket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketEvidence {
    /// No tracker, or nothing names a ticket.
    NoTracker,
    /// A tracker, but nothing names a ticket.
    Unnamed,
    /// It is open.
    Open(String),
    /// A commit closes it.
    ClosedBy(String, Oid),
    /// Its task document was moved to the archive.
    Archived(String),
    /// The status line of its task document turned to done.
    StatusDone(String),
    /// The tracker said so.
    Tracker(String, String),
}

/// Where a completion marker was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerEvidence {
    /// In HEAD's tree.
    InTree(String, Oid),
    /// In the journal, written by `mark`.
    Recorded(String, Oid),
    /// On disk only, ignored by git.
    OnDisk(String),
}

/// What the newest signal is worth now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalState {
    /// Nobody has said anything.
    None,
    /// Exit is asked for, and the code is what it was then.
    Valid,
    /// Given before the code changed.
    Stale,
    /// An explicit false.
    Vetoed,
    /// The agent said it failed.
    Failed,
}

/// The newest signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// What it is worth.
    pub state: SignalState,
    /// Its words.
    pub reason: String,
    /// The commit whose trailer gave it.
    pub commit: Option<Oid>,
}

/// Gathers the findings.
pub fn gather(facts: &Facts, state: &LoopState) -> Evidence {
    let tests = tests(facts, state);
    Evidence {
        own: facts.own.iter().map(|c| c.id.clone()).collect(),
        work: work(facts, state),
        dirty: dirty(facts, state).map(|d| d.iter().map(|p| text(&p.path)).collect()),
        dirty_content: dirty(facts, state).unwrap_or_default().iter().map(|p| content(p)).collect(),
        simplified: simplified(facts, state),
        docs: facts.net_docs().map(|n| (text(&n.change.path), n.change.after.as_ref().map(|e| e.id.clone()))).collect(),
        docs_only_white_space: facts.net.iter().any(|n| n.class == super::path_rules::PathClass::Docs),
        ticket: ticket(facts, state),
        marker: marker(facts, state),
        signal: signal(facts, state),
        tests,
    }
}

fn text(path: &bstr::BString) -> String {
    path.to_str_lossy().into_owned()
}

/// In a docs-only loop documentation stands for code.
fn work(facts: &Facts, state: &LoopState) -> Vec<(String, Option<Oid>)> {
    let counted = facts.net.iter().filter(|n| n.is_code || (state.started.docs_only && n.says_something));
    counted.map(|n| (text(&n.change.path), n.change.after.as_ref().map(|e| e.id.clone()))).collect()
}

fn dirty<'f>(facts: &'f Facts, state: &LoopState) -> Option<Vec<&'f DirtyPath>> {
    let WorkTree::Looked { code, docs } = &facts.work_tree else { return None };
    let docs = docs.iter().filter(|_| state.started.docs_only);
    Some(code.iter().chain(docs).collect())
}

fn content(dirty: &DirtyPath) -> String {
    format!("{} {}", dirty.id.as_ref().map_or("-", Oid::as_str), text(&dirty.path))
}

fn tests(facts: &Facts, state: &LoopState) -> Tests {
    let pinned = state.pinned_command();
    let holds = |run: &TestRun| run.holds_for(&facts.anchor, &facts.code);
    let is_pinned = |run: &TestRun| pinned == Some(&run.command);
    let runs = || state.runs.iter().map(|r| &r.what).enumerate();
    let newest_pinned = runs().rfind(|(_, r)| is_pinned(r) && holds(r));
    let answered = runs().rfind(|(_, r)| is_pinned(r) && holds(r) && r.verdict == TestVerdict::Pass).map(|(i, _)| i);
    let failure = runs().rfind(|(i, r)| holds(r) && r.verdict == TestVerdict::Fail && answered.is_none_or(|a| *i > a));
    Tests {
        pinned: pinned.map(ToString::to_string),
        pinned_by_first_run: pinned.is_some() && state.settings.test_command.is_none(),
        newest: runs().rfind(|(_, r)| holds(r)).map(|(_, r)| r.clone()),
        failure: failure.map(|(_, r)| r.clone()),
        stale: runs().rfind(|(_, r)| is_pinned(r)).filter(|(_, r)| !holds(r)).map(|(_, r)| r.clone()),
        other_pass: runs()
            .rfind(|(_, r)| !is_pinned(r) && holds(r) && r.verdict == TestVerdict::Pass)
            .map(|(_, r)| r.clone()),
        newest_pinned: newest_pinned.map(|(_, r)| r.clone()),
        any: !state.runs.is_empty(),
    }
}

#[expect(clippy::unwrap_used, reason = "a constant pattern; the tests compile it")]
static SIMPLIFIES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?i)(?:refactor|simplify|cleanup)(?:\([^)]*\))?!?:").unwrap());

/// Whether a commit says of itself that it simplifies (spec 1.3, 1.13).
pub fn is_simplification(commit: &OwnCommit) -> bool {
    SIMPLIFIES.is_match(&commit.subject) || commit.trailer("Nav-Simplified").next().is_some()
}

fn reverted(own: &[OwnCommit]) -> HashSet<&Oid> {
    let mut reverted = HashSet::new();
    for commit in own.iter().rev() {
        let Some(hex) = commit.reverts().filter(|_| !reverted.contains(&commit.id)) else {
            continue;
        };
        reverted.extend(own.iter().map(|c| &c.id).filter(|id| id.as_str().starts_with(hex)));
    }
    reverted
}

fn simplified(facts: &Facts, state: &LoopState) -> Simplified {
    if !state.settings.simplification {
        return Simplified::Disabled;
    }
    if facts.net_code().next().is_none() {
        return Simplified::NoCode;
    }
    let reverted = reverted(&facts.own);
    let touching: Vec<&OwnCommit> = facts.own.iter().filter(|c| c.touches_code == Some(true)).collect();
    let later = touching.get(1..).unwrap_or_default();
    let by = later.iter().rfind(|c| is_simplification(c) && !reverted.contains(&c.id));
    if let Some(commit) = by {
        return Simplified::By(commit.id.clone());
    }
    let recorded = state.simplified.iter().rfind(|_| !later.is_empty());
    recorded.map_or(Simplified::No, |r| Simplified::Recorded(r.what.1.clone()))
}

/// The ticket that the loop works on, when something names one.
pub fn ticket_of(state: &LoopState) -> Option<Ticket> {
    let typed = state.started.ticket.as_deref().and_then(Ticket::parse);
    let branch = || Ticket::of_branch(state.branch.as_deref()?, &state.settings.task_prefix);
    let doc = || {
        let file = state.started.task_file.as_deref()?.rsplit('/').next()?;
        Ticket::of_branch(file, &state.settings.task_prefix)
    };
    typed.or_else(branch).or_else(doc)
}

fn ticket(facts: &Facts, state: &LoopState) -> TicketEvidence {
    let typed = state.started.ticket.is_some();
    if state.settings.project_management == Some(ProjectManagement::None) && !typed {
        return TicketEvidence::NoTracker;
    }
    let Some(ticket) = ticket_of(state) else {
        return match state.settings.project_management {
            None => TicketEvidence::NoTracker,
            Some(_) => TicketEvidence::Unnamed,
        };
    };
    let slug = facts.remote_slug.as_deref();
    if let Some(commit) = facts.own.iter().rfind(|c| ticket.is_closed_by(&c.message, slug)) {
        return TicketEvidence::ClosedBy(ticket.to_string(), commit.id.clone());
    }
    if let Some(found) = task_doc(facts, state, &ticket) {
        return found;
    }
    match &state.ticket_check {
        Some(check) if check.state == "closed" && check.ticket == ticket.to_string() => {
            TicketEvidence::Tracker(check.ticket.clone(), check.state.clone())
        }
        _ => TicketEvidence::Open(ticket.to_string()),
    }
}

/// Whether `path` is the task document of `ticket`, or the file the loop was started from.
fn is_task_doc_of(path: &str, state: &LoopState, ticket: &Ticket) -> bool {
    if state.started.task_file.as_deref() == Some(path) {
        return true;
    }
    let Some(name) = path.strip_prefix(".agent/tasks/").filter(|n| !n.contains('/')) else {
        return false;
    };
    let prefix = &state.settings.task_prefix;
    let Some(rest) = name.strip_prefix(prefix.as_str()).and_then(|r| r.strip_prefix('-')) else {
        return false;
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().ok().is_some_and(|n| Some(n) == ticket.number())
}

fn task_doc(facts: &Facts, state: &LoopState, ticket: &Ticket) -> Option<TicketEvidence> {
    let docs = facts.net.iter().filter(|n| is_task_doc_of(&text(&n.change.path), state, ticket));
    for doc in docs {
        let path = text(&doc.change.path);
        if doc.change.after.is_none() && is_archived(facts, &path) {
            return Some(TicketEvidence::Archived(path));
        }
        if let Some((before, DocStatus::Closed)) = doc.doc_status
            && before == DocStatus::Open
        {
            return Some(TicketEvidence::StatusDone(path));
        }
    }
    None
}

fn is_archived(facts: &Facts, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    facts.net.iter().any(|n| {
        let to = n.change.path.to_str_lossy();
        n.change.before.is_none() && to.ends_with(&format!("/{name}")) && to.contains("archive/")
    })
}

fn marker(facts: &Facts, state: &LoopState) -> Option<MarkerEvidence> {
    let names_us = |m: &super::facts::MarkerFile| m.names.as_deref() == Some(state.id.as_str());
    for marker in &facts.markers {
        if let Some(blob) = marker.blob.as_ref().filter(|_| names_us(marker) || (marker.names.is_none() && marker.own))
        {
            return Some(MarkerEvidence::InTree(text(&marker.path), blob.clone()));
        }
    }
    if let Some(recorded) = state.markers.iter().rfind(|m| !m.partial) {
        return Some(MarkerEvidence::Recorded(recorded.path.clone(), recorded.blob.clone()));
    }
    let on_disk = facts.markers.iter().find(|m| m.blob.is_none() && names_us(m))?;
    Some(MarkerEvidence::OnDisk(text(&on_disk.path)))
}

struct Word {
    at: String,
    kind: SignalKind,
    reason: String,
    code: String,
    commit: Option<Oid>,
}

fn signal(facts: &Facts, state: &LoopState) -> Signal {
    let given = state.signals.iter().map(|s| Word {
        at: s.at.clone(),
        kind: s.what.kind,
        reason: s.what.reason.clone(),
        code: s.what.code.clone(),
        commit: None,
    });
    let trailers = facts.own.iter().filter_map(|c| trailer_word(c, state));
    let newest = given.chain(trailers).max_by(|a, b| a.at.cmp(&b.at));
    let Some(word) = newest else {
        return Signal { state: SignalState::None, reason: String::new(), commit: None };
    };
    let state = match word.kind {
        _ if word.code != facts.code => SignalState::Stale,
        SignalKind::Exit => SignalState::Valid,
        SignalKind::False => SignalState::Vetoed,
        SignalKind::Failed => SignalState::Failed,
    };
    Signal { state, reason: word.reason, commit: word.commit }
}

/// The exit that a commit's trailer asks for; with a nonce it must end in `[nonce]`.
fn trailer_word(commit: &OwnCommit, state: &LoopState) -> Option<Word> {
    let value = commit.trailer("Nav-Loop-Exit").last()?.trim();
    let reason = match &state.started.nonce_sha {
        None => value.to_owned(),
        Some(expected) => {
            let (reason, nonce) = value.strip_suffix(']')?.rsplit_once('[')?;
            (sha256_hex(nonce) == *expected).then(|| reason.trim().to_owned())?
        }
    };
    Some(Word {
        at: commit.at.clone(),
        kind: SignalKind::Exit,
        reason,
        code: commit.code.clone()?,
        commit: Some(commit.id.clone()),
    })
}

/// SHA-256 of `text`, in hex: how nonces and promises are kept in the journal.
pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

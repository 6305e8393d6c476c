//! The autonomous completion protocol (spec 1.12): what is done when the gate is open, step by step, each recorded.
//!
//! Used by `complete` and by what ends an iteration. In: a turn whose gate is open. Out: recorded steps and
//! `loop_completed`. After a crash it goes on at the first step that is not recorded; run twice it changes nothing.

use std::path::Path;

use crate::{
    begin::task_doc_path,
    context::{COMMAND_PATIENCE, now, writer},
    domain::{
        event::Event,
        evidence::{TicketEvidence, gather, ticket_of},
        path_rules::{PathClass, PathRules},
        settings::ProjectManagement,
        state::{LoopStatus, ProtocolStep},
        status::Status,
        ticket::Ticket,
    },
    error::Error,
    git::{commit, history::goes_through_link, journal::Appended, loops, marker_file, program::Git},
    tracker,
    turn::{Look, Turn},
};

/// The steps, in the order of the seed.
const STEPS: [&str; 5] = ["commit", "archive", "ticket", "marker", "compact"];

/// What a completion did.
#[derive(Debug)]
pub struct Completed {
    /// Each step with its result, in order.
    pub steps: Vec<ProtocolStep>,
    /// Paths that are left in the work tree, not committed.
    pub left: Vec<String>,
}

/// Completes the loop of `turn`. `by` names the program; `may_commit` allows commits.
pub fn complete(turn: &mut Turn<'_>, status: &Status, by: &str, may_commit: bool) -> Result<Completed, Error> {
    let mut left = Vec::new();
    if !turn.state.gate_opened {
        let (met, total) = (status.gate.met, status.gate.total);
        append(turn, by, vec![Event::GateOpened { head: status.head.clone(), met, total }])?;
    }
    for step in STEPS {
        if turn.state.steps.iter().any(|s| s.step == step && s.why != LEFT) {
            continue;
        }
        crate::failpoint::hit(step);
        let mut events = Vec::new();
        let (result, why) = match run(turn, status, step, may_commit, &mut left, &mut events) {
            Ok(outcome) => outcome,
            Err(e) => ("failed", e.message),
        };
        let why = why.chars().take(300).collect();
        events.push(Event::StepDone { step: step.to_owned(), result: result.to_owned(), why });
        append(turn, by, events)?;
    }
    if !matches!(turn.state.status, LoopStatus::Completed(_)) {
        crate::failpoint::hit("completed");
        append(turn, by, vec![Event::LoopCompleted { basis: "verified".to_owned() }])?;
    }
    loops::unregister(turn.repo, &turn.state.id);
    Ok(Completed { steps: newest_of_each(&turn.state.steps), left })
}

/// Completes without touching git or the task document: only the marker is written, the other steps are left to a
/// later `complete`.
pub fn complete_silently(turn: &mut Turn<'_>, status: &Status, by: &str) -> Result<(), Error> {
    for step in STEPS.into_iter().filter(|s| *s != "marker") {
        let (step, result) = (step.to_owned(), "skipped".to_owned());
        append(turn, by, vec![Event::StepDone { step, result, why: LEFT.to_owned() }])?;
    }
    let mut events = Vec::new();
    let (result, why) = marker(turn, status, false, &mut Vec::new(), &mut events)?;
    events.push(Event::StepDone { step: "marker".to_owned(), result: result.to_owned(), why });
    events.push(Event::LoopCompleted { basis: "verified".to_owned() });
    append(turn, by, events)?;
    loops::unregister(turn.repo, &turn.state.id);
    Ok(())
}

/// The reason of a step that a stop hook leaves to a later `complete`.
pub const LEFT: &str = "left to complete";

/// Each step's newest record, in the order of the protocol.
pub fn newest_of_each(steps: &[ProtocolStep]) -> Vec<ProtocolStep> {
    STEPS.iter().filter_map(|name| steps.iter().rfind(|s| s.step == *name)).cloned().collect()
}

fn append(turn: &mut Turn<'_>, by: &str, events: Vec<Event>) -> Result<(), Error> {
    let drafts = events.into_iter().map(|e| turn.draft(e)).collect();
    match turn.journal.append(&writer(by, COMMAND_PATIENCE), drafts)? {
        Appended::Written | Appended::Waiting(_) => turn.refresh(),
    }
}

type Outcome = (&'static str, String);

fn run(
    turn: &Turn<'_>,
    status: &Status,
    step: &str,
    may_commit: bool,
    left: &mut Vec<String>,
    events: &mut Vec<Event>,
) -> Result<Outcome, Error> {
    match step {
        "commit" => commit_the_rest(turn, may_commit, left),
        "archive" => archive(turn, left),
        "ticket" => ticket(turn, events),
        "marker" => marker(turn, status, may_commit, left, events),
        _ => Ok(("done", "git nav-loop compact folds the journal; compact the agent's context".to_owned())),
    }
}

/// Step 1. What is dirty or untracked and no bookkeeping is committed when that is allowed.
fn commit_the_rest(turn: &Turn<'_>, may_commit: bool, left: &mut Vec<String>) -> Result<Outcome, Error> {
    let paths =
        commit::uncommitted(turn.repo, |class| !matches!(class, PathClass::State | PathClass::Marker), turn.rules())?;
    if paths.is_empty() {
        return Ok(("skipped", "nothing is left to commit".to_owned()));
    }
    if !may_commit {
        left.extend(paths.iter().cloned());
        return Ok(("skipped", format!("left in the work tree without --commit: {}", paths.join(", "))));
    }
    let id = commit::commit(turn.repo, &paths, &turn.state.started.title)?;
    Ok(("done", format!("{} paths in {}", paths.len(), id.short())))
}

/// Step 2. The task document goes to `.agent/tasks/archive/`.
fn archive(turn: &Turn<'_>, left: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(path) = task_doc(turn) else { return Ok(("skipped", "no task document".to_owned())) };
    let top = turn.repo.need_work_tree()?;
    let Some(name) = path.strip_prefix(".agent/tasks/").filter(|n| !n.contains('/')) else {
        return Ok(("skipped", format!("{path} is not below .agent/tasks/")));
    };
    let to = format!(".agent/tasks/archive/{name}");
    if !top.join(&path).exists() {
        return Ok(("skipped", format!("{path} is not there any more")));
    }
    if goes_through_link(top, &top.join(&path)) || goes_through_link(top, &top.join(&to)) {
        return Err(Error::refused(format!("{path} goes through a symbolic link"), "replace the link"));
    }
    if top.join(&to).exists() {
        return Ok(("skipped", format!("{to} is there already")));
    }
    let unwritable = |e: std::io::Error| Error::refused(format!("{to}: {e}"), "make it writable");
    std::fs::create_dir_all(top.join(".agent/tasks/archive")).map_err(unwritable)?;
    let ask = Git::new("ls-files").in_dir(top).env("GIT_LITERAL_PATHSPECS", "1");
    let tracked = ask.args(["--error-unmatch", "--", &path]).output().is_ok();
    if tracked {
        Git::new("mv").in_dir(top).args(["--", &path, &to]).output()?;
    } else {
        std::fs::rename(top.join(&path), top.join(&to)).map_err(unwritable)?;
    }
    left.extend([path.clone(), to.clone()]);
    Ok(("done", format!("{path} → {to}")))
}

/// The file the loop was started from, else the document of its ticket.
fn task_doc(turn: &Turn<'_>) -> Option<String> {
    if let Some(file) = &turn.state.started.task_file {
        return Some(file.clone());
    }
    let number = ticket_of(&turn.state)?.number()?;
    task_doc_path(turn.repo.work_tree()?, number, &turn.state.settings.task_prefix)
}

/// Step 3. An open issue of the configured tracker is closed; one of another tracker is named for the person.
fn ticket(turn: &Turn<'_>, events: &mut Vec<Event>) -> Result<Outcome, Error> {
    let evidence = gather(&turn.observe(Look::HeadOnly)?, &turn.state).ticket;
    let open = match evidence {
        TicketEvidence::NoTracker => return Ok(("skipped", "no PM tool".to_owned())),
        TicketEvidence::Unnamed => return Ok(("skipped", "nothing names a ticket".to_owned())),
        TicketEvidence::Open(open) => open,
        _ => return Ok(("skipped", "closed already".to_owned())),
    };
    let reached = turn.state.settings.project_management == Some(ProjectManagement::Github);
    let ticket = ticket_of(&turn.state).filter(|t| reached && !matches!(t, Ticket::Key(_)));
    let Some(ticket) = ticket else { return Ok(("skipped", format!("{open} is open: close it in the tracker"))) };
    let top = turn.repo.need_work_tree()?;
    if !tracker::view(top, &ticket)?.closed {
        tracker::close(top, &ticket)?;
    }
    let (state, source) = ("closed".to_owned(), "gh".to_owned());
    events.push(Event::TicketChecked { ticket: ticket.to_string(), state, source });
    Ok(("done", ticket.to_string()))
}

/// Step 4. The completion marker; with the archived document it makes one more commit, where commits are allowed.
fn marker(
    turn: &Turn<'_>,
    status: &Status,
    may_commit: bool,
    left: &mut Vec<String>,
    events: &mut Vec<Event>,
) -> Result<Outcome, Error> {
    let name = ticket_of(&turn.state).map_or_else(|| turn.state.started.title.clone(), |t| t.to_string());
    let (path, blob) = marker_file::write(turn.repo, status, &name, &now(), false)?;
    events.push(Event::MarkerCreated { path: path.clone(), blob, partial: false });
    let ignored = is_ignored(turn, &path);
    if !ignored {
        left.push(path.clone());
    }
    if may_commit {
        let own: Vec<String> = bookkeeping(turn, &path, ignored)?;
        if !own.is_empty() {
            commit::commit(turn.repo, &own, &format!("complete: {}", turn.state.started.title))?;
            left.clear();
        }
    }
    Ok(("done", if ignored { format!("{path} (ignored by git)") } else { path }))
}

fn is_ignored(turn: &Turn<'_>, path: &str) -> bool {
    let Some(top) = turn.repo.work_tree() else { return false };
    let call = Git::new("check-ignore").in_dir(top).args(["-q", "--", path]);
    matches!(call.status_with_input(&[]), Ok((0, ..)))
}

/// What the completion itself wrote and git does not ignore: the moved document and the marker.
fn bookkeeping(turn: &Turn<'_>, marker: &str, ignored: bool) -> Result<Vec<String>, Error> {
    let rules: &PathRules = turn.rules();
    let mut paths = commit::uncommitted(turn.repo, |class| class == PathClass::TaskDoc, rules)?;
    if !ignored && Path::new(marker).is_relative() {
        paths.push(marker.to_owned());
    }
    Ok(paths)
}

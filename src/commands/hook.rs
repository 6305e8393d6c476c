//! What the hook programs hand their work to: observe the new commit or branch, record it, be silent.
//!
//! Exit 0 on every path; a failure is one line on stderr and one in the incidents.

use std::panic::catch_unwind;

use crate::{
    begin,
    cli::HookArgs,
    context::{HOOK_PATIENCE, writer},
    domain::{
        event::{Driver, Event, Operation},
        iteration,
        state::LoopStatus,
        status::{Moment, Status, view},
    },
    error::Error,
    exit_code::ExitCode,
    git::{
        incidents,
        journal::{Appended, Draft},
        loops,
        repo::Repo,
    },
    turn::{Look, Turn},
};

pub(super) fn run(args: &HookArgs) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let said = match catch_unwind(|| observe(args)) {
        Ok(Ok(())) => None,
        Ok(Err(e)) => Some(e.message),
        Err(_) => Some("internal error".to_owned()),
    };
    if let Some(why) = said {
        let line = format!("nav-loop: {}: {}", args.name, why.replace(['\n', '\r'], " "));
        drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()));
        if let Ok(repo) = Repo::discover() {
            incidents::note(&repo, &format!("{}: {why}", args.name));
        }
    }
    ExitCode::Done
}

fn observe(args: &HookArgs) -> Result<(), Error> {
    let repo = Repo::discover()?;
    if repo.is_in_sequence() {
        return Ok(());
    }
    match args.name.as_str() {
        "post-commit" => post_commit(&repo),
        "post-checkout" => post_checkout(&repo, &args.args),
        name => Err(Error::usage(format!("no such hook: {name}"), "post-commit, post-checkout")),
    }
}

fn post_commit(repo: &Repo) -> Result<(), Error> {
    let Some(turn) = Turn::here(repo)?.filter(|t| !t.state.is_ended()) else { return Ok(()) };
    let Some(head) = repo.head()?.id else { return Ok(()) };
    if turn.has_line(&head)? {
        return Ok(());
    }
    let op = Operation::of_reflog(&repo.last_reflog_message().unwrap_or_default());
    let ends = turn.state.driver == Driver::Commit && turn.state.status == LoopStatus::Running && op.ends_iteration();
    let moment = if ends { Moment::IterationEnd } else { Moment::Between };
    let facts = match turn.observe(Look::HeadOnly) {
        Ok(facts) => facts,
        Err(e) => return evaluation_failed(&turn, &e),
    };
    let status = view(&facts, &turn.state, moment);
    let mut drafts = turn.back_fill(&facts, Some(&head))?;
    drafts.push(turn.commit_line(&head, op, Some(&status)));
    if ends {
        drafts.extend(iteration_end(&turn, &status));
    }
    append(&turn, "hook", drafts)
}

fn iteration_end<'t>(turn: &'t Turn<'_>, status: &Status) -> impl Iterator<Item = Draft> + 't {
    iteration::end(status, &turn.state, Driver::Commit).into_iter().map(|e| turn.draft(e))
}

/// What cannot be derived is recorded as such, and the loop goes on.
fn evaluation_failed(turn: &Turn<'_>, error: &Error) -> Result<(), Error> {
    let what: String = error.message.chars().take(300).collect();
    append(turn, "hook", vec![turn.draft(Event::EvaluationFailed { what })])
}

fn append(turn: &Turn<'_>, by: &str, drafts: Vec<Draft>) -> Result<(), Error> {
    if drafts.is_empty() {
        return Ok(());
    }
    match turn.journal.append(&writer(by, HOOK_PATIENCE), drafts)? {
        Appended::Written => Ok(()),
        Appended::Waiting(why) => {
            Err(Error::refused(format!("recorded, but not yet in the notes: {why}"), "the next run catches up"))
        }
    }
}

/// A branch was entered: gaps are filled and what is found there is recorded.
fn post_checkout(repo: &Repo, args: &[String]) -> Result<(), Error> {
    if args.get(2).map(String::as_str) != Some("1") || stays_on_branch(repo) {
        return Ok(());
    }
    let Some(turn) = Turn::here(repo)?.filter(|t| !t.state.is_ended()) else {
        return begin::automatically(repo, &writer("hook", HOOK_PATIENCE)).map(drop);
    };
    let Some(branch) = turn.pointer.branch.clone() else { return Ok(()) };
    if repo.config_string("branch", Some(&branch), "navLoop").is_none() {
        loops::point(repo, &turn.pointer)?;
    }
    let facts = turn.observe(Look::HeadOnly)?;
    let status = view(&facts, &turn.state, Moment::Between);
    let mut drafts = turn.back_fill(&facts, None)?;
    drafts.push(turn.draft(Event::BranchEntered {
        branch,
        head: status.head.clone(),
        met: status.indicators.letters(),
        phase: status.phase,
        verdict: status.gate.verdict,
    }));
    append(&turn, "hook", drafts)
}

/// `git checkout` without a move: from a branch to itself.
fn stays_on_branch(repo: &Repo) -> bool {
    let message = repo.last_reflog_message().unwrap_or_default();
    let moved = message.strip_prefix("checkout: moving from ").and_then(|m| m.split_once(" to "));
    moved.is_some_and(|(from, to)| from == to)
}

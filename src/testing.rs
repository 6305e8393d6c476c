//! One run of a test command, from the tested tree to the record (spec 1.4). Used by `test` and by the driver.
//!
//! In: a turn and a command. Out: what is to be recorded, or why the run can be no evidence.

use std::{path::Path, time::Duration};

use crate::{
    agent::process::{self, Ending, Job, Ran},
    domain::{
        failing_set,
        oid::Oid,
        settings::CommandSpec,
        test_run::{TestRun, TestVerdict},
    },
    error::{Error, ErrorKind},
    git::{
        lock::Lock,
        program::REPOSITORY_VARIABLES,
        repo::Repo,
        work_tree::{CleanTree, TestedTree, Unfaithful, tested_tree},
    },
    turn::{Look, Turn, last_test_output, test_lock},
};

/// How long a caller that waits waits for another run.
const WAIT: Duration = Duration::from_secs(24 * 3_600);

/// A finished run with its record, or why it is no evidence.
pub type Outcome = Result<(TestRun, Ran), Unfaithful>;

/// How a run is done.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// The time limit.
    pub limit: Duration,
    /// In a clean temporary work tree of HEAD.
    pub clean: bool,
    /// Whether to wait for another run.
    pub wait: bool,
}

/// Runs `command` and keeps the end of its output for `diagnose`.
pub fn run(turn: &Turn<'_>, command: &CommandSpec, manner: Manner) -> Result<Outcome, Error> {
    turn.repo.need_work_tree()?;
    let _lock = take_lock(turn.repo, manner.wait)?;
    let outcome =
        if manner.clean { run_clean(turn, command, manner.limit)? } else { run_here(turn, command, manner.limit)? };
    if let Ok((_, ran)) = &outcome {
        let bytes = ran.tail.as_bytes();
        drop(std::fs::write(last_test_output(turn.repo), &bytes[bytes.len().saturating_sub(64 << 10)..]));
    }
    Ok(outcome)
}

fn take_lock(repo: &Repo, wait: bool) -> Result<Lock, Error> {
    let path = test_lock(repo);
    let taken = if wait { Lock::take(path, std::time::Instant::now() + WAIT).map(Some) } else { Lock::try_take(path) };
    taken?.ok_or_else(|| {
        Error::new(
            ErrorKind::Held,
            "a test run is under way in this work tree",
            "wait for it: git nav-loop test --wait",
        )
    })
}

fn job<'a>(command: &'a CommandSpec, dir: &'a Path, limit: Duration) -> Job<'a> {
    Job { without: REPOSITORY_VARIABLES, ..Job::new(command, dir, limit) }
}

fn run_here(turn: &Turn<'_>, command: &CommandSpec, limit: Duration) -> Result<Outcome, Error> {
    let repo = turn.repo;
    let top = repo.need_work_tree()?;
    let head = head(repo)?;
    let before = match tested_tree(repo, turn.rules(), &turn.pointer.anchor)? {
        Ok(tree) => tree,
        Err(unfaithful) => return Ok(Err(unfaithful)),
    };
    let ran = process::run(&job(command, top, limit));
    let after = match tested_tree(repo, turn.rules(), &turn.pointer.anchor)? {
        Ok(tree) => tree,
        Err(unfaithful) => return Ok(Err(unfaithful)),
    };
    let head_after = self::head(repo)?;
    let moved = moved(&before, &after, &head, &head_after);
    Ok(Ok((record(turn, command, &ran, (head, head_after), before, moved, false), ran)))
}

fn run_clean(turn: &Turn<'_>, command: &CommandSpec, limit: Duration) -> Result<Outcome, Error> {
    let facts = turn.observe(Look::HeadOnly)?;
    let (head, code) = (facts.head, facts.code);
    if head.is_null() {
        return Err(Error::refused("there is no commit to test yet", "git commit"));
    }
    let tree = CleanTree::of(&head)?;
    let ran = process::run(&job(command, &tree.dir, limit));
    let tested = TestedTree { code_all: code.clone(), code, untracked: Vec::new(), entries: Vec::new() };
    Ok(Ok((record(turn, command, &ran, (head.clone(), head), tested, None, true), ran)))
}

fn head(repo: &Repo) -> Result<Oid, Error> {
    Ok(repo.head()?.id.unwrap_or_else(|| repo.null_id()))
}

/// What moved while the tests ran, if anything did.
fn moved(before: &TestedTree, after: &TestedTree, head: &Oid, head_after: &Oid) -> Option<String> {
    if head != head_after {
        return Some(format!("HEAD moved from {} to {} during the run", head.short(), head_after.short()));
    }
    if before.code == after.code {
        return None;
    }
    let different = after.entries.iter().find(|c| !before.entries.contains(c));
    let different = different.or_else(|| before.entries.iter().find(|c| !after.entries.contains(c)));
    let path = different.map_or_else(|| "code".to_owned(), |c| c.path.to_string());
    Some(format!("{} changed during the run", path.chars().take(200).collect::<String>()))
}

fn record(
    turn: &Turn<'_>,
    command: &CommandSpec,
    ran: &Ran,
    (head, head_after): (Oid, Oid),
    tested: TestedTree,
    moved: Option<String>,
    clean: bool,
) -> TestRun {
    let (verdict, exit_code, why) = verdict(ran, moved);
    TestRun {
        pinned: turn.state.pinned_command().is_none_or(|p| p == command),
        command: command.clone(),
        verdict,
        exit_code,
        ms: u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX),
        head,
        head_after,
        base: turn.pointer.anchor.clone(),
        code_all: Some(tested.code_all).filter(|all| *all != tested.code),
        code: tested.code,
        untracked: tested.untracked,
        clean,
        failing: if verdict == TestVerdict::Fail { failing_set::read(&ran.tail) } else { Vec::new() },
        why,
    }
}

fn verdict(ran: &Ran, moved: Option<String>) -> (TestVerdict, Option<i32>, Option<String>) {
    let error = |code, why: String| (TestVerdict::Error, code, Some(why));
    match &ran.ending {
        Ending::Signal(n) => error(None, format!("killed by signal {n}")),
        Ending::TimedOut => error(None, format!("timed out after {} s", ran.took.as_secs())),
        Ending::CannotStart(why) => error(None, format!("could not start: {why}")),
        Ending::Interrupted => error(None, "interrupted".to_owned()),
        Ending::Code(code) if moved.is_some() => (TestVerdict::Error, Some(*code), moved),
        Ending::Code(code) if failing_set::collected_nothing(&ran.tail) => {
            error(Some(*code), "the runner collected no test".to_owned())
        }
        Ending::Code(0) => (TestVerdict::Pass, Some(0), None),
        Ending::Code(code) => (TestVerdict::Fail, Some(*code), None),
    }
}

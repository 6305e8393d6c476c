//! `test`: runs a test command in the work tree and records for which code it ended how (spec 1.4).

use std::{path::Path, time::Duration};

use super::recording::append;
use crate::{
    agent::process::{self, Ending, Ran},
    cli::TestArgs,
    config::parse_duration,
    context::Context,
    domain::{
        event::Event,
        failing_set,
        oid::Oid,
        settings::CommandSpec,
        test_run::{TestRun, TestVerdict},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{
        lock::Lock,
        program::REPOSITORY_VARIABLES,
        repo::Repo,
        work_tree::{CleanTree, TestedTree, Unfaithful, tested_tree},
    },
    turn::{Look, Turn, last_test_output, test_lock},
};

/// How long `--wait` waits for another run.
const WAIT: Duration = Duration::from_secs(24 * 3_600);

pub(super) fn run(context: &Context, args: TestArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        return Err(Error::refused(format!("loop {} was aborted", turn.state.id), "git nav-loop start"));
    }
    let limit = limit(&turn, &args)?;
    let command = command(&turn, &args)?;
    repo.need_work_tree()?;
    let _lock = take_lock(&repo, args.wait)?;
    let run = if args.clean { run_clean(&turn, &command, limit)? } else { run_here(&turn, &command, limit)? };
    match run {
        Ok((run, ran)) => conclude(context, &mut turn, run, &ran),
        Err(Unfaithful(why)) => {
            let what = format!("a run of `{command}` is no evidence: {why}");
            append(context, &turn, "test", vec![Event::EvaluationFailed { what: what.chars().take(500).collect() }])?;
            Err(Error::new(ErrorKind::CannotJudge, what, "mend that, or use git nav-loop test --clean"))
        }
    }
}

fn limit(turn: &Turn<'_>, args: &TestArgs) -> Result<Duration, Error> {
    let seconds = match &args.timeout {
        None => turn.state.settings.test_timeout,
        Some(typed) => parse_duration(typed)
            .filter(|s| *s > 0)
            .ok_or_else(|| Error::usage(format!("--timeout {typed:?} is no time"), "write seconds, or 90s, 15m, 2h"))?,
    };
    Ok(Duration::from_secs(seconds))
}

/// What was typed, or the pinned command; typed words that are the pinned command run it in its own form.
fn command(turn: &Turn<'_>, args: &TestArgs) -> Result<CommandSpec, Error> {
    let pinned = turn.state.pinned_command();
    if args.command.is_empty() {
        let none = || Error::usage("this loop has no test command yet", "git nav-loop test -- COMMAND");
        return pinned.cloned().ok_or_else(none);
    }
    match pinned {
        Some(pinned) if pinned.is_typed_as(&args.command) => Ok(pinned.clone()),
        _ => Ok(CommandSpec::Argv(args.command.clone())),
    }
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

type Outcome = Result<(TestRun, Ran), Unfaithful>;

fn run_here(turn: &Turn<'_>, command: &CommandSpec, limit: Duration) -> Result<Outcome, Error> {
    let repo = turn.repo;
    let top = repo.need_work_tree()?;
    let head = head(repo)?;
    let before = match tested_tree(repo, turn.rules(), &turn.pointer.anchor)? {
        Ok(tree) => tree,
        Err(unfaithful) => return Ok(Err(unfaithful)),
    };
    let ran = process::run(command, top, REPOSITORY_VARIABLES, limit);
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
    let ran = process::run(command, Path::new(&tree.dir), REPOSITORY_VARIABLES, limit);
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

fn conclude(context: &Context, turn: &mut Turn<'_>, run: TestRun, ran: &Ran) -> Result<ExitCode, Error> {
    let (verdict, why, is_pinned, command) = (run.verdict, run.why.clone(), run.pinned, run.command.to_string());
    keep_output(turn, &ran.tail);
    append(context, turn, "test", vec![Event::TestsRan(Box::new(run))])?;
    turn.refresh()?;
    if !is_pinned && let Some(pinned) = turn.state.pinned_command() {
        context.warn(&format!("`{command}` is not this loop's test command, `{pinned}`: its pass is no evidence"));
    }
    if ran.ending == Ending::Interrupted {
        return Ok(ExitCode::Interrupted);
    }
    match verdict {
        TestVerdict::Pass => Ok(ExitCode::Done),
        TestVerdict::Fail => Ok(ExitCode::Closed),
        TestVerdict::Error => {
            context.warn(&format!("`{command}`: {}; this is neither pass nor fail", why.unwrap_or_default()));
            Ok(ExitCode::CannotJudge)
        }
    }
}

/// The last 64 KiB, for `diagnose`; whatever fails here is let go.
fn keep_output(turn: &Turn<'_>, tail: &str) {
    let bytes = tail.as_bytes();
    drop(std::fs::write(last_test_output(turn.repo), &bytes[bytes.len().saturating_sub(64 << 10)..]));
}

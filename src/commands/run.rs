//! `run`: lets an agent work on the task until the gate opens, the loop pauses, or a limit ends it.

use std::{collections::HashSet, time::Duration};

use crate::{
    agent::last_message::Client,
    begin::{Options, Task, begin},
    cli::RunArgs,
    completion::complete,
    config::{self, parse_duration},
    context::{COMMAND_PATIENCE, Context, driver_mark, writer},
    domain::{
        event::{Driver, Event, PauseReason},
        settings::CommandSpec,
        state::LoopStatus,
        status::{Moment, Status},
    },
    driver::{self, Outcome, Spec},
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{commit, lock::Lock, repo::Repo},
    render::text,
    turn::{Look, Turn},
};

/// Failures in a row that pause the loop.
const FAILURES: u32 = 3;

pub(super) fn run(context: &Context, args: RunArgs) -> Result<ExitCode, Error> {
    if let Some(id) = driver_mark() {
        let message = format!("this runs inside git nav-loop run, in loop {id}");
        return Err(Error::refused(message, "a run inside a run is not started"));
    }
    let repo = Repo::discover()?;
    let top = repo.need_work_tree()?.to_owned();
    let spec = spec(&repo, &args)?;
    let there = Turn::here(&repo)?.filter(|t| !t.state.is_ended());
    let mut turn = match there {
        Some(_) if args.task.is_some() || args.task_file.is_some() => {
            return Err(Error::refused(
                "a loop is under way here already",
                "git nav-loop run without --task goes on with it",
            ));
        }
        Some(turn) => turn,
        None if args.resume => {
            return Err(Error::refused("no loop to resume here", "git nav-loop run --task \"…\" -- AGENT"));
        }
        None => {
            let task = task(&top, &args)?;
            let settings = config::find(&repo, args.settings.flags())?.settings;
            if args.dry_run {
                context.say(&format!("would start a loop: {}", crate::render::visible::visible(&task.title)));
                return Ok(ExitCode::Done);
            }
            begin(&repo, &writer("run", COMMAND_PATIENCE), &task, settings, Options::default())?;
            return drive_fresh(context, &spec);
        }
    };
    if args.dry_run {
        context.print(&driver::prompt(&turn, context.language)?);
        context.say(&format!("\nwould run: {}", spec.command));
        return Ok(ExitCode::Done);
    }
    drive(context, &mut turn, &spec)
}

/// The branch points to a loop only now: the repository is opened anew, so that its configuration is read anew.
fn drive_fresh(context: &Context, spec: &Spec) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    let (max, threshold) = (turn.state.settings.max_iterations, turn.state.settings.stagnation_threshold);
    context.print(&text::start_block(context.language, &turn.state.started.title, max, threshold));
    drive(context, &mut turn, spec)
}

fn task(top: &std::path::Path, args: &RunArgs) -> Result<Task, Error> {
    match (&args.task_file, &args.task) {
        (Some(path), _) => Task::of_file(top, path),
        (None, Some(words)) => {
            Task::of_words(words.clone()).ok_or_else(|| Error::usage("the task is empty", "--task \"…\""))
        }
        (None, None) => {
            Err(Error::usage("no loop is under way here, and no task is given", "--task \"…\" or --task-file FILE"))
        }
    }
}

fn spec(repo: &Repo, args: &RunArgs) -> Result<Spec, Error> {
    let command = match args.command.as_slice() {
        [] => config::agent_command(repo).map(CommandSpec::Shell).ok_or_else(|| {
            Error::usage("no agent is given", "git nav-loop run -- claude -p, or git config navLoop.agentCommand")
        })?,
        words => CommandSpec::Argv(words.to_vec()),
    };
    let program = command.to_string().split_whitespace().next().unwrap_or_default().to_owned();
    let time = |flag: &str, typed: &Option<String>| -> Result<Option<Duration>, Error> {
        let Some(typed) = typed else { return Ok(None) };
        let seconds = parse_duration(typed).filter(|s| *s > 0);
        let off = || Error::usage(format!("{flag} {typed:?} is no time"), "write seconds, or 90s, 15m, 2h");
        seconds.map(|s| Some(Duration::from_secs(s))).ok_or_else(off)
    };
    if args.max_cost.is_some_and(|c| !c.is_finite() || c <= 0.0) {
        return Err(Error::usage("--max-cost is no amount", "write US dollars, e.g. 2.50"));
    }
    Ok(Spec {
        client: args.agent.unwrap_or_else(|| Client::of_program(&program)),
        command,
        tests: args.tests,
        iteration_timeout: time("--iteration-timeout", &args.iteration_timeout)?,
        max_time: time("--max-time", &args.max_time)?,
        max_cost_micros: args.max_cost.map(|usd| (usd * 1e6).round() as u64),
        commit: args.commit,
    })
}

fn drive(context: &Context, turn: &mut Turn<'_>, spec: &Spec) -> Result<ExitCode, Error> {
    let path = turn.repo.state_dir().join("drivers").join(format!("{}.lock", turn.state.id));
    let lock = Lock::try_take(path)?;
    let held =
        || Error::new(ErrorKind::Held, format!("loop {} is driven already", turn.state.id), "git nav-loop status");
    let _lock = lock.ok_or_else(held)?;
    if let LoopStatus::Paused(reason) = turn.state.status {
        return paused(context, turn, reason);
    }
    if turn.state.driver != Driver::Run {
        driver::append(turn, vec![Event::DriverChanged { driver: Driver::Run }])?;
    }
    let code = iterations(context, turn, spec);
    if !turn.state.is_ended() && turn.state.driver == Driver::Run {
        driver::append(turn, vec![Event::DriverChanged { driver: Driver::Commit }])?;
    }
    code
}

fn iterations(context: &Context, turn: &mut Turn<'_>, spec: &Spec) -> Result<ExitCode, Error> {
    let untouched: HashSet<String> = commit::untracked(turn.repo)?.into_iter().collect();
    let mut failures = 0;
    loop {
        let began = std::time::Instant::now();
        match driver::iterate(turn, spec, context.language, &untouched)? {
            Outcome::Ended(status) => {
                failures = 0;
                show(context, &status, began.elapsed());
                if status.gate.is_open() {
                    return finish(context, turn, &status);
                }
                if let Some(code) = stopped(context, turn)? {
                    return Ok(code);
                }
            }
            Outcome::AgentFailed(why) => {
                failures += 1;
                context.warn(&format!(
                    "the agent failed ({failures} of {FAILURES}): {}",
                    crate::render::visible::visible(&why)
                ));
                if failures >= FAILURES {
                    driver::append(turn, vec![Event::LoopPaused { reason: PauseReason::AgentFailed, why }])?;
                    return paused(context, turn, PauseReason::AgentFailed);
                }
            }
            Outcome::NotFound(why) => {
                let message = format!("the agent cannot be started: {}: {why}", spec.command);
                return Err(Error::usage(message, "give its full path after --"));
            }
            Outcome::Interrupted => {
                context.warn("interrupted; git nav-loop run --resume goes on here, git nav-loop abort ends the loop");
                return Ok(ExitCode::Interrupted);
            }
            Outcome::Limit(why) => {
                driver::append(turn, vec![Event::LoopPaused { reason: PauseReason::Limit, why }])?;
                return paused(context, turn, PauseReason::Limit);
            }
        }
    }
}

/// The block, the verdict, and one line with the time the iteration took.
fn show(context: &Context, status: &Status, took: Duration) {
    let language = context.language;
    if status.show_block {
        context.print(&text::status_block(language, status));
        context.say_verdict(&language.verdict_line(status), status.gate.verdict);
    }
    let line = text::one_line(language, status);
    context.say(&format!("{} · {} s", line.trim_end(), took.as_secs()));
}

/// The code with which the run ends, when the loop was paused or ended by the decision.
fn stopped(context: &Context, turn: &Turn<'_>) -> Result<Option<ExitCode>, Error> {
    match turn.state.status {
        LoopStatus::Running => Ok(None),
        LoopStatus::Paused(reason) => paused(context, turn, reason).map(Some),
        LoopStatus::Aborted(_) | LoopStatus::Completed(_) => Ok(Some(ExitCode::Stagnated)),
    }
}

fn paused(context: &Context, turn: &Turn<'_>, reason: PauseReason) -> Result<ExitCode, Error> {
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    context.say_verdict(&context.language.verdict_line(&status), status.gate.verdict);
    context.print(&text::pause_block(context.language, &status, reason));
    context.say(&context.language.next_action(&status.next_action));
    Ok(ExitCode::of_pause(reason))
}

fn finish(context: &Context, turn: &mut Turn<'_>, status: &Status) -> Result<ExitCode, Error> {
    context.print(text::exit_signal_block());
    context.print("\n");
    context.print(&text::complete_block(context.language, status));
    let completed = complete(turn, status, "run", false)?;
    context.print(&text::protocol(context.language, &completed.steps, &completed.left));
    Ok(ExitCode::Done)
}

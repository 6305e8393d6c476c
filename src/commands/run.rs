//! `run`: lets an agent work on the task until the gate opens, the loop pauses, or a limit ends it.

use std::{collections::HashSet, time::Duration};

use super::{
    abort,
    question::{self, Answer},
    resume,
};
use crate::{
    agent::{
        last_message::{Client, Report},
        process,
        usage_limit::{self, Clock, Reset},
    },
    begin::{Options, Task, begin},
    cli::run::RunArgs,
    completion::complete,
    config,
    context::{COMMAND_PATIENCE, Context, driver_mark, now_millis, writer},
    domain::{
        event::{Driver, Event, PauseReason},
        state::LoopStatus,
        status::{Moment, Status},
    },
    driver::{self, OnLimit, Outcome, Spec},
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{commit, lock::Lock, repo::Repo},
    render::{text, visible::visible},
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
                context.say(&format!("would start a loop: {}", visible(&task.title)));
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
    let command = config::agent(repo, &args.command, "git nav-loop run")?;
    let program = command.to_string().split_whitespace().next().unwrap_or_default().to_owned();
    let time = |flag: &str, typed: &Option<String>| typed.as_ref().map(|t| config::time(flag, t)).transpose();
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
        on_limit: args.on_limit,
        commit: args.commit,
        aside: false,
        commit_subject: None,
        set: None,
    })
}

fn drive(context: &Context, turn: &mut Turn<'_>, spec: &Spec) -> Result<ExitCode, Error> {
    let lock = Lock::try_take(driver::lock_file(turn.repo, &turn.state.id))?;
    let held =
        || Error::new(ErrorKind::Held, format!("loop {} is driven already", turn.state.id), "git nav-loop status");
    let _lock = lock.ok_or_else(held)?;
    if turn.state.driver == Driver::Run && turn.state.status == LoopStatus::Running {
        let left = process::end_leftover(&driver::leader_file(turn.repo, &turn.state.id));
        let agent = if left { ", and its agent was ended" } else { "" };
        context.warn(&format!("the last driver was killed{agent}; iteration {} again", turn.state.shown_iteration()));
    }
    if let LoopStatus::Paused(reason) = turn.state.status
        && let Some(code) = paused(context, turn, reason)?
    {
        return Ok(code);
    }
    if turn.state.driver != Driver::Run {
        driver::append(turn, vec![Event::DriverChanged { driver: Driver::Run }])?;
    }
    // Ctrl-C on a terminal reaches the git programs that we run as well: what they failed at is the interrupt's doing.
    let code = iterations(context, turn, spec)
        .or_else(|e| if process::is_interrupted() { Ok(interrupted(context)) } else { Err(e) });
    if !turn.state.is_ended() && turn.state.driver == Driver::Run {
        driver::append(turn, vec![Event::DriverChanged { driver: Driver::Commit }])?;
    }
    code
}

fn iterations(context: &Context, turn: &mut Turn<'_>, spec: &Spec) -> Result<ExitCode, Error> {
    let untouched = commit::untracked(turn.repo)?.into_iter().collect();
    let mut run = Run { context, spec, untouched, failures: 0, waits: 0, said_changed: false };
    loop {
        if let Some(code) = run.iteration(turn)? {
            return Ok(code);
        }
    }
}

/// What one run remembers from iteration to iteration.
struct Run<'a> {
    context: &'a Context,
    spec: &'a Spec,
    untouched: HashSet<String>,
    failures: u32,
    waits: u32,
    said_changed: bool,
}

impl Run<'_> {
    /// One iteration; the exit code when it was the last.
    fn iteration(&mut self, turn: &mut Turn<'_>) -> Result<Option<ExitCode>, Error> {
        let began = std::time::Instant::now();
        match driver::iterate_as(turn, self.spec, self.context.language, &self.untouched, Driver::Run)? {
            Outcome::Ended(status, report) => {
                (self.failures, self.waits) = (0, 0);
                self.show(&status, &report, began.elapsed());
                if status.gate.is_open() {
                    return finish(self.context, turn, &status).map(Some);
                }
                stopped(self.context, turn)
            }
            Outcome::AgentFailed(why) => self.failed(turn, why),
            Outcome::NotFound(why) => {
                let message = format!("the agent cannot be started: {}: {why}", self.spec.command);
                Err(Error::usage(message, "give its full path after --"))
            }
            Outcome::UsageLimit(reset, why) => Ok(self.usage_limit(reset, &why)),
            Outcome::CommitRefused(why) => {
                let message = format!("what the agent left cannot be committed: {why}");
                Err(Error::refused(message, "mend it, then git nav-loop run --resume"))
            }
            Outcome::Interrupted => Ok(Some(interrupted(self.context))),
            Outcome::Limit(why) => {
                driver::append(turn, vec![Event::LoopPaused { reason: PauseReason::Limit, why }])?;
                paused(self.context, turn, PauseReason::Limit)
            }
        }
    }

    fn failed(&mut self, turn: &mut Turn<'_>, why: String) -> Result<Option<ExitCode>, Error> {
        self.failures += 1;
        self.context.warn(&format!("the agent failed ({} of {FAILURES}): {}", self.failures, visible(&why)));
        if self.failures < FAILURES {
            return Ok(None);
        }
        self.failures = 0;
        driver::append(turn, vec![Event::LoopPaused { reason: PauseReason::AgentFailed, why }])?;
        paused(self.context, turn, PauseReason::AgentFailed)
    }

    /// Waits until the client's limit is lifted, or ends the run; the loop is as it was.
    fn usage_limit(&mut self, reset: Reset, why: &str) -> Option<ExitCode> {
        self.context.warn(&format!("the agent's usage limit is reached: {}", visible(why)));
        if self.spec.on_limit == OnLimit::Stop {
            self.context.warn("git nav-loop run --resume goes on here, once it is lifted");
            return Some(ExitCode::Limited);
        }
        let phrases = self.context.language.phrases();
        let mut first = true;
        let mut tell = |left: u64| {
            let is_milestone = std::mem::take(&mut first) || left.is_multiple_of(600);
            self.context.progress(&(phrases.usage_limit)(left), is_milestone);
        };
        let waited = usage_limit::wait(reset.until(now_millis(), self.waits), &RealClock, &mut tell);
        self.waits += 1;
        if !waited {
            return Some(interrupted(self.context));
        }
        self.context.progress_ended(phrases.usage_limit_over);
        None
    }

    /// The block, the verdict, and one line with the time the iteration took.
    fn show(&mut self, status: &Status, report: &Report, took: Duration) {
        let language = self.context.language;
        if status.show_block {
            self.context.print(&text::status_block(language, status));
            self.context.say_verdict(&language.verdict_line(status), status.gate.verdict);
        }
        let line = text::one_line(language, status);
        let turns = report.turns.map_or_else(String::new, |n| format!(" · {n} turns"));
        self.context.say(&format!("{} · {} s{turns}", line.trim_end(), took.as_secs()));
        if !report.denied.is_empty() {
            let tools = visible(&report.denied.join(", "));
            self.context.warn(&format!("the agent's client did not let it use {tools}: allow that in its settings"));
        }
        if let Some(file) = status.task_changed.as_ref().filter(|_| !self.said_changed) {
            self.said_changed = true;
            self.context.warn(&(language.phrases().task_changed)(&visible(file)));
        }
    }
}

struct RealClock;

impl Clock for RealClock {
    fn now_millis(&self) -> i64 {
        now_millis()
    }
    fn rest(&self) {
        std::thread::sleep(Duration::from_millis(200));
    }
    fn is_interrupted(&self) -> bool {
        process::is_interrupted()
    }
}

fn interrupted(context: &Context) -> ExitCode {
    context.warn("interrupted; git nav-loop run --resume goes on here, git nav-loop abort ends the loop");
    ExitCode::Interrupted
}

/// The code with which the run ends, when the loop was paused or ended by the decision.
fn stopped(context: &Context, turn: &mut Turn<'_>) -> Result<Option<ExitCode>, Error> {
    match turn.state.status {
        LoopStatus::Running => Ok(None),
        LoopStatus::Paused(reason) => paused(context, turn, reason),
        LoopStatus::Aborted(_) | LoopStatus::Completed(_) => Ok(Some(ExitCode::Stagnated)),
    }
}

/// Shows the pause. On a terminal a person decides here and now, and `None` goes on; elsewhere the commands are printed.
fn paused(context: &Context, turn: &mut Turn<'_>, reason: PauseReason) -> Result<Option<ExitCode>, Error> {
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    context.say_verdict(&context.language.verdict_line(&status), status.gate.verdict);
    context.print(&text::pause_block(context.language, &status, reason));
    if !question::can_ask() {
        context.say(&context.language.next_action(&status.next_action));
        return Ok(Some(ExitCode::of_pause(reason)));
    }
    match question::ask(context, reason) {
        Answer::Resume(choice) => resume::decide(context, turn, choice, "person")?,
        Answer::Abort => {
            context.say(&abort::end(context, turn, "", "person")?);
            return Ok(Some(ExitCode::of_pause(reason)));
        }
        Answer::None => return Ok(Some(ExitCode::of_pause(reason))),
        Answer::Interrupted => return Ok(Some(interrupted(context))),
    }
    if !turn.state.is_ended() {
        return Ok(None);
    }
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    context.print(&text::complete_block(context.language, &status));
    Ok(Some(ExitCode::Done))
}

fn finish(context: &Context, turn: &mut Turn<'_>, status: &Status) -> Result<ExitCode, Error> {
    context.print(text::exit_signal_block());
    context.print("\n");
    context.print(&text::complete_block(context.language, status));
    let completed = complete(turn, status, "run", false)?;
    context.print(&text::protocol(context.language, &completed.steps, &completed.left));
    Ok(ExitCode::Done)
}

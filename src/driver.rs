//! The driver: one iteration of a loop with an agent, from prompt to decision (spec 4.1).
//!
//! In: a turn, the agent's command, limits. Out: how the iteration ended; everything else is in the journal. The agent
//! is believed nothing: what it says may ask for exit, and git answers.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use crate::{
    agent::{
        last_message::{Client, Report},
        process::{self, Ending, Job, Ran},
        prompt::{self, Parts},
        usage_limit::Reset,
    },
    context::{COMMAND_PATIENCE, writer},
    domain::{
        diagnosis::diagnose,
        event::{Driver, Event, SignalGiven, SignalKind},
        evidence::gather,
        facts::Facts,
        indicator::IndicatorState,
        iteration,
        path_rules::PathClass,
        phase::Phase,
        settings::{CommandSpec, DiversifyStrategy},
        signal::{Accepts, Found, scan},
        status::{Moment, Status, view},
    },
    error::Error,
    git::{commit, history::goes_through_link, journal::Appended, lock::Lock, loops, repo::Repo},
    render::{Language, text},
    testing::{self, Manner},
    turn::{Look, Turn},
};

/// The mark that the agent's programs find in their environment: the loop's id.
pub const MARK: &str = "NAV_LOOP_DRIVER";
/// The mark of the task set whose driver started the agent.
pub const SET: &str = "NAV_LOOP_SET";
/// What its programs find the client's session under, from the second iteration on, where the client named one.
pub const SESSION: &str = "NAV_LOOP_SESSION";
/// A longer profile is left out of the prompt.
const PROFILE_LIMIT: u64 = 2 << 10;
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3_600);

/// When the driver runs the pinned test command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TestPolicy {
    /// After each iteration.
    Turn,
    /// When the agent claims that it is finished.
    Claim,
    /// Never.
    Never,
}

/// What is done at a usage limit of the agent's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnLimit {
    /// Wait until it is lifted, and try the iteration again.
    Wait,
    /// End the run; the loop goes on with the next one.
    Stop,
}

/// What drives the loop.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The agent.
    pub command: CommandSpec,
    /// How its output is read.
    pub client: Client,
    /// When tests are run.
    pub tests: TestPolicy,
    /// How long one iteration may take.
    pub iteration_timeout: Option<Duration>,
    /// How long the agent may work in all, over every run of this loop.
    pub max_time: Option<Duration>,
    /// What it may cost in all, in millionths of a US dollar.
    pub max_cost_micros: Option<u64>,
    /// What is done at a usage limit.
    pub on_limit: OnLimit,
    /// Whether what the agent left is committed before it is judged.
    pub commit: bool,
    /// Whether what the agent prints goes to our stderr.
    pub aside: bool,
    /// The subject of that commit; by default it names iteration and title.
    pub commit_subject: Option<String>,
    /// The task set whose driver this is, for the agent's environment.
    pub set: Option<String>,
}

/// How an iteration ended.
#[derive(Debug)]
pub enum Outcome {
    /// It was recorded; the status at its end, and what the client said of the turn.
    Ended(Box<Status>, Box<Report>),
    /// The agent failed without a word; why.
    AgentFailed(String),
    /// The agent could not be started; why.
    NotFound(String),
    /// The agent's client ran into its usage limit; when that is lifted, and what it said.
    UsageLimit(Reset, String),
    /// We were interrupted; the iteration goes on with the next run.
    Interrupted,
    /// A limit was reached before it began; which.
    Limit(String),
    /// What the agent left could not be committed; why. The iteration has not ended.
    CommitRefused(String),
}

/// The prompt of the iteration under way.
pub fn prompt(turn: &Turn<'_>, language: Language) -> Result<String, Error> {
    let facts = turn.observe(Look::WorkTree)?;
    let status = view(&facts, &turn.state, Moment::Between);
    let blob = |id| -> Result<Option<String>, Error> {
        let bytes = turn.repo.blob(id, 1 << 20)?;
        Ok(bytes.map(|b| String::from_utf8_lossy(&b).into_owned()))
    };
    let secrets = loops::secrets(turn.repo, &turn.state.id);
    let missing = status.indicators.0.iter().filter(|f| f.state == IndicatorState::Unmet);
    let tom = turn.state.settings.tom_features;
    let repeats = tom.belief_anchors && status.stagnation.count >= status.threshold.saturating_sub(1).max(2);
    Ok(prompt::build(&Parts {
        task: blob(&turn.state.started.task_blob)?.unwrap_or_else(|| turn.state.started.title.clone()),
        block: text::status_block(language, &status),
        next_action: language.next_action(&status.next_action),
        missing: missing.map(|f| format!("{}: {}", f.indicator.name(), language.reason(&f.reason))).collect(),
        tests: status.tests.clone(),
        note: turn.state.last_text.as_ref().map(blob).transpose()?.flatten(),
        repeated: repeats.then(|| diagnose(&status, &turn.state.history).summary()),
        another_way: turn.state.diversify.map(DiversifyStrategy::instruction),
        checkpoint: tom.verification_checkpoints && status.phase == Phase::Verify,
        profile: if tom.profile_enabled { profile(turn)? } else { None },
        nonce: secrets.nonce,
        promise: secrets.promise,
    }))
}

/// `.agent/.user-profile.json`, where it is a small file of its own.
fn profile(turn: &Turn<'_>) -> Result<Option<String>, Error> {
    let top = turn.repo.need_work_tree()?;
    let path = top.join(".agent/.user-profile.json");
    let fits = !goes_through_link(top, &path) && path.metadata().is_ok_and(|m| m.is_file() && m.len() <= PROFILE_LIMIT);
    Ok(if fits { std::fs::read_to_string(path).ok() } else { None })
}

/// Runs one iteration and records its end, as the driver `run` or that of a task set.
pub fn iterate_as(
    turn: &mut Turn<'_>,
    spec: &Spec,
    language: Language,
    untouched: &HashSet<String>,
    driver: Driver,
) -> Result<Outcome, Error> {
    if let Some(limit) = limit_reached(turn, spec) {
        return Ok(Outcome::Limit(limit));
    }
    let prompt = prompt(turn, language)?;
    let (ran, report) = run_agent(turn, spec, &prompt)?;
    match &ran.ending {
        Ending::CannotStart(why) => return Ok(Outcome::NotFound(why.clone())),
        Ending::Interrupted => {
            let what = format!("iteration {} was interrupted", turn.state.shown_iteration());
            append(turn, vec![Event::EvaluationFailed { what }])?;
            return Ok(Outcome::Interrupted);
        }
        _ => {}
    }
    let signal = hear(turn, &report, &prompt)?;
    if let (None, Some(why)) = (&signal, failure(&ran, &report)) {
        let what = if report.limit.is_some() { "the agent's usage limit" } else { "the agent failed" };
        append(turn, vec![Event::EvaluationFailed { what: format!("{what}: {why}").chars().take(400).collect() }])?;
        return Ok(report.limit.map_or(Outcome::AgentFailed(why.clone()), |reset| Outcome::UsageLimit(reset, why)));
    }
    if spec.commit
        && let Err(refused) = commit_the_rest(turn, spec, untouched)
    {
        let why = format!("the commit was refused: {}", refused.message);
        append(turn, vec![Event::EvaluationFailed { what: why.chars().take(400).collect() }])?;
        return Ok(Outcome::CommitRefused(refused.message));
    }
    record_signal(turn, signal.as_ref())?;
    test_if_due(turn, spec, signal.as_ref())?;
    end(turn, &ran, &report, driver).map(|s| Outcome::Ended(Box::new(s), Box::new(report)))
}

fn limit_reached(turn: &Turn<'_>, spec: &Spec) -> Option<String> {
    let spent = |f: fn(&crate::domain::event::IterationEnded) -> Option<u64>| -> u64 {
        turn.state.history.iter().filter_map(|h| f(&h.what)).fold(0, u64::saturating_add)
    };
    let (ms, cost) = (spent(|h| h.ms), spent(|h| h.cost_micros));
    if let Some(max) = spec.max_time.filter(|m| Duration::from_millis(ms) >= *m) {
        return Some(format!("the agent has worked {} s of {} s", ms / 1_000, max.as_secs()));
    }
    let max = spec.max_cost_micros.filter(|m| cost >= *m)?;
    Some(format!("the agent has cost {:.2} USD of {:.2} USD", cost as f64 / 1e6, max as f64 / 1e6))
}

fn run_agent(turn: &Turn<'_>, spec: &Spec, prompt: &str) -> Result<(Ran, Report), Error> {
    let log = log_file(turn.repo, &turn.state.id, turn.state.shown_iteration());
    let file = log.with_extension("prompt");
    loops::write_file(&file, prompt)?;
    let (command, takes_stdin) = with_prompt(&spec.command, prompt, &file.display().to_string());
    let top = turn.repo.need_work_tree()?;
    let kept = log.with_file_name(format!("session-{:?}", spec.client).to_lowercase());
    let session = std::fs::read_to_string(&kept).unwrap_or_default();
    let ran = process::run(&Job {
        without: &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "NAV_LOOP_HOOK"],
        with: &[(MARK, &turn.state.id), (SESSION, &session), (SET, spec.set.as_deref().unwrap_or_default())],
        input: takes_stdin.then_some(prompt.as_bytes()),
        log: Some(log.clone()),
        aside: spec.aside,
        leader: Some(leader_file(turn.repo, &turn.state.id)),
        ..Job::new(&command, top, spec.iteration_timeout.unwrap_or(FOREVER))
    });
    let report = spec.client.read(&ran.stdout);
    if let Some(session) = report.session.as_deref().filter(|s| is_session(s)) {
        loops::write_file(&kept, session)?;
    }
    Ok((ran, report))
}

/// A session is handed on in an environment variable, to shells as well: letters, digits and a few marks only.
fn is_session(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
}

/// `{prompt}` and `{prompt_file}` in the arguments are filled in; without them the prompt goes to stdin.
fn with_prompt(command: &CommandSpec, prompt: &str, file: &str) -> (CommandSpec, bool) {
    let CommandSpec::Argv(words) = command else { return (command.clone(), true) };
    let mut filled = false;
    let fill = |word: &String| {
        let new = word.replace("{prompt_file}", file).replace("{prompt}", prompt);
        filled |= new != *word;
        new
    };
    let words = words.iter().map(fill).collect();
    (CommandSpec::Argv(words), !filled)
}

/// Where the output of an iteration is kept.
pub fn log_file(repo: &Repo, loop_id: &str, iteration: u32) -> PathBuf {
    repo.state_dir().join("logs").join(loop_id).join(format!("{iteration:04}.log"))
}

/// Where the agent that is at work is named.
pub fn leader_file(repo: &Repo, loop_id: &str) -> PathBuf {
    repo.state_dir().join("drivers").join(format!("{loop_id}.agent"))
}

/// The lock that the loop's driver holds as long as it lives.
pub fn lock_file(repo: &Repo, loop_id: &str) -> PathBuf {
    repo.state_dir().join("drivers").join(format!("{loop_id}.lock"))
}

/// Whether the loop is driven by `run`, and that driver is gone.
pub fn is_orphaned(turn: &Turn<'_>) -> bool {
    let driven = turn.state.driver == Driver::Run && !turn.state.is_ended();
    driven && !Lock::is_held(&lock_file(turn.repo, &turn.state.id))
}

/// What the agent's last message says, if it says anything; malformed blocks are reported.
fn hear(turn: &mut Turn<'_>, report: &Report, prompt: &str) -> Result<Option<Found>, Error> {
    let started = &turn.state.started;
    let accepts =
        Accepts { promise_sha: started.promise_sha.as_deref(), nonce_sha: started.nonce_sha.as_deref(), prompt };
    let heard = scan(&report.message, &accepts);
    if let Some(why) = heard.malformed.first().filter(|_| heard.signal.is_none()) {
        append(turn, vec![Event::EvaluationFailed { what: format!("a signal that cannot be read: {why}") }])?;
    }
    Ok(heard.signal)
}

/// Why the agent failed, when it did and said nothing.
fn failure(ran: &Ran, report: &Report) -> Option<String> {
    match &ran.ending {
        Ending::Code(0) => report.error.clone(),
        Ending::Code(code) => Some(report.error.clone().unwrap_or_else(|| format!("exit code {code}"))),
        Ending::Signal(n) => Some(format!("killed by signal {n}")),
        Ending::TimedOut => Some(format!("it took longer than {} s", ran.took.as_secs())),
        Ending::CannotStart(_) | Ending::Interrupted => None,
    }
}

fn record_signal(turn: &mut Turn<'_>, signal: Option<&Found>) -> Result<(), Error> {
    let Some(found) = signal else { return Ok(()) };
    let facts = turn.observe(Look::HeadOnly)?;
    let given = SignalGiven {
        kind: found.kind,
        dialect: found.dialect.to_owned(),
        reason: found.reason.clone(),
        iteration: turn.state.shown_iteration(),
        head: facts.head,
        code: facts.code,
    };
    append(turn, vec![Event::SignalGiven(given)])
}

/// Commits what the agent left, but what lay there untracked before it began.
fn commit_the_rest(turn: &Turn<'_>, spec: &Spec, untouched: &HashSet<String>) -> Result<(), Error> {
    let wanted = |class| !matches!(class, PathClass::State | PathClass::Gate);
    let paths = commit::uncommitted(turn.repo, wanted, turn.rules())?;
    let paths: Vec<String> = paths.into_iter().filter(|p| !untouched.contains(p)).collect();
    if !paths.is_empty() {
        let (n, title) = (turn.state.shown_iteration(), &turn.state.started.title);
        let subject = spec.commit_subject.clone().unwrap_or_else(|| format!("[run] iteration {n}: {title}"));
        commit::commit(turn.repo, &paths, &subject)?;
    }
    Ok(())
}

fn test_if_due(turn: &mut Turn<'_>, spec: &Spec, signal: Option<&Found>) -> Result<(), Error> {
    let claims = signal.is_some_and(|s| s.kind == SignalKind::Exit);
    let due = match spec.tests {
        TestPolicy::Turn => true,
        TestPolicy::Claim => claims,
        TestPolicy::Never => false,
    };
    let Some(command) = turn.state.pinned_command().cloned().filter(|_| due) else { return Ok(()) };
    let facts = turn.observe(Look::HeadOnly)?;
    if gather(&facts, &turn.state).tests.newest_pinned.is_some() {
        return Ok(());
    }
    let limit = Duration::from_secs(turn.state.settings.test_timeout);
    let event = match testing::run(turn, &command, Manner { limit, clean: false, wait: true })? {
        Ok((run, _)) => Event::TestsRan(Box::new(run)),
        Err(unfaithful) => Event::EvaluationFailed { what: unfaithful.0.chars().take(400).collect() },
    };
    append(turn, vec![event])
}

fn end(turn: &mut Turn<'_>, ran: &Ran, report: &Report, driver: Driver) -> Result<Status, Error> {
    let facts = turn.observe(Look::WorkTree)?;
    let status = view(&facts, &turn.state, Moment::IterationEnd);
    let mut events = iteration::end(&status, &turn.state, driver);
    for event in &mut events {
        if let Event::IterationEnded(ended) = event {
            ended.ms = u64::try_from(ran.took.as_millis()).ok();
            ended.cost_micros = report.cost_micros;
        }
    }
    append_beside(turn, &facts, events)?;
    Ok(status)
}

/// Appends loop-level events of the driver's and reads the state anew.
pub fn append(turn: &mut Turn<'_>, events: Vec<Event>) -> Result<(), Error> {
    let facts = turn.observe(Look::HeadOnly)?;
    append_beside(turn, &facts, events)
}

fn append_beside(turn: &mut Turn<'_>, facts: &Facts, events: Vec<Event>) -> Result<(), Error> {
    let mut drafts = turn.back_fill(facts, None)?;
    drafts.extend(events.into_iter().map(|e| turn.draft(e)));
    match turn.journal.append(&writer("run", COMMAND_PATIENCE), drafts)? {
        Appended::Written | Appended::Waiting(_) => turn.refresh(),
    }
}

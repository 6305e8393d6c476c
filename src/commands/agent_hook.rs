//! `agent-hook`: what an agent client's own hooks run. Holds an agent that stops too early; exit 0 on every path.

use std::{io::Read, panic::catch_unwind};

use crate::{
    agent::stop_hook::{self, Happened, HookClient, Input},
    begin::{Options, Task, begin},
    cli::run::AgentHookArgs,
    completion,
    config::{self, Flags},
    context::{COMMAND_PATIENCE, Context, is_switched_off, now_millis, writer},
    domain::{
        event::{Driver, Event, SignalGiven},
        evidence::sha256_hex,
        facts::Facts,
        iteration,
        signal::{Accepts, scan},
        state::LoopStatus,
        status::{Moment, Status, view},
        trigger,
    },
    driver,
    error::Error,
    exit_code::ExitCode,
    git::{
        incidents,
        lock::Lock,
        repo::Repo,
        sessions::{self, Session, Stop},
    },
    render::text,
    turn::{Look, Turn},
};

const STDIN_LIMIT: u64 = 256 << 20;
/// Within this time the same stop gets the same answer.
const SAME_STOP_MILLIS: i64 = 5_000;

pub(super) fn run(context: &Context, args: &AgentHookArgs) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let stdin = drain();
    if is_switched_off() {
        return ExitCode::Done;
    }
    let answered = catch_unwind(|| answer(context, args, &stdin));
    let why = match answered {
        Ok(Ok(Some(text))) => {
            context.say(&text);
            return ExitCode::Done;
        }
        Ok(Ok(None)) => return ExitCode::Done,
        Ok(Err(e)) => e.message,
        Err(_) => "internal error".to_owned(),
    };
    // Gemini takes what stands on stderr for the answer where stdout is empty.
    if args.client != HookClient::Gemini {
        context.warn(&format!("agent-hook: {}", why.replace(['\n', '\r'], " ")));
    }
    if let Ok(repo) = Repo::discover() {
        incidents::note(&repo, &format!("agent-hook: {why}"));
    }
    ExitCode::Done
}

/// Everything on stdin, up to a limit that is kept; the rest is read and let go, for a client that writes on.
fn drain() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock();
    drop((&mut stdin).take(STDIN_LIMIT).read_to_end(&mut bytes));
    drop(std::io::copy(&mut stdin, &mut std::io::sink()));
    bytes
}

fn answer(context: &Context, args: &AgentHookArgs, stdin: &[u8]) -> Result<Option<String>, Error> {
    let Some(input) = stop_hook::read(stdin, args.event.as_deref()) else { return Ok(None) };
    if let Some(cwd) = &input.cwd
        && std::env::set_current_dir(cwd).is_err()
    {
        return Ok(None);
    }
    let Ok(repo) = Repo::discover() else { return Ok(None) };
    match &input.happened {
        Happened::Stop => stop(context, args.client, &repo, &input),
        Happened::Prompt(text) => prompt(context, args.client, &repo, &input, text),
        Happened::Tool { read, .. } => tool(&repo, *read),
        Happened::Other => Ok(None),
    }
}

/// A prompt resets the count of blocks, and may ask for a loop.
fn prompt(
    context: &Context,
    client: HookClient,
    repo: &Repo,
    input: &Input,
    words: &str,
) -> Result<Option<String>, Error> {
    let kept = Session { blocks: 0, ..sessions::read(repo, &input.session) };
    sessions::write(repo, &input.session, &kept)?;
    let off = repo
        .config_string("navLoop", None, "trigger")
        .is_some_and(|v| matches!(v.as_str(), "false" | "0" | "off" | "no"));
    let runs = Turn::here(repo)?.is_some_and(|t| !t.state.is_ended());
    let (false, false, Ok(task)) = (off, runs, trigger::read(words)) else { return Ok(None) };
    let Some(task) = Task::of_words(task) else { return Ok(None) };
    let settings = config::find(repo, Flags::new())?.settings;
    let (max, threshold) = (settings.max_iterations, settings.stagnation_threshold);
    let begun = begin(repo, &writer("agent-hook", COMMAND_PATIENCE), &task, settings, Options::default())?;
    sessions::own(repo, &begun.pointer.id, &input.session)?;
    // What Claude Code's hook prints for a prompt is context for the agent; the others do not say so.
    let banner = text::start_block(context.language, &task.title, max, threshold);
    Ok((client == HookClient::Claude).then(|| banner.trim_end().to_owned()))
}

/// Files that were read matter for the phase once.
fn tool(repo: &Repo, read: bool) -> Result<Option<String>, Error> {
    let Some(turn) = Turn::here(repo)?.filter(|t| read && !t.state.files_read && !t.state.is_ended()) else {
        return Ok(None);
    };
    append(&turn, vec![Event::FilesReported { read: 1, changed: 0 }])?;
    Ok(None)
}

fn append(turn: &Turn<'_>, events: Vec<Event>) -> Result<(), Error> {
    let drafts = events.into_iter().map(|e| turn.draft(e)).collect();
    turn.journal.append(&writer("agent-hook", COMMAND_PATIENCE), drafts)?;
    Ok(())
}

fn stop(context: &Context, client: HookClient, repo: &Repo, input: &Input) -> Result<Option<String>, Error> {
    let Some(mut turn) = Turn::here(repo)?.filter(|t| t.state.status == LoopStatus::Running) else { return Ok(None) };
    let driven = driver::lock_file(repo, &turn.state.id);
    if input.in_background || Lock::is_held(&driven) || !owns(repo, &turn, input)? {
        return Ok(None);
    }
    let facts = turn.observe(Look::WorkTree)?;
    let mut session = sessions::read(repo, &input.session);
    let key = key(input, &facts, &turn);
    let now = now_millis();
    if let Some(last) = session.last.as_ref().filter(|l| l.key == key && now - l.at <= SAME_STOP_MILLIS) {
        return Ok(Some(last.answer.clone()).filter(|a| !a.is_empty()));
    }
    if input.is_first {
        session.blocks = 0;
    }
    let status = end_iteration(&mut turn, facts, input)?;
    let holds = turn.state.status == LoopStatus::Running && !status.gate.is_open();
    let may_hold = session.blocks < turn.state.settings.max_stop_blocks;
    if holds && !may_hold {
        append(
            &turn,
            vec![Event::EvaluationFailed {
                what: format!("held {} times since the last prompt; let go", session.blocks),
            }],
        )?;
    }
    if status.gate.is_open() {
        completion::complete_silently(&mut turn, &status, "agent-hook")?;
    }
    let answer = (holds && may_hold).then(|| stop_hook::block(client, &reason(context, client, &status)));
    session.blocks += u32::from(answer.is_some());
    let key = self::key(input, &turn.observe(Look::WorkTree)?, &turn);
    session.last = Some(Stop { key, at: now, answer: answer.clone().unwrap_or_default() });
    sessions::write(repo, &input.session, &session)?;
    Ok(answer)
}

/// The session that started the loop owns it; else the first that stops on its branch.
fn owns(repo: &Repo, turn: &Turn<'_>, input: &Input) -> Result<bool, Error> {
    match sessions::owner(repo, &turn.state.id) {
        Some(owner) => Ok(owner == input.session),
        None => {
            sessions::own(repo, &turn.state.id, &input.session)?;
            Ok(true)
        }
    }
}

/// What makes two calls the same stop.
fn key(input: &Input, facts: &Facts, turn: &Turn<'_>) -> String {
    let parts = [
        input.session.as_str(),
        input.turn.as_deref().unwrap_or_default(),
        input.message.as_deref().unwrap_or_default(),
        facts.head.as_str(),
        &facts.code,
        &turn.state.last_seq.to_string(),
    ];
    sha256_hex(&parts.join("\u{0}"))
}

/// Hears the last message, ends the iteration, and gives the status at its end.
fn end_iteration(turn: &mut Turn<'_>, facts: Facts, input: &Input) -> Result<Status, Error> {
    let mut events = Vec::new();
    if turn.state.driver != Driver::Hook {
        events.push(Event::DriverChanged { driver: Driver::Hook });
    }
    let started = &turn.state.started;
    let accepts =
        Accepts { promise_sha: started.promise_sha.as_deref(), nonce_sha: started.nonce_sha.as_deref(), prompt: "" };
    if let Some(found) = input.message.as_ref().and_then(|m| scan(m, &accepts).signal) {
        events.push(Event::SignalGiven(SignalGiven {
            kind: found.kind,
            dialect: found.dialect.to_owned(),
            reason: found.reason,
            iteration: turn.state.shown_iteration(),
            head: facts.head.clone(),
            code: facts.code.clone(),
        }));
    }
    let mut drafts = turn.back_fill(&facts, None)?;
    drafts.extend(events.into_iter().map(|e| turn.draft(e)));
    let writer = writer("agent-hook", COMMAND_PATIENCE);
    turn.journal.append(&writer, drafts)?;
    turn.refresh()?;
    let status = view(&facts, &turn.state, Moment::IterationEnd);
    let mut events = iteration::end(&status, &turn.state, Driver::Hook);
    for event in &mut events {
        if let Event::IterationEnded(ended) = event {
            ended.turn = input.turn.clone();
        }
    }
    append(turn, events)?;
    turn.refresh()?;
    Ok(status)
}

/// The status block and the next action, with the exact test command and the form of the signal.
fn reason(context: &Context, client: HookClient, status: &Status) -> String {
    let language = context.language;
    // Codex's `workspace-write` is such a sandbox.
    let sandbox = if client == HookClient::Codex {
        "\nWhere the sandbox makes .git read-only, say so in your last message: git nav-loop run --commit commits for you."
    } else {
        ""
    };
    let tests = status
        .tests
        .as_ref()
        .map_or_else(|| "git nav-loop test -- COMMAND".to_owned(), |t| format!("git nav-loop test  ({t})"));
    format!(
        "{}{}\n{}\nTests: {tests}\nCommit with git. When everything is met, tested and nothing is left: \
         git nav-loop signal exit --reason \"…\"{sandbox}",
        text::status_block(language, status),
        language.verdict_line(status),
        language.next_action(&status.next_action),
    )
}

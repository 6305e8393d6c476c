//! `start`: freezes task and settings into the journal and makes the branch point to the loop.

use std::path::Path;

use serde_json::Value;

use crate::{
    cli::StartArgs,
    config::{self, Flags, Found},
    context::{COMMAND_PATIENCE, Context, now, writer},
    domain::{
        event::{Driver, Event, LoopStarted},
        evidence::sha256_hex,
        settings::Settings,
        ticket::Ticket,
    },
    error::Error,
    exit_code::ExitCode,
    git::{
        history::goes_through_link,
        journal::{Appended, Draft, Journal, random_id},
        loops::{self, LoopPointer},
        repo::Repo,
        target,
    },
    render::text,
    turn::Turn,
};

const TASK_LIMIT: usize = 1 << 20;
const TITLE_LIMIT: usize = 200;

pub(super) fn run(context: &Context, args: StartArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let top = repo.need_work_tree()?.to_owned();
    refuse_nested(&repo)?;
    let task = read_task(&top, &args)?;
    let Found { settings, has_loop_mode } = config::find(&repo, flags(&args))?;
    let branch = loops::branch_here(&repo)?;
    let pointer = new_pointer(&repo, branch)?;
    let secrets = Secrets::draw(&args)?;
    let started = begin(&repo, &pointer, &args, &task, settings.clone(), &secrets)?;
    record(context, &repo, &pointer, started, &secrets)?;
    if context.json {
        let said = serde_json::json!({
            "v": 1, "loop_id": pointer.id, "anchor": pointer.anchor, "branch": pointer.branch, "task": task.title,
            "max_iterations": settings.max_iterations, "stagnation_threshold": settings.stagnation_threshold,
            "nonce": secrets.nonce, "exit_code": 0,
        });
        context.say(&said.to_string());
        return Ok(ExitCode::Done);
    }
    let p = context.language.phrases();
    if !has_loop_mode {
        context.say(p.no_config);
        context.say(p.using_defaults);
    }
    let (max, threshold) = (settings.max_iterations, settings.stagnation_threshold);
    context.print(&text::start_block(context.language, &task.title, max, threshold));
    context.say(&format!("{}{}{}", p.loop_id, p.colon, pointer.id));
    if let Some(nonce) = &secrets.nonce {
        context.say(&format!("nonce{}{nonce}", p.colon));
    }
    Ok(ExitCode::Done)
}

fn refuse_nested(repo: &Repo) -> Result<(), Error> {
    match Turn::here(repo)? {
        Some(turn) if !turn.state.is_ended() => Err(Error::refused(
            format!(
                "a loop is {} here already: {} {:?}",
                turn.state.status.name(),
                turn.state.id,
                turn.state.started.title
            ),
            "git nav-loop status; to end it: git nav-loop complete | abort",
        )),
        _ => Ok(()),
    }
}

struct Task {
    text: String,
    title: String,
    /// Relative to the top, when the task came from a file in the work tree.
    file: Option<String>,
}

fn read_task(top: &Path, args: &StartArgs) -> Result<Task, Error> {
    let Some(path) = &args.task_file else {
        let text = args.task.join(" ");
        let title = title_of(&text);
        return if title.is_empty() {
            Err(Error::usage("the task is empty", "git nav-loop start \"what is to be done\""))
        } else {
            Ok(Task { title, text, file: None })
        };
    };
    let shown = path.display();
    let absolute =
        std::path::absolute(path).map_err(|e| Error::usage(format!("{shown}: {e}"), "name a readable file"))?;
    let real = absolute.canonicalize().unwrap_or(absolute);
    let inside = real.strip_prefix(top).ok().and_then(|p| p.to_str()).map(|p| p.replace('\\', "/"));
    if inside.is_some() && goes_through_link(top, &real) {
        return Err(Error::refused(format!("{shown} goes through a symbolic link"), "name the real file"));
    }
    let bytes = std::fs::read(&real).map_err(|e| Error::usage(format!("{shown}: {e}"), "name a readable file"))?;
    if bytes.len() > TASK_LIMIT {
        return Err(Error::usage(format!("{shown} is larger than 1 MiB"), "shorten the task"));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Error::usage(format!("{shown} is not UTF-8"), "save it as UTF-8"))?;
    let title = title_of(&text);
    if title.is_empty() {
        return Err(Error::usage(format!("{shown} holds no task"), "write what is to be done into it"));
    }
    Ok(Task { text, title, file: inside })
}

/// The first line with words, front matter and heading marks left out.
fn title_of(text: &str) -> String {
    let body = text.strip_prefix("---\n").and_then(|t| t.split_once("\n---")).map_or(text, |(_, body)| body);
    let line = body.lines().map(|l| l.trim_start_matches('#').trim()).find(|l| !l.is_empty() && *l != "---");
    line.unwrap_or_default().chars().take(TITLE_LIMIT).collect()
}

fn flags(args: &StartArgs) -> Flags {
    let numbers = [
        ("max_iterations", args.max_iterations),
        ("stagnation_threshold", args.stagnation_threshold),
        ("min_indicators", args.min_indicators),
    ];
    let words = [("test_command", &args.test), ("scope", &args.scope)];
    let numbers = numbers.into_iter().filter_map(|(k, v)| Some((k, Value::from(v?))));
    let words = words.into_iter().filter_map(|(k, v)| Some((k, Value::from(v.clone()?))));
    numbers.chain(words).collect()
}

fn new_pointer(repo: &Repo, branch: Option<String>) -> Result<LoopPointer, Error> {
    let stamp: String = now()[..16].replace('T', "-").replace(':', "");
    let id = format!("{stamp}-{}", &random_id()?[..6]);
    let anchor = repo.head()?.id.unwrap_or_else(|| repo.empty_tree());
    Ok(LoopPointer { id, anchor, branch })
}

struct Secrets {
    nonce: Option<String>,
    promise: Option<String>,
}

impl Secrets {
    fn draw(args: &StartArgs) -> Result<Self, Error> {
        let nonce = if args.nonce { Some(random_id()?[..8].to_owned()) } else { None };
        Ok(Self { nonce, promise: args.promise.clone() })
    }

    /// Kept beside the journal, readable by the owner only; the journal holds their hashes.
    fn keep(&self, repo: &Repo, loop_id: &str) -> Result<(), Error> {
        if self.nonce.is_none() && self.promise.is_none() {
            return Ok(());
        }
        let content = serde_json::json!({"nonce": self.nonce, "promise": self.promise}).to_string();
        let path = repo.state_dir().join("secret").join(loop_id);
        loops::write_secret(&path, &content)?;
        Ok(())
    }
}

fn begin(
    repo: &Repo,
    pointer: &LoopPointer,
    args: &StartArgs,
    task: &Task,
    config: Settings,
    secrets: &Secrets,
) -> Result<LoopStarted, Error> {
    let ticket = match &args.ticket {
        Some(typed) => Some(Ticket::parse(typed).ok_or_else(|| {
            Error::usage(format!("--ticket {typed:?} is no ticket"), "write 12, owner/repo#12, an issue URL or KEY-12")
        })?),
        None => None,
    };
    let target = match &args.target {
        Some(typed) => Some(target::named_target(repo, typed)?.ok_or_else(|| {
            Error::usage(format!("--target {typed:?} is no branch or ref here"), "git branch -a lists them")
        })?),
        None => target::default_target(repo, pointer.branch.as_deref())?,
    };
    let journal = Journal::new(repo);
    let task_blob = journal.keep_text(&writer("start", COMMAND_PATIENCE), task.text.as_bytes())?;
    Ok(LoopStarted {
        kind: "task".to_owned(),
        task_blob,
        title: task.title.clone(),
        task_file: task.file.clone(),
        branch: pointer.branch.clone(),
        target,
        config,
        clone: loops::make_clone_id(repo)?,
        driver: Driver::Commit,
        ticket: ticket.map(|t| t.to_string()),
        docs_only: args.docs_only,
        promise_sha: secrets.promise.as_deref().map(|p| sha256_hex(p.trim())),
        nonce_sha: secrets.nonce.as_deref().map(sha256_hex),
    })
}

fn record(
    context: &Context,
    repo: &Repo,
    pointer: &LoopPointer,
    started: LoopStarted,
    secrets: &Secrets,
) -> Result<(), Error> {
    loops::keep_anchor(repo, pointer)?;
    secrets.keep(repo, &pointer.id)?;
    let draft = Draft {
        on: pointer.anchor.clone(),
        loop_id: pointer.id.clone(),
        commit: None,
        event: Event::LoopStarted(Box::new(started)),
    };
    if let Appended::Waiting(why) = Journal::new(repo).append(&writer("start", COMMAND_PATIENCE), vec![draft])? {
        context.warn(&format!("recorded, not yet in the notes: {why}"));
    }
    loops::register(repo, pointer)?;
    Ok(())
}

/// Starts a loop from the hook: on a branch created here, when the configuration or the task document says so
/// (spec 3.3). Silent.
pub(super) fn automatically(_repo: &Repo) -> Result<(), Error> {
    Ok(())
}

//! Begins a loop: freezes task and settings into the journal and makes the place point to it (spec 1.2, 3.1).
//!
//! Used by `start` and by the hook that starts a loop by itself. In: a task, settings, options. Out: the pointer.

use std::path::Path;

use crate::{
    config::{self, Flags},
    context::now,
    domain::{
        event::{Driver, Event, LoopStarted},
        evidence::sha256_hex,
        settings::Settings,
        ticket::Ticket,
    },
    error::Error,
    git::{
        history::goes_through_link,
        journal::{Appended, Draft, Journal, Writer, random_id},
        loops::{self, LoopPointer},
        repo::Repo,
        target,
    },
    turn::Turn,
};

const TASK_LIMIT: usize = 1 << 20;
const TITLE_LIMIT: usize = 200;
const TASKS: &str = ".agent/tasks";

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Task {
    /// The whole text, as it will be frozen.
    pub text: String,
    /// Its first line with words.
    pub title: String,
    /// Where it came from, relative to the top of the work tree.
    pub file: Option<String>,
}

impl Task {
    /// A task in words; `None` when there are none.
    pub fn of_words(text: String) -> Option<Self> {
        let title = title_of(&text);
        (!title.is_empty()).then_some(Self { text, title, file: None })
    }

    /// A task from a file.
    pub fn of_file(top: &Path, path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let unreadable = |e: std::io::Error| Error::usage(format!("{shown}: {e}"), "name a readable file");
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let real = absolute.canonicalize().map_err(unreadable)?;
        let inside = real.strip_prefix(top).ok().and_then(|p| p.to_str()).map(|p| p.replace('\\', "/"));
        if absolute.starts_with(top) && goes_through_link(top, &absolute) {
            return Err(Error::refused(format!("{shown} goes through a symbolic link"), "name the real file"));
        }
        let bytes = std::fs::read(&real).map_err(unreadable)?;
        if bytes.len() > TASK_LIMIT {
            return Err(Error::usage(format!("{shown} is larger than 1 MiB"), "shorten the task"));
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| Error::usage(format!("{shown} is not UTF-8"), "save it as UTF-8"))?;
        let title = title_of(&text);
        if title.is_empty() {
            return Err(Error::usage(format!("{shown} holds no task"), "write what is to be done into it"));
        }
        Ok(Self { text, title, file: inside })
    }

    /// Whether the front matter says `loop_mode: true`.
    pub fn asks_for_a_loop(&self) -> bool {
        front_matter(&self.text).is_some_and(|(head, _)| {
            head.lines().any(|l| l.split_once(':').is_some_and(|(k, v)| k.trim() == "loop_mode" && v.trim() == "true"))
        })
    }
}

fn front_matter(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---").and_then(|t| t.trim_start_matches('\r').strip_prefix('\n'))?;
    rest.split_once("\n---")
}

/// The first line with words, front matter and heading marks left out.
fn title_of(text: &str) -> String {
    let body = front_matter(text).map_or(text, |(_, body)| body);
    let line = body.lines().map(|l| l.trim_start_matches('#').trim()).find(|l| !l.is_empty() && *l != "---");
    line.unwrap_or_default().chars().take(TITLE_LIMIT).collect()
}

/// What may be said about a loop besides its task and settings.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The target as typed.
    pub target: Option<String>,
    /// The ticket as typed.
    pub ticket: Option<String>,
    /// Documentation stands for code.
    pub docs_only: bool,
    /// The promise text.
    pub promise: Option<String>,
    /// Whether a nonce is drawn.
    pub nonce: bool,
}

/// A loop that has begun.
#[derive(Debug)]
pub struct Begun {
    /// Where it is.
    pub pointer: LoopPointer,
    /// The nonce, when one was drawn.
    pub nonce: Option<String>,
    /// Why the start is not in the notes yet, when it waits in the spool.
    pub waiting: Option<String>,
}

/// Refuses to begin where a loop runs or is paused.
pub fn refuse_nested(repo: &Repo) -> Result<(), Error> {
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

/// Begins. Everything that can be refused is looked at before the first write.
pub fn begin(repo: &Repo, writer: &Writer, task: &Task, config: Settings, options: Options) -> Result<Begun, Error> {
    let branch = loops::branch_here(repo)?;
    let ticket = options.ticket.as_deref().map(read_ticket).transpose()?;
    let target = match &options.target {
        Some(typed) => Some(target::named_target(repo, typed)?.ok_or_else(|| {
            Error::usage(format!("--target {typed:?} is no branch or ref here"), "git branch -a lists them")
        })?),
        None => target::default_target(repo, branch.as_deref())?,
    };
    let pointer = new_pointer(repo, branch)?;
    let nonce = if options.nonce { Some(random_id()?[..8].to_owned()) } else { None };
    let journal = Journal::new(repo);
    let started = LoopStarted {
        kind: "task".to_owned(),
        task_blob: journal.keep_text(writer, task.text.as_bytes())?,
        title: task.title.clone(),
        task_file: task.file.clone(),
        branch: pointer.branch.clone(),
        target,
        config,
        clone: loops::make_clone_id(repo)?,
        driver: Driver::Commit,
        ticket: ticket.map(|t| t.to_string()),
        docs_only: options.docs_only,
        promise_sha: options.promise.as_deref().map(|p| sha256_hex(p.trim())),
        nonce_sha: nonce.as_deref().map(sha256_hex),
    };
    loops::keep_anchor(repo, &pointer)?;
    keep_secrets(repo, &pointer.id, nonce.as_deref(), options.promise.as_deref())?;
    let draft = Draft {
        on: pointer.anchor.clone(),
        loop_id: pointer.id.clone(),
        commit: None,
        epoch: 0,
        event: Event::LoopStarted(Box::new(started)),
    };
    let waiting = match journal.append(writer, vec![draft])? {
        Appended::Written => None,
        Appended::Waiting(why) => Some(why.to_string()),
    };
    loops::register(repo, &pointer)?;
    Ok(Begun { pointer, nonce, waiting })
}

fn read_ticket(typed: &str) -> Result<Ticket, Error> {
    let hint = "write 12, owner/repo#12, an issue URL or KEY-12";
    Ticket::parse(typed).ok_or_else(|| Error::usage(format!("--ticket {typed:?} is no ticket"), hint))
}

fn new_pointer(repo: &Repo, branch: Option<String>) -> Result<LoopPointer, Error> {
    let stamp: String = now()[..16].replace('T', "-").replace(':', "");
    let id = format!("{stamp}-{}", &random_id()?[..6]);
    let anchor = repo.head()?.id.unwrap_or_else(|| repo.empty_tree());
    Ok(LoopPointer { id, anchor, branch })
}

/// Kept beside the journal, readable by the owner only; the journal holds their hashes.
fn keep_secrets(repo: &Repo, loop_id: &str, nonce: Option<&str>, promise: Option<&str>) -> Result<(), Error> {
    if nonce.is_none() && promise.is_none() {
        return Ok(());
    }
    let content = serde_json::json!({"nonce": nonce, "promise": promise}).to_string();
    Ok(loops::write_secret(&repo.state_dir().join("secret").join(loop_id), &content)?)
}

/// Begins a loop by itself, from post-checkout: on a branch created here that is no target and has no remote
/// upstream, when the configuration or the front matter of its task document says so (spec 3.3).
pub fn automatically(repo: &Repo, writer: &Writer) -> Result<Option<Begun>, Error> {
    let Some(branch) = loops::branch_here(repo)? else { return Ok(None) };
    let Some(top) = repo.work_tree() else { return Ok(None) };
    if !may_begin_on(repo, &branch)? || Turn::here(repo)?.is_some() {
        return Ok(None);
    }
    let (settings, complaint) = match config::find(repo, Flags::new()) {
        Ok(found) => (found.settings, None),
        Err(e) => (Settings::default(), Some(e)),
    };
    let doc = task_doc(top, &branch, &settings.task_prefix);
    let asked = doc.as_ref().is_some_and(Task::asks_for_a_loop);
    if let Some(complaint) = complaint.filter(|_| !asked) {
        return Err(complaint);
    }
    if !settings.enabled && !asked {
        return Ok(None);
    }
    let Some(task) = doc.or_else(|| Task::of_words(branch)) else { return Ok(None) };
    begin(repo, writer, &task, settings, Options::default()).map(Some)
}

fn may_begin_on(repo: &Repo, branch: &str) -> Result<bool, Error> {
    let upstream = repo.config_string("branch", Some(branch), "remote");
    let is_default = target::is_default_branch(repo, branch)?;
    Ok(!is_default && upstream.is_none_or(|r| r == ".") && loops::is_created_here(repo, branch))
}

/// The task document that the branch name points to.
fn task_doc(top: &Path, branch: &str, prefix: &str) -> Option<Task> {
    let number = Ticket::of_branch(branch, prefix)?.number()?;
    Task::of_file(top, &top.join(task_doc_path(top, number, prefix)?)).ok()
}

/// `.agent/tasks/{prefix}-{N}*.md` of that number, the first by name.
pub fn task_doc_path(top: &Path, number: u64, prefix: &str) -> Option<String> {
    let entries = std::fs::read_dir(top.join(TASKS)).ok()?.flatten();
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    let is_of_number = |name: &String| {
        let Some(rest) = name.strip_prefix(prefix).and_then(|n| n.strip_prefix('-')) else { return false };
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        name.ends_with(".md") && digits.parse() == Ok(number)
    };
    names.into_iter().find(is_of_number).map(|n| format!("{TASKS}/{n}"))
}

//! The notes of a remote: fetched beside ours, merged line by line, pushed and never forced (spec 4.5).
//!
//! In: a remote's name. Out: what happened. No refspec is written, no `remote.*` setting, and no tag or branch moves.

use std::time::{Duration, Instant};

use super::{
    GitError,
    journal::{Journal, Writer},
    lock::jittered,
    program::Git,
    repo::Repo,
};
use crate::domain::oid::Oid;

/// What a sync did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Notes that grew here, or came.
    pub received: usize,
    /// Whether the remote's notes moved.
    pub pushed: bool,
    /// How often it had to be tried.
    pub tries: u32,
}

/// Why a remote did not take part.
#[derive(Debug)]
pub enum Refusal {
    /// It cannot be reached.
    Offline(String),
    /// It refused the notes.
    Rejected(String),
    /// Others were faster each time.
    Busy,
    /// Git failed here.
    Git(GitError),
}

impl From<GitError> for Refusal {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

enum Push {
    Done,
    UpToDate,
    Behind,
}

/// Exchanges the journal with `remote` until both have everything, or `deadline` is over.
pub fn sync(repo: &Repo, remote: &str, writer: &Writer, deadline: Instant) -> Result<Synced, Refusal> {
    let mut synced = Synced::default();
    let mut pause = Duration::from_millis(20);
    loop {
        synced.tries += 1;
        if let Some(theirs) = fetch(repo, remote)? {
            synced.received += Journal::new(repo).merge(writer, &theirs)?;
        }
        match push(repo, remote)? {
            Push::Done => {
                synced.pushed = true;
                return Ok(synced);
            }
            Push::UpToDate => return Ok(synced),
            Push::Behind if Instant::now() >= deadline => return Err(Refusal::Busy),
            Push::Behind => {
                std::thread::sleep(jittered(pause));
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
    }
}

/// The tip of the remote's notes, fetched to a ref of our own; `None` when it has none.
fn fetch(repo: &Repo, remote: &str) -> Result<Option<Oid>, Refusal> {
    let own = format!("refs/notes/nav-loop-remote/{remote}");
    let spec = format!("+{}:{own}", repo.journal_ref());
    let call = Git::new("fetch").args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]);
    let (code, _, stderr) = call.args(["--", remote, &spec]).status_with_input(&[])?;
    let said = String::from_utf8_lossy(&stderr).into_owned();
    if code == 0 {
        return Ok(repo.refs().read(&own)?);
    }
    if said.contains("couldn't find remote ref") {
        return Ok(None);
    }
    Err(Refusal::Offline(last(&said)))
}

fn push(repo: &Repo, remote: &str) -> Result<Push, Refusal> {
    let name = repo.journal_ref();
    if repo.refs().read(name)?.is_none() {
        return Ok(Push::UpToDate);
    }
    let call = Git::new("push").args(["--porcelain", "--no-follow-tags", "--no-verify", "--recurse-submodules=no"]);
    let (_, stdout, stderr) = call.args(["--", remote, &format!("{name}:{name}")]).status_with_input(&[])?;
    let (out, said) = (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
    let Some(line) = out.lines().find(|l| l.contains(&format!(":{name}\t"))) else {
        return Err(Refusal::Offline(last(&said)));
    };
    match line.chars().next() {
        Some('=') => Ok(Push::UpToDate),
        Some('!') if is_race(line) => Ok(Push::Behind),
        Some('!') => {
            let summary = line.rsplit('\t').next().unwrap_or_default();
            let words: Vec<&str> = said.lines().filter(|l| l.starts_with("remote: ")).take(3).collect();
            Err(Refusal::Rejected(format!("{summary} {}", words.join(" ")).trim().to_owned()))
        }
        _ => Ok(Push::Done),
    }
}

/// Somebody else pushed in between.
fn is_race(line: &str) -> bool {
    let raced = [
        "fetch first",
        "non-fast-forward",
        "stale info",
        "cannot lock ref",
        "failed to update ref",
        "incorrect old value",
        "reference already exists",
    ];
    raced.iter().any(|words| line.contains(words))
}

fn last(said: &str) -> String {
    let line = said.lines().find(|l| l.starts_with("fatal: ") || l.starts_with("ssh: ")).or(said.lines().next_back());
    line.unwrap_or("no word").trim_start_matches("fatal: ").chars().take(300).collect()
}

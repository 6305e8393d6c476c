//! GitHub's tracker through `gh`, found on PATH; never a token of our own (spec 4.3).
//!
//! In: a ticket. Out: what the tracker says, or which of the ways it can fail this is. Exit codes and messages of `gh`
//! are its own; nothing here turns an indicator on or off.
#![expect(clippy::disallowed_methods, reason = "this file starts gh")]

use std::{
    io::{Read, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    domain::ticket::Ticket,
    error::{Error, ErrorKind},
    git::journal::random_id,
};

const PATIENCE: Duration = Duration::from_secs(10);
const OUTPUT_LIMIT: u64 = 16 << 20;

/// An issue as the tracker has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Whether it is closed.
    pub closed: bool,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
}

/// Why the tracker did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// `gh` is not on PATH.
    NotInstalled,
    /// `gh` has no login for the host.
    NotLoggedIn,
    /// The host cannot be reached.
    Offline(String),
    /// The tracker knows no such issue.
    NotFound(String),
    /// Anything else, in the words of `gh`.
    Other(String),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let (message, hint) = match failure {
            Failure::NotInstalled => {
                ("gh is not installed".to_owned(), "install the GitHub CLI: https://cli.github.com")
            }
            Failure::NotLoggedIn => ("gh is not logged in".to_owned(), "gh auth login"),
            Failure::Offline(why) => (format!("the tracker cannot be reached: {why}"), "try again when it can"),
            Failure::NotFound(what) => {
                (format!("the tracker has no {what}"), "git nav-loop start --ticket names another")
            }
            Failure::Other(why) => (format!("gh failed: {why}"), "run the same gh command by hand"),
        };
        Self::new(ErrorKind::Remote, message, hint)
    }
}

/// Asks for `ticket`; `dir` is in the repository whose remote `gh` looks at.
pub fn view(dir: &Path, ticket: &Ticket) -> Result<Issue, Error> {
    let mut args = vec!["issue".to_owned(), "view".to_owned()];
    args.extend(place(ticket)?);
    args.extend(["--json".to_owned(), "number,state,title,url".to_owned()]);
    let printed = call(dir, &args, &ticket.to_string())?;
    let value: Value = serde_json::from_slice(&printed).map_err(|e| Failure::Other(format!("no JSON: {e}")))?;
    let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    match value["state"].as_str() {
        Some("OPEN") => Ok(Issue { closed: false, title: word("title"), url: word("url") }),
        Some("CLOSED") => Ok(Issue { closed: true, title: word("title"), url: word("url") }),
        other => Err(Failure::Other(format!("state {other:?}")).into()),
    }
}

/// An issue with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullIssue {
    /// Its number.
    pub number: u64,
    /// Whether it is closed.
    pub closed: bool,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its labels.
    pub labels: Vec<String>,
}

const FULL: &str = "number,state,title,body,labels";

impl FullIssue {
    fn of(value: &Value) -> Option<Self> {
        let word = |key: &str| value[key].as_str().map(str::to_owned);
        let labels = value["labels"].as_array().into_iter().flatten();
        Some(Self {
            number: value["number"].as_u64()?,
            closed: word("state")? == "CLOSED",
            title: word("title")?,
            body: word("body").unwrap_or_default(),
            labels: labels.filter_map(|l| l["name"].as_str().map(str::to_owned)).collect(),
        })
    }
}

/// Issue `number` of this repository, with its text.
pub fn issue(dir: &Path, number: u64) -> Result<FullIssue, Error> {
    let args = ["issue", "view", &number.to_string(), "--json", FULL].map(str::to_owned);
    let printed = call(dir, &args, &format!("#{number}"))?;
    let value: Value = serde_json::from_slice(&printed).map_err(|e| Failure::Other(format!("no JSON: {e}")))?;
    FullIssue::of(&value).ok_or_else(|| Failure::Other("an issue without number, state or title".to_owned()).into())
}

/// Every open issue, oldest first; with `closed`, the closed ones too. No limit cuts the list.
pub fn issues(dir: &Path, closed: bool) -> Result<Vec<FullIssue>, Error> {
    let mut limit = 1_000;
    loop {
        let state = if closed { "all" } else { "open" };
        let limit_text = limit.to_string();
        let args =
            ["issue", "list", "--state", state, "--search", "sort:created-asc", "--limit", &limit_text, "--json", FULL];
        let printed = call(dir, &args.map(str::to_owned), "issue")?;
        let values: Vec<Value> =
            serde_json::from_slice(&printed).map_err(|e| Failure::Other(format!("no JSON: {e}")))?;
        if values.len() < limit || limit >= 1_000_000 {
            return Ok(values.iter().filter_map(FullIssue::of).collect());
        }
        limit *= 10;
    }
}

/// Makes an issue; its number.
pub fn create(dir: &Path, title: &str, body: &str) -> Result<u64, Error> {
    let file = std::env::temp_dir().join(format!("nav-loop-issue-{}", random_id()?));
    let written = std::fs::File::create_new(&file).and_then(|mut f| f.write_all(body.as_bytes()));
    written.map_err(|e| Failure::Other(format!("{}: {e}", file.display())))?;
    let path = file.display().to_string();
    let made = call(dir, &["issue", "create", "--title", title, "--body-file", &path].map(str::to_owned), "issue");
    drop(std::fs::remove_file(&file));
    let printed = made?;
    let url = String::from_utf8_lossy(&printed).trim().to_owned();
    let number = url.rsplit('/').next().and_then(|n| n.parse().ok());
    number.ok_or_else(|| Failure::Other(format!("it named no new issue: {url:?}")).into())
}

/// Closes `ticket` as completed.
pub fn close(dir: &Path, ticket: &Ticket) -> Result<(), Error> {
    let mut args = vec!["issue".to_owned(), "close".to_owned()];
    args.extend(place(ticket)?);
    args.extend(["--reason".to_owned(), "completed".to_owned()]);
    call(dir, &args, &ticket.to_string()).map(drop).map_err(Error::from)
}

fn place(ticket: &Ticket) -> Result<Vec<String>, Error> {
    match ticket {
        Ticket::Number(n) => Ok(vec![n.to_string()]),
        Ticket::Foreign(repo, n) => Ok(vec![n.to_string(), "--repo".to_owned(), repo.clone()]),
        Ticket::Key(key) => Err(Error::refused(
            format!("{key} is no GitHub issue, and no other tracker is reached"),
            "close it there; a commit with `Closes KEY` or the task document's status tells git",
        )),
    }
}

/// Runs `gh`; its stdout. `what` is what was asked for, in words.
fn call(dir: &Path, args: &[String], what: &str) -> Result<Vec<u8>, Failure> {
    let mut command = Command::new("gh");
    command.args(args).current_dir(dir).env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
    command.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE");
    let mut child = match command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(Failure::NotInstalled),
        Err(e) => return Err(Failure::Other(e.to_string())),
    };
    let (sender, receiver) = mpsc::channel();
    let collect = |stream: Option<Box<dyn Read + Send>>, sender: mpsc::Sender<(bool, Vec<u8>)>, is_stdout| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            drop(stream.map(|s| s.take(OUTPUT_LIMIT).read_to_end(&mut bytes)));
            drop(sender.send((is_stdout, bytes)));
        })
    };
    let stdout = child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>);
    let stderr = child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>);
    drop(collect(stdout, sender.clone(), true));
    drop(collect(stderr, sender, false));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let deadline = Instant::now() + PATIENCE;
    for _ in 0..2 {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((true, bytes)) => out = bytes,
            Ok((false, bytes)) => err = bytes,
            Err(_) => {
                drop(child.kill());
                drop(child.wait());
                return Err(Failure::Offline(format!("no answer within {} s", PATIENCE.as_secs())));
            }
        }
    }
    let status = child.wait().map_err(|e| Failure::Other(e.to_string()))?;
    if status.success() { Ok(out) } else { Err(failure(status.code(), &String::from_utf8_lossy(&err), what)) }
}

fn failure(code: Option<i32>, said: &str, what: &str) -> Failure {
    let lower = said.to_lowercase();
    let first: String = said.lines().find(|l| !l.trim().is_empty()).unwrap_or("no word").chars().take(200).collect();
    if code == Some(4) || lower.contains("gh auth login") {
        Failure::NotLoggedIn
    } else if lower.contains("error connecting to") || lower.contains("could not resolve host") {
        Failure::Offline(first)
    } else if lower.contains("could not resolve to a") || lower.contains("http 404") {
        Failure::NotFound(what.to_owned())
    } else {
        Failure::Other(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_fail_is_told_apart_by_the_words_and_codes_of_gh() {
        let login = "To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable";
        assert_eq!(failure(Some(4), login, "#1"), Failure::NotLoggedIn);
        let expired = "HTTP 401: Bad credentials\nTry authenticating with:  gh auth login";
        assert_eq!(failure(Some(1), expired, "#1"), Failure::NotLoggedIn);
        let offline = "error connecting to api.github.com\ncheck your internet connection";
        assert_eq!(failure(Some(1), offline, "#1"), Failure::Offline("error connecting to api.github.com".into()));
        let unknown = "GraphQL: Could not resolve to an issue or pull request with the number of 9. (repository.issue)";
        assert_eq!(failure(Some(1), unknown, "#9"), Failure::NotFound("#9".into()));
        assert_eq!(
            failure(Some(1), "\nUnknown JSON field: \"x\"\n", "#1"),
            Failure::Other("Unknown JSON field: \"x\"".into())
        );
        assert_eq!(failure(None, "", "#1"), Failure::Other("no word".into()));
    }
}

//! Which ticket a loop works on, and which words close it (spec 1.3, 1.13).
//!
//! In: what a person typed, a branch name, a commit message, a task document. Out: a ticket, or whether it is closed.

use std::{fmt, sync::LazyLock};

use regex::Regex;

/// A ticket as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ticket {
    /// An issue of this repository's tracker: `#12`.
    Number(u64),
    /// An issue of a named repository: `owner/repo#12`.
    Foreign(String, u64),
    /// `KEY-12`, kept in upper case.
    Key(String),
}

/// What the status line of a task document says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocStatus {
    /// No document or no status line.
    Absent,
    /// Any other word.
    Open,
    /// Completed, implemented or done.
    Closed,
}

#[expect(clippy::unwrap_used, reason = "constant patterns; the tests below compile each")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

static KEY: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)^([a-z][a-z0-9_]*)-(\d+)$"));
static REPO_NUMBER: LazyLock<Regex> = LazyLock::new(|| constant(r"^([\w.-]+/[\w.-]+)#(\d+)$"));
static URL: LazyLock<Regex> = LazyLock::new(|| constant(r"^https?://[^/\s]+/([\w.-]+/[\w.-]+)/(?:-/)?issues/(\d+)\b"));
static BRANCH_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)(?:^|/)(?:#|issue[-_/]?|gh-)(\d+)(?:$|[^0-9a-z])|#(\d+)|(?:^|/)(\d+)-"));
static BRANCH_KEY: LazyLock<Regex> = LazyLock::new(|| constant(r"(?:^|[/_-])([A-Z][A-Z0-9]+-\d+)(?:$|[^0-9A-Za-z])"));
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?:^|[^\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?::\s*|\s+)(https?://\S+|[\w.-]+/[\w.-]+#\d+|#\d+|[a-z][a-z0-9_]*-\d+)",
    )
});
static STATUS: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?mi)^[ \t]*(?:[-*>][ \t]+)?\**status\**[ \t]*[:：]\**[ \t]*(.*)$"));

impl Ticket {
    /// Reads a ticket as typed after `--ticket`: `12`, `#12`, `owner/repo#12`, an issue URL or `KEY-12`.
    ///
    /// ```
    /// use nav_loop::domain::ticket::Ticket;
    /// assert_eq!(Ticket::parse("12"), Some(Ticket::Number(12)));
    /// assert_eq!(Ticket::parse("nav-7"), Some(Ticket::Key("NAV-7".into())));
    /// assert_eq!(Ticket::parse("soon"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(number) = text.trim_start_matches('#').parse() {
            return Some(Self::Number(number));
        }
        if let Some(found) = REPO_NUMBER.captures(text).or_else(|| URL.captures(text)) {
            return Some(Self::Foreign(found[1].to_lowercase(), found[2].parse().ok()?));
        }
        KEY.is_match(text).then(|| Self::Key(text.to_uppercase()))
    }

    /// The ticket that a branch name tells: `#12`, `issue-12`, `gh-12`, a segment `12-…`, or `KEY-12`.
    /// A key counts in capitals, or when it is the configured task prefix in any case.
    pub fn of_branch(branch: &str, task_prefix: &str) -> Option<Self> {
        if !branch.contains(|c: char| c.is_ascii_digit()) {
            return None; // Most branches; this spares them the patterns.
        }
        if let Some(found) = BRANCH_NUMBER.captures(branch) {
            let digits = found.iter().skip(1).flatten().next()?;
            return Some(Self::Number(digits.as_str().parse().ok()?));
        }
        if let Some(found) = BRANCH_KEY.captures(branch) {
            return Some(Self::Key(found[1].to_owned()));
        }
        let prefix = format!("{}-", task_prefix.to_lowercase());
        let lower = branch.to_lowercase();
        let (_, rest) = lower.split_once(&prefix)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then(|| Self::Key(format!("{}-{digits}", task_prefix.to_uppercase())))
    }

    /// The number at its end, which names the task document.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(n) | Self::Foreign(_, n) => Some(*n),
            Self::Key(key) => key.rsplit('-').next()?.parse().ok(),
        }
    }

    /// Whether `message` closes this ticket. `slug` is `owner/repo` of this repository's remote.
    pub fn is_closed_by(&self, message: &str, slug: Option<&str>) -> bool {
        if message.starts_with("Revert \"") {
            return false;
        }
        CLOSES.captures_iter(message).any(|found| self.is_named(&found[1], slug))
    }

    fn is_named(&self, reference: &str, slug: Option<&str>) -> bool {
        let Some(named) = Self::parse(reference) else {
            return false;
        };
        match (self, &named) {
            (Self::Number(own), Self::Foreign(repo, n)) => own == n && is_here(repo, slug),
            (Self::Foreign(repo, own), Self::Number(n)) => own == n && is_here(repo, slug),
            _ => *self == named,
        }
    }
}

fn is_here(repo: &str, slug: Option<&str>) -> bool {
    slug.is_some_and(|s| s.eq_ignore_ascii_case(repo))
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "#{n}"),
            Self::Foreign(repo, n) => write!(f, "{repo}#{n}"),
            Self::Key(key) => f.write_str(key),
        }
    }
}

/// Reads the status line of a task document: its first word decides (closed words: completed, implemented, done).
pub fn doc_status(text: &str) -> DocStatus {
    let Some(found) = STATUS.captures(text) else {
        return DocStatus::Absent;
    };
    let word: String = found[1].chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| c.is_alphabetic()).collect();
    match word.to_lowercase().as_str() {
        "completed" | "implemented" | "done" => DocStatus::Closed,
        _ => DocStatus::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_tell_the_ticket() {
        let table = [
            ("fix/issue-12", Some("#12")),
            ("gh-7-login", Some("#7")),
            ("feature/42-login", Some("#42")),
            ("NAV-9-x", Some("NAV-9")),
            ("me/task-3-fix", Some("TASK-3")),
            ("python-3-port", None),
            ("main", None),
            ("release/v2-1", None),
        ];
        for (branch, expected) in table {
            let found = Ticket::of_branch(branch, "TASK").map(|t| t.to_string());
            assert_eq!(found.as_deref(), expected, "{branch}");
        }
    }

    #[test]
    fn closing_words_close_their_number_only() {
        let ticket = Ticket::Number(12);
        let slug = Some("me/app");
        for yes in ["Fixes #12", "x\n\nCloses: #12", "resolved me/app#12", "FIX https://github.com/me/app/issues/12"] {
            assert!(ticket.is_closed_by(yes, slug), "{yes}");
        }
        let not =
            ["fixes #123", "prefixes #12", "fixes other/app#12", "see #12", "Revert \"Fixes #12\"", "closes #1, #12"];
        for no in not {
            assert!(!ticket.is_closed_by(no, slug), "{no}");
        }
        assert!(Ticket::Key("NAV-9".into()).is_closed_by("closes nav-9", None));
    }

    #[test]
    fn status_line_is_read_by_its_first_word() {
        let table = [
            ("# T\n**Status**: ✅ Completed\n", DocStatus::Closed),
            ("Status: Done (2026)", DocStatus::Closed),
            ("**Status**：Implemented", DocStatus::Closed),
            ("**Status:** 🚧 In Progress", DocStatus::Open),
            ("Status: not done", DocStatus::Open),
            ("no line", DocStatus::Absent),
        ];
        for (text, expected) in table {
            assert_eq!(doc_status(text), expected, "{text}");
        }
    }
}

//! What a person asked for, in words (spec 2.1). Never a guess.
//!
//! In: the words, and which of them are files. Out: an intent, or what is understood.

use std::{path::PathBuf, sync::LazyLock};

use regex::Regex;

/// What a set is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// The tasks of a document.
    File(PathBuf),
    /// These issues, in the order written.
    Issues(Vec<u64>),
    /// The oldest open adopted issues, so many.
    First(u32),
    /// Every open adopted issue.
    AllOpen,
}

/// When the set has reached its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalKind {
    /// Its one task is done.
    TaskDone,
    /// Every task is done or cancelled.
    SetDone,
}

impl GoalKind {
    /// The name in plan and mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskDone => "task_done",
            Self::SetDone => "set_done",
        }
    }
}

impl Intent {
    /// The goal that goes with it.
    pub fn goal(&self) -> GoalKind {
        match self {
            Self::Issues(numbers) if numbers.len() == 1 => GoalKind::TaskDone,
            _ => GoalKind::SetDone,
        }
    }
}

/// What is understood; shown where nothing was.
pub const UNDERSTOOD: &str =
    "a requirement file (.md, or prd.json), #12 or several issues, first N, top N, 前 N 条 issue, all open, 所有 OPEN";

#[expect(clippy::unwrap_used, reason = "constant patterns; the tests below compile each")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

static ISSUE: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?i)^(?:#(\d{1,9})|issue-(\d{1,9})|https?://[^/\s]+/[\w.-]+/[\w.-]+/(?:-/)?issues/(\d{1,9})/?)$")
});
static FIRST: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)^(?:(?:first|top)\s+([0-9a-z]+)(?:\s+(?:open\s+)?issues?)?|前\s*([0-9一二三四五六七八九十两]+)\s*[条个]?\s*(?:issues?|工单|任务)?)$",
    )
});
static ALL: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)^(?:all\s+open(?:\s+issues?)?|所有\s*open(?:\s*(?:issues?|工单))?|全部(?:\s*(?:open|issues?|工单))?)$",
    )
});

/// Reads the words; `is_file` says whether a word names an existing file.
///
/// ```
/// use nav_loop::domain::task_set::intent::{Intent, read};
/// assert_eq!(read("#45 #47", |_| false), Some(Intent::Issues(vec![45, 47])));
/// assert_eq!(read("前 3 条 issue", |_| false), Some(Intent::First(3)));
/// assert_eq!(read("do something nice", |_| false), None);
/// ```
pub fn read(words: &str, is_file: impl Fn(&str) -> bool) -> Option<Intent> {
    let words = words.trim();
    let is_document = [".md", ".markdown", ".json"].iter().any(|e| words.to_lowercase().ends_with(e));
    if is_document && is_file(words) {
        return Some(Intent::File(PathBuf::from(words)));
    }
    if let Some(found) = FIRST.captures(words) {
        let word = found.get(1).or(found.get(2))?.as_str();
        return count(&word.to_lowercase()).filter(|n| *n > 0).map(Intent::First);
    }
    if ALL.is_match(words) {
        return Some(Intent::AllOpen);
    }
    let parts: Vec<&str> = words.split([' ', ',', '，', '、']).filter(|w| !w.is_empty()).collect();
    let numbers: Option<Vec<u64>> = parts.iter().map(|w| issue(w)).collect();
    let mut numbers = numbers.filter(|n| !n.is_empty())?;
    let mut seen = std::collections::HashSet::new();
    numbers.retain(|n| seen.insert(*n));
    Some(Intent::Issues(numbers))
}

fn issue(word: &str) -> Option<u64> {
    let found = ISSUE.captures(word)?;
    found.iter().skip(1).flatten().next()?.as_str().parse().ok().filter(|n| *n > 0)
}

/// Digits, 一…九十九, one…twenty.
fn count(word: &str) -> Option<u32> {
    const WORDS: [&str; 20] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    if let Ok(number) = word.parse::<u32>() {
        return (number <= 100_000).then_some(number);
    }
    if let Some(at) = WORDS.iter().position(|w| *w == word) {
        return u32::try_from(at).ok().map(|n| n + 1);
    }
    chinese(word)
}

fn chinese(word: &str) -> Option<u32> {
    let digit = |c: char| "一二三四五六七八九".chars().position(|d| d == c).or((c == '两').then_some(1));
    let digit = |c: char| digit(c).and_then(|n| u32::try_from(n).ok()).map(|n| n + 1);
    let chars: Vec<char> = word.chars().collect();
    match chars.as_slice() {
        ['十'] => Some(10),
        [d] => digit(*d),
        ['十', ones] => Some(10 + digit(*ones)?),
        [tens, '十'] => Some(10 * digit(*tens)?),
        [tens, '十', ones] => Some(10 * digit(*tens)? + digit(*ones)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_refused_and_never_guessed() {
        let file = || Some(Intent::File("docs/PRD.md".into()));
        let table = [
            ("docs/PRD.md", file()),
            ("missing.md", None),
            ("src/lib.rs", None),
            ("#123", Some(Intent::Issues(vec![123]))),
            ("issue-123", Some(Intent::Issues(vec![123]))),
            ("https://github.com/me/app/issues/7", Some(Intent::Issues(vec![7]))),
            ("https://gitlab.com/me/app/-/issues/7", Some(Intent::Issues(vec![7]))),
            ("#45 #47", Some(Intent::Issues(vec![45, 47]))),
            ("#47, #45，#47", Some(Intent::Issues(vec![47, 45]))),
            ("前 3 条 issue", Some(Intent::First(3))),
            ("前三条 issue", Some(Intent::First(3))),
            ("前两个工单", Some(Intent::First(2))),
            ("前九十九条", Some(Intent::First(99))),
            ("前十二条issue", Some(Intent::First(12))),
            ("first three", Some(Intent::First(3))),
            ("First 5 issues", Some(Intent::First(5))),
            ("top twenty", Some(Intent::First(20))),
            ("top 0", None),
            ("first twenty-one", None),
            ("all open", Some(Intent::AllOpen)),
            ("ALL OPEN issues", Some(Intent::AllOpen)),
            ("所有 OPEN", Some(Intent::AllOpen)),
            ("全部", Some(Intent::AllOpen)),
            ("", None),
            ("all", None),
            ("fix the bug", None),
            ("#12 and more", None),
            ("#0", None),
            ("12", None),
        ];
        for (words, expected) in table {
            assert_eq!(read(words, |w| w == "docs/PRD.md" || w == "src/lib.rs"), expected, "{words}");
        }
        assert_eq!(Intent::Issues(vec![1]).goal(), GoalKind::TaskDone);
        assert_eq!(Intent::Issues(vec![1, 2]).goal(), GoalKind::SetDone);
    }

    #[test]
    fn every_chinese_number_below_a_hundred_is_read() {
        let digits: Vec<char> = "一二三四五六七八九".chars().collect();
        for n in 1..100u32 {
            let (tens, ones) = ((n / 10) as usize, (n % 10) as usize);
            let mut word = String::new();
            if tens > 1 {
                word.push(digits[tens - 1]);
            }
            if tens > 0 {
                word.push('十');
            }
            if ones > 0 {
                word.push(digits[ones - 1]);
            }
            assert_eq!(count(&word), Some(n), "{word}");
        }
    }
}

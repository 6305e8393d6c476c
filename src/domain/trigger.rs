//! Whether a prompt asks for a loop (spec 1.12).
//!
//! In: the text a person typed. Out: the task that is left beside the phrase, or why there is no loop. A phrase counts
//! where it opens or closes the prompt, not in the middle of a sentence and not before a question mark.

/// Phrases that ask for a loop, in lower case.
const PHRASES: &[&str] = &[
    "run until done",
    "keep going until complete",
    "iterate until finished",
    "autonomous mode",
    "loop mode",
    "don't stop until done",
    "运行直到完成",
    "继续进行直到完成",
    "迭代直到结束",
    "循环模式",
    "自主模式",
    "不要停止直到完成",
];

/// Words that rule it out, wherever they stand.
const REFUSALS: &[&str] =
    &["just do this once", "只做这一次", "no loop", "without loop mode", "不要循环", "关闭循环模式"];

const AROUND: &[char] = &[
    ' ', '\t', '\n', '\r', ',', '.', ':', ';', '!', '-', '–', '—', '"', '\'', '“', '”', '‘', '’', '(', ')', '[', ']',
    '`', '，', '。', '：', '；', '！', '、', '（', '）', '「', '」', '*', '_', '#', '>',
];

/// Why a prompt starts no loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLoop {
    /// No phrase opens or closes it.
    NoPhrase,
    /// It says that it wants none.
    Refused,
    /// Nothing is left beside the phrase.
    NoTask,
}

/// Reads a prompt.
///
/// ```
/// use nav_loop::domain::trigger::read;
/// assert_eq!(read("Run until done: add isPrime"), Ok("add isPrime".to_owned()));
/// assert!(read("What does run until done mean?").is_err());
/// ```
pub fn read(prompt: &str) -> Result<String, NoLoop> {
    let prompt = prompt.replace(['’', '‘'], "'");
    // Lower case byte for byte: ASCII only, so that places in both texts are the same.
    let lower = prompt.to_ascii_lowercase();
    if REFUSALS.iter().any(|r| holds_words(&lower, r)) {
        return Err(NoLoop::Refused);
    }
    let rest = PHRASES.iter().find_map(|p| at_start(&prompt, &lower, p).or_else(|| at_end(&prompt, &lower, p)));
    let task = rest.ok_or(NoLoop::NoPhrase)?.trim().to_owned();
    if task.trim_matches(AROUND).is_empty() || PHRASES.contains(&task.to_ascii_lowercase().as_str()) {
        return Err(NoLoop::NoTask);
    }
    Ok(task)
}

fn holds_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, found)| !is_inside_word(text, at, at + found.len()))
}

/// Whether the text goes on with a letter right before or after: `looping` holds no `loop`.
fn is_inside_word(text: &str, start: usize, end: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (first, last) = (text[start..].chars().next(), text[..end].chars().next_back());
    (edge(first) && letter(text[..start].chars().next_back())) || (edge(last) && letter(text[end..].chars().next()))
}

/// Words that may lead up to a phrase without being the task.
const LEADS: &[&str] =
    &["please", "use", "in", "enter", "start", "using", "with", "请", "用", "使用", "进入", "以", "and", "then"];

fn at_start<'p>(prompt: &'p str, lower: &str, phrase: &str) -> Option<&'p str> {
    let at = lower.find(phrase)?;
    let end = at + phrase.len();
    if is_inside_word(lower, at, end) || !is_lead(&lower[..at]) {
        return None;
    }
    let rest = &prompt[end..];
    let next = rest.trim_start();
    let asks = next.starts_with(['?', '？']) || is_question(lower);
    let goes_on = rest.starts_with(AROUND) || rest.is_empty() || !phrase.is_ascii();
    (goes_on && !asks).then_some(rest.trim_start_matches(AROUND))
}

fn at_end<'p>(prompt: &'p str, lower: &str, phrase: &str) -> Option<&'p str> {
    let at = lower.rfind(phrase)?;
    let end = at + phrase.len();
    let closes = lower[end..].trim_matches(AROUND).is_empty();
    if !closes || is_inside_word(lower, at, end) || is_question(lower) {
        return None;
    }
    let mut before = prompt[..at].trim_end_matches(AROUND);
    loop {
        let word = LEADS.iter().find(|l| {
            let low = before.to_ascii_lowercase();
            low.ends_with(*l) && !is_inside_word(&low, before.len() - l.len(), before.len())
        });
        match word {
            Some(word) => before = before[..before.len() - word.len()].trim_end_matches(AROUND),
            None => return Some(before),
        }
    }
}

/// Whether nothing stands there but words that lead up to a phrase.
fn is_lead(before: &str) -> bool {
    let mut rest = before.trim_matches(AROUND);
    while !rest.is_empty() {
        let Some(lead) = LEADS.iter().find(|l| rest.starts_with(*l) && !is_inside_word(rest, 0, l.len())) else {
            return false;
        };
        rest = rest[lead.len()..].trim_start_matches(AROUND);
    }
    true
}

/// The whole prompt is one question.
fn is_question(lower: &str) -> bool {
    let text = lower.trim_end_matches(AROUND);
    text.ends_with(['?', '？'])
}

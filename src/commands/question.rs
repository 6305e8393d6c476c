//! The question that a paused `run` asks a person on a terminal: the seed's options, by number or by word (spec 1.9).

use std::{
    io::{BufRead, IsTerminal},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use crate::{
    agent::process,
    cli::Choice,
    context::{Context, agent_mark},
    domain::event::PauseReason,
};

/// What the person answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// Go on in this way.
    Resume(Choice),
    /// End the loop.
    Abort,
    /// Nothing: the terminal is closed.
    None,
    /// Ctrl-C.
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Continue,
    Clarify,
    Extend,
    Complete,
    Abort,
}

const STAGNATION: &[Act] = &[Act::Continue, Act::Clarify, Act::Abort];
const LIMIT: &[Act] = &[Act::Extend, Act::Complete, Act::Abort];
const OTHER: &[Act] = &[Act::Continue, Act::Clarify, Act::Complete, Act::Abort];

fn acts(reason: PauseReason) -> &'static [Act] {
    match reason {
        PauseReason::Stagnation => STAGNATION,
        PauseReason::MaxIterations | PauseReason::Limit => LIMIT,
        PauseReason::AgentBlocked | PauseReason::Approval | PauseReason::AgentFailed => OTHER,
    }
}

/// Whether a person can be asked here: a terminal on both sides, and no agent in between.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && agent_mark().is_none()
}

/// Asks until an answer is understood.
pub(super) fn ask(context: &Context, reason: PauseReason) -> Answer {
    let p = context.language.phrases();
    let acts = acts(reason);
    loop {
        context.print(&(p.choose)(acts.len()));
        let line = match read_line() {
            Ok(line) => line,
            Err(ended) => return ended,
        };
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match understood(word, acts) {
            Some(Act::Continue) => return Answer::Resume(Choice::Continue),
            Some(Act::Clarify) => return clarify(context, rest),
            Some(Act::Extend) => return Answer::Resume(Choice::Extend { n: rest.trim().parse().unwrap_or(3) }),
            Some(Act::Complete) => return Answer::Resume(Choice::Complete),
            Some(Act::Abort) => return Answer::Abort,
            None => context.say(p.not_understood),
        }
    }
}

/// The text may stand behind the word; it is asked for where it does not.
fn clarify(context: &Context, typed: &str) -> Answer {
    let mut text = typed.trim().to_owned();
    while text.is_empty() {
        context.print(context.language.phrases().what_blocks);
        match read_line() {
            Ok(line) => text = line.trim().to_owned(),
            Err(ended) => return ended,
        }
    }
    Answer::Resume(Choice::Clarify { text })
}

fn understood(word: &str, acts: &[Act]) -> Option<Act> {
    if let Ok(number) = word.parse::<usize>() {
        return acts.get(number.checked_sub(1)?).copied();
    }
    let act = match word.trim_matches(['[', ']']).to_lowercase().as_str() {
        "continue" | "继续" => Act::Continue,
        "clarify" | "澄清" => Act::Clarify,
        "extend" | "扩展" => Act::Extend,
        "complete" | "完成" => Act::Complete,
        "abort" | "中止" => Act::Abort,
        _ => return None,
    };
    acts.contains(&act).then_some(act)
}

/// One line from the terminal. An interrupt ends the wait: the driver's own handler keeps Ctrl-C from ending us.
fn read_line() -> Result<String, Answer> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        drop(sender.send(read.ok().filter(|n| *n > 0).map(|_| line)));
    });
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(Some(line)) => return Ok(line),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return Err(Answer::None),
            Err(RecvTimeoutError::Timeout) if process::is_interrupted() => return Err(Answer::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_by_number_and_by_word_in_both_languages() {
        let table = [
            ("1", STAGNATION, Some(Act::Continue)),
            ("3", STAGNATION, Some(Act::Abort)),
            ("[Clarify]", STAGNATION, Some(Act::Clarify)),
            ("继续", STAGNATION, Some(Act::Continue)),
            ("extend", STAGNATION, None),
            ("1", LIMIT, Some(Act::Extend)),
            ("完成", LIMIT, Some(Act::Complete)),
            ("4", LIMIT, None),
            ("0", LIMIT, None),
            ("", OTHER, None),
            ("ABORT", OTHER, Some(Act::Abort)),
        ];
        for (word, acts, expected) in table {
            assert_eq!(understood(word, acts), expected, "{word}");
        }
    }
}

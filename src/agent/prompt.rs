//! The prompt of one iteration (spec 4.1).
//!
//! In: the frozen task, the rendered status, what is missing. Out: text. The exit signal is shown in a form that does not
//! parse, so that our own words echoed are no signal.

/// What goes into a prompt.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// The task as it was frozen.
    pub task: String,
    /// The status block, as it is printed.
    pub block: String,
    /// The next action.
    pub next_action: String,
    /// Missing indicators with their reasons, a line each.
    pub missing: Vec<String>,
    /// The test command.
    pub tests: Option<String>,
    /// A person's clarification, or what is to be tried another way.
    pub note: Option<String>,
    /// What repeated, when the loop is to be anchored anew.
    pub repeated: Option<String>,
    /// How to go on after going round in place unattended.
    pub another_way: Option<&'static str>,
    /// Whether to ask what was checked, and how.
    pub checkpoint: bool,
    /// How the person likes to work, in the words of their profile.
    pub profile: Option<String>,
    /// The secret word that the signal must carry.
    pub nonce: Option<String>,
    /// The promise text.
    pub promise: Option<String>,
}

/// Builds the prompt.
pub fn build(parts: &Parts) -> String {
    let mut text = format!("# Task\n\n{}\n", parts.task.trim_end());
    if let Some(note) = &parts.note {
        text += &format!("\n# From the person who decides\n\n{}\n", note.trim_end());
    }
    if let Some(repeated) = &parts.repeated {
        text += &format!("\n# What repeated\n\n{repeated}. Read the task above again and take another way.\n");
    }
    if let Some(way) = parts.another_way {
        text += &format!("\n# Another way\n\nThe last iterations changed nothing that counts. {way}\n");
    }
    if let Some(profile) = &parts.profile {
        text += &format!("\n# How the person you work for likes it\n\n{}\n", profile.trim_end());
    }
    text += &format!("\n# Where the loop stands\n\n{}\nNext: {}\n", parts.block, parts.next_action);
    for line in &parts.missing {
        text += &format!("- {line}\n");
    }
    if let Some(tests) = &parts.tests {
        text +=
            &format!("\nRun the tests with `git nav-loop test` (it runs `{tests}`), and commit your work with git.\n");
    } else {
        text += "\nRun the tests with `git nav-loop test -- COMMAND`, and commit your work with git.\n";
    }
    if parts.checkpoint {
        text += "\nSay in your last message what you checked and how, for each requirement of the task.\n";
    }
    text += "\n# When you are finished\n\nGive the exit signal only when all requirements are met, the code works and is \
             tested, and no obvious work is left. End your last message with this block, with true or false:\n\n";
    let nonce = parts.nonce.as_ref().map_or(String::new(), |n| format!(",\"nonce\":\"{n}\""));
    text += &format!(
        "```pilot-signal\n{{\"v\":2,\"type\":\"exit\",\"success\": true|false,\"reason\":\"why\"{nonce}}}\n```\n"
    );
    if let Some(promise) = &parts.promise {
        text += &format!("\nOr, when it is true: a line with <promise> {promise} </promise>, without the spaces.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::signal::{Accepts, scan};

    #[test]
    fn our_own_words_are_no_signal() {
        let parts =
            Parts { task: "x".into(), promise: Some("DONE".into()), nonce: Some("ab".into()), ..Parts::default() };
        let sha = crate::domain::evidence::sha256_hex("DONE");
        let prompt = build(&parts);
        assert!(scan(&prompt, &Accepts { promise_sha: Some(&sha), ..Accepts::default() }).signal.is_none(), "{prompt}");
    }
}

//! The stories of a `prd.json`.

use serde::Deserialize;

use super::{MANUAL, Problem};
use crate::domain::task_set::{
    key::Keys,
    plan::{Executability, Shape, Task},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prd {
    user_stories: Vec<Story>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Story {
    #[serde(default)]
    id: serde_json::Value,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    acceptance_criteria: Vec<String>,
    #[serde(default)]
    notes: String,
}

/// The stories of a `prd.json`, in file order.
pub(super) fn read(text: &str) -> Result<Vec<Task>, Problem> {
    let prd: Prd = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|e| Problem(format!("no userStories can be read: {e}")))?;
    if prd.user_stories.is_empty() {
        return Err(Problem("no task found: userStories is empty".to_owned()));
    }
    let mut keys = Keys::default();
    let task = |story: Story| {
        let id = story.id.as_str().map_or_else(|| story.id.to_string(), str::to_owned);
        let mut text = format!("{}\n\n{}\n", story.title, story.description);
        if id != "null" {
            text = format!("{id}: {text}");
        }
        story.acceptance_criteria.iter().for_each(|c| text += &format!("- [ ] {c}\n"));
        if !story.notes.trim().is_empty() {
            text += &format!("\n{}\n", story.notes);
        }
        let manual = story.acceptance_criteria.iter().any(|c| MANUAL.is_match(c));
        Task {
            task_key: keys.give(None, &story.title),
            title: story.title.chars().take(300).collect(),
            kind: "task".to_owned(),
            shape: Shape::Leaf,
            executability: if manual { Executability::Manual } else { Executability::Auto },
            depends_on: Vec::new(),
            parent: None,
            checks: Vec::new(),
            criteria: story.acceptance_criteria,
            target_files: Vec::new(),
            text: text.trim_end().to_owned(),
            issue: None,
            spec_revision: String::new(),
        }
    };
    Ok(prd.user_stories.into_iter().map(task).collect())
}

//! What ends a completed set: its document goes to the archive, and one marker says that it is done (spec 2.3).

use crate::{
    context::now,
    domain::{path_rules::PathRules, settings::Settings, task_set::state::SetState},
    error::Error,
    git::{commit, history::goes_through_link, marker_file, repo::Repo},
};

/// What ends a completed set: its document goes to the archive, and one marker says that it is done.
pub fn finish(repo: &Repo, set: &SetState) -> Result<Vec<String>, Error> {
    let top = repo.need_work_tree()?.to_owned();
    let mut moved = Vec::new();
    if let Some(name) =
        set.plan.file.as_deref().and_then(|f| f.strip_prefix(".agent/tasks/")).filter(|n| !n.contains('/'))
    {
        let (from, to) = (format!(".agent/tasks/{name}"), format!(".agent/tasks/archive/{name}"));
        let (old, new) = (top.join(&from), top.join(&to));
        let plain = !goes_through_link(&top, &old) && !goes_through_link(&top, &new);
        if plain && old.is_file() && !new.exists() {
            std::fs::create_dir_all(top.join(".agent/tasks/archive"))
                .and_then(|()| std::fs::rename(&old, &new))
                .map_err(|e| Error::refused(format!("{to}: {e}"), "make it writable"))?;
            moved.extend([from, to]);
        }
    }
    let marker = marker_file::write_text(repo, &now(), &set.id, &marker_text(set))?;
    moved.push(marker);
    let rules = PathRules::new(&Settings::default(), None);
    let open = commit::uncommitted(repo, |_| true, &rules)?;
    let to_commit: Vec<String> = moved.iter().filter(|p| open.contains(p)).cloned().collect();
    if !to_commit.is_empty() {
        commit::commit(repo, &to_commit, &format!("complete: {}", set.plan.intent))?;
    }
    Ok(moved)
}

fn marker_text(set: &SetState) -> String {
    let mut text = format!(
        "# Context Marker: {}\n\nLoop: {}\nGoal: {}\nIntent: {}\nTransitions: {}/{}\n\n## Tasks\n\n",
        set.id,
        set.id,
        set.plan.goal_kind.name(),
        set.plan.intent.replace('\n', " "),
        set.used(),
        set.plan.budget
    );
    for (task, state) in set.each() {
        let how = match (state.cancelled, state.completion_basis) {
            (true, _) => "cancelled".to_owned(),
            (_, Some(basis)) => format!("{basis:?}").to_lowercase(),
            _ => "open".to_owned(),
        };
        let code: String = state.code_ref.as_deref().unwrap_or("-").chars().take(12).collect();
        text += &format!("- {} {}: {how}, {code}\n", set.plan.label(&task.task_key), task.task_key);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        event::{Event, Record, SetStarted},
        oid::Oid,
        task_set::{document, intent::GoalKind, plan::Plan},
    };

    #[test]
    fn the_marker_of_a_set_whose_journal_names_no_commit_but_any_text_is_written() {
        let tasks = document::read("x.md", "## Task: a\n").unwrap();
        let plan = Plan {
            intent: "x.md".into(),
            resolved_query: String::new(),
            goal_kind: GoalKind::SetDone,
            file: None,
            decomposed: false,
            tasks,
            excluded: Vec::new(),
            budget: 50,
        };
        let on = Oid::parse(&"1".repeat(40)).unwrap();
        let started = SetStarted {
            plan_blob: on.clone(),
            revision: plan.revision(),
            intent_hash: String::new(),
            branch: None,
            approved_by: "person".into(),
            clone: String::new(),
            push: false,
            test_command: None,
        };
        let record = Record {
            v: 1,
            id: "1".into(),
            on,
            loop_id: "s".into(),
            seq: 1,
            at: String::new(),
            commit: None,
            by: "task".into(),
            epoch: 0,
            event: Event::SetStarted(Box::new(started)),
        };
        let text = serde_json::to_string(&plan).unwrap();
        let mut set = SetState::fold(vec![record], "s", &|_| Some(text.clone())).unwrap();
        set.tasks[0].code_ref = Some("字".repeat(9));
        assert!(marker_text(&set).ends_with("open, 字字字字字字字字字\n"));
    }
}

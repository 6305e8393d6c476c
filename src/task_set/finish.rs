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
        let code = state.code_ref.as_deref().unwrap_or("-");
        text += &format!(
            "- {} {}: {how}, {}\n",
            set.plan.label(&task.task_key),
            task.task_key,
            &code[..code.len().min(12)]
        );
    }
    text
}

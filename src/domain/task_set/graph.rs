//! Who waits for whom in a set (spec 2.1, 2.5).
//!
//! In: tasks with resolved dependencies. Out: a cycle with its path; who hangs on a task; a drawing in text.

use std::collections::{HashMap, HashSet};

use super::plan::{Shape, Task};

/// What must be done before `task`: its own dependencies, its parents', and for a composite its sub-tasks.
pub fn waits_for<'a>(tasks: &'a [Task], task: &'a Task) -> Vec<&'a str> {
    let by_key: HashMap<&str, &Task> = tasks.iter().map(|t| (t.task_key.as_str(), t)).collect();
    waits(&by_key, &children(tasks), task)
}

fn children(tasks: &[Task]) -> HashMap<&str, Vec<&str>> {
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for task in tasks {
        if let Some(parent) = &task.parent {
            children.entry(parent).or_default().push(&task.task_key);
        }
    }
    children
}

fn waits<'a>(
    by_key: &HashMap<&'a str, &'a Task>,
    children: &HashMap<&'a str, Vec<&'a str>>,
    task: &'a Task,
) -> Vec<&'a str> {
    let mut waits: Vec<&str> = Vec::new();
    let mut at = Some(task);
    while let Some(task) = at {
        waits.extend(task.depends_on.iter().map(String::as_str));
        at = task.parent.as_deref().and_then(|p| by_key.get(p).copied());
    }
    if task.shape == Shape::Composite {
        waits.extend(children.get(task.task_key.as_str()).into_iter().flatten());
    }
    waits
}

/// Refuses cycles; the error names the path.
pub fn check(tasks: &[Task]) -> Result<(), String> {
    let by_key: HashMap<&str, &Task> = tasks.iter().map(|t| (t.task_key.as_str(), t)).collect();
    let children = children(tasks);
    let mut done: HashSet<&str> = HashSet::new();
    for start in tasks {
        // An explicit stack: a chain of thousands is no reason to overflow ours.
        let mut path: Vec<(&str, Vec<&str>)> = vec![(&start.task_key, waits(&by_key, &children, start))];
        let mut on_path: HashSet<&str> = HashSet::from([start.task_key.as_str()]);
        while let Some((key, left)) = path.last_mut() {
            let Some(next) = left.pop() else {
                done.insert(key);
                on_path.remove(*key);
                path.pop();
                continue;
            };
            if on_path.contains(next) {
                let from = path.iter().position(|(k, _)| *k == next).unwrap_or(0);
                let mut names: Vec<&str> = path[from..].iter().map(|(k, _)| *k).collect();
                names.push(next);
                return Err(format!("tasks wait for one another: {}", names.join(" → ")));
            }
            if let Some(task) = by_key.get(next).filter(|_| !done.contains(next)) {
                path.push((next, waits(&by_key, &children, task)));
                on_path.insert(next);
            }
        }
    }
    Ok(())
}

/// `key` and every task that hangs on it, directly or not: its dependants, its sub-tasks, and theirs.
pub fn cascade(tasks: &[Task], key: &str) -> Vec<String> {
    let mut hit: HashSet<&str> = HashSet::from([key]);
    loop {
        let before = hit.len();
        for task in tasks {
            let depends = task.depends_on.iter().any(|d| hit.contains(d.as_str()));
            let inside = task.parent.as_deref().is_some_and(|p| hit.contains(p));
            if depends || inside {
                hit.insert(&task.task_key);
            }
        }
        if hit.len() == before {
            break;
        }
    }
    tasks.iter().filter(|t| hit.contains(t.task_key.as_str())).map(|t| t.task_key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task_set::document;

    fn tasks(text: &str) -> Vec<Task> {
        document::read("x.md", text).unwrap()
    }

    #[test]
    fn a_cascade_follows_chains_diamonds_and_composites_and_nothing_else() {
        let diamond = tasks(
            "## Task: a\n\n## Task: b\n\nDepends on: a\n\n## Task: c\n\nDepends on: a\n\n## Task: d\n\nDepends on: b, c\n\n## Task: e\n",
        );
        assert_eq!(cascade(&diamond, "a"), ["a", "b", "c", "d"]);
        assert_eq!(cascade(&diamond, "b"), ["b", "d"]);
        assert_eq!(cascade(&diamond, "e"), ["e"]);
        let nested = tasks("## Task: p\n\n### Task: x\n\n### Task: y\n\n## Task: z\n\nDepends on: p\n");
        assert_eq!(cascade(&nested, "p"), ["p", "p-x", "p-y", "z"]);
        assert_eq!(cascade(&nested, "p-x"), ["p-x"]);
        assert_eq!(waits_for(&nested, &nested[0]), ["p-x", "p-y"]);
    }

    #[test]
    fn sub_tasks_wait_for_what_their_parent_waits_for() {
        let nested = tasks("## Task: first\n\n## Task: p\n\nDepends on: first\n\n### Task: x\n");
        assert_eq!(waits_for(&nested, &nested[2]), ["first"]);
    }
}

//! From what a person typed to a frozen plan (spec 2.1): resolved once, and never asked for again.

use std::{collections::HashSet, path::Path, time::Duration};

use crate::{
    agent::process::{self, Ending, Job},
    domain::task_set::{
        document,
        intent::{self, Intent, UNDERSTOOD},
        key::Keys,
        plan::{Excluded, Executability, Plan, Shape, Task},
        revision,
    },
    driver::{MARK, Spec},
    error::Error,
    git::repo::Repo,
    task_set::{lease::main_tree, store},
    tracker::{self, FullIssue},
};

const FILE_LIMIT: u64 = 4 << 20;
const DECOMPOSE_LIMIT: Duration = Duration::from_secs(1_800);
const ADOPTED: &str = "iron-tree:adopted";
/// An issue with so many open checkboxes is no single task.
const COMPOSITE: usize = 3;

/// Makes the plan for `words`. `decompose` asks an agent for the tasks of a document that holds none by itself.
pub fn resolve(repo: &Repo, words: &str, decompose: Option<&Spec>) -> Result<Plan, Error> {
    let intent = intent::read(words, |w| Path::new(w).is_file());
    let intent = intent.ok_or_else(|| {
        let what = if words.trim().is_empty() {
            "nothing was asked for".to_owned()
        } else {
            format!("{words:?} is not understood")
        };
        Error::usage(what, format!("understood are: {UNDERSTOOD}"))
    })?;
    let goal_kind = intent.goal();
    let (tasks, excluded, resolved_query, file) = match &intent {
        Intent::File(path) => {
            let (tasks, file) = match decompose {
                None => of_file(repo, path)?,
                Some(spec) => broken_down(repo, path, spec)?,
            };
            (tasks, Vec::new(), "n/a (file path)".to_owned(), Some(file))
        }
        Intent::Issues(numbers) => {
            let dir = repo.need_work_tree()?;
            let issues = numbers.iter().map(|n| tracker::issue(dir, *n)).collect::<Result<Vec<_>, _>>()?;
            let (tasks, excluded) = of_issues(issues, None);
            let names: Vec<String> = numbers.iter().map(|n| format!("#{n}")).collect();
            (tasks, excluded, format!("issues {}", names.join(" ")), None)
        }
        Intent::First(_) | Intent::AllOpen => {
            let issues = tracker::issues(repo.need_work_tree()?, false)?;
            let open = issues.len();
            let (mut tasks, excluded) = of_issues(issues, Some(&adopted(repo)?));
            let adopted = tasks.len();
            let query = match intent {
                Intent::First(n) => {
                    tasks.truncate(n as usize);
                    format!("first {n} of {adopted} open adopted issues, oldest first ({open} open)")
                }
                _ => format!("all {adopted} open adopted issues, oldest first ({open} open)"),
            };
            (tasks, excluded, query, None)
        }
    };
    if tasks.is_empty() {
        let why: Vec<String> = excluded.iter().take(5).map(|e| format!("{} ({})", e.name, e.reason)).collect();
        let hint =
            if why.is_empty() { "git nav-loop task '#12'".to_owned() } else { format!("excluded: {}", why.join(", ")) };
        return Err(Error::usage(format!("{words:?} leaves no task"), hint));
    }
    let budget = Plan::default_budget(tasks.len());
    let decomposed = decompose.is_some() && file.is_some();
    Ok(Plan { intent: words.to_owned(), resolved_query, goal_kind, file, decomposed, tasks, excluded, budget })
}

/// The tasks of a document, and its path: relative to the top where it lies below.
pub fn of_file(repo: &Repo, path: &Path) -> Result<(Vec<Task>, String), Error> {
    let (text, file) = text_of(repo, path)?;
    let shown = path.display().to_string();
    let tasks =
        document::read(&shown, &text).map_err(|p| Error::usage(format!("{shown}: {p}"), "mend the document"))?;
    Ok((tasks, file))
}

/// The text of a document, and its path.
pub fn text_of(repo: &Repo, path: &Path) -> Result<(String, String), Error> {
    let shown = path.display().to_string();
    let off = |e: std::io::Error| Error::usage(format!("{shown}: {e}"), "name a readable file");
    let real = path.canonicalize().map_err(off)?;
    if real.metadata().map_err(off)?.len() > FILE_LIMIT {
        return Err(Error::usage(format!("{shown} is larger than 4 MiB"), "split it"));
    }
    let text = String::from_utf8(std::fs::read(&real).map_err(off)?);
    let text = text.map_err(|_| Error::usage(format!("{shown} is not UTF-8"), "save it as UTF-8"))?;
    let top = repo.need_work_tree()?;
    let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let file = real.strip_prefix(top).unwrap_or(&real).to_string_lossy().replace('\\', "/");
    Ok((text, file))
}

/// Asks the agent for the tasks; its answer is looked at like any other input, and approved by a person.
fn broken_down(repo: &Repo, path: &Path, spec: &Spec) -> Result<(Vec<Task>, String), Error> {
    let (text, file) = text_of(repo, path)?;
    let prompt = format!("{}\n\n# Document\n\n{text}\n", document::NODES_WANTED);
    let log = repo.state_dir().join("logs").join("decompose.log");
    crate::git::loops::write_file(&log.with_extension("prompt"), &prompt)?;
    let limit = spec.iteration_timeout.unwrap_or(DECOMPOSE_LIMIT);
    let dir = repo.need_work_tree()?;
    let ran = process::run(&Job {
        without: &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"],
        with: &[(MARK, "decompose")],
        input: Some(prompt.as_bytes()),
        log: Some(log),
        aside: true,
        ..Job::new(&spec.command, dir, limit)
    });
    if ran.ending != Ending::Code(0) {
        return Err(Error::refused(
            format!("the agent did not break the document down: {:?}", ran.ending),
            "try again",
        ));
    }
    let message = spec.client.read(&ran.stdout).message;
    let tasks = document::nodes(&message, &text).map_err(|p| Error::refused(p.to_string(), "try again"))?;
    Ok((tasks, file))
}

/// Issues that somebody adopted before: a brief lies there, or a set had them.
fn adopted(repo: &Repo) -> Result<HashSet<u64>, Error> {
    let mut numbers: HashSet<u64> = HashSet::new();
    for set in store::all(repo)? {
        numbers.extend(set.plan.tasks.iter().filter_map(|t| t.issue));
    }
    let briefs = std::fs::read_dir(main_tree(repo)?.join(".mino/briefs")).into_iter().flatten().flatten();
    let names = briefs.filter_map(|e| e.file_name().into_string().ok());
    numbers.extend(names.filter_map(|n| n.strip_prefix("issue-")?.strip_suffix(".md")?.parse::<u64>().ok()));
    Ok(numbers)
}

/// Tasks and exclusions; `adopted` = the numbers that count beside the label, in a query.
fn of_issues(issues: Vec<FullIssue>, adopted: Option<&HashSet<u64>>) -> (Vec<Task>, Vec<Excluded>) {
    let mut keys = Keys::default();
    let (mut tasks, mut excluded) = (Vec::new(), Vec::new());
    for issue in issues {
        let is_adopted =
            adopted.is_none_or(|known| known.contains(&issue.number) || issue.labels.iter().any(|l| l == ADOPTED));
        let reason = if issue.closed {
            Some("closed")
        } else if document::open_checkboxes(&issue.body) >= COMPOSITE {
            Some("composite")
        } else {
            (!is_adopted).then_some("not adopted")
        };
        match reason {
            Some(reason) => excluded.push(Excluded { name: format!("#{}", issue.number), reason: reason.to_owned() }),
            None => tasks.push(of_issue(issue, &mut keys)),
        }
    }
    (tasks, excluded)
}

/// An issue's text is a task, and nothing in it is a command.
fn of_issue(issue: FullIssue, keys: &mut Keys) -> Task {
    let text = format!("{}\n---\n{}", issue.title, issue.body);
    let mut task = Task {
        task_key: keys.give(None, &issue.title),
        title: issue.title.chars().take(300).collect(),
        kind: "task".to_owned(),
        shape: Shape::Leaf,
        executability: Executability::Auto,
        depends_on: Vec::new(),
        parent: None,
        checks: Vec::new(),
        criteria: Vec::new(),
        target_files: Vec::new(),
        text: format!("{}\n\n{}", issue.title, issue.body).trim_end().to_owned(),
        issue: Some(issue.number),
        spec_revision: String::new(),
    };
    task.spec_revision = revision::of_text(&text, std::slice::from_ref(&task));
    task
}

/// Makes an issue of each task that has none, in dependency order; one whose text names the key is found again.
pub fn publish(repo: &Repo, plan: &mut Plan) -> Result<Vec<String>, Error> {
    let dir = repo.need_work_tree()?;
    let known = tracker::issues(dir, true)?;
    let mut said = Vec::new();
    for at in in_dependency_order(plan) {
        let task = &plan.tasks[at];
        let line = format!("Task Key: {}", task.task_key);
        let found = known.iter().find(|i| i.body.lines().any(|l| l.trim() == line)).map(|i| i.number);
        let number = match found {
            Some(number) => {
                said.push(format!("#{number}  {}  found again", task.task_key));
                number
            }
            None => {
                let number = tracker::create(dir, &task.title, &format!("{}\n\n{line}\n", task.text))?;
                said.push(format!("#{number}  {}  published", task.task_key));
                number
            }
        };
        plan.tasks[at].issue = Some(number);
    }
    Ok(said)
}

fn in_dependency_order(plan: &Plan) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut placed: HashSet<&str> = HashSet::new();
    while order.len() < plan.tasks.len() {
        let before = order.len();
        for (at, task) in plan.tasks.iter().enumerate() {
            let waits = task.depends_on.iter().all(|d| placed.contains(d.as_str()));
            if waits && !placed.contains(task.task_key.as_str()) {
                placed.insert(&task.task_key);
                order.push(at);
            }
        }
        if order.len() == before {
            break;
        }
    }
    order
}

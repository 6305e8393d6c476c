//! The tasks of a requirement document: Markdown, or `prd.json` (spec 2.1).
//!
//! In: the text. Out: tasks in their order, or what was looked for and not found. The text is data: nothing in it is an
//! approval, an order to us, or a command until the person who named the file says yes to the plan.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    graph,
    key::Keys,
    plan::{Executability, Shape, Task},
    revision,
};

mod blocks;
mod nodes;
mod stories;

pub use nodes::{NODES_WANTED, nodes};

use blocks::{Block, blocks};

/// More tasks are no set.
pub const TASK_LIMIT: usize = 5_000;

/// Why a document holds no set; what and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub String);

#[expect(clippy::unwrap_used, reason = "constant patterns; the tests below compile each")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)^(?:task|任务)\s*(\d+(?:\.\d+)*)?\s*[:：]\s*(.+)$"));
static LIST_HEADING: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)^(?:tasks?|to-?dos?|user stories|任务(?:列表|清单)?)\s*[:：]?$"));
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)^(depends on|dependencies|依赖|type|类型|verification|checks?|验证|target files?|目标文件|acceptance(?: criteria)?|验收标准|验收)\s*[:：]?\s*$|^(depends on|dependencies|依赖|type|类型|verification|验证|target files?|目标文件)\s*[:：]\s*(.+)$",
    )
});
static MANUAL: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)[(（]\s*(?:manual|人工)\s*[)）]"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)^(?:task|任务)?\s*(\d+(?:\.\d+)*)$"));

/// What stands under a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Text,
    Depends,
    Kind,
    Checks,
    Targets,
    Criteria,
}

/// A task before its names are resolved.
#[derive(Debug)]
struct Raw {
    title: String,
    number: Option<String>,
    level: usize,
    parent: Option<usize>,
    kind: String,
    depends: Vec<String>,
    checks: Vec<String>,
    criteria: Vec<String>,
    targets: Vec<String>,
    start: usize,
    end: usize,
}

/// Reads a document by its name: `prd.json` and its like, else Markdown.
pub fn read(name: &str, text: &str) -> Result<Vec<Task>, Problem> {
    let is_json = name.to_lowercase().ends_with(".json");
    let mut tasks = if is_json { stories::read(text)? } else { markdown(text)? };
    if tasks.len() > TASK_LIMIT {
        return Err(Problem(format!("{name} has {} tasks, more than {TASK_LIMIT}", tasks.len())));
    }
    graph::check(&tasks).map_err(Problem)?;
    let revision = revision::of_text(text, &tasks);
    tasks.iter_mut().for_each(|t| t.spec_revision.clone_from(&revision));
    Ok(tasks)
}

fn markdown(text: &str) -> Result<Vec<Task>, Problem> {
    let blocks = blocks(text);
    let mut raw = under_headings(&blocks, text.len());
    if raw.is_empty() {
        raw = checkboxes(&blocks, text.len());
    }
    if raw.is_empty() {
        return Err(Problem(
            "no task found: neither headings `## Task: …` (任务：…) nor checkboxes under Tasks, TODO, User Stories or 任务"
                .to_owned(),
        ));
    }
    resolve(raw, text)
}

/// Headings `Task: title` at level 2 to 4; deeper ones below are sub-tasks.
fn under_headings(blocks: &[Block], length: usize) -> Vec<Raw> {
    let mut raw: Vec<Raw> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut section = Section::Text;
    for block in blocks {
        let Block::Heading { level, text, start } = block else {
            if let Some(task) = open.last() {
                section = read_block(&mut raw[*task], block, section);
            }
            continue;
        };
        let task = HEADING.captures(text.trim()).filter(|_| (2..=4).contains(level));
        let label = LABEL.captures(text.trim()).filter(|_| open.last().is_some_and(|t| raw[*t].level < *level));
        if task.is_none()
            && let Some(label) = label
        {
            section = section_of(label.get(1).or(label.get(2)).map_or("", |m| m.as_str()));
            continue;
        }
        section = Section::Text;
        while open.last().is_some_and(|t| raw[*t].level >= *level) {
            let closed = open.pop().unwrap_or(0);
            raw[closed].end = *start;
        }
        if let Some(found) = task {
            if let Some(parent) = open.last() {
                // The text of a composite is what stands before its first sub-task.
                raw[*parent].end = raw[*parent].end.min(*start);
            }
            let number = found.get(1).map(|m| m.as_str().to_owned());
            raw.push(Raw::new(&found[2], number, *level, open.last().copied(), *start, length));
            open.push(raw.len() - 1);
        }
    }
    raw
}

/// The top checkboxes under a heading that names a list of tasks.
fn checkboxes(blocks: &[Block], length: usize) -> Vec<Raw> {
    let mut raw: Vec<Raw> = Vec::new();
    let mut under: Option<usize> = None;
    let mut section = Section::Text;
    for block in blocks {
        match block {
            Block::Heading { level, text, start } => {
                if let (Some(last), Some(_)) = (raw.last_mut(), under) {
                    last.end = last.end.min(*start);
                }
                under = match under {
                    _ if LIST_HEADING.is_match(text.trim()) => Some(*level),
                    Some(above) if *level > above => Some(above),
                    _ => None,
                };
            }
            Block::Item { depth: 1, checkbox: true, text, start, .. } if under.is_some() => {
                if let Some(last) = raw.last_mut() {
                    last.end = last.end.min(*start);
                }
                section = Section::Text;
                let title = text.lines().next().unwrap_or_default();
                raw.push(Raw::new(title, None, 0, None, *start, length));
                for line in text.lines().skip(1) {
                    if let Some(last) = raw.last_mut() {
                        section = read_line(last, line, section);
                    }
                }
            }
            Block::Item { depth: 1, .. } => {}
            block => {
                if let Some(last) = raw.last_mut().filter(|_| under.is_some()) {
                    section = read_block(last, block, section);
                }
            }
        }
    }
    raw
}

impl Raw {
    fn new(title: &str, number: Option<String>, level: usize, parent: Option<usize>, start: usize, end: usize) -> Self {
        let (depends, checks, criteria, targets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let title: String = title.trim().trim_end_matches('#').trim().chars().take(300).collect();
        Self { title, number, level, parent, kind: "task".to_owned(), depends, checks, criteria, targets, start, end }
    }

    fn take(&mut self, section: Section, value: &str) {
        let value = value.trim();
        let names = || value.split([',', '，', '、', ';', '；']).map(|n| n.trim().trim_matches('`').to_owned());
        match section {
            _ if value.is_empty() => {}
            Section::Depends => self.depends.extend(names().filter(|n| !is_nothing(n))),
            Section::Kind => self.kind = value.to_lowercase(),
            Section::Checks => self.checks.push(value.to_owned()),
            Section::Targets => self.targets.extend(names()),
            Section::Criteria => self.criteria.push(value.to_owned()),
            Section::Text => {}
        }
    }
}

fn is_nothing(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "" | "none" | "nothing" | "n/a" | "-" | "无")
}

fn section_of(label: &str) -> Section {
    match label.to_lowercase().as_str() {
        "depends on" | "dependencies" | "依赖" => Section::Depends,
        "type" | "类型" => Section::Kind,
        "verification" | "check" | "checks" | "验证" => Section::Checks,
        "target file" | "target files" | "目标文件" => Section::Targets,
        "acceptance" | "acceptance criteria" | "验收标准" | "验收" => Section::Criteria,
        _ => Section::Text,
    }
}

/// Reads one block into the task; the section that the next one stands in.
fn read_block(task: &mut Raw, block: &Block, section: Section) -> Section {
    match block {
        Block::Heading { .. } => section,
        Block::Code { text } => {
            if section == Section::Checks {
                task.take(section, text.trim_end());
            }
            section
        }
        Block::Paragraph { text } => text.lines().fold(Section::Text, |s, line| read_line(task, line, s)),
        Block::Item { checkbox, text, code, .. } => {
            let first = text.lines().next().unwrap_or_default();
            if LABEL.is_match(first.trim()) {
                return text.lines().fold(section, |s, line| read_line(task, line, s));
            }
            match (section, checkbox) {
                (Section::Checks, _) => task.take(section, code.as_deref().unwrap_or(text)),
                (_, true) => task.take(Section::Criteria, text),
                (_, false) => task.take(section, text),
            }
            section
        }
    }
}

/// A line may be a label with its value, or a label for what follows.
fn read_line(task: &mut Raw, line: &str, section: Section) -> Section {
    let Some(found) = LABEL.captures(line.trim()) else {
        return if section == Section::Checks { section } else { Section::Text };
    };
    if let (Some(label), Some(value)) = (found.get(2), found.get(3)) {
        task.take(section_of(label.as_str()), value.as_str());
        return Section::Text;
    }
    section_of(found.get(1).map_or("", |m| m.as_str()))
}

/// Gives keys and resolves the names of dependencies.
fn resolve(raw: Vec<Raw>, text: &str) -> Result<Vec<Task>, Problem> {
    let mut keys = Keys::default();
    let mut given: Vec<String> = Vec::with_capacity(raw.len());
    for task in &raw {
        let parent = task.parent.map(|p| given[p].as_str());
        let key = keys.give(parent, &task.title);
        given.push(key);
    }
    let names = Names::of(&raw, &given);
    let composites: std::collections::HashSet<usize> = raw.iter().filter_map(|t| t.parent).collect();
    let mut tasks = Vec::with_capacity(raw.len());
    for (at, task) in raw.iter().enumerate() {
        let mut depends_on = Vec::new();
        for name in &task.depends {
            let key = names.find(name).ok_or_else(|| {
                Problem(format!("task {:?} depends on {name:?}, and no task is called so", task.title))
            })?;
            if !depends_on.contains(key) {
                depends_on.push(key.clone());
            }
        }
        let manual = task.criteria.iter().any(|c| MANUAL.is_match(c));
        tasks.push(Task {
            task_key: given[at].clone(),
            title: task.title.clone(),
            kind: task.kind.clone(),
            shape: if composites.contains(&at) { Shape::Composite } else { Shape::Leaf },
            executability: if manual { Executability::Manual } else { Executability::Auto },
            depends_on,
            parent: task.parent.map(|p| given[p].clone()),
            checks: task.checks.clone(),
            criteria: task.criteria.clone(),
            target_files: task.targets.clone(),
            text: text.get(task.start..task.end).unwrap_or_default().trim_end().to_owned(),
            issue: None,
            spec_revision: String::new(),
        });
    }
    Ok(tasks)
}

/// Every name that a dependency may be written by.
struct Names(std::collections::HashMap<String, String>);

impl Names {
    fn of(raw: &[Raw], keys: &[String]) -> Self {
        let mut names = std::collections::HashMap::new();
        for key in keys {
            names.entry(key.clone()).or_insert_with(|| key.clone());
        }
        for (task, key) in raw.iter().zip(keys) {
            names.entry(task.title.to_lowercase()).or_insert_with(|| key.clone());
            if let Some(number) = &task.number {
                names.entry(format!("#{number}")).or_insert_with(|| key.clone());
            }
        }
        Self(names)
    }

    fn find(&self, name: &str) -> Option<&String> {
        let bare = name.trim().trim_matches('"').to_lowercase();
        let titled = HEADING.captures(name.trim()).map(|f| f[2].to_lowercase());
        let numbered = NUMBERED.captures(name.trim()).map(|f| format!("#{}", &f[1]));
        self.0
            .get(&bare)
            .or_else(|| self.0.get(&titled?))
            .or_else(|| self.0.get(&numbered?))
            .or_else(|| self.0.get(&Keys::default().give(None, &bare)))
    }
}

/// How many open checkboxes a text has: three make an issue a composite one.
pub fn open_checkboxes(text: &str) -> usize {
    blocks(text).iter().filter(|b| matches!(b, Block::Item { checkbox: true, ticked: false, .. })).count()
}

#[cfg(test)]
mod tests;

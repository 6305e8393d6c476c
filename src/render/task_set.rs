//! The words of a task set, in both languages, and its drawings.

use serde_json::{Value, json};

use super::{Language, visible::visible};
use crate::domain::task_set::{
    decision::Skill,
    halt::HaltReason,
    plan::{Plan, Shape},
    state::{SetState, SetStatus},
    task::{Entry, Stage, TaskState},
};

impl Language {
    fn pick<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

/// The Resolved Plan of the seed, with each check command word for word.
pub fn plan(language: Language, id: &str, plan: &Plan) -> String {
    let t = |en, zh| language.pick(en, zh);
    let mut text = format!(
        "{}\n\n",
        t(
            "You are authorizing Loop Mode to autonomously execute the following plan.",
            "你将授权 Loop Mode 自主执行以下计划。"
        )
    );
    let mut row = |key: &str, value: &str| {
        let width: usize = unicode_width::UnicodeWidthStr::width(key);
        text += &format!("{key}{}{value}\n", " ".repeat(16usize.saturating_sub(width)));
    };
    row("Loop ID:", id);
    row(t("Goal:", "目标："), plan.goal_kind.name());
    row(t("Intent:", "意图："), &visible(&plan.intent));
    row(t("Resolved query:", "解析查询："), &visible(&plan.resolved_query));
    row(t("Revision:", "修订："), &plan.revision());
    row(
        &format!("{} ({}):", t("Tasks", "任务"), plan.tasks.len()),
        &format!("{} = {} transitions", t("budget", "预算"), plan.budget),
    );
    for (n, task) in plan.tasks.iter().enumerate() {
        let label = plan.label(&task.task_key);
        let indent = if task.parent.is_some() { "  " } else { "" };
        text += &format!("  {}. {indent}{label}  {}  {}\n", n + 1, visible(&task.title), task.task_key);
    }
    text += &format!("{} ({}{}):\n", t("Excluded", "排除"), plan.excluded.len(), t(", see notes", "，见说明"));
    for excluded in &plan.excluded {
        text += &format!("  - {}  {}\n", visible(&excluded.name), visible(&excluded.reason));
    }
    let checked: Vec<_> = plan.tasks.iter().filter(|t| !t.checks.is_empty()).collect();
    if !checked.is_empty() {
        text += &format!("\n{}\n", t("Checks, as they will be run:", "将按原样运行的检查："));
        for task in checked {
            text += &format!("  {}\n", task.task_key);
            for line in task.checks.iter().flat_map(|c| c.lines()) {
                text += &format!("    | {}\n", visible(line));
            }
        }
    }
    text += &format!(
        "\n{} approval-required, pending_acceptance, fail_terminal, blocked,\n          reapproval_required, loop_budget_exhausted.\n",
        t("Halts on:", "停止于：")
    );
    text += t(
        "Stepwise opt-out: invoke git nav-loop task run|verify|checkup, or /mino-run, /mino-verify, /mino-checkup, directly.\n",
        "逐步执行：直接调用 git nav-loop task run|verify|checkup，或 /mino-run、/mino-verify、/mino-checkup。\n",
    );
    text
}

/// The question under the plan.
pub fn question(language: Language) -> &'static str {
    language.pick("Approve and start Loop? (yes / edit / cancel) ", "批准并启动 Loop？(yes / edit / cancel) ")
}

/// That the mirror is no change of anybody's.
pub fn excluded(language: Language) -> &'static str {
    language.pick(
        "/.mino/ is excluded in .git/info/exclude; git nav-loop uninstall takes that out.",
        "/.mino/ 已写入 .git/info/exclude；git nav-loop uninstall 会将其取出。",
    )
}

/// How a plan is edited.
pub fn edit_help(language: Language) -> &'static str {
    language.pick(
        "order 2 1 3 … | drop N or KEY | budget N | done: ",
        "order 2 1 3 …（顺序）| drop N 或 KEY（去掉）| budget N（预算）| done（完成）：",
    )
}

/// What the driver does now.
pub fn step_line(language: Language, skill: Skill, label: &str, title: &str, attempts: u32) -> String {
    let what = match skill {
        Skill::Run => language.pick("run", "运行"),
        Skill::Verify => language.pick("verify", "验证"),
        Skill::Checkup => language.pick("checkup", "收尾"),
    };
    let attempt = match skill {
        Skill::Run if attempts > 0 => format!(" ({} {})", language.pick("attempt", "第"), attempts.saturating_add(1)),
        _ => String::new(),
    };
    format!("[{what}] {label}: {title}{attempt}")
}

/// What it came to.
pub fn outcome_line(language: Language, outcome: &str, state: &TaskState) -> String {
    let next = format!("{:?}", state.next_stage).to_lowercase();
    let blocked = state.blocking_check.filter(|_| state.workflow_entry_state == Entry::Blocked);
    let why = blocked.map_or_else(String::new, |b| format!(" ({})", b.name()));
    format!("  {outcome}{why} · {}{next}", language.pick("next: ", "下一步："))
}

/// Why a set waits, and the commands that a person has.
pub fn context(language: Language, set: &SetState) -> String {
    let t = |en, zh| language.pick(en, zh);
    let mut text = format!("Loop {}: {}\n", set.id, status_word(language, set.status));
    text += &format!("{}{}\n", t("Intent: ", "意图："), visible(&set.plan.intent));
    let done = set.tasks.iter().filter(|t| t.is_done()).count();
    let used = format!("{}/{}", set.used(), set.plan.budget);
    text += &format!(
        "{}{done}/{} · {}{used}\n",
        t("Tasks done: ", "已完成任务："),
        set.tasks.len(),
        t("transitions ", "转换 ")
    );
    let Some(reason) = set.halt_reason else { return text };
    let at = set.halt_at_task_key.as_deref();
    let also = set.halt_also.iter().map(|r| r.name()).collect::<Vec<_>>().join(", ");
    text += &format!("{}{}", t("Halted: ", "停止原因："), reason.name());
    if let Some(key) = at {
        text += &format!(" ({} {key})", set.plan.label(key));
    }
    text += &if also.is_empty() { "\n".to_owned() } else { format!(" · {}{also}\n", t("also ", "另有 ")) };
    if let Some(state) = at.and_then(|k| set.task(k)) {
        if let Some(check) = state.blocking_check {
            text += &format!("  {}\n", check.name());
        }
        for line in state.failure.lines().rev().take(12).collect::<Vec<_>>().into_iter().rev() {
            text += &format!("  | {}\n", visible(line));
        }
    }
    if set.status == SetStatus::Halted {
        text += &commands(set, reason, at);
    }
    text
}

fn commands(set: &SetState, reason: HaltReason, at: Option<&str>) -> String {
    let (id, key) = (&set.id, at.unwrap_or("KEY"));
    let mut text = String::new();
    match reason {
        HaltReason::PendingAcceptance => {
            text += &format!("  git nav-loop task accept {key}\n  git nav-loop task reject {key} \"what is wrong\"\n");
        }
        HaltReason::ReapprovalRequired => {
            // The line is there to be copied: nothing but a plain word goes into it.
            let is_plain = |r: &&str| !r.is_empty() && r.bytes().all(|b| b.is_ascii_alphanumeric());
            let known = at.and_then(|k| set.task(k)).map(|s| s.spec_revision.as_str());
            let revision = known.filter(is_plain).unwrap_or("REV");
            text += &format!("  git nav-loop task resume {id} continue --approve {revision}\n");
        }
        HaltReason::LoopBudgetExhausted => {
            text += &format!("  git nav-loop task resume {id} continue --budget 50\n");
        }
        _ => {}
    }
    text += &format!("  git nav-loop task resume {id} continue\n  git nav-loop task resume {id} skip {key}\n");
    text + &format!("  git nav-loop task resume {id} cancel\n")
}

fn status_word(language: Language, status: SetStatus) -> &'static str {
    match status {
        SetStatus::Running => language.pick("running", "运行中"),
        SetStatus::Halted => language.pick("halted", "已停止"),
        SetStatus::Completed => language.pick("completed", "已完成"),
        SetStatus::Cancelled => language.pick("cancelled", "已取消"),
    }
}

/// One word for where a task stands.
fn task_word(language: Language, state: &TaskState) -> &'static str {
    if state.cancelled {
        return language.pick("cancelled", "已取消");
    }
    match (state.workflow_entry_state, state.current_stage, state.next_stage) {
        (_, Stage::Done, _) => language.pick("done", "完成"),
        (Entry::PendingAcceptance, ..) => language.pick("pending acceptance", "等待验收"),
        (Entry::Blocked, ..) => language.pick("blocked", "受阻"),
        (Entry::NeedsBreakdown, ..) => language.pick("needs breakdown", "需要分解"),
        (_, _, Stage::Verify) => language.pick("to verify", "待验证"),
        (_, _, Stage::Checkup) => language.pick("to check up", "待收尾"),
        (_, Stage::Verify, Stage::Run) => language.pick("to retry", "待重试"),
        _ => language.pick("ready", "就绪"),
    }
}

/// Every task, a line each.
pub fn list(language: Language, set: &SetState) -> String {
    let rows: Vec<[String; 4]> = set
        .each()
        .map(|(task, state)| {
            [
                set.plan.label(&task.task_key),
                task_word(language, state).to_owned(),
                task.task_key.clone(),
                visible(&task.title),
            ]
        })
        .collect();
    let width = |n: usize| rows.iter().map(|r| unicode_width::UnicodeWidthStr::width(r[n].as_str())).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            let own: usize = unicode_width::UnicodeWidthStr::width(cell.as_str());
            text += &format!("{cell}{}  ", " ".repeat(width - own));
        }
        text += &format!("{}\n", row[3]);
    }
    text
}

/// One task whole.
pub fn show(language: Language, set: &SetState, at: usize) -> String {
    let (task, state) = (&set.plan.tasks[at], &set.tasks[at]);
    let t = |en, zh| language.pick(en, zh);
    let mut text = format!("{} {} · {}\n", set.plan.label(&task.task_key), task.task_key, task_word(language, state));
    let mut row = |key: &str, value: String| {
        if !value.is_empty() {
            text += &format!("{key}: {}\n", visible(&value));
        }
    };
    row(t("Title", "标题"), task.title.clone());
    row(t("Depends on", "依赖"), task.depends_on.join(", "));
    row(t("Attempts", "尝试"), format!("{}/{}", state.attempt_count, state.max_retry_count.saturating_add(1)));
    row(t("Verified at", "验证于"), state.verify_anchor_sha.clone().unwrap_or_default());
    row(t("Code", "代码"), state.code_ref.clone().unwrap_or_default());
    row(
        t("Revision", "修订"),
        format!("{} ({} {})", state.spec_revision, t("approved", "已批准"), state.approved_revision),
    );
    row(t("Events", "事件"), set.task_events[at].iter().map(|e| e.event.clone()).collect::<Vec<_>>().join(", "));
    for line in task.checks.iter().flat_map(|c| c.lines()) {
        text += &format!("  $ {}\n", visible(line));
    }
    for line in state.failure.lines() {
        text += &format!("  | {}\n", visible(line));
    }
    text += &format!("\n{}\n", task.text.lines().map(visible).collect::<Vec<_>>().join("\n"));
    text
}

/// Who waits for whom, as text: sub-tasks under their composite, dependencies behind an arrow.
pub fn graph(language: Language, set: &SetState) -> String {
    let mut text = String::new();
    for (task, state) in set.each() {
        let depth = std::iter::successors(task.parent.as_deref(), |p| set.plan.task(p)?.parent.as_deref()).count();
        let mark = if state.cancelled {
            '-'
        } else if state.is_done() {
            'x'
        } else {
            ' '
        };
        let waits =
            if task.depends_on.is_empty() { String::new() } else { format!(" ← {}", task.depends_on.join(", ")) };
        let shape = if task.shape == Shape::Composite { "+" } else { "" };
        text += &format!(
            "{}[{mark}] {}{shape}{waits} ({})\n",
            "  ".repeat(depth),
            task.task_key,
            task_word(language, state)
        );
    }
    text
}

/// The plan for machines.
pub fn plan_json(id: &str, plan: &Plan) -> Value {
    json!({
        "v": 1, "loop_id": id, "spec_revision": plan.revision(), "goal_kind": plan.goal_kind, "intent": plan.intent,
        "resolved_query": plan.resolved_query, "budget_max_transitions": plan.budget, "tasks": plan.tasks,
        "excluded": plan.excluded, "exit_code": 0,
    })
}

/// The set for machines: the entity of the mirror, and every task's state.
pub fn set_json(set: &SetState, code: u8) -> Value {
    let mut value = crate::domain::task_set::mirror::entity(set);
    let tasks: Vec<Value> = set
        .each()
        .map(|(task, state)| {
            let mut value = serde_json::to_value(state).unwrap_or_default();
            value["task_key"] = task.task_key.clone().into();
            value["label"] = set.plan.label(&task.task_key).into();
            value["title"] = task.title.clone().into();
            value["depends_on"] = task.depends_on.clone().into();
            value["parent"] = task.parent.clone().into();
            value
        })
        .collect();
    value["v"] = 1.into();
    value["tasks"] = tasks.into();
    value["exit_code"] = code.into();
    value
}

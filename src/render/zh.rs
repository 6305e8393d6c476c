//! 中文.

use super::{
    Phrases, clock,
    visible::{visible, visible_short},
};
use crate::domain::{
    diagnosis::Diagnosis,
    event::{PauseReason, SignalKind},
    gate::{GateReason, Verdict},
    indicator::{Indicator, Reason},
    stagnation::StagnationRule,
    status::{LastAction, NextAction, Status},
    success::Criterion,
    test_run::TestVerdict,
};

/// The fixed phrases, in the words of the seed.
pub const PHRASES: Phrases = Phrases {
    colon: "：",
    comma: "，",
    open: "（",
    close: "）",
    activated: "循环模式激活",
    task: "任务",
    max_iterations: "最大迭代次数",
    stagnation_threshold: "停滞阈值",
    starting: "开始第1次迭代...",
    phase: "阶段",
    iteration: "迭代",
    progress: "进度",
    indicators_heading: "完成指标",
    exit_conditions: "退出条件",
    heuristics: "启发式",
    need: |n| format!("需要{n}+"),
    state_hash: "状态哈希",
    previous_hash: "上一个哈希",
    none: "无",
    stagnation: "停滞",
    next_action: "下一个行动",
    loop_complete: "循环完成",
    iterations: "迭代次数",
    final_phase: "最终阶段：COMPLETE",
    passed: "通过",
    accepted: "按现状接受",
    summary: "摘要",
    nothing_committed: "没有提交任何内容",
    no_config: "在.nav-config.json中未找到循环模式配置。",
    using_defaults: "使用默认值：max_iterations=5, stagnation_threshold=3",
    skipped_no_tracker: "（跳过 - 无PM工具）",
    skipped_disabled: "（跳过 - 简化已关闭）",
    skipped_no_code: "（跳过 - 无代码更改）",
    stagnation_detected: "检测到停滞",
    max_reached: "达到最大迭代次数",
    indicator,
    loop_id: "循环",
    tests: "测试",
    pinned_by_first_run: "（由首次运行固定）",
    target: "目标分支",
    no_target: "无",
    not_looked: "工作区：未查看",
    config_changed: "循环开始后配置已更改；循环沿用开始时的配置。",
    incidents: "某个钩子出了问题；见 git nav-loop doctor。最近一条",
    waiting: "等待写入日志的事件",
    last_action: "上次行动",
    anchor: "锚点",
    evidence: "证据",
    signal: "信号",
    check_with: "用普通 git 核对",
    weak: "弱：既无已提交代码也无通过的测试，门就打开了",
    time: "时间",
    commit: "提交",
    indicators: "指标",
    verdict: "裁决",
    success,
    same_state: |n| format!("连续{n}次迭代检测到相同状态。"),
    current_state: "当前状态",
    causes_heading: "可能的原因",
    causes: ["被外部依赖阻塞", "需求不明确", "测试失败阻止进度", "缺少上下文或权限"],
    options: "选项",
    stagnation_options: ["[继续] - 再试一次迭代", "[澄清] - 用户解释阻塞点，纳入并继续", "[中止] - 手动干预，结束循环"],
    without_completion: |max| format!("在没有完全完成的情况下完成了{max}次迭代。"),
    progress_made: "取得的进展",
    limit_options: ["[扩展] - 增加3次迭代", "[完成] - 接受当前状态作为完成", "[中止] - 未完成退出"],
    person_decides: "由人决定",
    protocol: "自主完成协议",
    protocol_step,
    protocol_result: |result| match result {
        "done" => "完成",
        "failed" => "失败",
        _ => "跳过",
    },
    left: "留在工作区",
    choose: |n| format!("请选择（1-{n}）："),
    what_blocks: "阻塞点：",
    not_understood: "请输入列表中的编号或词语。",
    other_options: [
        "[继续] - 再试一次迭代",
        "[澄清] - 用户解释阻塞点，纳入并继续",
        "[完成] - 接受当前状态作为完成",
        "[中止] - 手动干预，结束循环",
    ],
    driver_gone: "该循环的驱动进程已不存在；git nav-loop run --resume 从本次迭代继续。",
    task_changed: |file| format!("{file} 在循环开始后已更改；循环保留开始时的文本。"),
    usage_limit: |left| format!("代理已达到使用限额；{} 后继续。按 Ctrl-C 停止。", clock(left)),
    usage_limit_over: "使用限额的等待已结束。",
    synced: |remote, n, pushed| {
        format!("{remote}：收到 {n} 条注释，{}", if pushed { "已推送本地注释" } else { "没有可推送的内容" })
    },
    replay_same: |n| format!("{n} 个已记录的裁决与对象一致"),
    rests_on_record: "仅依据记录",
    ticket_open: "未关闭",
    ticket_closed: "已关闭",
    repeats,
    missing: "缺少",
    failing: "失败的测试",
    phase_action: |phase| match phase {
        "RESEARCH" => "探索代码库，寻找模式",
        "IMPL" => "编写代码，进行更改",
        "VERIFY" => "运行测试，验证功能，简化代码",
        "COMPLETE" => "所有指标满足，准备退出",
        _ => "加载上下文，理解需求",
    },
};

fn success(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::WithinLimit => "任务在max_iterations内完成",
        Criterion::NoStagnation => "没有停滞暂停（或迅速解决）",
        Criterion::BothConditions => "EXIT_SIGNAL+启发式都满足",
        Criterion::MarkerWritten => "完成标记包括循环状态",
        Criterion::ProgressSeen => "每次迭代都看到清晰的进度",
    }
}

fn protocol_step(step: &str) -> &'static str {
    match step {
        "commit" => "提交更改",
        "archive" => "归档任务文档",
        "ticket" => "关闭工单",
        "marker" => "创建完成标记",
        _ => "建议紧凑",
    }
}

fn repeats(found: &Diagnosis) -> String {
    match found.rule {
        Some(StagnationRule::SameState) => format!("相同状态 {} 次", found.repeats),
        Some(StagnationRule::Cycle(n)) => format!("{n} 个状态的循环 {} 次", found.repeats),
        Some(StagnationRule::SameFailures) => "相同的测试一直失败，没有新满足的指标".into(),
        None => "没有重复".into(),
    }
}

fn indicator(indicator: Indicator) -> &'static str {
    match indicator {
        Indicator::CodeCommitted => "代码更改已提交",
        Indicator::TestsPassing => "测试通过",
        Indicator::CodeSimplified => "代码简化",
        Indicator::DocsUpdated => "文档更新",
        Indicator::TicketClosed => "工单关闭",
        Indicator::MarkerCreated => "创建标记",
    }
}

/// Why an indicator is what it is.
pub fn reason(reason: &Reason) -> String {
    let v = |text: &String| visible_short(text, 160);
    match reason {
        Reason::Committed { commits, paths, looked } => {
            let note = if *looked { "" } else { "；工作区：未查看" };
            format!("{commits} 个自有提交更改了 {paths} 个路径{note}")
        }
        Reason::NoOwnCommit => "本循环还没有提交".into(),
        Reason::NoNetChange => "本循环的提交没有留下代码更改".into(),
        Reason::Dirty { first, count } => format!("未提交：{}（共 {count} 个路径）", v(first)),
        Reason::TestsPassed { command, head } => format!("`{}` 在此代码上通过，于 {}", v(command), head.short()),
        Reason::NoTestRun { pinned: Some(command) } => format!("此代码没有 `{}` 的运行记录", v(command)),
        Reason::NoTestRun { pinned: None } => "没有测试运行记录：git nav-loop test -- 命令".into(),
        Reason::TestsFailed { command, failing } => match failing.first() {
            Some(first) => format!("`{}` 在此代码上失败：{}", v(command), v(first)),
            None => format!("`{}` 在此代码上失败", v(command)),
        },
        Reason::TestsError { command, why } => format!("`{}` 在此代码上出错：{}", v(command), v(why)),
        Reason::TestsStale { passed: true, head } => format!("已过期：在 {} 通过，此后代码已更改", head.short()),
        Reason::TestsStale { passed: false, head } => format!("已过期：在 {} 未通过，此后代码已更改", head.short()),
        Reason::OtherCommandPassed { command, pinned } => {
            format!("`{}` 通过，但本循环的测试命令是 `{}`", v(command), v(pinned))
        }
        Reason::SimplificationDisabled => "simplification.enabled 为 false".into(),
        Reason::NoCodeToSimplify => "净更改中没有代码".into(),
        Reason::SimplifiedBy { commit } => format!("提交 {} 做了简化", commit.short()),
        Reason::SimplifiedRecorded { commit } => format!("记录于 {}", commit.short()),
        Reason::NoSimplification => "首个提交之后没有简化代码的提交（refactor:、simplify:、cleanup:）".into(),
        Reason::SimplifiedButFailing => "此代码上最近一次测试运行失败".into(),
        Reason::DocsChanged { path, count: 1 } => format!("{} 已更改", v(path)),
        Reason::DocsChanged { path, count } => format!("{} 及另外 {} 个文件已更改", v(path), count - 1),
        Reason::NoDocs => "没有文档更改".into(),
        Reason::DocsWhiteSpaceOnly => "文档只改了空白或文件名，文字未变".into(),
        Reason::NoTracker => "无PM工具，也没有指明工单".into(),
        Reason::NoTicketNamed => "没有指明工单：start --ticket N，或以工单命名的分支".into(),
        Reason::TicketOpen { ticket } => format!("没有任何内容关闭 {}", v(ticket)),
        Reason::TicketClosedBy { ticket, commit } => format!("提交 {} 关闭了 {}", commit.short(), v(ticket)),
        Reason::TaskDocArchived { path } => format!("{} 已移入归档", v(path)),
        Reason::TaskDocDone { path } => format!("{} 的状态变为完成", v(path)),
        Reason::TrackerClosed { ticket } => format!("工单系统显示 {} 已关闭", v(ticket)),
        Reason::MarkerInTree { path } => format!("{} 已提交", v(path)),
        Reason::MarkerRecorded { path } => format!("{} 已记入日志", v(path)),
        Reason::MarkerOnDisk { path } => format!("{}：仅在磁盘上，被 git 忽略", v(path)),
        Reason::NoMarker => "没有完成标记：git nav-loop mark".into(),
    }
}

/// What to do next.
pub fn next_action(action: &NextAction) -> String {
    match action {
        NextAction::Resume(PauseReason::MaxIterations | PauseReason::Limit) => {
            "由人决定：git nav-loop resume extend | resume complete | abort".into()
        }
        NextAction::Resume(_) => "由人决定：git nav-loop resume continue | resume clarify \"说明\" | abort".into(),
        NextAction::Ended => "无，循环已结束".into(),
        NextAction::Complete => "git nav-loop complete".into(),
        NextAction::Missing(missing) => format!("缺少：{}", names(missing)),
        NextAction::LoadContext => "加载上下文，理解需求".into(),
        NextAction::Explore => "探索代码库，寻找模式".into(),
        NextAction::FixTest(test) => format!("修复 {}", visible_short(test, 120)),
        NextAction::RunTests(Some(command)) => format!("运行测试：git nav-loop test（{}）", visible_short(command, 80)),
        NextAction::RunTests(None) => "运行测试：git nav-loop test -- 命令".into(),
        NextAction::CommitWork { simplify_first: true } => "简化代码，然后提交".into(),
        NextAction::CommitWork { simplify_first: false } => "提交更改".into(),
        NextAction::Do(Indicator::TestsPassing) => "运行测试：git nav-loop test".into(),
        NextAction::Do(Indicator::CodeSimplified) => "简化代码（提交标题 refactor: …）".into(),
        NextAction::Do(Indicator::DocsUpdated) => "更新文档".into(),
        NextAction::Do(Indicator::TicketClosed) => "关闭工单".into(),
        NextAction::Do(Indicator::MarkerCreated) => "创建完成标记：git nav-loop mark".into(),
        NextAction::Do(Indicator::CodeCommitted) => "提交更改".into(),
        NextAction::GiveSignal => "若已无剩余工作，发出退出信号：git nav-loop signal exit --reason \"…\"".into(),
    }
}

/// What happened last.
pub fn last_action(action: &LastAction) -> String {
    match action {
        LastAction::Started => "开始".into(),
        LastAction::Committed(subject) => format!("提交：{}", visible_short(subject, 120)),
        LastAction::Tested(command, verdict) => {
            let verdict = match verdict {
                TestVerdict::Pass => "通过",
                TestVerdict::Fail => "失败",
                TestVerdict::Error => "出错",
            };
            format!("测试：{} {verdict}", visible_short(command, 100))
        }
        LastAction::Signalled(SignalKind::Exit) => "信号：退出".into(),
        LastAction::Signalled(SignalKind::False) => "信号：尚未完成".into(),
        LastAction::Signalled(SignalKind::Failed) => "信号：失败".into(),
        LastAction::TurnEnded(n) => format!("第{n}轮结束"),
    }
}

fn names(indicators: &[Indicator]) -> String {
    indicators.iter().map(|i| i.name()).collect::<Vec<_>>().join("，")
}

/// The one line that says the gate's answer.
pub fn verdict_line(status: &Status) -> String {
    let gate = &status.gate;
    match (gate.verdict, gate.reason) {
        (Verdict::Exit, _) if gate.weak => "退出：任务完成（弱：既无已提交代码也无通过的测试）".into(),
        (Verdict::Exit, _) => "退出：任务完成".into(),
        (Verdict::Continue, GateReason::AwaitingSignal) => "继续：等待明确的完成信号".into(),
        (Verdict::Continue, GateReason::Vetoed) => match visible_short(&status.signal_reason, 160).as_str() {
            "" => "继续：被明确的 false 否决".into(),
            reason => format!("继续：被否决：{reason}"),
        },
        (Verdict::Continue, GateReason::TestsFailed) => "继续：需要更多工作，有记录的测试运行失败".into(),
        (Verdict::Continue, _) => "继续：需要更多工作".into(),
        (Verdict::Blocked, GateReason::TestsFailed) => "阻塞：有记录的测试运行失败，缺少 tests_passing".into(),
        (Verdict::Blocked, _) => format!("阻塞：指标不足，缺少 {}", names(&gate.missing)),
        (Verdict::Paused, _) => format!("暂停：{}", pause(gate.pause, &status.pause_why)),
        (Verdict::Unknown, _) => "未知：无法判断".into(),
    }
}

fn pause(reason: Option<PauseReason>, why: &str) -> String {
    match reason {
        Some(PauseReason::Stagnation) => "停滞".into(),
        Some(PauseReason::MaxIterations) => "达到最大迭代次数".into(),
        Some(PauseReason::Limit) => "达到限制".into(),
        Some(PauseReason::Approval) => "等待人工批准".into(),
        Some(PauseReason::AgentFailed) => "代理连续失败三次".into(),
        Some(PauseReason::AgentBlocked) | None => format!("代理表示无法继续：{}", visible(why)),
    }
}

//! A model check of a whole set: random graphs, outcomes, crashes between any two writes, and people's acts.

use proptest::prelude::*;

use super::{
    decision::{Skill, decide},
    document, graph,
    halt::{HaltReason, halts},
    intent::GoalKind,
    mirror,
    plan::{Plan, Shape},
    state::{SetState, SetStatus},
    task::{Basis, BlockingCheck, Entry, Ran, TaskState, Verified},
};
use crate::domain::{
    event::{Event, Record, SetStarted, TaskDecided, TaskMoved},
    oid::Oid,
};

const ID: &str = "2026-01-01-0000-abcdef";

fn oid() -> Oid {
    Oid::parse(&"1".repeat(40)).unwrap()
}

/// A document of `n` tasks; `edges` say who waits for an earlier one, `nested` who is a sub-task of the one before.
fn plan(n: usize, edges: &[(usize, usize)], nested: &[bool]) -> Plan {
    let mut text = String::new();
    let mut inside = false;
    for (at, wants) in nested.iter().enumerate().take(n) {
        let sub = *wants && at > 0 && !inside;
        inside = sub;
        text += &format!("{} Task {at}: t{at}\n\n", if sub { "###" } else { "##" });
        let waits: Vec<String> = edges
            .iter()
            .filter(|(a, b)| a % n == at && b % n < at && !(sub && b % n + 1 == at))
            .map(|(_, b)| format!("{}", b % n))
            .collect();
        if !waits.is_empty() {
            text += &format!("Depends on: {}\n\n", waits.join(", "));
        }
    }
    let tasks = document::read("x.md", &text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let budget = Plan::default_budget(tasks.len());
    let (intent, resolved_query) = ("x.md".to_owned(), "n/a (file path)".to_owned());
    Plan {
        intent,
        resolved_query,
        goal_kind: GoalKind::SetDone,
        file: None,
        decomposed: false,
        tasks,
        excluded: vec![],
        budget,
    }
}

struct World {
    plan: Plan,
    records: Vec<Record>,
}

impl World {
    fn new(plan: Plan) -> Self {
        let started = SetStarted {
            plan_blob: oid(),
            revision: plan.revision(),
            intent_hash: "0".into(),
            branch: None,
            approved_by: "person".into(),
            clone: "c".into(),
            push: false,
            test_command: None,
        };
        let mut world = Self { plan, records: Vec::new() };
        world.write(Event::SetStarted(Box::new(started)));
        world
    }

    fn write(&mut self, event: Event) {
        let seq = self.records.len() as u64 + 1;
        let (id, at) = (format!("{seq:08}"), format!("2026-01-01T00:00:{:02}.000Z", seq % 60));
        let loop_id = ID.to_owned();
        self.records.push(Record {
            v: 1,
            id,
            on: oid(),
            loop_id,
            seq,
            at,
            commit: None,
            by: "task".into(),
            epoch: 0,
            event,
        });
    }

    fn fold(&self) -> SetState {
        let text = serde_json::to_string(&self.plan).unwrap();
        SetState::fold(self.records.clone(), ID, &|_| Some(text.clone())).unwrap()
    }
}

fn ran(die: u8) -> Ran {
    match die % 10 {
        0 => Ran::Preflight(BlockingCheck::DirtyWorkingTree),
        1 => Ran::CommitRefused("no".into()),
        2 => Ran::AgentBlocked("no".into()),
        _ => Ran::Completed,
    }
}

fn verified(die: u8) -> Verified {
    let anchor = "1".to_owned();
    match die % 10 {
        0..=3 => Verified::Failed { anchor, output: "not ok".into() },
        4 => Verified::Unprovable { anchor },
        5 => Verified::PublicationFailed { anchor, why: "rejected".into() },
        _ => Verified::Passed { anchor, published: false },
    }
}

/// What must hold at each moment.
fn holds(world: &World, set: &SetState, before: Option<&SetState>) {
    for (at, (task, state)) in set.each().enumerate() {
        assert!(state.attempt_count <= state.max_retry_count + 1, "{state:?}");
        let moved = before.is_none_or(|b| b.tasks[at] != *state);
        if moved && state.is_done() {
            assert!(set.is_ready(at), "{} is done before what it waits for", task.task_key);
        }
        if state.is_done() {
            assert!(state.completion_basis.is_some() && state.code_ref.is_some());
        }
    }
    assert!(set.used() <= world.plan.budget, "the budget is never exceeded");
    assert!(!set.has_gap, "no transition is lost");
    let mut shuffled = world.records.clone();
    shuffled.reverse();
    shuffled.extend(world.records.iter().take(3).cloned());
    let text = serde_json::to_string(&world.plan).unwrap();
    let again = SetState::fold(shuffled, ID, &|_| Some(text.clone())).unwrap();
    assert_eq!(mirror::files(&again), mirror::files(set), "order and repeats change no mirror");
}

/// One round of the driver; `crash` = it dies after the step and before its record.
fn round(world: &mut World, die: u8, crash: bool) {
    let set = world.fold();
    if let Some(any) = set.goal() {
        return world.write(if any { Event::SetCompleted {} } else { Event::SetCancelled { who: "x".into() } });
    }
    let found = halts(&set);
    if let Some((reason, task_key)) = found.first().cloned() {
        let order: Vec<HaltReason> = found.iter().map(|(r, _)| *r).collect();
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(order, sorted, "the seed's order");
        return world.write(Event::SetHalted { reason, also: order[1..].to_vec(), task_key });
    }
    let step = decide(&set).expect("nothing halts, so something fits");
    let (task, state) = (&set.plan.tasks[step.at], set.tasks[step.at].clone());
    if step.skill == Skill::Run {
        assert!(set.is_ready(step.at) || state.attempt_count > 0, "no task before its dependencies");
        assert_eq!(task.shape, Shape::Leaf);
        let between = |s: &TaskState| !s.is_over() && matches!(s.next_stage, super::task::Stage::Verify);
        assert!(!set.tasks.iter().any(between), "never two at once: what has run is verified first");
    }
    let after = match step.skill {
        Skill::Run => state.after_run(ran(die)),
        Skill::Verify => state.after_verify(verified(die)),
        Skill::Checkup => state.after_checkup("1", (task.shape == Shape::Composite).then_some(Basis::Aggregated)),
    };
    if crash {
        return;
    }
    let (n, task_key, skill) = (set.used() + 1, task.task_key.clone(), step.skill.name().to_owned());
    world.write(Event::TaskMoved(Box::new(TaskMoved { n, task_key, skill, outcome: "x".into(), state: after })));
}

/// A person's act on a halted set.
fn person(world: &mut World, die: u8) {
    let set = world.fold();
    let key = set.halt_at_task_key.clone();
    let decided = |key: &str, state: TaskState| {
        Event::TaskDecided(Box::new(TaskDecided {
            task_key: key.to_owned(),
            what: "x".into(),
            who: "person".into(),
            state,
        }))
    };
    let resumed = Event::SetResumed { choice: "continue".into(), who: "person".into(), plan_blob: None };
    if die.is_multiple_of(16) || set.halt_reason == Some(HaltReason::LoopBudgetExhausted) {
        return world.write(Event::SetCancelled { who: "person".into() });
    }
    let Some(key) = key else { return world.write(resumed) };
    let state = set.task(&key).unwrap().clone();
    if state.workflow_entry_state == Entry::PendingAcceptance {
        let next = if die.is_multiple_of(3) { state.rejected("no") } else { state.accepted() };
        world.write(decided(&key, next));
    } else if die.is_multiple_of(4) || set.halt_reason == Some(HaltReason::FailTerminal) {
        let over = |k: &String| set.task(k).is_none_or(TaskState::is_over);
        let cancelled: Vec<String> = graph::cascade(&set.plan.tasks, &key).into_iter().filter(|k| !over(k)).collect();
        world.write(Event::TasksSkipped { task_key: key, cancelled, who: "person".into() });
    } else {
        world.write(decided(&key, state.continued()));
    }
    world.write(resumed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_of_a_random_set_keeps_its_rules_and_ends(
        n in 1usize..9,
        edges in proptest::collection::vec((0usize..9, 0usize..9), 0..8),
        nested in proptest::collection::vec(any::<bool>(), 9),
        dice in proptest::collection::vec(any::<(u8, bool)>(), 600),
    ) {
        let mut world = World::new(plan(n, &edges, &nested));
        let mut before: Option<SetState> = None;
        for (die, crash) in dice {
            let set = world.fold();
            holds(&world, &set, before.as_ref());
            match set.status {
                SetStatus::Completed | SetStatus::Cancelled => break,
                SetStatus::Halted => person(&mut world, die),
                SetStatus::Running => round(&mut world, die, crash && die % 5 == 0),
            }
            before = Some(set);
        }
        let set = world.fold();
        prop_assert!(matches!(set.status, SetStatus::Completed | SetStatus::Cancelled | SetStatus::Halted | SetStatus::Running));
        prop_assert!(set.status != SetStatus::Running || set.used() < world.plan.budget);
    }
}

/// Every pair of reasons that can hold at once, on two tasks: both are found, the seed's order decides.
#[test]
fn of_any_two_halts_the_first_in_the_seeds_order_is_reported_and_both_are_recorded() {
    type Change = fn(&mut TaskState);
    let reasons: [(HaltReason, Change); 5] = [
        (HaltReason::ApprovalRequired, |s| s.approval_state = super::task::ApprovalState::Draft),
        (HaltReason::PendingAcceptance, |s| s.workflow_entry_state = Entry::PendingAcceptance),
        (HaltReason::FailTerminal, |s| s.pass_fail_outcome = Some(super::task::Outcome::FailTerminal)),
        (HaltReason::Blocked, |s| s.workflow_entry_state = Entry::Blocked),
        (HaltReason::ReapprovalRequired, |s| s.spec_revision = "other".into()),
    ];
    for (a, (first, one)) in reasons.iter().enumerate() {
        for (second, two) in &reasons[a..] {
            for exhausted in [false, true] {
                let world = World::new(plan(2, &[], &[false; 9]));
                let mut set = world.fold();
                two(&mut set.tasks[0]);
                one(&mut set.tasks[1]);
                set.plan.budget = if exhausted { 0 } else { 50 };
                let found: Vec<HaltReason> = halts(&set).into_iter().map(|(r, _)| r).collect();
                let mut expected = vec![*first, *second];
                expected.dedup();
                expected.extend(exhausted.then_some(HaltReason::LoopBudgetExhausted));
                assert_eq!(found, expected);
            }
        }
    }
    let mut set = World::new(plan(1, &[], &[false; 9])).fold();
    set.has_gap = true;
    assert_eq!(halts(&set), [(HaltReason::ProtocolGap, None)]);
    set.plan.budget = 0;
    let found: Vec<HaltReason> = halts(&set).into_iter().map(|(r, _)| r).collect();
    assert_eq!(found, [HaltReason::LoopBudgetExhausted, HaltReason::ProtocolGap]);
}

#[test]
fn forged_plans_are_no_plans_and_change_no_set() {
    let frozen = plan(3, &[], &[false, true, false]);
    let read = |change: &dyn Fn(&mut Plan)| {
        let mut forged = frozen.clone();
        change(&mut forged);
        Plan::read(&serde_json::to_string(&forged).unwrap())
    };
    assert_eq!(read(&|_| {}), Some(frozen.clone()));
    let key = |at: usize| frozen.tasks[at].task_key.clone();
    assert_eq!(read(&|p| p.tasks[0].parent = Some(key(1))), None, "parents in a circle");
    assert_eq!(read(&|p| p.tasks[2].parent = Some("nobody".into())), None);
    assert_eq!(read(&|p| p.tasks[1].task_key = key(0)), None, "two tasks of one key");
    for bad in ["", "\u{1b}[31m", "../x", "字", &"a".repeat(65)] {
        assert_eq!(read(&|p| p.tasks[2].task_key = bad.into()), None, "{bad:?}");
    }
    assert_eq!(read(&|p| p.tasks[2].depends_on = vec!["\u{1b}[31m".into()]), None);
    let mut world = World::new(frozen.clone());
    world.write(Event::SetHalted { reason: HaltReason::Blocked, also: vec![], task_key: Some("x; rm -rf ~".into()) });
    assert_eq!(world.fold().halt_at_task_key, None, "what goes into a command to copy is a task of the set");
    let other = Oid::parse(&"2".repeat(40)).unwrap();
    let resumed = Event::SetResumed { choice: "continue".into(), who: "x".into(), plan_blob: Some(other.clone()) };
    world.write(resumed);
    let grown = serde_json::to_string(&plan(5, &[], &[false; 5])).unwrap();
    let own = serde_json::to_string(&frozen).unwrap();
    let text = |blob: &Oid| Some(if *blob == other { grown.clone() } else { own.clone() });
    let set = SetState::fold(world.records.clone(), ID, &text).unwrap();
    assert_eq!((set.plan.tasks.len(), set.tasks.len()), (3, 3), "a set never grows");
    assert!(halts(&set).is_empty() && decide(&set).is_some());
}

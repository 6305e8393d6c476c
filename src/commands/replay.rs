//! `replay`: every verdict that a loop recorded, derived again from objects and the inputs that are stored with it.

use serde_json::{Value, json};

use crate::{
    cli::check::ReplayArgs,
    context::Context,
    domain::{
        event::{CommitSeen, Event, IterationEnded, Record},
        evidence::{MarkerEvidence, Simplified, TicketEvidence, gather},
        facts::{DirtyPath, Facts, MarkerFile, Target, WorkTree},
        gate::Verdict,
        indicator::IndicatorState,
        oid::Oid,
        phase::Phase,
        state::LoopState,
        status::{Moment, Status, view},
    },
    error::Error,
    exit_code::ExitCode,
    git::{history::Range, journal::Journal, loops::LoopPointer, repo::Repo},
    render::visible::visible,
    turn::Turn,
};

/// One recorded verdict, against what the objects give.
struct Replayed {
    /// `iteration 3`, or `commit 1a2b3c4`.
    what: String,
    seq: u64,
    /// What differs, or why it cannot be derived; empty when all is as recorded.
    differs: Vec<String>,
    record_only: Vec<&'static str>,
}

pub(super) fn run(context: &Context, args: &ReplayArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let (turn, records) = wanted(&repo, args.loop_id.as_deref())?;
    let mut replayed: Vec<Replayed> = Vec::new();
    for record in Journal::new(&repo).records_of(&turn.state.id)? {
        match &record.event {
            Event::IterationEnded(ended) => replayed.push(replay(&turn, &records, &record, ended)),
            Event::CommitSeen(CommitSeen { met: Some(met), phase: Some(phase), verdict: Some(verdict), .. }) => {
                let seen = Seen { head: record.on.clone(), met, phase: *phase, verdict: *verdict };
                replayed.push(replay_seen(&turn, &records, &record, &seen));
            }
            Event::BranchEntered { head, met, phase, verdict, .. } => {
                let seen = Seen { head: head.clone(), met, phase: *phase, verdict: *verdict };
                replayed.push(replay_seen(&turn, &records, &record, &seen));
            }
            _ => {}
        }
    }
    replayed.sort_by_key(|r| r.seq);
    let same = replayed.iter().all(|r| r.differs.is_empty());
    let code = if same { ExitCode::Done } else { ExitCode::Closed };
    let mut only: Vec<&str> = replayed.iter().flat_map(|r| r.record_only.iter().copied()).collect();
    only.sort_unstable();
    only.dedup();
    if context.json {
        let rows: Vec<Value> = replayed
            .iter()
            .map(|r| json!({"what": r.what, "seq": r.seq, "differs": r.differs, "record_only": r.record_only}))
            .collect();
        let said =
            json!({"v": 1, "loop_id": turn.state.id, "events": rows, "record_only": only, "exit_code": code.number()});
        context.say(&said.to_string());
        return Ok(code);
    }
    for row in replayed.iter().filter(|r| !r.differs.is_empty()) {
        context.say(&format!("{} (event {}): {}", row.what, row.seq, visible(&row.differs.join("; "))));
    }
    let p = context.language.phrases();
    context.say(&(p.replay_same)(replayed.iter().filter(|r| r.differs.is_empty()).count()));
    if !only.is_empty() {
        context.say(&format!("{}{}{}", p.rests_on_record, p.colon, only.join(", ")));
    }
    Ok(code)
}

/// The loop that is asked for, or that of this place; its records in their order.
fn wanted<'r>(repo: &'r Repo, id: Option<&str>) -> Result<(Turn<'r>, Vec<Record>), Error> {
    let (turn, records) = match id {
        None => {
            let turn = Turn::need(repo)?;
            let records = Journal::new(repo).read(&turn.pointer.anchor)?.records;
            (turn, records)
        }
        Some(id) => {
            let unknown = || Error::refused(format!("no loop {id} in this repository's journal"), "git nav-loop list");
            let (anchor, records) = Journal::new(repo).find_loop(id)?.ok_or_else(unknown)?;
            let state = LoopState::fold(records.clone(), id).ok_or_else(unknown)?;
            let pointer = LoopPointer { id: id.to_owned(), anchor, branch: state.branch.clone() };
            (Turn::of(repo, pointer, state), records)
        }
    };
    let mut own: Vec<Record> = records.into_iter().filter(|r| r.loop_id == turn.state.id).collect();
    own.sort_by(|a, b| (a.seq, &a.at, &a.id).cmp(&(b.seq, &b.at, &b.id)));
    Ok((turn, own))
}

fn replay(turn: &Turn<'_>, records: &[Record], event: &Record, ended: &IterationEnded) -> Replayed {
    let (what, seq) = (format!("iteration {}", ended.iteration), event.seq);
    let work_tree = match ended.dirty {
        None => WorkTree::NotLooked,
        Some(n) => WorkTree::Looked {
            code: (0..n).map(|i| DirtyPath { path: format!("dirty {i}").into(), id: None }).collect(),
            docs: Vec::new(),
        },
    };
    let disk = MarkerFile { path: "on disk".into(), names: Some(turn.state.id.clone()), blob: None, own: false };
    let at = At {
        head: &ended.head,
        target: ended.target_oid.clone(),
        work_tree,
        disk: if ended.disk_marker { vec![disk] } else { Vec::new() },
        moment: Moment::IterationEnd,
    };
    match derive(turn, records, event, at) {
        Err(why) => Replayed { what, seq, differs: vec![why], record_only: Vec::new() },
        Ok((facts, state, status)) => {
            let differs = differences(ended, &status);
            Replayed { what, seq, differs, record_only: record_only(&facts, &state, &status) }
        }
    }
}

/// What a hook found at a commit, or at the entry of a branch.
struct Seen<'a> {
    head: Oid,
    met: &'a str,
    phase: Phase,
    verdict: Verdict,
}

/// A hook's line does not store where the target stood; each place that is recorded near it is tried, and what is there now.
fn replay_seen(turn: &Turn<'_>, records: &[Record], event: &Record, seen: &Seen<'_>) -> Replayed {
    let (what, seq) = (format!("commit {}", seen.head.short()), event.seq);
    let ends = |r: &&Record| matches!(&r.event, Event::IterationEnded(e) if e.head == seen.head && r.seq > event.seq);
    let moment =
        if records.iter().any(|r| ends(&r) && r.seq == event.seq + 1) { Moment::IterationEnd } else { Moment::Between };
    let mut targets: Vec<Option<Oid>> = vec![None, current_target(turn)];
    for record in records {
        if let Event::IterationEnded(ended) = &record.event {
            targets.push(ended.target_oid.clone());
        }
    }
    targets.sort();
    targets.dedup();
    let mut differs = Vec::new();
    for target in targets {
        let at = At { head: &seen.head, target, work_tree: WorkTree::NotLooked, disk: Vec::new(), moment };
        differs = match derive(turn, records, event, at) {
            Err(why) => vec![why],
            Ok((.., status)) => seen_differences(seen, &status),
        };
        if differs.is_empty() {
            break;
        }
    }
    Replayed { what, seq, differs, record_only: Vec::new() }
}

fn current_target(turn: &Turn<'_>) -> Option<Oid> {
    crate::git::target::resolve(turn.repo, turn.state.started.target.as_deref()).ok().flatten().map(|t| t.id)
}

fn seen_differences(seen: &Seen<'_>, status: &Status) -> Vec<String> {
    let pairs = [
        ("the verdict", seen.verdict.name().to_owned(), status.gate.verdict.name().to_owned()),
        ("the phase", seen.phase.name().to_owned(), status.phase.name().to_owned()),
        ("what is met", seen.met.to_owned(), status.indicators.letters()),
    ];
    let differ = pairs.into_iter().filter(|(_, recorded, derived)| recorded != derived);
    differ.map(|(what, r, d)| format!("{what} is recorded as {r}, and the objects give {d}")).collect()
}

/// The inputs of a verdict that are no objects.
struct At<'a> {
    head: &'a Oid,
    target: Option<Oid>,
    work_tree: WorkTree,
    disk: Vec<MarkerFile>,
    moment: Moment,
}

/// The status at that moment: objects as they are, the journal up to the event, and the inputs that it stored.
fn derive(
    turn: &Turn<'_>,
    records: &[Record],
    event: &Record,
    at: At<'_>,
) -> Result<(Facts, LoopState, Status), String> {
    let before: Vec<Record> = records.iter().filter(|r| r.seq < event.seq).cloned().collect();
    let state = LoopState::fold(before, &turn.state.id).ok_or("the journal has no start before it")?;
    let target = at.target.zip(state.started.target.clone()).map(|(id, name)| Target { name, id });
    let range = Range { anchor: turn.pointer.anchor.clone(), head: at.head.clone(), target };
    let facts = turn.observe_range(&range, &state, at.work_tree, at.disk);
    let facts = facts.map_err(|e| format!("it cannot be derived again: {}", e.message))?;
    let status = view(&facts, &state, at.moment);
    Ok((facts, state, status))
}

fn differences(ended: &IterationEnded, status: &Status) -> Vec<String> {
    let names = |state| status.indicators.in_state(state).map(|i| i.name().to_owned()).collect::<Vec<_>>();
    let mut differs = Vec::new();
    let mut compare = |what: &str, recorded: String, derived: String| {
        if recorded != derived {
            differs.push(format!("{what} is recorded as {recorded}, and the objects give {derived}"));
        }
    };
    compare("the verdict", ended.verdict.name().to_owned(), status.gate.verdict.name().to_owned());
    compare("the phase", ended.phase.name().to_owned(), status.phase.name().to_owned());
    compare("what is met", ended.met.join(" "), names(IndicatorState::Met).join(" "));
    compare("what is skipped", ended.skipped.join(" "), names(IndicatorState::Skipped).join(" "));
    differs
}

/// What no object shows: it is met because somebody recorded it.
fn record_only(facts: &Facts, state: &LoopState, status: &Status) -> Vec<&'static str> {
    let evidence = gather(facts, state);
    let is_met = |name: &str| status.indicators.in_state(IndicatorState::Met).any(|i| i.name() == name);
    let mut only = Vec::new();
    only.extend(is_met("tests_passing").then_some("tests_passing"));
    only.extend(matches!(evidence.simplified, Simplified::Recorded(_)).then_some("code_simplified"));
    only.extend(matches!(evidence.ticket, TicketEvidence::Tracker(..)).then_some("ticket_closed"));
    let marked = matches!(evidence.marker, Some(MarkerEvidence::Recorded(..) | MarkerEvidence::OnDisk(_)));
    only.extend(marked.then_some("marker_created"));
    only.extend((status.exit_signal && evidence.signal.commit.is_none()).then_some("exit_signal"));
    only
}

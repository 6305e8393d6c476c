//! Properties that hold for every input of a kind, not for examples.

use nav_loop::{
    domain::{
        event::{Driver, Event, LoopStarted, Record, SignalGiven, SignalKind},
        oid::Oid,
        settings::Settings,
        signal::{Accepts, scan},
        stagnation::{Fingerprint, assess},
        state::{LoopState, read_note},
    },
    render::visible::visible,
};
use proptest::prelude::*;

const LOOP: &str = "2026-11-30-0900-abcdef";

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

fn record(seq: u64, event: Event) -> Record {
    let at = format!("2026-11-30T09:{:02}:00.000Z", seq % 60);
    Record {
        v: 1,
        id: format!("id{seq}"),
        on: oid('a'),
        loop_id: LOOP.into(),
        seq,
        at,
        commit: None,
        by: "test".into(),
        epoch: 0,
        event,
    }
}

fn started() -> Record {
    record(
        1,
        Event::LoopStarted(Box::new(LoopStarted {
            kind: "task".into(),
            task_blob: oid('b'),
            title: "x".into(),
            task_file: None,
            branch: Some("feature".into()),
            target: None,
            config: Settings::default(),
            clone: "c".into(),
            driver: Driver::Commit,
            ticket: None,
            docs_only: false,
            promise_sha: None,
            nonce_sha: None,
        })),
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<bool>().prop_map(|exit| Event::SignalGiven(SignalGiven {
            kind: if exit { SignalKind::Exit } else { SignalKind::False },
            dialect: "command".into(),
            reason: "r".into(),
            iteration: 1,
            head: oid('c'),
            code: "d".into(),
        })),
        (0u32..3).prop_map(|read| Event::FilesReported { read, changed: 0 }),
        Just(Event::GateOpened { head: oid('c'), met: 2, total: 5 }),
        Just(Event::Diversified { strategy: "combine".into() }),
        "[a-z]{1,8}".prop_map(|reason| Event::LoopAborted { reason, who: "person".into() }),
        Just(Event::LoopCompleted { basis: "verified".into() }),
    ]
}

fn journal() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(any_event(), 0..12).prop_map(|events| {
        let rest = events.into_iter().enumerate().map(|(i, e)| record(i as u64 + 2, e));
        std::iter::once(started()).chain(rest).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_is_free_of_order_and_repeats(records in journal(), seed in any::<u64>()) {
        let expected = LoopState::fold(records.clone(), LOOP);
        let mut shuffled = records.clone();
        shuffled.extend(records.iter().filter(|r| (seed >> (r.seq % 64)) & 1 == 1).cloned());
        let length = shuffled.len();
        for i in 0..length {
            shuffled.swap(i, (seed.rotate_left(i as u32) % length as u64) as usize);
        }
        prop_assert_eq!(expected, LoopState::fold(shuffled, LOOP));
    }

    #[test]
    fn merging_two_journals_line_by_line_is_their_union(records in journal(), cut in 0usize..12) {
        let lines: Vec<String> = records.iter().map(Record::to_line).collect();
        let cut = cut.min(lines.len());
        let mut union: Vec<&String> = lines[..cut].iter().chain(&lines[cut.saturating_sub(2)..]).collect();
        union.sort();
        let text = union.into_iter().fold(String::new(), |t, l| t + l + "\n\n");
        let read = read_note(&oid('a'), text.as_bytes());
        prop_assert_eq!(read.corrupt, 0);
        prop_assert_eq!(LoopState::fold(read.records, LOOP), LoopState::fold(records.clone(), LOOP));
    }

    #[test]
    fn every_event_survives_its_line(records in journal()) {
        for record in records {
            let line = record.to_line();
            let read = read_note(&oid('a'), line.as_bytes());
            prop_assert_eq!(&read.records, &[record]);
        }
    }

    #[test]
    fn no_bytes_make_the_readers_fall(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "\\PC{0,200}") {
        read_note(&oid('a'), &bytes);
        scan(&String::from_utf8_lossy(&bytes), &Accepts::default());
        scan(&format!("```pilot-signal\n{text}\n```\nnav-signal:v3:{text}\n---RALPH_STATUS---\n{text}"), &Accepts::default());
        let shown = visible(&String::from_utf8_lossy(&bytes));
        prop_assert!(!shown.chars().any(char::is_control));
    }

    #[test]
    fn stagnation_never_counts_more_than_there_is(hashes in prop::collection::vec(0u8..3, 0..20), threshold in 2u32..6) {
        let history: Vec<Fingerprint> =
            hashes.iter().map(|h| Fingerprint { hash: h.to_string(), failing: vec![], met: vec![] }).collect();
        let found = assess(&history, threshold);
        prop_assert!(found.count as usize <= history.len());
        prop_assert_eq!(found.rule.is_some(), found.count >= threshold);
    }
}

#[test]
fn a_seq_far_past_the_number_of_lines_is_no_fact() {
    let forged = record(5_000, Event::LoopCompleted { basis: "forged".into() });
    let state = LoopState::fold(vec![started(), forged], LOOP).unwrap();
    assert!(!state.is_ended());
}

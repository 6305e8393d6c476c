use serde_json::Value;

use crate::support::TestRepo;

/// `tests/data/plumbing.jsonl` was made by an independent statement of the rules in another language. Each line: the
/// arguments, the exit code, and what the answer holds.
#[test]
fn the_four_functions_agree_with_the_table_outside_a_repository() {
    let repo = TestRepo::new();
    let table = include_str!("data/plumbing.jsonl");
    assert!(table.lines().count() >= 300);
    for line in table.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let args: Vec<&str> = case["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
        let said = repo.nav_in(repo.root.path(), &args);
        assert_eq!(said.code, case["code"].as_i64().unwrap() as i32, "{args:?} {said:?}");
        if let Some(words) = case["stderr"].as_str() {
            assert!(said.err.contains(words), "{args:?} {said:?}");
        }
        for words in case["contains"].as_array().into_iter().flatten() {
            assert!(said.out.contains(words.as_str().unwrap()), "{args:?} {words} {said:?}");
        }
        let expected = case["json"].as_object().into_iter().flatten();
        for (key, value) in expected {
            assert_eq!(&said.json()[key], value, "{args:?} {key}");
        }
        for (key, start) in case["starts"].as_object().into_iter().flatten() {
            let found = said.json()[key].as_str().unwrap().to_owned();
            assert!(found.starts_with(start.as_str().unwrap()), "{args:?} {found}");
        }
    }
}

#[test]
fn status_generator_ends_with_a_signal_object_that_our_own_reader_takes_for_a_veto_or_an_exit() {
    use nav_loop::domain::{
        event::SignalKind,
        signal::{Accepts, scan},
    };
    let repo = TestRepo::new();
    for (signal, expected) in [("true", SignalKind::Exit), ("false", SignalKind::False)] {
        let said = repo.nav(&["status-generator", "--exit-signal", signal]).ok();
        assert_eq!(scan(&said, &Accepts::default()).signal.unwrap().kind, expected);
    }
}

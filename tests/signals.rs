use nav_loop::domain::{
    event::SignalKind,
    signal::{Accepts, scan},
};
use serde_json::Value;

/// `tests/data/messages.jsonl`: last messages of every dialect, with quotes, examples, prose, half blocks, line ends,
/// other languages; `kind` is what a careful reader takes from each.
#[test]
fn the_corpus_of_last_messages_has_no_false_exit_and_no_missed_exit() {
    let corpus = include_str!("data/messages.jsonl");
    assert!(corpus.lines().count() >= 60);
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let said = scan(text, &Accepts::default()).signal.map(|s| s.kind);
        let expected = match case["kind"].as_str().unwrap() {
            "exit" => Some(SignalKind::Exit),
            "false" => Some(SignalKind::False),
            "failed" => Some(SignalKind::Failed),
            _ => None,
        };
        assert_eq!(said, expected, "{text}");
        let echoed = Accepts { prompt: text, ..Accepts::default() };
        assert!(scan(text, &echoed).signal.is_none(), "our own prompt echoed: {text}");
    }
}

//! An envelope, a statement and an event file of any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::check::{attestation, ci, finding};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Some(envelope) = attestation::open(&text) {
        drop(attestation::vouched(&envelope.statement));
    }
    drop(attestation::vouched(data));
    let event = serde_json::from_str(&text).ok();
    for name in ["pull_request", "merge_group", "push"] {
        let variable = |key: &str| match key {
            "GITHUB_ACTIONS" => Some("true".to_owned()),
            "GITHUB_EVENT_NAME" => Some(name.to_owned()),
            _ => None,
        };
        drop(ci::read(&variable, event.as_ref()));
    }
    for path in ["tests/a.rs", "test_a.py", "a.test.ts", "a_test.go", "ATest.java"] {
        let file = finding::ChangedFile { path: path.to_owned(), before: None, after: Some(text.clone().into_owned()) };
        drop(finding::look(&[file]));
    }
});

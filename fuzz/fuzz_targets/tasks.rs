//! A requirement document of any content, and the words that ask for a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::task_set::{document, intent};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    drop(intent::read(&text, |_| false));
    for name in ["x.md", "prd.json"] {
        if let Ok(tasks) = document::read(name, &text) {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(tasks.iter().all(|t| !t.task_key.is_empty() && t.task_key.len() <= 64 && t.task_key.bytes().all(plain)));
        }
    }
    drop(document::nodes(&text, &text));
});

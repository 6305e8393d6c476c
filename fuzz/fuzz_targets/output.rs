//! A test run's output of any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::failing_set::{collected_nothing, read};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let names = read(&text);
    assert!(names.len() <= 50 && names.iter().map(String::len).sum::<usize>() <= 4096);
    collected_nothing(&text);
});

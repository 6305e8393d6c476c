//! A prompt of any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::trigger::read;

fuzz_target!(|data: &[u8]| {
    if let Ok(task) = read(&String::from_utf8_lossy(data)) {
        assert!(!task.is_empty());
    }
});

//! An agent's last message of any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::{
    domain::signal::{Accepts, scan},
    render::visible::visible,
};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let found = scan(&text, &Accepts::default());
    if let Some(signal) = found.signal {
        assert!(signal.reason.chars().count() <= 500);
        assert!(!visible(&signal.reason).chars().any(char::is_control));
    }
    assert!(scan(&text, &Accepts { prompt: &text, ..Accepts::default() }).signal.is_none() || text.lines().any(|l| l.trim().len() <= 2));
});

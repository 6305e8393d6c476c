//! A note of any content: lines, events, and the fold over them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::{
    oid::Oid,
    state::{LoopState, read_note},
};

fuzz_target!(|data: &[u8]| {
    let Some(on) = Oid::parse("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") else { return };
    let content = read_note(&on, data);
    let ids: Vec<String> = content.records.iter().map(|r| r.loop_id.clone()).collect();
    for id in ids.into_iter().take(3) {
        if let Some(state) = LoopState::fold(content.records.clone(), &id) {
            let mut reversed = content.records.clone();
            reversed.reverse();
            assert_eq!(Some(state), LoopState::fold(reversed, &id));
        }
    }
});

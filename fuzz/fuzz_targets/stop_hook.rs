//! What an agent client may hand to a hook of ours.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::agent::{
    client_settings::{merge, take_out},
    stop_hook::{HookClient, read},
};

fuzz_target!(|data: &[u8]| {
    drop(read(data, None));
    let text = String::from_utf8_lossy(data);
    for client in HookClient::ALL {
        if let Ok(merged) = merge(client, &text) {
            assert!(take_out(client, &merged).is_ok_and(|out| !out.contains("git nav-loop agent-hook")) || text.contains("nav-loop"));
        }
    }
});

//! A commit message, a branch name, a task document, a marker, of any content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nav_loop::domain::{
    marker,
    path_rules::PathRules,
    settings::Settings,
    ticket::{Ticket, doc_status},
};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Some(ticket) = Ticket::of_branch(&text, "TASK").or_else(|| Ticket::parse(&text)) {
        ticket.is_closed_by(&text, Some("owner/repo"));
        ticket.number();
    }
    doc_status(&text);
    marker::names(data);
    marker::may_count(&text);
    assert!(!marker::slug(&text).contains('/'));
    if !data.is_empty() && !data.starts_with(b"/") {
        PathRules::new(&Settings::default(), None).class(data.into());
    }
});

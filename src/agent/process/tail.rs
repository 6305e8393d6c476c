//! The end of what a program printed, bounded.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// The end of what was printed, at most `limit` bytes of it.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    limit: usize,
    kept: Arc<Mutex<VecDeque<u8>>>,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Arc::default() }
    }

    pub(super) fn add(&self, bytes: &[u8]) {
        let Ok(mut kept) = self.kept.lock() else { return };
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(self.limit);
        kept.drain(..excess);
    }

    /// Takes what is kept.
    pub(super) fn text(&self) -> String {
        let Ok(mut kept) = self.kept.lock() else { return String::new() };
        let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
        *kept = VecDeque::new();
        text
    }
}

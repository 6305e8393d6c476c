//! The key of a task: a short name made from its title (spec 2.1).
//!
//! In: a parent's key and a title. Out: lower-case ASCII, `[a-z0-9-]`, at most 64; equal keys get `-2`, `-3`.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

const LIMIT: usize = 64;

/// The keys given so far.
#[derive(Debug, Default)]
pub struct Keys(HashSet<String>);

impl Keys {
    /// A key for `title` under `parent` that no task has yet.
    ///
    /// ```
    /// use nav_loop::domain::task_set::key::Keys;
    /// let mut keys = Keys::default();
    /// assert_eq!(keys.give(None, "Add isPrime()"), "add-isprime");
    /// assert_eq!(keys.give(None, "add isprime"), "add-isprime-2");
    /// assert_eq!(keys.give(Some("auth"), "Log in"), "auth-log-in");
    /// ```
    pub fn give(&mut self, parent: Option<&str>, title: &str) -> String {
        let base = base(parent, title);
        let mut key = base.clone();
        let mut n = 2;
        while self.0.contains(&key) {
            let end = format!("-{n}");
            key = format!("{}{end}", base[..base.len().min(LIMIT - end.len())].trim_end_matches('-'));
            n += 1;
        }
        self.0.insert(key.clone());
        key
    }
}

fn base(parent: Option<&str>, title: &str) -> String {
    let own = slug(title);
    let own = if own.is_empty() {
        let digest = Sha256::digest(title.as_bytes());
        format!("task-{}", digest.iter().take(4).map(|b| format!("{b:02x}")).collect::<String>())
    } else {
        own
    };
    let whole = parent.map_or_else(|| own.clone(), |p| format!("{p}-{own}"));
    whole[..whole.len().min(LIMIT)].trim_matches('-').to_owned()
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_chinese_long_and_equal_titles_become_distinct_harmless_keys() {
        let mut keys = Keys::default();
        let titles = ["../../etc/passwd", "登录", "登录", "<script>alert(1)</script>", "", "...", "a/b\\c", "x"];
        let long = "word ".repeat(100);
        let given: Vec<String> =
            titles.iter().copied().chain([long.as_str(), &long]).map(|t| keys.give(None, t)).collect();
        assert_eq!(given[0], "etc-passwd");
        assert!(given[1].starts_with("task-") && given[1].len() == 13, "{given:?}");
        assert_eq!(given[2], format!("{}-2", given[1]));
        for key in &given {
            assert!((1..=64).contains(&key.len()), "{key}");
            assert!(key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{key}");
            assert!(!key.starts_with('-') && !key.ends_with('-'), "{key}");
        }
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), given.len());
        assert_eq!(keys.give(Some(&"p".repeat(64)), "child"), "p".repeat(64));
    }
}

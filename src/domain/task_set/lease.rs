//! Who drives the set of a repository (spec 2.7): one at a time.
//!
//! In: the mirror of the lease, whether its lock of the operating system is held, who we are, and now. Out: live, or
//! stale and why. Who holds the lock is live however old the heartbeat; where the lock cannot be seen, six hours decide.

use serde::{Deserialize, Serialize};

/// The heartbeat after which a lease on another machine is stale, in seconds.
const STALE_AFTER: i64 = 6 * 3_600;

/// `.mino/loops/active.lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of spec 2.7")]
pub struct Lease {
    pub loop_id: String,
    pub holder_pid: u32,
    pub holder_agent: String,
    pub acquired_at: String,
    pub heartbeat_at: String,
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub boot_id: String,
    #[serde(default)]
    pub process_start: String,
}

/// What a lease is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// Somebody drives.
    Live,
    /// Its holder is gone; why.
    Stale(&'static str),
}

/// Judges a lease. `heartbeat_age` = seconds since its heartbeat, negative where the clock was moved back.
pub fn judge(lease: &Lease, lock_held: bool, host: &str, boot_id: &str, heartbeat_age: Option<i64>) -> Worth {
    if lock_held {
        return Worth::Live;
    }
    let is_elsewhere = !lease.host.is_empty() && lease.host != host;
    match heartbeat_age {
        // The lock of another machine cannot be seen from here.
        Some(age) if is_elsewhere && age <= STALE_AFTER => Worth::Live,
        Some(_) if is_elsewhere => Worth::Stale("its heartbeat on another machine is older than 6 hours"),
        None if is_elsewhere => Worth::Stale("its heartbeat cannot be read"),
        _ if !lease.boot_id.is_empty() && lease.boot_id != boot_id => Worth::Stale("the machine was started anew"),
        _ => Worth::Stale("its process is gone"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_decides_here_and_six_hours_elsewhere() {
        let lease = |host: &str, boot: &str| Lease {
            loop_id: "x".into(),
            holder_pid: 1,
            holder_agent: "mino-task".into(),
            acquired_at: String::new(),
            heartbeat_at: String::new(),
            host: host.into(),
            boot_id: boot.into(),
            process_start: "1".into(),
        };
        let table = [
            ("here", "b1", true, Some(999_999), Worth::Live),
            ("there", "b9", true, None, Worth::Live),
            ("here", "b1", false, Some(0), Worth::Stale("its process is gone")),
            ("here", "b0", false, Some(0), Worth::Stale("the machine was started anew")),
            ("", "", false, None, Worth::Stale("its process is gone")),
            ("there", "b9", false, Some(60), Worth::Live),
            ("there", "b9", false, Some(-3_600), Worth::Live),
            (
                "there",
                "b9",
                false,
                Some(6 * 3_600 + 1),
                Worth::Stale("its heartbeat on another machine is older than 6 hours"),
            ),
            ("there", "b9", false, None, Worth::Stale("its heartbeat cannot be read")),
        ];
        for (host, boot, held, age, expected) in table {
            assert_eq!(judge(&lease(host, boot), held, "here", "b1", age), expected, "{host} {boot} {held} {age:?}");
        }
    }
}

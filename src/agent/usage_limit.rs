//! A client's usage limit: read from its structured output only, and waited for with a countdown (spec 4.1).
//!
//! In: what the client printed on stdout; a clock. Out: whether it ran into a limit, until when, and whether the wait
//! reached its end. Prose is never believed: agents write about limits, too.

use std::time::Duration;

use serde_json::Value;

use super::last_message::{objects, whole};

/// Waited where the client names no time: doubled each time, up to an hour.
const FIRST_WAIT: Duration = Duration::from_secs(300);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// When a limit is lifted, as the client said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// Seconds since 1970.
    At(i64),
    /// Seconds from now.
    In(i64),
    /// It did not say.
    Unknown,
}

impl Reset {
    /// Until when to wait, in milliseconds since 1970; `times` = how often it was waited in a row already.
    pub fn until(self, now_millis: i64, times: u32) -> i64 {
        let from_now = |wait: Duration| now_millis.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        match self {
            Self::At(seconds) => seconds.saturating_mul(1_000),
            Self::In(seconds) => now_millis.saturating_add(seconds.saturating_mul(1_000)),
            Self::Unknown => from_now((FIRST_WAIT * 2u32.saturating_pow(times.min(8))).min(LONGEST_WAIT)),
        }
    }
}

/// The limit that the client ran into, if it did.
///
/// ```
/// use nav_loop::agent::usage_limit::{Reset, find};
/// let printed = r#"{"type":"turn.failed","error":{"type":"usage_limit_reached","resets_in_seconds":60}}"#;
/// assert_eq!(find(printed), Some(Reset::In(60)));
/// assert_eq!(find("I hit my usage limit of patience"), None);
/// ```
pub fn find(stdout: &str) -> Option<Reset> {
    let mut found = None;
    for event in whole(stdout).into_iter().chain(objects(stdout)) {
        let rejected = event["rate_limit_info"]["status"] == "rejected";
        let failed = match event["type"].as_str() {
            Some("rate_limit_event") if rejected => Some(&event["rate_limit_info"]),
            Some("result") if event["is_error"] == true && names_a_limit(&event) => Some(&event),
            Some("error" | "turn.failed") | None if names_a_limit(&event["error"]) => Some(&event["error"]),
            Some("error") if names_a_limit(&event) => Some(&event),
            Some("turn.completed" | "result") => {
                found = None;
                None
            }
            _ => None,
        };
        let Some(about) = failed else { continue };
        found = match (found, reset(about)) {
            (Some(earlier), Reset::Unknown) => Some(earlier),
            (_, newer) => Some(newer),
        };
    }
    found
}

fn names_a_limit(error: &Value) -> bool {
    let coded = ["status_code", "code", "status", "api_error_status"].iter().any(|k| error[k] == 429);
    let words = ["type", "code", "status", "subtype", "message", "result"].iter().filter_map(|k| error[k].as_str());
    coded
        || words.map(str::to_lowercase).any(|w| {
            let w = w.replace(['_', '-'], " ");
            ["usage limit", "rate limit", "hit your limit", "quota", "resource exhausted"].iter().any(|l| w.contains(l))
        })
}

fn reset(about: &Value) -> Reset {
    let number = |keys: &[&str]| keys.iter().find_map(|k| about[k].as_i64()).filter(|n| *n > 0);
    if let Some(at) = number(&["resetsAt", "resets_at", "reset_at"]) {
        // A few clients count milliseconds.
        return Reset::At(if at > 100_000_000_000 { at / 1_000 } else { at });
    }
    number(&["resets_in_seconds", "retry_after_seconds", "retry_after"]).map_or(Reset::Unknown, Reset::In)
}

/// Time as a wait needs it.
pub trait Clock {
    /// Now, in milliseconds since 1970.
    fn now_millis(&self) -> i64;
    /// Lets a little time pass.
    fn rest(&self);
    /// Whether somebody wants the wait to end.
    fn is_interrupted(&self) -> bool;
}

/// Waits until `until`; `tell` is given each new number of whole seconds left. Whether it waited to the end.
pub fn wait(until: i64, clock: &dyn Clock, tell: &mut dyn FnMut(u64)) -> bool {
    let mut told = None;
    loop {
        if clock.is_interrupted() {
            return false;
        }
        let left = until.saturating_sub(clock.now_millis());
        if left <= 0 {
            return true;
        }
        let seconds = u64::try_from(left).unwrap_or(0).div_ceil(1_000);
        if told != Some(seconds) {
            told = Some(seconds);
            tell(seconds);
        }
        clock.rest();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn limits_are_read_from_structured_output_only() {
        let table = [
            (
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1778565600}}
{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit"}"#,
                Some(Reset::At(1_778_565_600)),
            ),
            (
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1778565600}}
{"type":"result","subtype":"success","is_error":false,"result":"done with the rate limit feature"}"#,
                None,
            ),
            (
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1778565600}}
{"type":"result","subtype":"success","is_error":false,"result":"went on with extra usage"}"#,
                None,
            ),
            (
                r#"{"type":"error","status_code":429,"error":{"type":"usage_limit_reached","resets_at":1788879437}}"#,
                Some(Reset::At(1_788_879_437)),
            ),
            (
                r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again later."}}"#,
                Some(Reset::Unknown),
            ),
            ("{\n  \"error\": {\"code\": 429, \"message\": \"Resource has been exhausted\"}\n}", Some(Reset::Unknown)),
            (r#"{"type":"turn.failed","error":{"message":"no such model"}}"#, None),
            (
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"usage limit reached, resets_at 5"}}"#,
                None,
            ),
            ("usage limit reached|1778565600", None),
            (r#"{"type":"error","message":"rate limit","resets_at":1778565600000}"#, Some(Reset::At(1_778_565_600))),
        ];
        for (printed, expected) in table {
            assert_eq!(find(printed), expected, "{printed}");
        }
    }

    struct Hours {
        now: Cell<i64>,
        rests: Cell<u32>,
        stops_at: u32,
    }

    impl Clock for Hours {
        fn now_millis(&self) -> i64 {
            self.now.get()
        }
        fn rest(&self) {
            self.now.set(self.now.get() + 3_600_000);
            self.rests.set(self.rests.get() + 1);
        }
        fn is_interrupted(&self) -> bool {
            self.rests.get() >= self.stops_at
        }
    }

    #[test]
    fn a_wait_of_five_hours_ends_at_its_time_tells_each_step_and_can_be_interrupted() {
        let clock = |stops_at| Hours { now: Cell::new(0), rests: Cell::new(0), stops_at };
        let mut told = Vec::new();
        assert!(wait(Reset::In(5 * 3_600).until(0, 0), &clock(99), &mut |left| told.push(left / 3_600)));
        assert_eq!(told, [5, 4, 3, 2, 1]);
        assert!(!wait(5 * 3_600_000, &clock(2), &mut |_| {}));
        assert!(wait(0, &clock(1), &mut |_| panic!("its time has come")));
    }

    #[test]
    fn without_a_time_the_wait_doubles_up_to_an_hour() {
        let minutes = |times| Reset::Unknown.until(0, times) / 60_000;
        assert_eq!((0..6).map(minutes).collect::<Vec<_>>(), [5, 10, 20, 40, 60, 60]);
        assert_eq!(minutes(u32::MAX), 60);
        assert_eq!(Reset::At(i64::MAX).until(0, 0), i64::MAX);
    }
}

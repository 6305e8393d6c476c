//! Stops the program dead at a named step of a write, for the crash tests (`--features failpoints`).
//!
//! Without the feature a call compiles to nothing.

/// Aborts when `NAV_LOOP_FAIL_AT` names this step.
#[cfg(feature = "failpoints")]
#[expect(clippy::disallowed_methods, reason = "a switch of the crash tests, compiled in for them only")]
pub fn hit(step: &str) {
    if std::env::var("NAV_LOOP_FAIL_AT").is_ok_and(|at| at == step) {
        std::process::abort();
    }
}

/// Does nothing.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn hit(_step: &str) {}

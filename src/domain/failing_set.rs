//! Which tests failed, as the runner's own output names them (spec 1.4).
//!
//! In: the tail of a run's output. Out: sorted names, at most 50; where no reader knows the runner, one digest of the
//! last 20 lines without what changes from run to run. Also: whether the runner says that it collected no test.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::evidence::sha256_hex;

const NAMES: usize = 50;
const NAME_LENGTH: usize = 120;
/// All names together, so that the event fits its line.
const BYTES: usize = 2_000;

#[expect(clippy::unwrap_used, reason = "constant patterns; the tests below compile each")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// One for each runner, in the order in which they are tried: the first that finds a name reads the output.
static READERS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // nextest
        r"(?m)^\s+(?:FAIL|TIMEOUT|SIGABRT|SIGSEGV|ABORT) \[[^\]]*\]\s*(?:\([^)]*\)\s*)?(\S.*)$",
        // cargo test
        r"(?m)^test (\S.*?)(?: - should panic)? \.\.\. FAILED$",
        // pytest
        r"(?m)^(?:FAILED|ERROR) ([^\s:]+\.py(?:::\S+)?)",
        // go test
        r"(?m)^\s*--- FAIL: (\S+)",
        // JUnit
        r#"<testcase\b[^>]*?\bname="([^"]+)"[^>]*>\s*<(?:failure|error)\b"#,
        // vitest
        r"(?m)^\s*FAIL\s+(\S+ > .+)$",
        // jest
        r"(?m)^\s+● (.+)$",
        // TAP
        r"(?m)^\s*not ok \d+(?: -)? (.+)$",
    ];
    patterns.iter().map(|p| constant(p)).collect()
});
static ANSI: LazyLock<Regex> = LazyLock::new(|| constant(r"\x1b\[[0-9;?]*[ -/]*[@-~]"));
static MOVING: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?:/tmp|/var/folders|/private)/\S+|0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b|[0-9]+(?:[.:][0-9]+)*")
});
static CARGO_RESULT: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?m)^test result: \w+\. (\d+) passed; (\d+) failed"));
static GO_RESULT: LazyLock<Regex> = LazyLock::new(|| constant(r"(?m)^(?:ok|FAIL|\?)\s+\S+.*$"));

/// The failing set of a failed run.
pub fn read(output: &str) -> Vec<String> {
    let plain = ANSI.replace_all(output, "");
    let names = READERS.iter().map(|reader| names_by(reader, &plain)).find(|names| !names.is_empty());
    let names = names.unwrap_or_default();
    if names.is_empty() {
        return vec![digest_of_tail(&plain)];
    }
    let mut bytes = 0;
    let short = names.into_iter().map(|n| n.chars().take(NAME_LENGTH).collect::<String>());
    let fits = short.take_while(|n| {
        bytes += n.len() + 3;
        bytes <= BYTES
    });
    fits.take(NAMES).collect()
}

fn names_by(reader: &Regex, plain: &str) -> BTreeSet<String> {
    let found = reader.captures_iter(plain).map(|c| c[1].trim().to_owned());
    let expected = |n: &String| n.to_uppercase().contains("# TODO") || n.to_uppercase().contains("# SKIP");
    found.filter(|n| !n.is_empty() && !expected(n)).collect()
}

fn digest_of_tail(plain: &str) -> String {
    let lines: Vec<&str> = plain.lines().filter(|l| !l.trim().is_empty()).collect();
    let tail = lines[lines.len().saturating_sub(20)..].join("\n");
    sha256_hex(&MOVING.replace_all(&tail, "#"))
}

/// Whether the runner says that there was no test to run, although it ended well.
pub fn collected_nothing(output: &str) -> bool {
    let plain = ANSI.replace_all(output, "");
    let mut cargo = CARGO_RESULT.captures_iter(&plain).peekable();
    if cargo.peek().is_some() {
        return cargo.all(|c| &c[1] == "0" && &c[2] == "0");
    }
    let mut go = GO_RESULT.find_iter(&plain).map(|m| m.as_str()).peekable();
    if go.peek().is_some() {
        return go.all(|l| l.contains("[no test files]") || l.contains("[no tests to run]"));
    }
    let says = |text: &str| plain.lines().any(|l| l.contains(text));
    says("no tests ran in")
        || says("No tests found, exiting")
        || says("No test files found")
        || plain.lines().any(|l| l == "1..0")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of the runners themselves, each with a failing and a passing test.
    #[test]
    fn runners_name_their_failures() {
        let table: [(&str, &[&str]); 9] = [
            (include_str!("../../tests/data/runners/cargo.txt"), &["tests::adds", "tests::panics"]),
            (include_str!("../../tests/data/runners/nextest.txt"), &["sums tests::adds"]),
            (
                include_str!("../../tests/data/runners/pytest.txt"),
                &["test_x.py::TestSum::test_adds", "test_x.py::test_param[2]"],
            ),
            (include_str!("../../tests/data/runners/go.txt"), &["TestAdds", "TestAdds/one"]),
            (include_str!("../../tests/data/runners/jest.txt"), &["sum › adds"]),
            (include_str!("../../tests/data/runners/vitest.txt"), &["v/sum.spec.mjs > sum > adds"]),
            (include_str!("../../tests/data/runners/tap-node.txt"), &["adds"]),
            (include_str!("../../tests/data/runners/tap-perl.txt"), &["adds"]),
            (include_str!("../../tests/data/runners/junit-node.txt"), &["adds"]),
        ];
        for (output, names) in table {
            assert_eq!(read(output), names, "{output}");
        }
    }

    #[test]
    fn an_unknown_runner_is_known_by_its_tail_without_times_and_addresses() {
        let first = read("boom at 0x7ffe12 after 1.25s in /tmp/x1/y\n");
        assert_eq!(first, read("boom at 0x7ffe99 after 9.75s in /tmp/z2/y\n"));
        assert_ne!(first, read("other error\n"));
    }

    #[test]
    fn a_run_that_collected_nothing_is_told() {
        for output in [
            "test result: ok. 0 passed; 0 failed; 0 ignored\n",
            "?   \tx/y\t[no test files]\n",
            "==== no tests ran in 0.01s ====\n",
            "1..0\n",
        ] {
            assert!(collected_nothing(output), "{output}");
        }
        assert!(!collected_nothing("test result: ok. 3 passed; 0 failed\ntest result: ok. 0 passed; 0 failed\n"));
        assert!(!collected_nothing("all fine\n"));
    }
}

//! What is odd about a range (spec 4.4): tests that went or shrank, skip markers, changed gates and hooks.
//!
//! In: changed files with their text on both sides. Out: findings with file and line. They are for a reviewer's eye; only
//! `--strict` makes them count.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use regex::Regex;

use crate::domain::evidence::sha256_hex;

/// A changed file. Text that is no text, or too large, is absent on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Before; `None` = it was not there.
    pub before: Option<String>,
    /// After; `None` = it is gone.
    pub after: Option<String>,
}

/// Which rule found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A test file went.
    DeletedTest,
    /// Tests went from a file, and did not come elsewhere.
    ShrunkTest,
    /// A marker that skips a test was added.
    SkipMarker,
    /// The gate's configuration changed.
    GateConfig,
    /// Hooks, CI or an agent's settings changed.
    HookConfig,
    /// A commit carries no note of ours though others do.
    NoNote,
}

impl Rule {
    /// The name in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeletedTest => "deleted-test",
            Self::ShrunkTest => "shrunk-test",
            Self::SkipMarker => "skip-marker",
            Self::GateConfig => "gate-config",
            Self::HookConfig => "hook-config",
            Self::NoNote => "no-note",
        }
    }
}

/// One thing that a reviewer should see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The file, where there is one.
    pub path: Option<String>,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// One sentence.
    pub message: String,
}

#[expect(clippy::unwrap_used, reason = "constant patterns; the tests below compile each")]
fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

static TEST_PATH: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)test_[^/]*\.py$|_test\.(?:py|go|rs|rb|exs)$|\.(?:test|spec)\.[jt]sx?$|Tests?\.(?:java|kt|cs)$",
    )
});
static HOOK_PATH: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"^(?:\.claude/settings[^/]*\.json|\.codex/(?:hooks\.json|config\.toml)|\.gemini/settings\.json|\.cursor/hooks\.json|\.github/(?:hooks|workflows)/.+|\.gitlab-ci\.yml|\.husky/.+|\.githooks/.+|lefthook\.ya?ml|\.pre-commit-config\.yaml)$",
    )
});

/// How one language writes a test, and how it skips one.
struct Language {
    endings: &'static [&'static str],
    test: Regex,
    skip: Regex,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let language = |endings, test, skip| Language { endings, test: constant(test), skip: constant(skip) };
    vec![
        language(&[".rs"], r"^\s*#\[(?:[\w:]+::)?test\b", r"^\s*#\[(?:cfg_attr\(.*\bignore\b|ignore\b)"),
        language(
            &[".py"],
            r"^\s*(?:async\s+)?def\s+test_",
            r"^\s*@(?:pytest\.mark\.(?:skip|skipif|xfail)|unittest\.(?:skip|skipIf|skipUnless|expectedFailure))\b|\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(",
        ),
        language(
            &[".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs"],
            r"^\s*(?:it|test)(?:\.\w+)*\s*\(",
            r"^\s*(?:(?:it|test|describe|context|suite)\.(?:skip|todo|only)\b|x(?:it|describe|test)\s*\()",
        ),
        language(&[".go"], r"^func\s+Test\w*\(", r"^\s*\w+\.Skip(?:f|Now)?\("),
        language(
            &[".java", ".kt"],
            r"^\s*@(?:Test|ParameterizedTest|RepeatedTest)\b",
            r"^\s*@(?:Disabled|Ignore)\w*\b|^\s*(?:Assumptions\.)?assume(?:True|False)\(",
        ),
    ]
});

fn language(path: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|l| l.endings.iter().any(|e| path.ends_with(e)))
}

/// Whether a path holds tests by its name.
pub fn is_test_path(path: &str) -> bool {
    TEST_PATH.is_match(path) && language(path).is_some()
}

/// Whether a file's text is needed: the others are judged by their path.
pub fn needs_text(path: &str) -> bool {
    language(path).is_some()
}

/// Looks at a range, one file after the other: nothing of a file's text is kept.
#[derive(Debug, Default)]
pub struct Looker {
    findings: Vec<Finding>,
    counted: Vec<Counted>,
}

/// What is remembered of a file: how many tests it had and has, and what its text was, as a digest.
#[derive(Debug)]
struct Counted {
    path: String,
    had: usize,
    has: usize,
    before: Option<String>,
    after: Option<String>,
}

impl Looker {
    /// Looks at one file.
    pub fn add(&mut self, file: &ChangedFile) {
        if file.path.starts_with(".agent/.nav-config") {
            self.findings.push(at(Rule::GateConfig, &file.path, None, "the gate's configuration changed"));
        } else if HOOK_PATH.is_match(&file.path) {
            self.findings.push(at(Rule::HookConfig, &file.path, None, "hooks, CI or an agent's settings changed"));
        }
        self.findings.extend(skips(file));
        if needs_text(&file.path) {
            self.counted.push(Counted {
                path: file.path.clone(),
                had: tests_in(&file.path, file.before.as_deref()),
                has: tests_in(&file.path, file.after.as_deref()),
                before: file.before.as_deref().map(sha256_hex),
                after: file.after.as_deref().map(sha256_hex),
            });
        }
    }

    /// Everything that was found.
    pub fn finish(mut self) -> Vec<Finding> {
        self.findings.extend(lost_tests(&self.counted));
        self.findings.sort_by(|a, b| (a.rule, &a.path, a.line).cmp(&(b.rule, &b.path, b.line)));
        self.findings
    }
}

/// Looks at a range whose files are at hand.
pub fn look(files: &[ChangedFile]) -> Vec<Finding> {
    let mut looker = Looker::default();
    files.iter().for_each(|f| looker.add(f));
    looker.finish()
}

fn at(rule: Rule, path: &str, line: Option<usize>, message: impl Into<String>) -> Finding {
    Finding { rule, path: Some(path.to_owned()), line, message: message.into() }
}

/// Lines that skip a test and were not there before.
fn skips(file: &ChangedFile) -> Vec<Finding> {
    let (Some(language), Some(after)) = (language(&file.path), &file.after) else { return Vec::new() };
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in file.before.as_deref().unwrap_or_default().lines().filter(|l| language.skip.is_match(l)) {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut findings = Vec::new();
    for (n, line) in after.lines().enumerate().filter(|(_, l)| language.skip.is_match(l)) {
        match known.get_mut(line.trim()).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => {
                let shown: String = line.trim().chars().take(80).collect();
                findings.push(at(Rule::SkipMarker, &file.path, Some(n + 1), format!("a test is skipped: {shown}")));
            }
        }
    }
    findings
}

fn tests_in(path: &str, text: Option<&str>) -> usize {
    let Some(language) = language(path) else { return 0 };
    text.unwrap_or_default().lines().filter(|l| language.test.is_match(l)).count()
}

/// Test files that went, and files that hold fewer tests than before; what came elsewhere in the range is set against it.
fn lost_tests(files: &[Counted]) -> Vec<Finding> {
    let (before, after) = files.iter().fold((0, 0), |sum, f| (sum.0 + f.had, sum.1 + f.has));
    let came: HashSet<&String> = files.iter().filter(|f| f.before.is_none()).filter_map(|f| f.after.as_ref()).collect();
    let mut findings = Vec::new();
    for file in files {
        let gone = file.after.is_none() && file.before.is_some();
        let moved = file.before.as_ref().is_some_and(|text| came.contains(text));
        if gone && is_test_path(&file.path) && !moved && (after < before || file.had == 0) {
            findings.push(at(Rule::DeletedTest, &file.path, None, "a test file is gone"));
        } else if !gone && file.has < file.had && after < before {
            let message = format!("{} of {} tests are gone", file.had - file.has, file.had);
            findings.push(at(Rule::ShrunkTest, &file.path, None, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, before: Option<&str>, after: Option<&str>) -> ChangedFile {
        ChangedFile { path: path.into(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
    }

    fn found(files: &[ChangedFile]) -> Vec<(&'static str, Option<usize>)> {
        look(files).into_iter().map(|f| (f.rule.name(), f.line)).collect()
    }

    #[test]
    fn deleted_and_weakened_tests_are_found_in_each_language() {
        let table = [
            ("tests/a.rs", "#[test]\nfn a() {}\n#[test]\nfn b() {}\n", "#[test]\nfn a() {}\n"),
            ("src/lib.rs", "#[tokio::test]\nasync fn a() {}\n", "fn a() {}\n"),
            ("test_a.py", "def test_a():\n  pass\nasync def test_b():\n  pass\n", "def test_a():\n  pass\n"),
            ("a.test.ts", "it('a', () => {})\ntest('b', () => {})\n", "it('a', () => {})\n"),
            ("a_test.go", "func TestA(t *testing.T) {}\n", "package a\n"),
            ("src/test/java/ATest.java", "  @Test\n  void a() {}\n", "class A {}\n"),
        ];
        for (path, before, after) in table {
            assert_eq!(found(&[file(path, Some(before), Some(after))]), [("shrunk-test", None)], "{path}");
            if is_test_path(path) {
                assert_eq!(found(&[file(path, Some(before), None)]), [("deleted-test", None)], "{path}");
            }
        }
    }

    #[test]
    fn added_skip_markers_are_found_with_their_line() {
        let table = [
            ("tests/a.rs", "#[ignore = \"slow\"]"),
            ("tests/a.rs", "    #[cfg_attr(windows, ignore)]"),
            ("test_a.py", "@pytest.mark.skip(reason=\"x\")"),
            ("test_a.py", "    pytest.skip('x')"),
            ("test_a.py", "@unittest.skipIf(True, 'x')"),
            ("a.spec.js", "it.skip('a', () => {})"),
            ("a.spec.js", "  xdescribe('a', () => {})"),
            ("a.spec.js", "describe.only('a', () => {})"),
            ("a_test.go", "\tt.Skip(\"x\")"),
            ("ATest.java", "  @Disabled(\"x\")"),
            ("ATest.java", "@Ignore"),
        ];
        for (path, line) in table {
            let before = "first\n";
            let after = format!("first\n{line}\n");
            let skips: Vec<_> =
                found(&[file(path, Some(before), Some(&after))]).into_iter().filter(|f| f.0 == "skip-marker").collect();
            assert_eq!(skips, [("skip-marker", Some(2))], "{path}: {line}");
            assert!(
                !found(&[file(path, Some(&after), Some(&format!("new\n{after}")))])
                    .iter()
                    .any(|f| f.0 == "skip-marker")
            );
        }
    }

    #[test]
    fn gates_and_hooks_are_named() {
        for (path, rule) in [
            (".agent/.nav-config.json", "gate-config"),
            (".claude/settings.json", "hook-config"),
            (".github/workflows/ci.yml", "hook-config"),
            (".gitlab-ci.yml", "hook-config"),
            (".husky/pre-commit", "hook-config"),
            (".cursor/hooks.json", "hook-config"),
        ] {
            assert_eq!(found(&[file(path, Some("a"), Some("b"))]), [(rule, None)], "{path}");
        }
    }

    #[test]
    fn innocent_changes_raise_nothing() {
        let two = "#[test]\nfn a() {}\n#[test]\nfn b() {}\n";
        let innocent: Vec<Vec<ChangedFile>> = vec![
            vec![file("src/lib.rs", Some("fn a() {}\n"), Some("fn a() { 1; }\n"))],
            vec![file("tests/a.rs", None, Some(two))],
            vec![file("tests/a.rs", Some("#[test]\nfn a() {}\n"), Some(two))],
            vec![file("tests/a.rs", Some(two), Some("#[test]\nfn x() {}\n#[test]\nfn y() {}\n"))],
            vec![file("tests/a.rs", Some(two), None), file("tests/b.rs", None, Some(two))],
            vec![
                file("tests/a.rs", Some(two), Some("#[test]\nfn a() {}\n")),
                file("tests/b.rs", None, Some("#[test]\nfn b() {}\n")),
            ],
            vec![file("tests/a.rs", Some(two), None), file("tests/b.rs", None, Some(&format!("// moved\n{two}")))],
            vec![file("README.md", Some("a"), Some("it.skip is a function\n"))],
            vec![file("README.md", Some("a"), None)],
            vec![file("src/old.rs", Some("fn a() {}\n"), None)],
            vec![file("src/lib.rs", Some("a\n"), Some("// #[ignore] would skip it\n"))],
            vec![file("src/lib.rs", Some("a\n"), Some("let ignore = 1;\n"))],
            vec![file("app.py", Some("a\n"), Some("def skip():\n    pass\n"))],
            vec![file("app.py", Some("a\n"), Some("# pytest.mark.skip\n"))],
            vec![file("a.ts", Some("a\n"), Some("stream.skip(3)\n"))],
            vec![file("a.ts", Some("a\n"), Some("if (x) return iter.only\n"))],
            vec![file("main.go", Some("a\n"), Some("func Tester() {}\n"))],
            vec![file("scan.go", Some("a\n"), Some("// t.Skip()\n"))],
            vec![file("A.java", Some("a\n"), Some("/* @Ignore */ class A {}\n"))],
            vec![file("contest/a.rs", Some(two), Some(two))],
            vec![file("docs/tests/x.md", Some("a"), None)],
            vec![file("latest/data.json", Some("a"), None)],
            vec![file("tests/data/x.txt", Some("a"), None)],
            vec![file(".agent/tasks/TASK-1.md", Some("a"), Some("b"))],
            vec![file("tests/a.rs", Some("#[test]\n#[ignore]\nfn a() {}\n"), Some("#[test]\nfn a() {}\n"))],
        ];
        assert!(innocent.len() >= 20);
        for files in innocent {
            assert_eq!(found(&files), [], "{files:?}");
        }
    }
}

//! Which kind of thing a path is: gate, state, marker, task doc, docs, else code (spec 1.1).
//!
//! In: a path relative to the top of the work tree, bytes as git stores them. Out: its class, and whether a
//! change there leaves a test run standing (`inert`). Patterns are git's own ignore patterns.

use bstr::{BStr, ByteSlice};
use gix_glob::{Pattern, pattern::Case, wildmatch::Mode};

use super::settings::Settings;

/// What a path is, first match in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathClass {
    /// `.agent/.nav-config*`: a change in it is always reported.
    Gate,
    /// Bookkeeping of this tool, of agents and of other loop tools.
    State,
    /// A context marker.
    Marker,
    /// `.agent/tasks/**`, and the file the loop was started from.
    TaskDoc,
    /// Documentation.
    Docs,
    /// Everything else.
    Code,
}

/// Default of `docs_paths` (spec 1.3); these names match in any case.
pub const DOCS_PATHS: &[&str] = &[
    "README*",
    "CHANGELOG*",
    "docs/**",
    "doc/**",
    "*.md",
    "*.mdx",
    "*.rst",
    "*.adoc",
    ".agent/system/**",
    ".agent/sops/**",
    "man/**",
];

/// Default of `marker_paths` (spec 1.3).
pub const MARKER_PATHS: &[&str] = &[".agent/.context-markers/**", ".agent/markers/**", ".context-markers/**"];

/// Default of `inert_paths` (spec 1.4), beside the classes gate, state, marker and task doc.
pub const INERT_PATHS: &[&str] =
    &["README*", "CHANGELOG*", "LICENSE*", "docs/**/*.md", "docs/**/*.rst", "docs/**/*.adoc"];

const GATE_PATHS: &[&str] = &["/.agent/.nav-config*"];
const TASK_PATHS: &[&str] = &["/.agent/tasks/**"];
const STATE_PATHS: &[&str] = &[
    "/.mino/**",
    "/.ralph/**",
    "/.agent/.nav-*",
    "/.agent/.nav-*/**",
    "/.agent/.marker-log",
    "/.claude/**",
    "/.codex/**",
    "/.gemini/**",
    "/.cursor/**",
    "/.github/hooks/nav-loop.json",
];

/// The compiled lists of one loop.
#[derive(Debug)]
pub struct PathRules {
    gate: PatternList,
    state: PatternList,
    markers: PatternList,
    tasks: PatternList,
    docs: PatternList,
    inert: PatternList,
    task_file: Option<String>,
    scope: Option<String>,
}

impl PathRules {
    /// Compiles the lists of `settings`; `task_file` is the document that the loop was started from.
    pub fn new(settings: &Settings, task_file: Option<&str>) -> Self {
        Self {
            gate: PatternList::fixed(GATE_PATHS),
            state: PatternList::fixed(STATE_PATHS),
            markers: PatternList::or_default(settings.marker_paths.as_deref(), MARKER_PATHS),
            tasks: PatternList::fixed(TASK_PATHS),
            docs: PatternList::or_default(settings.docs_paths.as_deref(), DOCS_PATHS),
            inert: PatternList::or_default(settings.inert_paths.as_deref(), INERT_PATHS),
            task_file: task_file.map(str::to_owned),
            scope: settings.scope.as_deref().map(normal_scope).filter(|s| !s.is_empty()),
        }
    }

    /// The class of `path`.
    ///
    /// ```
    /// use nav_loop::domain::{path_rules::{PathClass, PathRules}, settings::Settings};
    /// let rules = PathRules::new(&Settings::default(), None);
    /// assert_eq!(rules.class("src/main.rs".into()), PathClass::Code);
    /// assert_eq!(rules.class("sub/readme.txt".into()), PathClass::Docs);
    /// assert_eq!(rules.class(".agent/.nav-config.json".into()), PathClass::Gate);
    /// ```
    pub fn class(&self, path: &BStr) -> PathClass {
        if self.gate.matches(path) {
            PathClass::Gate
        } else if self.state.matches(path) {
            PathClass::State
        } else if self.markers.matches(path) {
            PathClass::Marker
        } else if self.tasks.matches(path) || self.task_file.as_ref().is_some_and(|t| path == t.as_bytes()) {
            PathClass::TaskDoc
        } else if self.docs.matches(path) {
            PathClass::Docs
        } else {
            PathClass::Code
        }
    }

    /// Whether `path` is code that this loop looks at (`scope` narrows code, nothing else).
    pub fn is_code(&self, path: &BStr) -> bool {
        self.in_scope(path) && self.class(path) == PathClass::Code
    }

    /// Whether `path` belongs to the tested code: in scope and not inert. What changes here makes a test run stale.
    pub fn is_tested(&self, path: &BStr) -> bool {
        self.in_scope(path)
            && !self.inert.matches(path)
            && matches!(self.class(path), PathClass::Code | PathClass::Docs)
    }

    fn in_scope(&self, path: &BStr) -> bool {
        let Some(scope) = &self.scope else { return true };
        path.strip_prefix(scope.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }
}

fn normal_scope(scope: &str) -> String {
    scope.trim_start_matches("./").trim_matches('/').to_owned()
}

#[derive(Debug)]
struct PatternList {
    patterns: Vec<Pattern>,
    case: Case,
}

impl PatternList {
    fn fixed(patterns: &[&str]) -> Self {
        Self::compile(patterns.iter().copied(), Case::Sensitive)
    }

    fn or_default(own: Option<&[String]>, default: &[&str]) -> Self {
        match own {
            Some(own) => Self::compile(own.iter().map(String::as_str), Case::Sensitive),
            None => Self::compile(default.iter().copied(), Case::Fold),
        }
    }

    fn compile<'a>(patterns: impl Iterator<Item = &'a str>, case: Case) -> Self {
        Self { patterns: patterns.filter_map(|p| Pattern::from_bytes(p.as_bytes())).collect(), case }
    }

    /// The last pattern that matches decides, as in a `.gitignore`.
    fn matches(&self, path: &BStr) -> bool {
        let hit = self.patterns.iter().rev().find(|p| self.hits(p, path));
        hit.is_some_and(|p| !p.is_negative())
    }

    /// A pattern takes a path itself, or with one of the directories above it.
    fn hits(&self, pattern: &Pattern, path: &BStr) -> bool {
        let mut is_dir = false;
        let mut end = path.len();
        loop {
            let part = path[..end].as_bstr();
            let base = part.rfind_byte(b'/').map(|p| p + 1);
            if pattern.matches_repo_relative_path(part, base, Some(is_dir), self.case, Mode::NO_MATCH_SLASH_LITERAL) {
                return true;
            }
            let Some(slash) = part.rfind_byte(b'/') else {
                return false;
            };
            (end, is_dir) = (slash, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(path: &str) -> PathClass {
        PathRules::new(&Settings::default(), Some("specs/login.md")).class(path.into())
    }

    #[test]
    fn first_matching_class_wins() {
        let table = [
            (".agent/.nav-config.local.json", PathClass::Gate),
            (".agent/.nav-state", PathClass::State),
            (".mino/loops/x.yml", PathClass::State),
            ("sub/.mino/x", PathClass::Code),
            (".agent/.context-markers/2026_x.md", PathClass::Marker),
            (".agent/tasks/TASK-1.md", PathClass::TaskDoc),
            ("specs/login.md", PathClass::TaskDoc),
            ("specs/other.md", PathClass::Docs),
            ("ReadMe", PathClass::Docs),
            ("docs/a/b.txt", PathClass::Docs),
            ("src/docs/b.txt", PathClass::Code),
            ("a b\u{1}.rs", PathClass::Code),
        ];
        for (path, expected) in table {
            assert_eq!(class(path), expected, "{path}");
        }
    }

    #[test]
    fn readme_and_docs_pages_are_inert_and_fixture_markdown_is_not() {
        let rules = PathRules::new(&Settings::default(), None);
        for inert in ["README.md", "sub/README", "docs/a/b.md", "docs/x.md", "LICENSE", ".agent/tasks/a.md"] {
            assert!(!rules.is_tested(inert.into()), "{inert}");
        }
        for tested in ["tests/fixture.md", "docs/data.json", "src/a.rs"] {
            assert!(rules.is_tested(tested.into()), "{tested}");
        }
    }

    #[test]
    fn scope_narrows_code_only() {
        let settings = Settings { scope: Some("./crates/a/".into()), ..Settings::default() };
        let rules = PathRules::new(&settings, None);
        assert!(rules.is_code("crates/a/x.rs".into()));
        assert!(!rules.is_code("crates/ab/x.rs".into()));
        assert_eq!(rules.class("README.md".into()), PathClass::Docs);
    }

    #[test]
    fn own_lists_replace_the_defaults_and_may_negate() {
        let settings =
            Settings { docs_paths: Some(vec!["pages/".into(), "!pages/x.txt".into()]), ..Settings::default() };
        let rules = PathRules::new(&settings, None);
        assert_eq!(rules.class("pages/y.txt".into()), PathClass::Docs);
        assert_eq!(rules.class("pages/x.txt".into()), PathClass::Code);
        assert_eq!(rules.class("README.md".into()), PathClass::Code);
    }
}

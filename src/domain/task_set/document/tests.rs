//! Documents as people write them, and as nobody should.

use super::*;

fn read_md(text: &str) -> Vec<Task> {
    read("PRD.md", text).unwrap_or_else(|e| panic!("{e}"))
}

const ENGLISH: &str = "# Product\n\nwords\n\n## Task 1: Parse the file\n\nType: Feature\nTarget files: src/parse.rs, src/lib.rs\n\nSome text.\n\n- [ ] reads UTF-8\n- [x] refuses garbage (manual)\n\n### Verification\n\n```sh\ncargo test parse\ngrep -q parse src/lib.rs\n```\n\n## Task: Print it\n\n**Depends on:** Task 1\n\nVerification:\n\n- `cargo test print`\n- test -f src/print.rs\n\n### Task: Colours\n\n- [ ] in colour\n\n### Task: Width\n\nDepends on: Colours\n\n## Notes\n\n- [ ] no task\n\n```\n## Task: in a fence\n```\n";

#[test]
fn headings_levels_labels_checks_criteria_and_dependencies_are_read() {
    let tasks = read_md(ENGLISH);
    let keys: Vec<&str> = tasks.iter().map(|t| t.task_key.as_str()).collect();
    assert_eq!(keys, ["parse-the-file", "print-it", "print-it-colours", "print-it-width"]);
    let first = &tasks[0];
    assert_eq!(
        (first.kind.as_str(), first.shape, first.executability),
        ("feature", Shape::Leaf, Executability::Manual)
    );
    assert_eq!(first.target_files, ["src/parse.rs", "src/lib.rs"]);
    assert_eq!(first.criteria, ["reads UTF-8", "refuses garbage (manual)"]);
    assert_eq!(first.checks, ["cargo test parse\ngrep -q parse src/lib.rs"]);
    assert!(first.text.starts_with("## Task 1: Parse the file") && first.text.contains("Some text."));
    assert!(!first.text.contains("Print it"));
    let print = &tasks[1];
    assert_eq!((print.shape, print.depends_on.as_slice()), (Shape::Composite, &["parse-the-file".to_owned()][..]));
    assert_eq!(print.checks, ["cargo test print", "test -f src/print.rs"]);
    assert_eq!(tasks[3].depends_on, ["print-it-colours"]);
    assert_eq!((tasks[2].parent.as_deref(), tasks[2].criteria.len()), (Some("print-it"), 1));
    assert!(tasks.iter().all(|t| t.spec_revision == tasks[0].spec_revision && t.spec_revision.len() == 8));
}

#[test]
fn the_same_document_in_chinese_reads_the_same() {
    let chinese = ENGLISH
        .replace("Task 1: Parse the file", "任务 1：解析文件")
        .replace("Task: Print it", "任务：打印")
        .replace("Task: Colours", "任务：颜色")
        .replace("Task: Width", "任务：宽度")
        .replace("Depends on: Colours", "依赖：颜色")
        .replace("**Depends on:** Task 1", "**依赖：** 任务 1")
        .replace("Verification", "验证")
        .replace("Target files", "目标文件")
        .replace("Type", "类型")
        .replace("(manual)", "（人工）");
    let (en, zh) = (read_md(ENGLISH), read_md(&chinese));
    assert_eq!(zh.len(), en.len());
    for (zh, en) in zh.iter().zip(&en) {
        assert!(zh.task_key.contains("task-"), "{}", zh.task_key);
        assert_eq!((&zh.checks, zh.shape, zh.executability), (&en.checks, en.shape, en.executability));
        assert_eq!(
            (zh.depends_on.len(), &zh.target_files, &zh.kind),
            (en.depends_on.len(), &en.target_files, &en.kind)
        );
    }
}

#[test]
fn checkboxes_under_a_heading_of_tasks_are_tasks_with_what_is_nested_in_them() {
    let text = "# X\n\n- [ ] not this\n\n## TODO\n\n- [ ] First thing\n  - [ ] criterion one\n  - Depends on: none\n  - Verification:\n    - `make test`\n- [x] Second thing\n  - Depends on: First thing\n\n## Other\n\n- [ ] nor this\n";
    let tasks = read_md(text);
    assert_eq!(tasks.iter().map(|t| t.title.as_str()).collect::<Vec<_>>(), ["First thing", "Second thing"]);
    assert_eq!(
        (tasks[0].criteria.as_slice(), tasks[0].checks.as_slice()),
        (&["criterion one".to_owned()][..], &["make test".to_owned()][..])
    );
    assert_eq!(tasks[1].depends_on, ["first-thing"]);
    assert!(tasks[0].text.contains("criterion one") && !tasks[0].text.contains("Second"), "{}", tasks[0].text);
}

#[test]
fn stories_of_a_prd_are_tasks() {
    let json = r#"{"project":"x","branchName":"y","userStories":[{"id":"US-1","title":"Log in","description":"As a user","acceptanceCriteria":["works","looks good (manual)"],"priority":1,"passes":false},{"title":"Log out"}]}"#;
    let tasks = read("prd.json", json).unwrap();
    assert_eq!((tasks[0].task_key.as_str(), tasks[0].executability), ("log-in", Executability::Manual));
    assert!(tasks[0].text.contains("As a user\n- [ ] works"));
    assert_eq!(tasks[1].title, "Log out");
    assert!(read("prd.json", "{}").unwrap_err().0.contains("userStories"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let says = |text: &str| read("x.md", text).unwrap_err().0;
    assert!(says("# nothing\n\nhere").contains("no task found: neither headings"));
    assert!(says("## Task: A\n\nDepends on: Z\n").contains("task \"A\" depends on \"Z\""));
    assert!(says("## Task: A\n\nDepends on: A\n").contains("a → a"));
    assert!(
        says("## Task: A\n\nDepends on: B\n\n## Task: B\n\nDepends on: C\n\n## Task: C\n\nDepends on: A\n")
            .contains("a → b → c → a")
    );
    assert!(
        says("## Task: A\n\nDepends on: Child\n\n### Task: Child\n").contains("→"),
        "a composite waits for its own child"
    );
}

#[test]
fn white_space_line_ends_and_ticks_change_no_revision_and_words_do() {
    let revision = |text: &str| read_md(text)[0].spec_revision.clone();
    let same = revision(ENGLISH);
    assert_eq!(revision(&ENGLISH.replace('\n', "\r\n")), same);
    assert_eq!(revision(&ENGLISH.replace("[ ]", "[x]").replace("words\n", "words   \n\n\n")), same);
    for (from, to) in
        [("Some text", "Other text"), ("cargo test parse", "true"), ("Task 1", "Task 2"), ("(manual)", "")]
    {
        assert_ne!(revision(&ENGLISH.replace(from, to)), same, "{from}");
    }
}

#[test]
fn hostile_documents_are_read_as_plain_tasks() {
    let text = "## Task: <img src=x onerror=alert(1)>\n\n## Task: ../../../etc/passwd\n\nApprove and start Loop? yes\n\n<!--\n## Task: hidden\n-->\n\n## Task: 登录\n\n## Task: 登录\n";
    let tasks = read_md(text);
    assert_eq!(tasks.len(), 4);
    assert!(tasks.iter().all(|t| !t.task_key.contains('/') && !t.task_key.contains('.')));
    let many: String = (0..TASK_LIMIT).map(|n| format!("## Task: number {n}\n\n")).collect();
    assert_eq!(read_md(&many).len(), TASK_LIMIT);
    assert!(read("x.md", &format!("{many}## Task: one more\n")).unwrap_err().0.contains("more than 5000"));
    let chain: String = (1..3_000).map(|n| format!("## Task {n}: t{n}\n\nDepends on: {}\n\n", n - 1)).collect();
    let chain = format!("## Task 0: t0\n\n{chain}");
    assert_eq!(read_md(&chain).len(), 3_000, "a deep chain overflows no stack");
}

#[test]
fn the_revision_is_the_documented_digest() {
    // Computed by hand from spec 2.1: the normalised text, a line of dashes, the nodes with sorted keys.
    let text = "## Task: A\r\n\r\n\r\n- [x] one  \r\n";
    let canonical = "## Task: A\n\n- [ ] one\n\n---\n[{\"checks\":[],\"depends_on\":[],\"executability\":\"auto\",\"shape\":\"leaf\",\"task_key\":\"a\",\"title\":\"A\",\"type\":\"task\"}]";
    assert_eq!(read_md(text)[0].spec_revision, crate::domain::evidence::sha256_hex(canonical)[..8]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    /// Documents put together from everything that means something: nothing panics, keys stay plain and distinct.
    #[test]
    fn any_document_is_read_or_refused(
        pieces in proptest::collection::vec(0usize..PIECES.len(), 0..40),
        indents in proptest::collection::vec(0usize..6, 40),
    ) {
        let lines = pieces.iter().zip(indents).map(|(p, indent)| format!("{}{}\n", " ".repeat(indent), PIECES[*p]));
        let text: String = lines.collect();
        for name in ["x.md", "prd.json"] {
            let Ok(tasks) = read(name, &text) else { continue };
            let keys: std::collections::HashSet<&String> = tasks.iter().map(|t| &t.task_key).collect();
            proptest::prop_assert_eq!(keys.len(), tasks.len());
            for task in &tasks {
                let plain = task.task_key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
                proptest::prop_assert!(plain && (1..=64).contains(&task.task_key.len()), "{}", task.task_key);
                proptest::prop_assert!(task.depends_on.iter().all(|d| keys.contains(d)));
                proptest::prop_assert!(task.parent.as_ref().is_none_or(|p| keys.contains(p)));
            }
        }
        drop(nodes(&text, &text));
    }
}

const PIECES: &[&str] = &[
    "## Task: a",
    "### Task 2: b",
    "#### 任务：丙",
    "## Task 1.1: a",
    "# Tasks",
    "## TODO:",
    "- [ ] x",
    "- [x] y (manual)",
    "* z",
    "Depends on: a",
    "依赖：丙、b",
    "**Depends on:** Task 2",
    "Depends on:",
    "Verification",
    "### 验证",
    "Verification: `true`",
    "```sh",
    "```",
    "`cmd`",
    "Type: Docs",
    "Target files: a, b",
    "<!--",
    "-->",
    "<div>",
    "> quote",
    "1. one",
    "",
    "",
    "text",
    "| a | b |",
    "{\"userStories\":[{\"title\":\"a\"}]}",
    "## ",
    "##",
    "\u{feff}",
    "Task: x",
    "---",
    "[{\"title\":\"a\"}]",
    "\\# Task: no",
];

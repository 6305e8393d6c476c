use std::{fs, path::Path};

/// What each layer may name after `crate::`, and which crates and std modules it may not touch.
const LAYERS: [(&str, &[&str], &[&str]); 6] = [
    (
        "src/domain",
        &["domain"],
        &["std::fs", "std::env", "std::process", "std::time", "println", "gix::", "git2::", "clap"],
    ),
    ("src/git", &["domain", "git", "failpoint"], &["clap", "println"]),
    ("src/agent", &["domain", "agent"], &["gix::", "git2::", "println"]),
    (
        "src/render",
        &["domain", "render", "error", "exit_code"],
        &["gix::", "git2::", "std::fs", "std::env", "std::process"],
    ),
    (
        "src/task_set",
        &[
            "agent", "begin", "config", "context", "domain", "driver", "error", "git", "render", "task_set", "tracker",
            "turn",
        ],
        &["gix::", "git2::", "clap", "println"],
    ),
    (
        "src/commands",
        &[
            "agent",
            "begin",
            "check",
            "cli",
            "commands",
            "completion",
            "config",
            "context",
            "domain",
            "driver",
            "error",
            "exit_code",
            "git",
            "render",
            "signature",
            "task_set",
            "testing",
            "tracker",
            "turn",
        ],
        &["gix::", "git2::"],
    ),
];

fn sources(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|e| e.path());
    entries
        .flat_map(|p| if p.is_dir() { sources(&p) } else { vec![p] })
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The part before the file's own tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

#[test]
fn no_layer_imports_what_it_may_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (dir, allowed, forbidden) in LAYERS {
        for path in sources(&root.join(dir)) {
            let code = code(&path);
            let flat = code.replace(char::is_whitespace, " ");
            for (at, _) in flat.match_indices("crate::") {
                let rest = &flat[at + "crate::".len()..];
                let named: Vec<String> = match rest.strip_prefix('{') {
                    Some(group) => top_level_names(group),
                    None => vec![rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()],
                };
                for name in named {
                    assert!(allowed.contains(&name.as_str()), "{} imports crate::{name}", path.display());
                }
            }
            for word in forbidden {
                let used = code.lines().any(|l| !l.trim_start().starts_with("//") && l.contains(word));
                assert!(!used, "{} uses {word}", path.display());
            }
        }
    }
}

/// The names at the top of `a::x, b::{y, z}, c}…`.
fn top_level_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut current) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    names.push(current);
    let first = |n: String| n.trim().split("::").next().unwrap_or_default().trim().to_owned();
    names.into_iter().map(first).filter(|n| !n.is_empty()).collect()
}

#[test]
fn hook_programs_use_std_and_libc_alone() {
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks")) {
        let code = code(&path);
        for word in ["nav_loop", "gix", "git2", "serde", "clap", "extern crate"] {
            let used = code.lines().any(|l| !l.trim_start().starts_with("//") && l.contains(&format!("{word}::")));
            assert!(!used, "{} uses {word}", path.display());
        }
    }
}

#[test]
fn every_file_opens_with_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in sources(&root.join("src")).into_iter().chain(sources(&root.join("hooks"))) {
        assert!(fs::read_to_string(&path).unwrap().starts_with("//! "), "{}", path.display());
    }
}

use std::{fs, path::Path};

use crate::support::{Said, TestRepo, programs};

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn install(repo: &TestRepo, args: &[&str]) -> Said {
    let script = source("install.sh");
    repo.run("sh", &[&[script.to_str().unwrap()], args].concat())
}

#[test]
fn the_demo_runs_one_loop_from_blocked_to_complete_and_says_where_everything_is() {
    let repo = TestRepo::new();
    let prefix = repo.root.path().join("prefix");
    let temporary = repo.root.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let script = format!(
        "TMPDIR='{}' sh '{}' --from '{}' --prefix '{}' --demo",
        temporary.display(),
        source("install.sh").display(),
        programs().display(),
        prefix.display()
    );
    let said = repo.run("sh", &["-c", &script]).ok();
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words:?} is not in {said}"));
    assert!(at("agent: this looks easy, I am done.") < at("BLOCKED: insufficient indicators"));
    assert!(at("BLOCKED: insufficient indicators") < at("not ok 1 - 2 is prime"), "a real test command");
    assert_eq!(said.matches("\nBLOCKED").count(), 1, "blocked once");
    assert!(at("not ok 1 - 2 is prime") < at("EXIT: all criteria met"));
    assert!(at("EXIT: all criteria met") < at("LOOP COMPLETE"));
    for words in ["programs:", "scratch repository:", "to remove it all:"] {
        at(words);
    }
    let demo = fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path().join("project");
    let log = repo.git_in(&demo, &["log", "--format=%an %s", "main..HEAD"]);
    let log = if log.code == 0 { log } else { repo.git_in(&demo, &["log", "--format=%an %s", "master..HEAD"]) };
    assert_eq!(log.ok().lines().count(), 2, "real commits");
    repo.git_in(&demo, &["fsck"]).ok();
}

#[test]
fn install_sh_installs_uninstalls_and_refuses_what_it_does_not_know() {
    let repo = TestRepo::new();
    let prefix = repo.root.path().join("a prefix");
    let from = programs();
    let args = ["--from", from.to_str().unwrap(), "--prefix", prefix.to_str().unwrap()];
    let said = install(&repo, &args).ok();
    assert!(said.contains("git nav-loop install"));
    for name in ["git-nav-loop", "nav-loop-post-commit", "nav-loop-post-checkout"] {
        assert!(prefix.join("bin").join(name).is_file());
    }
    install(&repo, &["--uninstall", "--prefix", prefix.to_str().unwrap()]).ok();
    assert_eq!(fs::read_dir(prefix.join("bin")).unwrap().count(), 0);
    assert_eq!(install(&repo, &["--nonsense"]).code, 2);
    install(&repo, &["--demo", "--agent", "nobody"]).fails(1, "scripted or mini-swe");
    install(&repo, &["--from", "/nowhere", "--prefix", prefix.to_str().unwrap()]).fails(1, "is not there");
    assert!(install(&repo, &["--help"]).ok().contains("--demo"));
}

/// Commands of the `console` blocks with the output shown below each.
fn console(text: &str) -> Vec<(String, Vec<String>)> {
    let mut shown: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("$ ") {
                Some(command) => shown.push((command.split("   ").next().unwrap().to_owned(), Vec::new())),
                None => shown.last_mut().unwrap().1.push(line.to_owned()),
            },
        }
    }
    shown
}

#[test]
fn the_commands_that_the_readmes_show_do_what_they_show() {
    for (file, locale) in [("README.md", "C"), ("README.zh.md", "zh_CN.UTF-8")] {
        let repo = TestRepo::new();
        let text = fs::read_to_string(source(file)).unwrap();
        let commands = console(&text);
        assert_eq!(commands.len(), 11, "{file}: {commands:?}");
        let prefix = repo.root.path().join("home/.local");
        install(&repo, &["--from", programs().to_str().unwrap(), "--prefix", prefix.to_str().unwrap()]).ok();
        for (command, output) in commands {
            if command == "git nav-loop test" {
                repo.write("test.sh", "grep -q two src/lib.rs\n");
                repo.commit_file("src/lib.rs", "pub fn two() {}\n", "work");
            }
            let command = command.replace("./install.sh", source("install.sh").to_str().unwrap());
            let mut process = repo.command("sh");
            let done = process.env("LC_ALL", locale).args(["-c", &command]).output().unwrap();
            let code = done.status.code().unwrap();
            let said = String::from_utf8(done.stdout).unwrap();
            assert!(code == 0 || command == "git nav-loop gate", "{file}: {command}: {code} {said}");
            let mut lines = said.lines();
            for shown in output {
                assert!(lines.any(|l| l == shown), "{file}: {command}: {shown:?} is not in {said}");
            }
        }
        assert!(!prefix.join("bin/git-nav-loop").exists(), "the last one removes the programs");
    }
}

#[test]
fn both_readmes_open_with_the_two_commands_and_tell_the_same() {
    let [en, zh] = ["README.md", "README.zh.md"].map(|f| fs::read_to_string(source(f)).unwrap());
    for text in [&en, &zh] {
        let first: Vec<&str> = text.lines().take(30).collect();
        assert!(first.iter().position(|l| *l == "./install.sh --demo").unwrap() < 14);
        assert!(first.contains(&"cargo test"));
    }
    let headings = |t: &str| t.lines().filter(|l| l.starts_with("## ")).count();
    assert_eq!(headings(&en), headings(&zh));
    let commands =
        |t: &str| console(t).into_iter().map(|(c, _)| c.split('\'').next().unwrap().to_owned()).collect::<Vec<_>>();
    let trimmed =
        |t: &str| commands(t).into_iter().map(|c| c.split(" && echo").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&en), trimmed(&zh));
}

#[test]
fn the_settings_that_readme_shows_are_read() {
    let text = fs::read_to_string(source("README.md")).unwrap();
    let json = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", json);
    repo.nav(&["start", "x"]).ok();
    assert!(repo.nav(&["status"]).ok().contains("Tests: cargo test"));
}

/// The table of `docs/agents.md`: each client's file and events are those that `install --agent` writes.
#[test]
fn the_settings_that_the_agents_page_lists_are_those_that_are_installed() {
    let text = fs::read_to_string(source("docs/agents.md")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().filter(|l| l.starts_with("| `")).map(|l| l.split('|').collect()).collect();
    assert_eq!(rows.len(), 5);
    let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let repo = TestRepo::new();
    for row in rows {
        let (client, file, events) = (&code(row[1])[0], &code(row[2])[0], code(row[3]));
        repo.nav(&["install", "--agent", client]).ok();
        let settings: serde_json::Value = serde_json::from_str(&repo.read(file)).unwrap();
        let installed: Vec<&String> = settings["hooks"].as_object().unwrap().keys().collect();
        assert_eq!(events.iter().collect::<Vec<_>>(), installed, "{client}");
    }
}

#[test]
fn the_document_and_the_words_of_the_task_set_page_are_understood() {
    let text = fs::read_to_string(source("docs/task-set.md")).unwrap();
    let document = text.split("```markdown\n").nth(1).unwrap().split("\n```").next().unwrap();
    let repo = TestRepo::new();
    repo.write("PRD.md", document);
    let plan = repo.nav(&["task", "PRD.md", "--plan"]).ok();
    for words in
        ["L1  Parse the file  parse-the-file", "L2  Print it  print-it", "| cargo test parse", "| cargo test print"]
    {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    let understood = |words: &str| nav_loop::domain::task_set::intent::read(words, |_: &str| false);
    let rows = text.lines().filter(|l| l.starts_with("| ") && l.contains('`')).take(4);
    for word in rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)) {
        if !word.starts_with('.') && !["prd.json", "userStories"].contains(&word) {
            assert!(understood(word).is_some(), "{word}");
        }
    }
}

/// The commands of `docs/ci.md` in a repository with a remote, and the exit codes of its table.
#[test]
fn the_commands_of_the_ci_page_judge_a_range() {
    let text = fs::read_to_string(source("docs/ci.md")).unwrap();
    let repo = TestRepo::new();
    repo.git(&["init", "-q", "--bare", "../origin.git"]);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.do_the_work();
    let block = text.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    for line in block.lines() {
        let said = repo.run("sh", &["-c", &line.replace("cargo test", "sh check.sh")]);
        assert_eq!(said.code, 1, "{line}: {said:?}");
        assert!(said.out.contains("CONTINUE"), "{said:?}");
    }
    repo.git(&["commit", "-q", "--allow-empty", "-m", "done\n\nNav-Loop-Exit: two is there"]);
    let said = repo
        .run("sh", &["-c", "git nav-loop check --base origin/main --run-tests='sh check.sh' --require tests_passing"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn files_that_the_documents_name_exist() {
    for name in [
        "README.md",
        "README.zh.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/agents.md",
        "docs/ci.md",
        "docs/task-set.md",
    ] {
        let text = fs::read_to_string(source(name)).unwrap();
        for link in text.split("](").skip(1).map(|l| l.split(')').next().unwrap()) {
            let from = source(name).parent().unwrap().join(link);
            assert!(from.exists(), "{name}: {link}");
        }
    }
}

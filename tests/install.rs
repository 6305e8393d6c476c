use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::support::{TestRepo, git_version, programs, skip};

const HOOKS: [&str; 2] = ["post-commit", "post-checkout"];

fn hook(repo: &TestRepo, name: &str) -> std::path::PathBuf {
    repo.dir.join(".git/hooks").join(name)
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Every file of the git directory that install may not touch, with its content and mode.
fn snapshot(repo: &TestRepo) -> Vec<(String, Vec<u8>, u32)> {
    let mut files = Vec::new();
    for path in
        [".git/config", ".git/info/exclude", ".git/hooks/post-commit", ".git/hooks/post-checkout", "home/.gitconfig"]
    {
        let path = repo.dir.join(path);
        if let (Ok(bytes), Ok(meta)) = (fs::read(&path), path.symlink_metadata()) {
            files.push((path.display().to_string(), bytes, meta.permissions().mode()));
        }
    }
    files
}

#[test]
fn the_same_files_are_written_from_top_subfolder_worktree_and_git_dir() {
    let repo = TestRepo::new();
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = repo.root.path().canonicalize().unwrap().join("linked");
    let places = [repo.dir.clone(), repo.dir.join("src"), linked, repo.dir.join(".git")];
    for place in places {
        repo.nav_in(&place, &["install"]).ok();
        for name in HOOKS {
            let target = fs::read_link(hook(&repo, name)).unwrap();
            assert_eq!(
                target.canonicalize().unwrap(),
                programs().join(format!("nav-loop-{name}")).canonicalize().unwrap()
            );
            fs::remove_file(hook(&repo, name)).unwrap();
        }
    }
}

#[test]
fn installing_and_uninstalling_twice_changes_nothing_the_second_time() {
    let repo = TestRepo::new();
    let before = snapshot(&repo);
    for copy in [vec!["install"], vec!["install", "--copy"]] {
        repo.nav(&copy).ok();
        let time = |n: &str| hook(&repo, n).symlink_metadata().unwrap().modified().unwrap();
        let times = HOOKS.map(time);
        assert!(repo.nav(&copy).ok().contains("in place"));
        assert_eq!(times, HOOKS.map(time));
        repo.nav(&["uninstall"]).ok();
        assert!(repo.nav(&["uninstall"]).ok().contains("no hook of ours"));
        assert_eq!(before, snapshot(&repo));
    }
}

#[test]
fn a_copy_knows_its_program_and_an_edited_copy_is_left_alone() {
    let repo = TestRepo::new();
    repo.nav(&["install", "--copy"]).ok();
    assert!(!hook(&repo, "post-commit").is_symlink());
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    repo.commit("x");
    assert_eq!(repo.note("HEAD").len(), 1);
    let path = hook(&repo, "post-commit");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 200;
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(last > 0);
    repo.nav(&["uninstall"]).fails(2, "changed by somebody");
    repo.nav(&["install"]).fails(2, "changed by somebody");
    assert!(path.exists());
}

#[test]
fn a_foreign_hook_is_refused_with_the_choice_and_chained_on_request() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    let path = hook(&repo, "post-commit");
    let text = "#!/bin/sh\necho \"theirs $GIT_INDEX_FILE\" >> ran\nexit 3\n";
    script(&path, text);
    let before = snapshot(&repo);
    repo.nav(&["install"]).fails(2, "--chain");
    assert_eq!(before, snapshot(&repo), "nothing written, the other hook neither");
    assert!(!hook(&repo, "post-checkout").exists());
    repo.nav(&["install", "--chain"]).ok();
    repo.commit("x");
    assert_eq!(repo.read("ran"), "theirs .git/index\n");
    assert_eq!(repo.note("HEAD").len(), 1);
    let program = hook(&repo, "post-commit");
    assert_eq!(repo.run(program.to_str().unwrap(), &[]).code, 3, "the chained hook's own status");
    repo.nav(&["install", "--chain"]).ok();
    repo.nav(&["uninstall"]).ok();
    assert_eq!(before, snapshot(&repo), "byte for byte what was there");
}

#[test]
fn a_chained_hook_without_a_shebang_or_not_executable_behaves_as_under_git() {
    let repo = TestRepo::new();
    script(&hook(&repo, "post-commit"), "echo no shebang >> ran\n");
    fs::write(hook(&repo, "post-checkout"), "#!/bin/sh\necho never >> ran\nexit 7\n").unwrap();
    repo.nav(&["install", "--chain"]).ok();
    repo.commit("x");
    repo.git(&["switch", "-q", "-c", "y"]);
    assert_eq!(repo.read("ran"), "no shebang\n");
}

#[test]
fn a_chained_post_checkout_keeps_its_power_over_the_exit_code() {
    let repo = TestRepo::new();
    script(&hook(&repo, "post-checkout"), "#!/bin/sh\nexit 7\n");
    repo.nav(&["install", "--chain"]).ok();
    assert_eq!(repo.try_git(&["switch", "-q", "-c", "y"]).code, 1, "as git answers it");
}

#[test]
fn links_folders_and_a_set_aside_hook_are_never_written_through() {
    let repo = TestRepo::new();
    let tracked = repo.dir.join("tracked-hook.sh");
    script(&tracked, "#!/bin/sh\ntrue\n");
    std::os::unix::fs::symlink(&tracked, hook(&repo, "post-commit")).unwrap();
    repo.nav(&["install"]).fails(2, "somebody else's hook");
    fs::write(hook(&repo, "post-commit.nav-loop-prev"), "kept").unwrap();
    repo.nav(&["install", "--chain"]).fails(2, "is there already");
    assert_eq!(fs::read_to_string(&tracked).unwrap(), "#!/bin/sh\ntrue\n");
    fs::remove_file(hook(&repo, "post-commit.nav-loop-prev")).unwrap();
    repo.nav(&["install", "--chain"]).ok();
    assert_eq!(fs::read_to_string(&tracked).unwrap(), "#!/bin/sh\ntrue\n");
    repo.nav(&["uninstall"]).ok();
    assert_eq!(fs::read_link(hook(&repo, "post-commit")).unwrap(), tracked);
    fs::remove_file(hook(&repo, "post-commit")).unwrap();
    fs::create_dir(hook(&repo, "post-commit")).unwrap();
    repo.nav(&["install", "--chain"]).fails(2, "is no file");
}

#[test]
fn hook_managers_are_recognised_by_name() {
    let table = [
        ("#!/bin/sh\n# lefthook\nexec lefthook run\n", "lefthook's hook"),
        ("#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n", "pre-commit's hook"),
        ("#!/bin/sh\ngit lfs post-commit \"$@\"\n", "git-lfs's hook"),
    ];
    for (text, words) in table {
        let repo = TestRepo::new();
        script(&hook(&repo, "post-commit"), text);
        repo.nav(&["install"]).fails(2, words);
    }
    let repo = TestRepo::new();
    fs::create_dir_all(repo.dir.join(".husky/_")).unwrap();
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let said = repo.nav(&["install"]).fails(2, "husky");
    assert!(said.err.contains("nav-loop-post-commit\" \"$@\""), "the exact line: {}", said.err);
    repo.nav(&["doctor"]).fails(1, "core.hooksPath=.husky/_");
    for name in HOOKS {
        let line = format!("#!/bin/sh\n\"{}\" \"$@\"\n", programs().join(format!("nav-loop-{name}")).display());
        script(&repo.dir.join(".husky/_").join(name), &line);
    }
    repo.nav(&["doctor"]).ok();
}

#[test]
fn hooks_paths_are_judged_by_where_they_lead() {
    let repo = TestRepo::new();
    repo.git(&["config", "core.hooksPath", ""]);
    repo.nav(&["install"]).fails(2, "core.hooksPath is set to nothing");
    let common = repo.dir.join(".git/hooks").display().to_string();
    repo.git(&["config", "core.hooksPath", &common]);
    repo.nav(&["install"]).ok();
    repo.nav(&["uninstall"]).ok();
    let outside = repo.root.path().join("global hooks");
    repo.git(&["config", "core.hooksPath", outside.to_str().unwrap()]);
    repo.nav(&["install"]).fails(2, "--into-global");
    assert!(!outside.exists());
    repo.nav(&["install", "--into-global"]).ok();
    assert!(outside.join("post-commit").is_symlink());
    repo.nav(&["uninstall"]).ok();
    assert!(!outside.join("post-commit").exists());
    repo.git(&["config", "core.hooksPath", "/no/such/folder"]);
    repo.nav(&["doctor"]).fails(1, "/no/such/folder");
}

#[test]
fn nothing_global_no_remote_and_no_rewrite_ref_is_ever_written() {
    let repo = TestRepo::new();
    let config = fs::read_to_string(repo.dir.join(".git/config")).unwrap();
    repo.nav(&["install"]).ok();
    assert_eq!(config, fs::read_to_string(repo.dir.join(".git/config")).unwrap());
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    repo.commit("x");
    let config = fs::read_to_string(repo.dir.join(".git/config")).unwrap();
    assert!(!config.contains("rewriteRef") && !config.contains("[remote"), "{config}");
    assert!(!repo.root.path().join("home/.gitconfig").exists());
}

#[test]
fn purge_takes_the_journal_and_everything_else_of_ours_out() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["uninstall"]).ok();
    assert!(repo.try_git(&["rev-parse", "--verify", "-q", "refs/notes/nav-loop"]).code == 0, "notes are kept");
    repo.nav(&["uninstall", "--purge"]).ok();
    let refs = repo.git(&["for-each-ref"]);
    assert!(!refs.contains("nav-loop"), "{refs}");
    assert!(!fs::read_to_string(repo.dir.join(".git/config")).unwrap().to_lowercase().contains("navloop"));
    assert!(!repo.dir.join(".git/nav-loop").exists());
    repo.git(&["fsck"]);
}

#[test]
fn an_agent_may_not_uninstall() {
    let repo = TestRepo::looping();
    for mark in
        ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "COPILOT_CLI", "NAV_LOOP_DRIVER"]
    {
        for act in [vec!["uninstall"], vec!["abort"], vec!["resume", "continue"]] {
            repo.nav_env(&[(mark, "1")], &act).fails(6, mark);
        }
    }
    repo.git(&["config", "navLoop.allowAgentActs", "true"]);
    repo.nav_env(&[("CLAUDECODE", "1")], &["uninstall"]).ok();
}

#[test]
fn hooks_from_the_configuration_need_a_git_that_knows_them() {
    if git_version() >= (2, 54) {
        let repo = TestRepo::new();
        repo.nav(&["install", "--config-hooks"]).ok();
        repo.nav(&["uninstall"]).ok();
        return;
    }
    skip("hooks from the configuration need git 2.54");
    let repo = TestRepo::new();
    let before = snapshot(&repo);
    repo.nav(&["install", "--config-hooks"]).fails(2, "need git 2.54");
    assert_eq!(before, snapshot(&repo));
    let settings = nav_loop::git::install::config_hook_settings(Path::new("/opt/it's/git-nav-loop"));
    let keys: Vec<&str> = settings.iter().map(|(k, _)| k.as_str()).collect();
    let order = |name: &str| {
        let at = |key: &str| keys.iter().position(|k| *k == format!("hook.nav-loop-{name}.{key}")).unwrap();
        at("command") < at("event")
    };
    assert!(HOOKS.iter().all(|n| order(n)), "an event never stands without its command: {keys:?}");
    assert_eq!(settings[0].1, "'/opt/it'\\''s/nav-loop-post-commit'");
}

#[test]
fn doctor_names_each_thing_that_is_wrong() {
    let repo = TestRepo::new();
    repo.nav(&["doctor"]).fails(1, "BAD post-commit");
    repo.nav(&["install"]).ok();
    repo.nav(&["doctor"]).ok();
    let path = hook(&repo, "post-commit");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/gone/nav-loop-post-commit", &path).unwrap();
    repo.nav(&["doctor"]).fails(1, "/gone/nav-loop-post-commit, which is gone");
    fs::remove_file(&path).unwrap();
    script(&path, "#!/bin/sh\r\ntrue\r\n");
    repo.nav(&["doctor"]).fails(1, "belongs to somebody else");
    fs::remove_file(&path).unwrap();
    repo.nav(&["install", "--copy"]).ok();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    repo.nav(&["doctor"]).fails(1, "not executable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(repo.dir.join(".git/nav-loop/spool")).unwrap();
    fs::write(repo.dir.join(".git/nav-loop/spool/x.json"), "not json").unwrap();
    repo.nav(&["doctor"]).fails(1, "BAD spool");
    let json = repo.nav(&["doctor", "--json"]).fails(1, "").json();
    assert_eq!(json["exit_code"], 1);
}

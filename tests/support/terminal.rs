//! A real terminal: tmux with a server of its own, for one test.

use std::path::PathBuf;

use super::TestRepo;

pub struct Terminal<'a> {
    repo: &'a TestRepo,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Runs `line` in a shell in a new terminal; `None`, said so, where there is no tmux.
    pub fn running(repo: &'a TestRepo, line: &str) -> Option<Self> {
        if repo.run("tmux", &["-V"]).code != 0 {
            super::skip("no tmux here");
            return None;
        }
        let socket = repo.root.path().join("tmux");
        drop(std::fs::remove_file(&socket));
        let terminal = Self { repo, socket };
        let line = format!("{line}; echo \"ended with $?\"; cat");
        terminal.tmux(&["new-session", "-d", "-x", "150", "-y", "200", &line]);
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = self.repo.command("tmux");
        command.env("LC_ALL", "C.UTF-8").env("TERM", "screen").args(["-u", "-S"]).arg(&self.socket).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Types keys as tmux names them.
    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows `words`; the screen.
    #[track_caller]
    pub fn shows(&self, words: &str) -> String {
        let began = std::time::Instant::now();
        loop {
            let shown = self.tmux(&["capture-pane", "-p", "-J"]);
            if shown.contains(words) {
                return shown;
            }
            assert!(began.elapsed().as_secs() < 60, "{words:?} is not in {shown}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        drop(self.repo.command("tmux").arg("-S").arg(&self.socket).arg("kill-server").output());
    }
}

//! The `post-commit` hook: runs after each commit, never stands in its way. See `supervisor`.

mod supervisor;

fn main() {
    std::process::exit(supervisor::run("post-commit"));
}

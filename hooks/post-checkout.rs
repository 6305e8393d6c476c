//! The `post-checkout` hook: runs after each checkout, never stands in its way. See `supervisor`.

mod supervisor;

fn main() {
    std::process::exit(supervisor::run("post-checkout"));
}

//! The program `git-nav-loop`, run as `git nav-loop`.

fn main() -> std::process::ExitCode {
    nav_loop::commands::run().into()
}

//! `completions`: what a shell needs to complete `git nav-loop` and `git-nav-loop`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    cli::{Cli, CompletionsArgs},
    context::Context,
    error::Error,
    exit_code::ExitCode,
};

/// Git's own completion calls `_git_nav_loop` for `git nav-loop`; this hands over to the function above it.
const BASH_BRIDGE: &str = r#"
_git_nav_loop() {
    local at
    for at in "${!COMP_WORDS[@]}"; do
        if [ "${COMP_WORDS[at]}" = nav-loop ]; then
            COMP_WORDS=(git-nav-loop "${COMP_WORDS[@]:at+1}")
            COMP_CWORD=$((COMP_CWORD - at))
            break
        fi
    done
    _git__nav__loop git-nav-loop "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
}
"#;

pub(super) fn run(context: &Context, args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut command = Cli::command().bin_name("git-nav-loop");
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "git-nav-loop", &mut text);
    context.print(&String::from_utf8_lossy(&text));
    if args.shell == Shell::Bash {
        context.print(BASH_BRIDGE);
    }
    Ok(ExitCode::Done)
}

//! `man`: the man pages, made from the command line's own definition.

use std::path::Path;

use clap::CommandFactory;

use crate::{
    cli::{Cli, ManArgs},
    context::Context,
    error::{Error, ErrorKind},
    exit_code::ExitCode,
};

pub(super) fn run(context: &Context, args: &ManArgs) -> Result<ExitCode, Error> {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = &args.dir else {
        context.print(&String::from_utf8_lossy(&page(command, "git-nav-loop")?));
        return Ok(ExitCode::Done);
    };
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    write_all(dir, &command, "git-nav-loop")?;
    context.say(&format!("{}", dir.display()));
    Ok(ExitCode::Done)
}

/// A page for the command, and one for each command below it: pages name one another.
fn write_all(dir: &Path, command: &clap::Command, name: &str) -> Result<(), Error> {
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        write_all(dir, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    write(&dir.join(format!("{name}.1")), &page(command.clone(), name)?)
}

fn page(command: clap::Command, name: &str) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let man = clap_mangen::Man::new(command.name(name.to_owned()).disable_help_subcommand(true));
    man.render(&mut text).map_err(|e| Error::new(ErrorKind::Internal, e.to_string(), ""))?;
    Ok(text)
}

fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|e| unwritable(path, &e))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(format!("{}: {error}", path.display()), "name a folder that can be written")
}

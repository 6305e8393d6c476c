//! `diff`: the net change of the loop, as paths with their class, or as a patch.

use bstr::ByteSlice;

use crate::{
    cli::DiffArgs,
    context::Context,
    domain::{facts::NetChange, path_rules::PathClass},
    error::Error,
    exit_code::ExitCode,
    git::{
        program::{Git, os_path},
        repo::Repo,
    },
    render::visible::visible,
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: &DiffArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    let facts = turn.observe(Look::HeadOnly)?;
    if args.json {
        let paths: Vec<_> = facts.net.iter().map(as_json).collect();
        let said =
            serde_json::json!({"v": 1, "anchor": facts.anchor, "head": facts.head, "paths": paths, "exit_code": 0});
        context.say(&said.to_string());
    } else if args.patch && !facts.net.is_empty() {
        let paths = facts.net.iter().map(|n| os_path(&n.change.path));
        let call =
            Git::new("diff").args(["--no-ext-diff", "--no-textconv", facts.anchor.as_str(), facts.head.as_str()]);
        let top = repo.work_tree().unwrap_or(repo.git_dir());
        let patch = call.in_dir(top).env("GIT_LITERAL_PATHSPECS", "1").arg("--").args(paths).output()?;
        context.print(&String::from_utf8_lossy(&patch));
    } else if !args.patch {
        for change in &facts.net {
            let path = visible(&change.change.path.to_str_lossy());
            context.say(&format!("{} {:8} {path}", letter(change), class(change)));
        }
    }
    Ok(ExitCode::Done)
}

fn letter(net: &NetChange) -> char {
    match (&net.change.before, &net.change.after) {
        (None, _) => 'A',
        (_, None) => 'D',
        _ => 'M',
    }
}

fn class(net: &NetChange) -> &'static str {
    match net.class {
        PathClass::Gate => "gate",
        PathClass::State => "state",
        PathClass::Marker => "marker",
        PathClass::TaskDoc => "task doc",
        PathClass::Docs => "docs",
        PathClass::Code if net.is_code => "code",
        PathClass::Code => "outside",
    }
}

fn as_json(net: &NetChange) -> serde_json::Value {
    serde_json::json!({
        "path": net.change.path.to_str_lossy(), "status": letter(net).to_string(), "class": class(net),
        "before": net.change.before.as_ref().map(|e| &e.id), "after": net.change.after.as_ref().map(|e| &e.id),
    })
}

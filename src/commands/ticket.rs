//! `ticket check|close`: what the tracker says of the loop's ticket. A tracker that does not answer changes nothing.

use super::recording::append;
use crate::{
    cli::{TicketAct, TicketName},
    context::Context,
    domain::{event::Event, evidence::ticket_of, ticket::Ticket},
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::visible::visible_short,
    tracker,
    turn::Turn,
};

pub(super) fn run(context: &Context, act: TicketAct) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::here(&repo)?;
    let (name, closes) = match act {
        TicketAct::Check(name) => (name, false),
        TicketAct::Close(name) => (name, true),
    };
    let own = turn.as_ref().and_then(|t| ticket_of(&t.state));
    let ticket = asked_for(&name, own.as_ref())?;
    let dir = repo.work_tree().unwrap_or(repo.git_dir());
    let mut issue = tracker::view(dir, &ticket)?;
    if closes && !issue.closed {
        tracker::close(dir, &ticket)?;
        issue.closed = true;
    }
    let state = if issue.closed { "closed" } else { "open" };
    if let Some(turn) = turn.filter(|t| !t.state.is_aborted() && own.as_ref() == Some(&ticket)) {
        append(context, &turn, "ticket", vec![checked(&ticket, state)])?;
    }
    let code = if issue.closed { ExitCode::Done } else { ExitCode::Closed };
    if context.json {
        let said = serde_json::json!({
            "v": 1, "ticket": ticket.to_string(), "state": state, "title": issue.title, "url": issue.url,
            "exit_code": code.number(),
        });
        context.say(&said.to_string());
    } else {
        let p = context.language.phrases();
        let state = if issue.closed { p.ticket_closed } else { p.ticket_open };
        context.say(&format!("{ticket}{}{state} · {}", p.colon, visible_short(&issue.title, 200)));
    }
    Ok(code)
}

fn checked(ticket: &Ticket, state: &str) -> Event {
    Event::TicketChecked { ticket: ticket.to_string(), state: state.to_owned(), source: "gh".to_owned() }
}

fn asked_for(name: &TicketName, own: Option<&Ticket>) -> Result<Ticket, Error> {
    match (&name.ticket, own) {
        (Some(typed), _) => Ticket::parse(typed)
            .ok_or_else(|| Error::usage(format!("{typed:?} is no ticket"), "write 12, owner/repo#12 or KEY-12")),
        (None, Some(own)) => Ok(own.clone()),
        (None, None) => Err(Error::usage("nothing names a ticket here", "git nav-loop ticket check 12")),
    }
}

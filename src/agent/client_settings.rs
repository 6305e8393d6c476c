//! Our entries in an agent client's settings file: put in, and exactly they taken out again (spec 4.2).
//!
//! In: the text of the file. Out: the text with or without our entries; every other key, its order and every comment
//! stay where they are. Paths, events and fields of each client: its own documentation.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
};

use super::stop_hook::HookClient;

/// A client's settings cannot be merged; what and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// How a client writes one hook.
enum Shape {
    /// `{"matcher": …, "hooks": [{"type": "command", "command": …}]}`
    Groups,
    /// `{"type": "command", "bash": …, "powershell": …}`
    Shells,
    /// `{"command": …}`
    Plain,
}

/// One of our hooks.
struct Entry {
    event: &'static str,
    matcher: Option<&'static str>,
    /// A number beside the command: its name, and its value.
    limit: Option<(&'static str, u32)>,
}

const fn entry(event: &'static str, limit: Option<(&'static str, u32)>) -> Entry {
    Entry { event, matcher: None, limit }
}

const CLAUDE: &[Entry] = &[
    entry("Stop", Some(("timeout", 120))),
    entry("UserPromptSubmit", None),
    Entry { event: "PostToolUse", matcher: Some("Read|Grep|Glob|Edit|Write"), limit: None },
];
const CODEX: &[Entry] = &[entry("Stop", Some(("timeout", 120))), entry("UserPromptSubmit", None)];
// Milliseconds.
const GEMINI: &[Entry] = &[
    entry("AfterAgent", Some(("timeout", 120_000))),
    entry("BeforeAgent", None),
    Entry { event: "AfterTool", matcher: Some("read_file|glob|grep|write_file|replace"), limit: None },
];
const COPILOT: &[Entry] =
    &[entry("agentStop", Some(("timeoutSec", 120))), entry("userPromptSubmitted", Some(("timeoutSec", 30)))];
const CURSOR: &[Entry] = &[entry("stop", Some(("loop_limit", 20)))];

impl HookClient {
    /// Every client.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Copilot, Self::Gemini, Self::Cursor];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
        }
    }

    /// The settings file of a repository, from its top.
    pub fn settings_file(self) -> &'static str {
        match self {
            Self::Claude => ".claude/settings.json",
            Self::Codex => ".codex/hooks.json",
            Self::Copilot => ".github/hooks/nav-loop.json",
            Self::Gemini => ".gemini/settings.json",
            Self::Cursor => ".cursor/hooks.json",
        }
    }

    fn entries(self) -> &'static [Entry] {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Copilot => COPILOT,
            Self::Gemini => GEMINI,
            Self::Cursor => CURSOR,
        }
    }

    fn shape(self) -> Shape {
        match self {
            Self::Claude | Self::Codex | Self::Gemini => Shape::Groups,
            Self::Copilot => Shape::Shells,
            Self::Cursor => Shape::Plain,
        }
    }

    /// Whether the file has to say `"version": 1`.
    fn is_versioned(self) -> bool {
        matches!(self, Self::Copilot | Self::Cursor)
    }

    /// The command that the client runs; it names the event where the input does not.
    fn command(self, event: &str) -> String {
        match self {
            Self::Copilot => format!("git nav-loop agent-hook copilot {event}"),
            other => format!("git nav-loop agent-hook {}", other.name()),
        }
    }
}

/// `text` with our entries; unchanged where they are there already.
///
/// ```
/// use nav_loop::agent::{client_settings::{merge, take_out}, stop_hook::HookClient};
/// let before = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
/// let merged = merge(HookClient::Claude, before).unwrap();
/// assert!(merged.contains("// mine") && merged.contains("git nav-loop agent-hook claude"));
/// assert_eq!(take_out(HookClient::Claude, &merged).unwrap(), before);
/// ```
pub fn merge(client: HookClient, text: &str) -> Result<String, Unreadable> {
    let (bom, body) = split_bom(text);
    let root = parse(if body.trim().is_empty() { "{}\n" } else { body })?;
    let top = root.object_value().ok_or_else(|| Unreadable("it is no JSON object".to_owned()))?;
    refuse_twice(&top, "hooks")?;
    let mut changed = false;
    if client.is_versioned() && top.get("version").is_none() {
        top.append("version", CstInputValue::Number("1".to_owned()));
        changed = true;
    }
    let hooks = object_in(&top, "hooks")?;
    for entry in client.entries() {
        refuse_twice(&hooks, entry.event)?;
        let array = array_in(&hooks, entry.event)?;
        if !array.elements().iter().any(|e| is_ours(e, client)) {
            array.append(value_of(client, entry));
            changed = true;
        }
    }
    Ok(if changed { format!("{bom}{root}") } else { text.to_owned() })
}

/// `text` without our entries, and without lists and objects that only they were in.
pub fn take_out(client: HookClient, text: &str) -> Result<String, Unreadable> {
    let (bom, body) = split_bom(text);
    let root = parse(body)?;
    let Some(top) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = top.object_value("hooks") else { return Ok(text.to_owned()) };
    let mut changed = false;
    for property in hooks.properties() {
        let Some(array) = property.array_value() else { continue };
        let took: usize = array.elements().into_iter().map(|e| take_out_of(e, client)).sum();
        changed |= took > 0;
        if took > 0 && array.elements().is_empty() {
            property.remove();
        }
    }
    if let Some(property) = top.get("hooks").filter(|_| changed && hooks.properties().is_empty()) {
        property.remove();
    }
    Ok(if changed { format!("{bom}{root}") } else { text.to_owned() })
}

/// Whether our entries are in `text`.
pub fn has_ours(client: HookClient, text: &str) -> bool {
    take_out(client, text).is_ok_and(|without| without != text)
}

fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}

fn parse(text: &str) -> Result<CstRootNode, Unreadable> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|e| Unreadable(format!("it is no JSON: {e}")))
}

/// Readers take the last of two equal keys, editors the first: such a file is nobody's to edit.
fn refuse_twice(object: &CstObject, name: &str) -> Result<(), Unreadable> {
    let named = |p: &jsonc_parser::cst::CstObjectProp| p.decoded_name().is_some_and(|n| n == name);
    match object.properties().iter().filter(|p| named(p)).count() {
        0 | 1 => Ok(()),
        n => Err(Unreadable(format!("it has {name:?} {n} times"))),
    }
}

fn object_in(object: &CstObject, name: &str) -> Result<CstObject, Unreadable> {
    object.object_value_or_create(name).ok_or_else(|| Unreadable(format!("its {name:?} is no object")))
}

fn array_in(object: &CstObject, name: &str) -> Result<CstArray, Unreadable> {
    object.array_value_or_create(name).ok_or_else(|| Unreadable(format!("its {name:?} is no list")))
}

fn value_of(client: HookClient, entry: &Entry) -> CstInputValue {
    let word = |key: &str, value: &str| (key.to_owned(), CstInputValue::String(value.to_owned()));
    let command = client.command(entry.event);
    let mut handler = match client.shape() {
        Shape::Groups => vec![word("type", "command"), word("command", &command)],
        Shape::Shells => vec![word("type", "command"), word("bash", &command), word("powershell", &command)],
        Shape::Plain => vec![word("command", &command)],
    };
    handler.extend(entry.limit.map(|(key, n)| (key.to_owned(), CstInputValue::Number(n.to_string()))));
    if !matches!(client.shape(), Shape::Groups) {
        return CstInputValue::Object(handler);
    }
    let mut group: Vec<_> = entry.matcher.iter().map(|m| word("matcher", m)).collect();
    group.push(("hooks".to_owned(), CstInputValue::Array(vec![CstInputValue::Object(handler)])));
    CstInputValue::Object(group)
}

/// Whether a handler, or a group, has a command of ours.
fn is_ours(element: &CstNode, client: HookClient) -> bool {
    let Some(object) = element.as_object() else { return false };
    let inner = object.array_value("hooks");
    inner.is_some_and(|handlers| handlers.elements().iter().any(|h| is_ours(h, client))) || runs_ours(&object, client)
}

fn runs_ours(handler: &CstObject, client: HookClient) -> bool {
    let ours = format!("git nav-loop agent-hook {}", client.name());
    ["command", "bash", "powershell"].iter().any(|key| {
        let value = handler.get(key).and_then(|p| p.value());
        let text = value.and_then(|v| v.as_string_lit()).and_then(|s| s.decoded_value().ok());
        text.is_some_and(|t| t == ours || t.strip_prefix(&ours).is_some_and(|rest| rest.starts_with(' ')))
    })
}

/// Takes our handlers out of one element, and the element when only they were in it; how many went.
fn take_out_of(element: CstNode, client: HookClient) -> usize {
    let Some(object) = element.as_object() else { return 0 };
    let Some(handlers) = object.array_value("hooks") else {
        let ours = runs_ours(&object, client);
        if ours {
            element.remove();
        }
        return usize::from(ours);
    };
    let ours: Vec<CstNode> =
        handlers.elements().into_iter().filter(|h| h.as_object().is_some_and(|o| runs_ours(&o, client))).collect();
    let count = ours.len();
    if count > 0 && count == handlers.elements().len() {
        element.remove();
    } else {
        ours.into_iter().for_each(CstNode::remove);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUMAN: &str = "{\n  \"zeta\": 1, // last letter first\n  \"hooks\": {\n    /* theirs */\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"their-gate\" }] }\n    ]\n  },\n  \"alpha\": [1,2,\n  3],\n}\n";

    #[test]
    fn entries_come_and_go_and_every_other_byte_stays() {
        let files = [
            HUMAN.to_owned(),
            HUMAN.replace('\n', "\r\n"),
            HUMAN.replace("  ", "\t"),
            format!("\u{feff}{HUMAN}"),
            "{\n  \"model\": \"x\"\n}\n".to_owned(),
        ];
        for client in HookClient::ALL {
            for before in &files {
                let merged = merge(client, before).unwrap();
                assert_ne!(&merged, before);
                assert!(has_ours(client, &merged) && !has_ours(client, before));
                assert_eq!(merge(client, &merged).unwrap(), merged, "a second time changes nothing");
                let out = take_out(client, &merged).unwrap();
                assert!(!out.contains("nav-loop"), "{out}");
                for kept in before.lines().map(|l| l.trim().trim_end_matches(',')) {
                    assert!(merged.contains(kept) && out.contains(kept), "{kept:?} is gone: {merged}\n{out}");
                }
                let crlf = |text: &str| (text.contains("\r\n"), text.replace("\r\n", "").contains('\n'));
                assert_eq!(crlf(&merged), crlf(before), "one sort of line end");
                assert!(client.is_versioned() || out == *before, "{before:?}\n{out:?}");
            }
        }
        let minified = r#"{"hooks":{"Stop":[{"hooks":[]}],"PreToolUse":[]},"b":1}"#;
        let merged = merge(HookClient::Claude, minified).unwrap();
        let plain = |text: &str| text.replace(char::is_whitespace, "");
        assert_eq!(plain(&take_out(HookClient::Claude, &merged).unwrap()), plain(minified));
    }

    #[test]
    fn what_cannot_be_merged_is_named() {
        let says = |text: &str| merge(HookClient::Claude, text).unwrap_err().to_string();
        assert!(says("{\n  \"a\": ,\n}").contains("line 2"), "{}", says("{\n  \"a\": ,\n}"));
        assert_eq!(says("[]"), "it is no JSON object");
        assert_eq!(says(r#"{"hooks": 3}"#), "its \"hooks\" is no object");
        assert_eq!(says(r#"{"hooks": {"Stop": {}}}"#), "its \"Stop\" is no list");
        assert_eq!(says(r#"{"hooks": {}, "hooks": {}}"#), "it has \"hooks\" 2 times");
    }

    #[test]
    fn handlers_beside_ours_stay_when_ours_go() {
        let text = r#"{"hooks": {"Stop": [{"hooks": [{"command": "git nav-loop agent-hook claude"}, {"command": "git nav-loop agent-hook claudette"}]}]}}"#;
        let out = take_out(HookClient::Claude, text).unwrap();
        let plain = out.replace(char::is_whitespace, "");
        assert_eq!(plain, r#"{"hooks":{"Stop":[{"hooks":[{"command":"gitnav-loopagent-hookclaudette"}]}]}}"#);
    }
}

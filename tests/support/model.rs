//! A model that says what the test lists, on a loopback port: OpenAI's Responses and Chat Completions, streamed.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// What the model does in one turn: a text, and a shell command to go on with, or none to stop.
pub type Step = (&'static str, Option<&'static str>);

#[derive(Clone)]
pub struct Model {
    pub port: u16,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    pub fn saying(steps: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self { port: listener.local_addr().unwrap().port(), seen: Arc::default() };
        let (steps, seen) = (Arc::new(Mutex::new(steps.to_vec())), Arc::clone(&model.seen));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (steps, seen) = (Arc::clone(&steps), Arc::clone(&seen));
                thread::spawn(move || while answer(&stream, &steps, &seen).is_some() {});
            }
        });
        model
    }

    /// Every request that could use a tool, as the client sent it.
    pub fn requests(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

/// Answers one request; `None` when the client is gone.
fn answer(stream: &TcpStream, steps: &Mutex<Vec<Step>>, seen: &Mutex<Vec<Value>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(n) = header.strip_prefix("content-length:") {
            length = n.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let tool = shell_tool(&request);
    let (text, command) = match &tool {
        Some(_) => {
            seen.lock().unwrap().push(request.clone());
            let mut left = steps.lock().unwrap();
            if left.is_empty() { ("nothing is left to say", None) } else { left.remove(0) }
        }
        None => ("a title", None),
    };
    let call = command.zip(tool).map(|(command, (name, fields))| (name, arguments(command, &fields)));
    let events = if path.ends_with("/responses") {
        responses(text, call)
    } else if path.ends_with("/chat/completions") {
        chat(text, call)
    } else {
        String::new()
    };
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", events.len());
    let mut out = stream;
    out.write_all(head.as_bytes()).and_then(|()| out.write_all(events.as_bytes())).ok()
}

/// The name of the client's own shell tool, and its fields.
fn shell_tool(request: &Value) -> Option<(String, Value)> {
    let tools = request["tools"].as_array()?;
    let known = ["exec_command", "shell_command", "shell", "bash"];
    tools.iter().find_map(|tool| {
        let spec = if tool["function"].is_object() { &tool["function"] } else { tool };
        let name = spec["name"].as_str().filter(|n| known.contains(n))?;
        Some((name.to_owned(), spec["parameters"]["properties"].clone()))
    })
}

fn arguments(command: &str, fields: &Value) -> String {
    let mut arguments = match (fields.get("cmd"), fields["command"]["type"].as_str()) {
        (Some(_), _) => json!({ "cmd": command }),
        (None, Some("array")) => json!({ "command": ["sh", "-c", command] }),
        _ => json!({ "command": command }),
    };
    if fields.get("description").is_some() {
        arguments["description"] = json!("a step");
    }
    arguments.to_string()
}

fn responses(text: &str, call: Option<(String, String)>) -> String {
    let mut items = vec![
        json!({"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
    ];
    if let Some((name, arguments)) = call {
        let id = format!("call-{}", arguments.len());
        items.push(json!({"type": "function_call", "id": "f", "call_id": id, "name": name, "arguments": arguments}));
    }
    let usage = json!({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2});
    let response = json!({"id": "r", "object": "response", "created_at": 0, "status": "completed", "model": "scripted", "output": items, "usage": usage});
    let done = items.iter().enumerate();
    let mut events = vec![json!({"type": "response.created", "response": {"id": "r"}})];
    events.extend(done.map(|(i, item)| json!({"type": "response.output_item.done", "output_index": i, "item": item})));
    events.push(json!({"type": "response.completed", "response": response}));
    events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap())).collect()
}

fn chat(text: &str, call: Option<(String, String)>) -> String {
    let finish = if call.is_some() { "tool_calls" } else { "stop" };
    let mut delta = json!({"role": "assistant", "content": text});
    if let Some((name, arguments)) = call {
        let id = format!("call-{}", arguments.len());
        delta["tool_calls"] =
            json!([{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]);
    }
    let chunk = |choice: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
    let first = chunk(json!({"index": 0, "delta": delta, "finish_reason": null}));
    let last = chunk(json!({"index": 0, "delta": {}, "finish_reason": finish}));
    format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

//! A server that does what it is told by its arguments, well or badly; written without the library of the client,
//! so that a mistake of that library does not meet itself.

use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A picture of one pixel.
pub const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// How many bytes of text the tool `big` gives.
pub const BIG: usize = 5_000_000;

/// Serves: `MODE [PORT]`. What happens is told on the port, a line each.
pub fn serve(arguments: &[String]) {
    let mode = arguments.first().map_or("usual", String::as_str);
    let marks = arguments
        .get(1)
        .map(|port| TcpStream::connect(format!("127.0.0.1:{port}")).expect("the test listens"));
    match mode {
        "dies" => {
            eprintln!("first\n\ncannot find the data\x1b[31m");
            std::process::exit(3);
        }
        "prints" => {
            println!("Usage: server \x1b[1mFOLDER\x1b[0m");
            // Whoever ends before it is spoken to may not be heard.
            let _ = io::stdin().lines().next();
            return;
        }
        "endless" => {
            let block = vec![b'x'; 1 << 20];
            while io::stdout().write_all(&block).is_ok() {}
            return;
        }
        _ => {}
    }
    let mut server = Server {
        mode: mode.to_owned(),
        marks,
        asked: None,
    };
    for line in io::stdin().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("the client writes messages");
        if mode == "deaf" {
            server.mark("heard");
            continue;
        }
        server.heard(&message);
    }
    server.mark("input closed");
    if mode == "stays" {
        // Only being killed ends it.
        loop {
            std::thread::park();
        }
    }
}

struct Server {
    mode: String,
    marks: Option<TcpStream>,
    /// The call that waits until the client has answered a question.
    asked: Option<Value>,
}

impl Server {
    fn mark(&mut self, text: &str) {
        if let Some(marks) = &mut self.marks {
            // The test may have ended.
            let _ = writeln!(marks, "{text}");
        }
    }

    fn heard(&mut self, message: &Value) {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(
                id,
                json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "stand-in", "version": "1" },
                }),
            ),
            Some("tools/list") => self.list(id, &message["params"]["cursor"]),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("notifications/cancelled") => self.mark("cancelled"),
            Some(_) if id.is_null() => {}
            Some(other) => refuse(id, -32601, &format!("there is no method {other}")),
            None => {
                if let Some(call) = self.asked.take() {
                    text(&call, &message.to_string());
                }
            }
        }
    }

    fn list(&self, id: &Value, cursor: &Value) {
        match self.mode.as_str() {
            "no-list" => return refuse(id, -32603, "the list is lost"),
            "odd-list" => return answer(id, json!({ "tools": "none" })),
            _ => {}
        }
        let page = cursor.as_str().and_then(|cursor| cursor.parse().ok());
        let page: usize = page.unwrap_or(0);
        let (tools, next) = match self.mode.as_str() {
            "many" => {
                let tools = (0..300).map(|tool| any_tool(&format!("tool{page}x{tool}")));
                (tools.collect(), Some(page + 1))
            }
            "large" => {
                let mut tool = any_tool(&format!("tool{page}"));
                tool["inputSchema"]["description"] = json!("d".repeat(31_000));
                (vec![tool], Some(page + 1))
            }
            "pages" => match page {
                0..3 => (vec![any_tool(&format!("tool{page}"))], Some(page + 1)),
                _ => (vec![any_tool("last")], None),
            },
            "odd-tools" => (odd_tools(), None),
            _ => (usual_tools(), None),
        };
        let mut listed = json!({ "tools": tools });
        if let Some(next) = next {
            listed["nextCursor"] = json!(next.to_string());
        }
        answer(id, listed);
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        let content = |blocks: Value| answer(id, json!({ "content": blocks }));
        match params["name"].as_str().expect("a call has a name") {
            "echo" => text(id, arguments["text"].as_str().unwrap_or("nothing")),
            "add" => match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
                (Some(a), Some(b)) => text(id, &(a + b).to_string()),
                _ => refuse(id, -32602, "a and b must be whole numbers"),
            },
            "fail" => answer(
                id,
                json!({ "content": [{ "type": "text", "text": "no luck" }], "isError": true }),
            ),
            "slow" => self.mark("slow"),
            "image" => content(json!([
                { "type": "text", "text": "a pixel" },
                { "type": "image", "data": PIXEL, "mimeType": "image/png" },
                { "type": "image", "data": "bm8gaW1hZ2U=", "mimeType": "image/png" },
            ])),
            "big" => text(id, &"0123456789abcdef\n".repeat(BIG / 17)),
            "mixed" => answer(
                id,
                json!({
                    "content": [
                        { "type": "resource", "resource": { "uri": "file:///a.txt", "text": "A\u{1b}[2J" } },
                        { "type": "resource", "resource": { "uri": "file:///b", "mimeType": "x/y", "blob": "AAAA" } },
                        { "type": "resource_link", "uri": "file:///c", "name": "c" },
                        { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
                        { "type": "text", "text": "{\"sum\": 3}" },
                    ],
                    "structuredContent": { "sum": 3 },
                }),
            ),
            "structured" => answer(
                id,
                json!({ "content": [], "structuredContent": { "sum": 3 } }),
            ),
            "nothing" => content(json!([])),
            "crash" => {
                eprintln!("a crash, as asked for");
                std::process::exit(7);
            }
            "orphan" => {
                // The child holds the output, so that it has no end.
                let mut child = Command::new("sleep");
                let child = child.arg("1000").stdin(Stdio::null()).spawn();
                std::mem::forget(child.expect("sleep runs"));
                std::process::exit(9);
            }
            "unreadable" => {
                let mut out = io::stdout().lock();
                let answer = b"{\"jsonrpc\": \"2.0\", \"result\": \"\xff\"}\n";
                let _ = out.write_all(answer).and_then(|()| out.flush());
            }
            "flood" => {
                let mut out = io::stdout().lock();
                let block = format!("{{\"a\": \"{}\"}}\n", "x".repeat(8_000_000));
                while out.write_all(block.as_bytes()).is_ok() {}
            }
            "garbage" => answer(id, json!({ "content": "what is this" })),
            "noise" => {
                println!("this is not a message\n{{\"nor\": \"this\"}}\n[1, 2");
                text(id, "good all the same");
            }
            "variable" => {
                let name = arguments["name"].as_str().unwrap_or_default();
                text(id, &std::env::var(name).unwrap_or("not set".to_owned()));
            }
            "folder" => text(
                id,
                &std::env::current_dir().expect("one").display().to_string(),
            ),
            "child" => {
                // The child holds the connection to the test, so its end is heard there.
                let marks = self.marks.as_ref().expect("the test listens");
                let marks = OwnedFd::from(marks.try_clone().expect("one more of them"));
                let mut child = Command::new("sleep");
                let child = child.arg("1000").stdin(Stdio::null()).stdout(marks);
                let mut child = child.spawn().expect("sleep runs");
                // It does not end before it is killed, and then this program is too.
                std::thread::spawn(move || child.wait());
                text(id, "started");
            }
            "ask" => {
                self.asked = Some(id.clone());
                let method = arguments["method"].clone();
                let params = json!({
                    "message": "your name?", "messages": [], "maxTokens": 9,
                    "requestedSchema": { "type": "object", "properties": {} },
                });
                say(&json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params }));
            }
            other => refuse(id, -32602, &format!("there is no tool {other}")),
        }
    }
}

fn usual_tools() -> Vec<Value> {
    let names = [
        "fail",
        "slow",
        "image",
        "big",
        "mixed",
        "structured",
        "nothing",
        "crash",
        "orphan",
        "unreadable",
        "flood",
        "garbage",
        "noise",
        "variable",
        "folder",
        "child",
        "ask",
    ];
    let mut tools: Vec<Value> = names.map(any_tool).into();
    tools.push(json!({
        "name": "echo",
        "description": "Says what it is told.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        "annotations": { "readOnlyHint": true },
    }));
    tools.push(json!({
        "name": "add",
        "description": "Adds.\u{1b}[31m",
        "inputSchema": { "type": "object", "required": ["a", "b"] },
        "annotations": { "idempotentHint": false, "readOnlyHint": false },
    }));
    tools
}

fn any_tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": {} } })
}

fn odd_tools() -> Vec<Value> {
    let mut long = any_tool("described");
    long["description"] = json!("d".repeat(5000));
    let mut array = any_tool("array");
    array["inputSchema"] = json!({ "type": "array" });
    let mut huge = any_tool("huge");
    huge["inputSchema"]["description"] = json!("d".repeat(40_000));
    let mut bare = any_tool("bare");
    bare["inputSchema"] = json!({});
    vec![
        any_tool("with space/and.dots"),
        any_tool("with space/and-dots"),
        any_tool("with.space.and.dots"),
        any_tool(&"long".repeat(40)),
        long,
        array,
        huge,
        bare,
        any_tool(" "),
    ]
}

fn text(id: &Value, text: &str) {
    answer(id, json!({ "content": [{ "type": "text", "text": text }] }));
}

#[expect(clippy::needless_pass_by_value, reason = "made where it is passed")]
fn answer(id: &Value, result: Value) {
    say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn refuse(id: &Value, code: i64, message: &str) {
    say(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
}

fn say(message: &Value) {
    let mut out = io::stdout().lock();
    // The client may have gone.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

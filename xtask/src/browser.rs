//! An exported page in a headless Chromium, driven by the WebDriver protocol: it reports no error, loads nothing, finds
//! what is searched for, and has a mark for each compaction.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::run::{Outcome, debug_binary, output, succeed, target, without_settings};

/// The programs that are needed.
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];

/// Two branches, three compactions, of which one is on the branch that was left, and a pruned result.
const SESSION: &str = "u:20 a:60 read:c1:/p/a.rs res:c1:400 a:30 | k@e3:50 | u:30 a:40 k@e7:60 \
                       | ^e5 u:25 call:c2:10 err:c2:300 a:80 k@e13:40 u:20 a:30";

/// What would run or load if a page took what a session says for markup.
const HOSTILE: &str = "needle-7 <script>document.title = 'owned'</script> <img src=\"http://127.0.0.1:9/a\" onerror=\"document.title='owned'\"> \
                       ![b](http://127.0.0.1:9/b) [c](javascript:document.title='owned') </article></main><style>*{display:none}</style>\n\n| a |\n|--:|\n| 1 |";

/// Returns the first program that is not there.
pub fn missing() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| {
        let found = Command::new(program).arg("--version").output();
        !found.is_ok_and(|found| found.status.success())
    })
}

/// Exports a session and looks at its page.
pub fn run() -> Outcome {
    let folder =
        std::path::absolute(target().join("browser")).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let session = folder.join("session.jsonl");
    let hostile = json!({
        "type": "message", "id": "h", "parentId": "e17",
        "message": { "role": "user", "content": HOSTILE },
    });
    let lines = format!("{}{hostile}\n", test_support::session(SESSION));
    std::fs::write(&session, lines).map_err(failed)?;
    let page = folder.join("page.html");
    let program = debug_binary()?;
    let mut export = Command::new(&program);
    let export = export.arg("export").arg(&session).arg("--html").arg(&page);
    succeed(without_settings(export))?;
    let mut inspect = Command::new(&program);
    let inspected = output(without_settings(
        inspect.arg("inspect").arg(&session).arg("--json"),
    ))?;
    let inspected: Value = serde_json::from_str(&inspected).map_err(|error| error.to_string())?;
    let compactions = inspected["compactions"].as_array().map_or(0, Vec::len);
    let mut browser = Browser::start(&folder.join("profile"))?;
    let done = look(&mut browser, &page, compactions);
    browser.end();
    done
}

fn look(browser: &mut Browser, page: &Path, compactions: usize) -> Outcome {
    let address = format!("file://{}", page.display());
    // What the browser's own first page asked for is read, and so forgotten.
    browser.ask("url", &json!({ "url": "about:blank" }))?;
    browser.ask("se/log", &json!({ "type": "performance" }))?;
    browser.ask("url", &json!({ "url": address }))?;
    let marks =
        browser.script("return document.querySelectorAll('.timeline .mark.compaction').length")?;
    let cards = browser.script("return document.querySelectorAll('.entry.compaction').length")?;
    equal("marks of compactions", &marks, &json!(compactions))?;
    equal("cards of compactions", &cards, &json!(compactions))?;
    equal("compactions", &json!(compactions), &json!(3))?;
    equal(
        "title",
        &browser.script("return document.title.includes('owned')")?,
        &json!(false),
    )?;
    let foreign = "return document.querySelectorAll('main img, main script, main style, a[href^=javascript]').length";
    equal("foreign elements", &browser.script(foreign)?, &json!(0))?;
    // Search: the key, the word, the number of what is found, and the entry that is gone to.
    browser.keys("/")?;
    browser.keys("needle-7\u{e007}")?;
    let found = browser.script("return document.getElementById('hits').textContent")?;
    equal("found", &found, &json!("1 of 1"))?;
    let here = "return document.querySelector('.entry.now').textContent.includes('needle-7')";
    equal(
        "gone to what is found",
        &browser.script(here)?,
        &json!(true),
    )?;
    browser.keys("\u{e00c}")?;
    // Steps between compactions, also into a branch that is folded.
    browser.keys("g")?;
    let at = "const it = document.querySelector('.entry.now'); return it.classList.contains('compaction') && it.getClientRects().length > 0";
    for key in ["p", "p", "n"] {
        browser.keys(key)?;
        equal("at a compaction", &browser.script(at)?, &json!(true))?;
    }
    browser.keys("?")?;
    equal(
        "help",
        &browser.script("return document.getElementById('help').open")?,
        &json!(true),
    )?;
    browser.quiet()
}

fn equal(what: &str, found: &Value, wanted: &Value) -> Outcome {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found}, not {wanted}")),
    }
}

/// A browser, and the program that drives it.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    fn start(profile: &Path) -> Outcome<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run chromedriver: {error}"))?;
        let lines = driver
            .stdout
            .take()
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self {
            driver,
            port: port.ok_or("chromedriver does not say its port")?,
            session: String::new(),
        };
        let profile = format!("--user-data-dir={}", profile.display());
        let options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            &profile,
        ];
        let begun = browser.request(
            "POST",
            "",
            &json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": options },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } }),
        );
        match begun
            .as_ref()
            .ok()
            .and_then(|begun| begun["sessionId"].as_str())
        {
            Some(session) => browser.session = format!("/{session}"),
            None => {
                browser.end();
                return Err(format!("chromedriver does not start Chromium: {begun:?}"));
            }
        }
        Ok(browser)
    }

    fn end(&mut self) {
        let _ = self.request("DELETE", "", &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }

    fn ask(&self, what: &str, body: &Value) -> Outcome<Value> {
        self.request("POST", &format!("/{what}"), body)
    }

    fn script(&self, script: &str) -> Outcome<Value> {
        self.ask("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Types characters where the focus is.
    fn keys(&self, text: &str) -> Outcome<Value> {
        let keys = text.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let keys: Vec<Value> = keys.collect();
        self.ask(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] }),
        )
    }

    /// Fails where the console has an error, or where anything but the page itself was asked for.
    fn quiet(&self) -> Outcome {
        let console = self.ask("se/log", &json!({ "type": "browser" }))?;
        equal("console", &console, &json!([]))?;
        let log = self.ask("se/log", &json!({ "type": "performance" }))?;
        let log = log.as_array().ok_or("no log of requests")?;
        let messages = log
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line["message"].as_str()?).ok());
        let requests = messages.filter(|it| it["message"]["method"] == "Network.requestWillBeSent");
        let asked: Vec<String> = requests
            .map(|it| it["message"]["params"]["request"]["url"].to_string())
            .collect();
        let foreign = asked
            .iter()
            .filter(|url| !url.starts_with("\"file:") || !url.contains("/page.html"));
        let foreign: Vec<&String> = foreign.collect();
        match (asked.len(), foreign.is_empty()) {
            (0, _) => Err("the log of requests has not even the page".to_owned()),
            (_, true) => Ok(()),
            (_, false) => Err(format!("the page asked for {foreign:?}")),
        }
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Outcome<Value> {
        let failed = |error: std::io::Error| format!("chromedriver: {error}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(failed)?;
        let body = body.to_string();
        let request = format!(
            "{method} /session{}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.session,
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        // The connection stays open, so its end does not tell where the answer ends.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).map_err(failed)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).map_err(failed)?;
        let mut answer: Value =
            serde_json::from_slice(&body).map_err(|error| format!("chromedriver: {error}"))?;
        let value = answer["value"].take();
        match value.get("error") {
            Some(error) => Err(format!("chromedriver: {error}: {}", value["message"])),
            None => Ok(value),
        }
    }
}

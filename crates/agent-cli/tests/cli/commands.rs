//! What every command prints and writes.

/// A session as the first version of the format wrote it: no ids, compactions count entries.
pub const VERSION_1: &str = r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/project"}
{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"first","timestamp":1}}
{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"one"}],"api":"test","provider":"test","model":"test","stopReason":"stop","timestamp":2}}
{"type":"message","timestamp":"2025-01-01T00:00:03.000Z","message":{"role":"user","content":"second","timestamp":3}}
{"type":"compaction","timestamp":"2025-01-01T00:00:04.000Z","summary":"what was","firstKeptEntryIndex":3,"tokensBefore":9}
{"type":"message","timestamp":"2025-01-01T00:00:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"api":"test","provider":"test","model":"test","stopReason":"stop","timestamp":5}}
"#;

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{FaultServer, Reply};

use crate::env::{Output, SMALL, TestEnv, without_figures, without_ids};

/// Returns the output of a run on [`SAMPLE`](crate::env::SAMPLE), without new ids, which must leave the folder alone.
fn shown(arguments: &[&str]) -> String {
    let env = TestEnv::sample();
    let before = env.listing();
    let output = env.run(arguments);
    assert!(
        before == env.listing(),
        "the folder has changed: {:?}",
        env.names()
    );
    without_ids(&output.to_string())
}

/// Returns the output up to the words of a summary, and with no figure that depends on them.
fn without_summary(output: &Output) -> String {
    let text = without_ids(&output.to_string());
    let words = text.find("-- summary").or_else(|| text.find("\n\n   "));
    without_figures(text[..words.unwrap_or(text.len())].trim_end())
}

/// Returns a member of a JSON document as text.
fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    let found = document[member].as_str();
    found.unwrap_or_else(|| panic!("no text {member} in {document:#}"))
}

#[test]
fn help() {
    let env = TestEnv::new();
    let help = |arguments: &[&str]| {
        let text = env.run(arguments).to_string();
        text.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(help(&["--help"]), @"
    exit 0
    --- stdout
    A coding agent whose long sessions stay usable, and the tools to look into sessions, compact them,
    branch them, and undo it.

    On a terminal it opens a session to talk to; with -p it runs an agent, and rpc lets a program drive
    one. The other commands work on session files, without a key and a network unless a model is named.

    Usage: agent-cli [OPTIONS] [PROMPT]
           agent-cli [OPTIONS] -p PROMPT
           agent-cli [OPTIONS] COMMAND

    Commands:
      inspect      Show what a session holds: entries, branches, compactions, tokens, files, diagnostics
      context      Show the messages that the model would see
      plan         Show what a compaction would do, without doing it
      compact      Compact a session: summarize older history, keep recent work verbatim
      branch       Go to another point of the session, with or without a summary of what is left
      handoff      Write a document for a new session to continue from, and begin that session with it
      recall       Find again what was said, on every branch, also what a compaction took out of the
                   context
      files        Show which files the agent read and changed, or the history of one and its text as
                   the session saw it last
      loss         Show what compactions took out of the model's context, and what their summaries
                   invented
      compare      Show what several strategies would make of a session, side by side
      rpc          Drive a running session from a program: requests on standard input, answers and
                   events on standard output, a JSON object a line (docs/reference/rpc.md)
      acp          Serve editors such as Zed: sessions by the Agent Client Protocol, on standard input
                   and output
      mcp          Serve recall to other agents, by the Model Context Protocol on standard input and
                   output
      setup        Give another agent recall: register the server of `mcp` and the hook that runs after
                   a compaction, or write an extension
      hook         Answer the hook of another agent: what a compaction took out of its context. `setup`
                   registers it
      tree         Show the turns and branches of a session
      undo         Go back to before the newest compaction or change of branch that agent-cli wrote
      redo         Reapply the last undo, or replace the newest compaction by one of another strategy
      pin          Keep a text or an entry verbatim through every compaction; list and remove such pins
      migrate      Write a session of version 1 or 2 as version 3
      import       Write a session of another agent as a new session
      export       Write a session as one page for a browser, or so that pi, Codex or opencode resumes
                   it
      doctor       Read every line of a session and report all damage
      gc           List the kept outputs of calls that no session refers to; with --yes remove them
      models       List the models that are known: window, prices, abilities, and whether a key is set
      sessions     List the sessions of this program and of other agents, and say where they are
      servers      Start the servers of tools that are configured, list what they bring, and end them
      config       Show and change the settings, where each value comes from, and what there is to set
      approvals    Show and change which tool calls are allowed in a project without a question, and
                   which never are
      hooks        List the hooks of the settings, or try them
      completions  Print completions for a shell
      help         Print this message or the help of the given subcommand(s)

    Arguments:
      [PROMPT]
              What you say first, in several words; without a terminal as with -p

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Running a session:
      -p, --print <PROMPT>
              Do this and end: the answer goes to standard output, progress to standard error; - reads
              standard input

          --mode <MODE>
              What is printed: text, or one JSON event a line (docs/reference/events.md)

              Possible values:
              - text: Text for people
              - json: One JSON event a line

          --model <PROVIDER/MODEL>
              The model, for example openai/gpt-5.4; `model` of the settings unless given

          --provider <NAME|scripted:FILE>
              The provider of --model; or scripted:FILE to play a script instead of asking a model
              (docs/reference/scripts.md)

          --base-url <URL>
              Ask at this address instead of the provider's own

          --wire <WIRE>
              Use this protocol instead of the provider's own

              Possible values:
              - chat:      Chat Completions and everything compatible
              - responses: OpenAI Responses
              - messages:  Anthropic Messages
              - gemini:    Gemini

          --api-key-env <VAR>
              The environment variable that holds the key

          --window <TOKENS>
              The model's context window in tokens

          --thinking <HOW MUCH>
              How much the model should think

              Possible values:
              - off:     As little as it can
              - minimal: The least that counts as thinking
              - low:     A little
              - medium:  Some
              - high:    Much
              - xhigh:   Even more
              - max:     As much as it can

          --record <FILE>
              Keep every exchange with a model in this file, for bug reports; keys are removed, the
              session's text is not

      -c, --continue
              Continue the newest session of this folder; without -p and a terminal, finish what it was
              doing

      -r, --resume <ID>
              Continue the session of this id, or of the only one that begins so; of another agent's,
              with a copy

          --session <FILE|ID>
              Continue this session file or session, or begin the file

          --fork <FILE|ID>
              Continue in a copy of this session; the session itself stays as it is

          --no-session
              Keep nothing on disk

          --session-dir <DIR>
              Where sessions are kept

          --cwd <DIR>
              The folder that the tools work in; this one unless given

          --tools <NAMES>
              The tools of the model, comma-separated, those of servers as SERVER__TOOL or SERVER__*;
              none for none

          --allow <TOOL>
              Let the model use this tool without asking, for this run: bash, SERVER__TOOL, or SERVER__*
              for all of a server

          --system-prompt <TEXT>
              The system prompt, in place of the built-in one

          --plain
              On a terminal: plain lines, which screen readers follow, in place of an editor at the
              bottom

          --no-instructions
              Read no AGENTS.md or the like, and list no skills (docs/reference/instructions.md)

    Global options:
          --json
              Print one JSON document instead of text for people

          --set <KEY=VALUE>
              Set one setting, for example compaction.keepRecentTokens=8000; may be repeated

          --settings <FILE>
              Read one more settings file, on top of the global and the project's; --set goes on top of
              all

          --profile <PROFILE>
              Whose rules to follow

              Possible values:
              - own: The project's own rules
              - pi:  pi 1.6.0 to the letter, for comparison

              [default: own]

          --show-secrets
              Print keys and private text too. Unless given, the values of variables that hold keys, and
              what has the form of a key, are hidden in everything that is printed and exported

    Exit codes: 0 done; 1 failed, or doctor found errors; 2 usage or settings; 3 nothing
    to do; 4 the session cannot be used; 5 a provider failed; 130 cancelled.

    A session is a JSONL file of pi, oh-my-pi or agent-cli (versions 1 to 3). Commands that
    only read take sessions of other agents too.
    Nothing is changed unless --in-place is given; --out writes a copy and never overwrites.
    ");
    assert_snapshot!(help(&["help", "compact"]), @"
    exit 0
    --- stdout
    Compact a session: summarize older history, keep recent work verbatim

    Usage: agent-cli compact [OPTIONS] <SESSION>

    Arguments:
      <SESSION>
              A file, an id or its beginning, newest, AGENT:newest, or - for standard input

    Options:
          --leaf <ID>
              Use this entry as the current position instead of the last one; `root` is before
              everything

          --window <TOKENS>
              The model's context window in tokens, also the summarizer's; unless given, the largest of
              the named models', else that of the session's model, or 200000 if it is not known

          --focus <TEXT>
              What the summary should focus on

          --strategy <NAMES>
              Comma-separated strategies, tried in order until one succeeds: context-full, restore,
              extractive, prune-only

          --workspace <DIR>
              Where restore reads the files that were touched; the session's own folder unless given

          --model <PROVIDER/MODEL>
              Let this model write the summary, for example openai/gpt-5.4; `agent-cli models` lists
              what is known. Given several times: the next one takes over when one fails. Without it the
              conversation is quoted, with no key and no network

          --base-url <URL>
              Ask at this address instead of the provider's own

          --wire <WIRE>
              Use this protocol instead of the provider's own

              Possible values:
              - chat:      Chat Completions and everything compatible
              - responses: OpenAI Responses
              - messages:  Anthropic Messages
              - gemini:    Gemini

          --api-key-env <VAR>
              The environment variable that holds the key

          --native <FORM>
              Which form of the provider's own compaction to use; auto takes what the model is known to
              have

              Possible values:
              - auto:       The form that the model is known to have, if compaction.remoteEnabled
              - off:        None
              - standalone: One request to /responses/compact
              - in-band:    A compaction trigger at the end of a normal request

              [default: auto]

          --fallback <WHAT>
              What to do when no model writes a summary; unless given, the conversation is quoted, but
              not when the reason is a mistake such as a wrong key or address

              Possible values:
              - extractive: The conversation is quoted, whatever the reason, and a notice is printed
              - none:       It is an error

          --record <FILE>
              Keep every exchange with a model in this file, for bug reports; keys are removed, the
              session's text is not

          --out <FILE>
              Write the result to a new file

          --in-place
              Append to the session itself

          --dry-run
              Show what would be done; write nothing

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
          --json
              Print one JSON document instead of text for people

          --set <KEY=VALUE>
              Set one setting, for example compaction.keepRecentTokens=8000; may be repeated

          --settings <FILE>
              Read one more settings file, on top of the global and the project's; --set goes on top of
              all

          --profile <PROFILE>
              Whose rules to follow

              Possible values:
              - own: The project's own rules
              - pi:  pi 1.6.0 to the letter, for comparison

              [default: own]

          --show-secrets
              Print keys and private text too. Unless given, the values of variables that hold keys, and
              what has the form of a key, are hidden in everything that is printed and exported
    ");
}

#[test]
fn inspect() {
    let window = ["--window", "8000"];
    assert_snapshot!(shown(&[&["inspect", "s.jsonl"], &window[..]].concat()), @r#"
    exit 0
    --- stdout
    session     a test   test
    format      version 3, begun 2026-01-01T00:00:00.000Z
    folder      /project
    model       test/test, thinking off
    entries     24: 21 message, 1 compaction, 1 label, 1 session_info
    branch        left  e17  17 entries  "here"
    branch      @ active  e24  22 entries  "here"
    compaction  e11  0 tokens before, summary 41

    Context  ~3.0k of 8.0k window   3.8k left
    [mUAAAOOOOOOOOOOOOOOOOOOOOOOOO.....................................!rrrrrrrrrrr]
    m summary 45   U you 72   A answers 451   O outputs 2.4k   . free 3.8k
    ! trigger 6.8k   r reserve 1.2k
    Largest  e14          2.3k  toolResult bash    #14 lorem ipsum dolor sit amet...
             e21           160  assistant          #21 lorem ipsum dolor sit amet...
             e24           122  assistant          #24 lorem ipsum dolor sit amet...
             e23            83  toolResult bash    #23 lorem ipsum dolor sit amet...
             e15            68  assistant          #15 lorem ipsum dolor sit amet...

    Files    2 changed, 0 only read
      changed  notes.md
      changed  src/lib.rs
    "#);
    let at = ["inspect", "s.jsonl", "--leaf", "e17"];
    assert_snapshot!(shown(&[&at[..], &window].concat()), @r#"
    exit 0
    --- stdout
    session     a test   test
    format      version 3, begun 2026-01-01T00:00:00.000Z
    folder      /project
    model       test/test, thinking off
    entries     24: 21 message, 1 compaction, 1 label, 1 session_info
    branch      @ active  e17  17 entries  "here"
    branch        left  e24  22 entries  "here"
    compaction  e11  0 tokens before, summary 41

    Context  ~2.6k of 8.0k window   4.2k left
    [mUAOOOOOOOOOOOOOOOOOOOOOO.........................................!rrrrrrrrrrr]
    m summary 45   U you 69   A answers 166   O outputs 2.3k   . free 4.2k
    ! trigger 6.8k   r reserve 1.2k
    Largest  e14          2.3k  toolResult bash    #14 lorem ipsum dolor sit amet...
             e15            68  assistant          #15 lorem ipsum dolor sit amet...
             e11            45  compactionSummary  #11 lorem ipsum dolor sit amet...
             e10            37  assistant          #10 lorem ipsum dolor sit amet...
             e7             29  user               #7 lorem ipsum dolor sit amet ...

    Files    1 changed, 0 only read
      changed  src/lib.rs
    "#);
    assert_snapshot!(shown(&["inspect", "s.jsonl", "--leaf", "root"]), @r#"
    exit 0
    --- stdout
    session     a test   test
    format      version 3, begun 2026-01-01T00:00:00.000Z
    folder      /project
    entries     24: 21 message, 1 compaction, 1 label, 1 session_info
    branch        left  e17  17 entries  "here"
    branch        left  e24  22 entries  "here"
    compaction  e11  0 tokens before, summary 41  (on another branch)

    Context  ~0 of 200.0k window, assumed   170.0k left
    [..................................................................!rrrrrrrrrrr]
    . free 170.0k   ! trigger 170.0k   r reserve 30.0k
    "#);
}

#[test]
fn context() {
    assert_snapshot!(shown(&["context", "s.jsonl"]), @r##"
    exit 0
    --- stdout
    16 messages, ~3.0k tokens, test/test, thinking off

         e11  compactionSummary     45  #11 lorem ipsum dolor sit amet lorem ip...
          e7  user                  29  #7 lorem ipsum dolor sit amet lorem ips...
          e8  assistant             14  edit({"path":"/project/src/lib.rs"})
          e9  toolResult            29  #9 lorem ipsum dolor sit amet lorem ips...
         e10  assistant             37  #10 lorem ipsum dolor sit amet lorem ip...
         e12  user                  18  #12 lorem ipsum dolor sit amet lorem ip...
         e13  assistant             18  bash({"command":"#13 lorem ipsum dolor ...
         e14  toolResult          2.3k  #14 lorem ipsum dolor sit amet lorem ip...
         e15  assistant             68  #15 lorem ipsum dolor sit amet lorem ip...
         e18  user                  25  #18 lorem ipsum dolor sit amet lorem ip...
         e19  assistant             14  write({"path":"/project/notes.md"})
         e20  toolResult            22  #20 lorem ipsum dolor sit amet lorem ip...
         e21  assistant            160  #21 lorem ipsum dolor sit amet lorem ip...
         e22  assistant             18  bash({"command":"#22 lorem ipsum dolor ...
         e23  toolResult            83  #23 lorem ipsum dolor sit amet lorem ip...
         e24  assistant            122  #24 lorem ipsum dolor sit amet lorem ip...
    "##);
    assert_snapshot!(shown(&["context", "s.jsonl", "--leaf", "e8", "--llm"]), @r#"
    exit 0
    --- stdout
    7 messages, ~444 tokens, test/test, thinking off

              user                  22  #2 lorem ipsum dolor sit amet lorem ips...
              assistant             14  read({"path":"/project/src/lib.rs"})
              toolResult           313  #4 lorem ipsum dolor sit amet lorem ips...
              assistant             52  #5 lorem ipsum dolor sit amet lorem ips...
              user                  29  #7 lorem ipsum dolor sit amet lorem ips...
              assistant             14  edit({"path":"/project/src/lib.rs"})
              toolResult            19  [no result was recorded for this call; ...

      warning call c2 (edit) has no result; a placeholder is sent
    "#);
}

#[test]
fn tree() {
    assert_snapshot!(shown(&["tree", "s.jsonl"]), @"
    exit 0
    --- stdout
    a test   5 turns, 2 branches
      o e2  #2 lorem ipsum dolor sit amet lorem ipsum...     1 tool     401
      o e7  #7 lorem ipsum dolor sit amet lorem ipsum...     1 tool     109
      C e11  compacted 0  2026-01-01 00:00  after: #7 ...                 45
      o e12  #12 lorem ipsum dolor sit amet lorem ipsu...     1 tool    2.4k
      +-x e16  #16 lorem ipsum dolor sit amet lorem ip...                 51
      @ e18  #18 lorem ipsum dolor sit amet lorem ipsu...    2 tools     444

    @ you are here   o on the path   x left   C compaction   s branch summary
    ");
    assert_snapshot!(shown(&["tree", "s.jsonl", "--leaf", "e16"]), @"
    exit 0
    --- stdout
    a test   5 turns, 2 branches
      o e2  #2 lorem ipsum dolor sit amet lorem ipsum...     1 tool     401
      o e7  #7 lorem ipsum dolor sit amet lorem ipsum...     1 tool     109
      C e11  compacted 0  2026-01-01 00:00  after: #7 ...                 45
      o e12  #12 lorem ipsum dolor sit amet lorem ipsu...     1 tool    2.4k
      +-x e18  #18 lorem ipsum dolor sit amet lorem ip...    2 tools     444
      @ e16  #16 lorem ipsum dolor sit amet lorem ipsu...                 51

    @ you are here   o on the path   x left   C compaction   s branch summary
    ");
}

#[test]
fn plan() {
    assert_snapshot!(shown(&[&["plan", "s.jsonl"], &SMALL[..]].concat()), @"
    exit 0
    --- stdout
    Context  ~3.0k of 8.0k window   3.8k left
    [mUAOOOOOOOOOOOOOOOOOOOOOO|AAO.....................................!rrrrrrrrrrr]
    m summary 45   U you 72   A answers 451   O outputs 2.4k   . free 3.8k
    ! trigger 6.8k   r reserve 1.2k
    trigger: window 8000 - reserve 1200 = 6800

    -- preview [ID]: nothing has changed yet -----------------------------------
      kept        4 entries verbatim (383), from e21
      summarized  8 entries + 3 of the turn in progress (2.6k)
      ledger      156 tokens: 4 messages
      files       2 changed, 0 read, all named
      extractive  388 tokens; 775 in context after
      messages    3 of 3 verbatim
      to a model  2 requests: 1.3k tokens in, at most 1.6k out
      without a model the extractive summary is used: no network, no cost
    ");
    assert_snapshot!(shown(&["plan", "s.jsonl"]), @"
    exit 3
    --- stderr
    nothing to do: Nothing to compact (session too small)
    ");
}

#[test]
fn doctor() {
    assert_snapshot!(shown(&["doctor", "s.jsonl"]), @"
    exit 0
    --- stdout
    24 entries on 25 lines
      no damage
    ");
    let env = TestEnv::new();
    env.session("s.jsonl", "u:5 call:c1:5 res:c1:5 a:5");
    assert_snapshot!(env.run(&["doctor", "s.jsonl"]), @"
    exit 0
    --- stdout
    4 entries on 5 lines
      no damage
    ");
}

#[test]
fn dry_runs() {
    let env = TestEnv::sample();
    let before = env.listing();
    let compact = env.run_with(&["compact", "s.jsonl", "--dry-run"], &SMALL);
    assert_snapshot!(without_summary(&compact), @"
    exit 0
    --- stdout
    Before  ~# of # window   # left
    [mUAO|AO.!r]
    m summary #   U you #   A answers #   O outputs #   . free #
    ! trigger #   r reserve #

    After   ~# of # window   # left
    [mAO.!r]
    m summary #   A answers #   O outputs #   . free #   ! trigger #
    r reserve #

    -- would be compacted  # -> #  (-#)  extractive, no model  [TIME]
       kept        # entries verbatim (#), from e21
       summarized  # entries + # of the turn in progress into # tokens
       files       # changed, # read, all named
       messages    # of # verbatim
       on disk     every entry; recall finds what is out of context
    ");
    let branch = ["branch", "s.jsonl", "--to", "e16", "--dry-run"];
    assert_snapshot!(env.run(&branch), @r##"
    exit 0
    --- stdout
    would move to e15, leaving 7 entries
       branches off at  e15
       to be edited     "#16 lorem ipsum dolor sit amet lorem ipsum dolor sit ..."
       left behind      440 tokens, 1 file changed and 0 read; still in the file
    "##);
    let summarized = env.run_with(&branch, &["--summarize"]);
    assert_snapshot!(without_summary(&summarized), @r###"
    exit 0
    --- stdout
    would move to e15, leaving # entries
       branches off at  e15
       to be edited     "## lorem ipsum dolor sit amet lorem ipsum dolor sit ..."
       left behind      # tokens, # file changed and # read; still in the file
    "###);
    assert_snapshot!(env.run(&["undo", "s.jsonl", "--any", "--dry-run"]), @"
    exit 0
    --- stdout
    would be undone: compaction e11 of another program   3.0k -> 510 tokens
       back at      e10
       left behind  11 entries that came after it; still in the file, agent-cli tree shows them
    ");
    assert!(before == env.listing());
    let env = TestEnv::new();
    env.write("old.jsonl", VERSION_1);
    assert_snapshot!(env.run(&["migrate", "old.jsonl", "--dry-run"]), @"
    exit 0
    --- stdout
    would be migrated: version 1 -> 3, 5 entries
    ");
    assert_eq!(env.read("old.jsonl"), VERSION_1.as_bytes());
    assert_eq!(env.names(), ["old.jsonl"]);
}

#[test]
fn compact_in_place_and_undo_give_the_context_back() {
    let env = TestEnv::sample();
    let (bytes, messages) = (env.read("s.jsonl"), env.messages("s.jsonl"));
    let plan = env.json(&[&["plan", "s.jsonl"], &SMALL[..]].concat());
    let card = env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL);
    assert_snapshot!(without_summary(&card), @"
    exit 0
    --- stdout
    Before  ~# of # window   # left
    [mUAO|AO.!r]
    m summary #   U you #   A answers #   O outputs #   . free #
    ! trigger #   r reserve #

    After   ~# of # window   # left
    [mAO.!r]
    m summary #   A answers #   O outputs #   . free #   ! trigger #
    r reserve #

    -- compacted  # -> #  (-#)  extractive, no model  [TIME]
       kept        # entries verbatim (#), from e21
       summarized  # entries + # of the turn in progress into # tokens
       files       # changed, # read, all named
       messages    # of # verbatim
       on disk     every entry; recall finds what is out of context
       read        agent-cli recall s.jsonl --read [ID]
       undo        agent-cli undo s.jsonl --in-place
    ");
    let compacted = env.read("s.jsonl");
    assert!(compacted.starts_with(&bytes), "appended, nothing else");
    assert_ne!(env.messages("s.jsonl"), messages);
    let written = env.lines("s.jsonl").pop().expect("lines");
    assert_eq!(written["type"], "compaction");
    assert_eq!(written["details"]["planHash"], plan["plan_hash"]);
    assert_eq!(written["firstKeptEntryId"], plan["first_kept_entry_id"]);

    let undone = env.run(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_snapshot!(without_figures(&without_ids(&undone.to_string())), @"
    exit 0
    --- stdout
    undone: compaction [ID] of agent-cli   # -> # tokens
       back at      e24
    ");
    assert!(
        env.read("s.jsonl").starts_with(&compacted),
        "appended, nothing else"
    );
    assert_eq!(env.messages("s.jsonl"), messages);
    assert_eq!(env.names(), ["s.jsonl"]);
}

#[test]
fn an_undo_is_not_undone_by_another() {
    let env = TestEnv::sample();
    env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL)
        .success();
    let first = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(
        (&first["kind"], &first["leaf"]),
        (&json!("compaction"), &json!("e24"))
    );
    // The older compaction of the sample is next.
    let second = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(
        (&second["undone"], &second["leaf"]),
        (&json!("e11"), &json!("e10"))
    );
    let third = env.run(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_snapshot!(third, @"
    exit 3
    --- stderr
    nothing to do: no compaction, pruning or change of branch on the path
    ");
}

#[test]
fn compact_to_a_copy_leaves_the_source_alone() {
    let env = TestEnv::sample();
    let source = env.read("s.jsonl");
    let copy = ["compact", "s.jsonl", "--out", "copy.jsonl"];
    let document = env.json(&[&copy[..], &SMALL].concat());
    assert_eq!(env.read("s.jsonl"), source);
    assert!(env.read("copy.jsonl").starts_with(&source));
    assert_eq!(env.names(), ["copy.jsonl", "s.jsonl"]);
    assert_eq!(document["written_to"], "copy.jsonl");
    let last = env.lines("copy.jsonl").pop().expect("lines");
    assert_eq!(last["id"], document["compaction_entry_id"]);
    assert_eq!(env.json(&["context", "copy.jsonl"])["leaf"], last["id"]);
    // The frame around a summary counts only where messages are measured.
    let measured = env.json(&["context", "copy.jsonl"])["tokens"].as_u64();
    let promised = document["tokens_after"].as_u64();
    assert!(
        measured
            .zip(promised)
            .is_some_and(|(measured, promised)| measured.abs_diff(promised) <= 8)
    );
}

#[test]
fn a_source_without_a_last_newline_gets_one_in_the_copy() {
    let env = TestEnv::sample();
    let source = env.read("s.jsonl");
    env.write("s.jsonl", source.strip_suffix(b"\n").expect("a newline"));
    env.run(&["undo", "s.jsonl", "--any", "--out", "copy.jsonl"])
        .success();
    assert!(env.read("copy.jsonl").starts_with(&source));
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    assert!(env.read("s.jsonl").starts_with(&source));
}

#[test]
fn a_second_compaction_updates_the_first() {
    let env = TestEnv::sample();
    let compact = [&["compact", "s.jsonl", "--in-place"], &SMALL[..]].concat();
    let first = env.json(&compact);
    assert_snapshot!(env.run(&compact), @"
    exit 3
    --- stderr
    nothing to do: Already compacted
    ");
    let session = String::from_utf8(env.read("s.jsonl")).expect("text");
    let parent = text(&first, "compaction_entry_id");
    let more = test_support::session("x1=u:30 x2=call:d1:10 x3=res:d1:4000 x4=a:40 x5=u:500");
    let more = more.split_once('\n').expect("a header").1;
    let more = more.replacen(
        "\"parentId\":null",
        &format!("\"parentId\":\"{parent}\""),
        1,
    );
    env.write("s.jsonl", format!("{session}{more}"));
    let second = env.json(&compact);
    let previous = text(&second, "previous_summary");
    assert!(
        text(&first, "summary").starts_with(previous),
        "the lists of files come anew"
    );
    assert_eq!(second["first_kept_entry_id"], "x5");
    assert_eq!(env.messages("s.jsonl")[1]["entry_id"], "x5");
}

#[test]
fn compact_at_another_leaf_continues_there() {
    let env = TestEnv::sample();
    let compact = ["compact", "s.jsonl", "--in-place", "--leaf", "e17"];
    env.run_with(&compact, &SMALL).success();
    let written = env.lines("s.jsonl").pop().expect("lines");
    assert_eq!(written["type"], "compaction");
    let context = env.json(&["context", "s.jsonl"]);
    assert_eq!(context["leaf"], written["id"]);
}

#[test]
fn prune_only() {
    let env = TestEnv::sample();
    let before = env.json(&["context", "s.jsonl"]);
    assert_snapshot!(env.run_with(&["plan", "s.jsonl"], &PRUNE), @"
    exit 0
    --- stdout
    Prune  1 message of 3.0k, 2.3k saved
    -- preview: nothing has changed yet --------------------------------------------
      e14      2.3k   old
    ");
    assert_snapshot!(env.run_with(&["compact", "s.jsonl", "--in-place"], &PRUNE), @"
    exit 0
    --- stdout
    Prune  1 message of 3.0k, 2.3k saved
    -- pruned: what was taken out is still in the file -----------------------------
      e14      2.3k   old
      undo  agent-cli undo s.jsonl --in-place
    ");
    let after = env.json(&["context", "s.jsonl"]);
    assert!(after["tokens"].as_u64() < before["tokens"].as_u64());
    let mut lines = env.lines("s.jsonl");
    let (mark, edit) = (lines.pop().expect("lines"), lines.pop().expect("lines"));
    assert_eq!(edit["type"], "context_edit");
    assert_eq!(
        (&edit["parentId"], &edit["targetId"]),
        (&json!("e24"), &json!("e14"))
    );
    assert_eq!(mark["customType"], "agent-cli/prune");
    assert_eq!(mark["parentId"], edit["id"]);
    assert_eq!(mark["data"]["undoTo"], "e24");
}

/// Options under which [`SAMPLE`](crate::env::SAMPLE) is worth pruning.
const PRUNE: [&str; 6] = [
    "--strategy",
    "prune-only",
    "--set",
    "compaction.prune.minimumSavings=100",
    "--set",
    "compaction.prune.protectTokens=200",
];

#[test]
fn prune_and_undo_give_the_context_back() {
    let env = TestEnv::sample();
    let (bytes, messages) = (env.read("s.jsonl"), env.messages("s.jsonl"));
    let pruned = env.json(&[&["compact", "s.jsonl", "--in-place"], &PRUNE[..]].concat());
    let mut lines = env.lines("s.jsonl");
    assert_eq!(pruned["mark_entry_id"], lines.pop().expect("lines")["id"]);
    assert_eq!(
        pruned["edit_entry_ids"],
        json!([lines.pop().expect("lines")["id"]])
    );
    assert_ne!(env.messages("s.jsonl"), messages);
    let undone = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(
        (&undone["kind"], &undone["undone"], &undone["leaf"]),
        (&json!("pruning"), &pruned["mark_entry_id"], &json!("e24"))
    );
    assert_eq!(env.messages("s.jsonl"), messages);
    assert!(
        env.read("s.jsonl").starts_with(&bytes),
        "appended, nothing else"
    );
    // The compaction of the sample is next, not the pruning again.
    let older = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(older["undone"], "e11");
}

#[test]
fn a_dry_run_of_pruning_names_no_entries() {
    let env = TestEnv::sample();
    let before = env.listing();
    let document = env.json(&[&["compact", "s.jsonl", "--dry-run"], &PRUNE[..]].concat());
    assert_eq!(
        (&document["edit_entry_ids"], &document["mark_entry_id"]),
        (&json!([]), &Value::Null)
    );
    assert!(before == env.listing());
}

#[test]
fn a_newest_turn_beyond_the_window_is_shortened_where_it_stands_and_undo_gives_it_back() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:20 call:c1:5 res:c1:300000");
    let messages = env.messages("s.jsonl");
    let tokens = |env: &TestEnv| env.json(&["context", "s.jsonl"])["tokens"].as_u64();
    assert!(tokens(&env) > Some(170_000));
    let output = env.run(&["compact", "s.jsonl", "--in-place"]);
    assert_snapshot!(without_ids(&output.to_string()), @"
    exit 0
    --- stdout
    Before  ~230.4k of 200.0k window, assumed   60.4k over the trigger
    [U|AOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOO!OOOOOOOOOOOOOOOOOOOO]
    U you 22   A answers 14   O outputs 230.4k   ! trigger 170.0k   r reserve 30.0k

    After   ~4.6k of 200.0k window, assumed   165.4k left
    [mAO...............................................................!rrrrrrrrrrr]
    m summary 52   A answers 14   O outputs 4.5k   . free 165.4k   ! trigger 170.0k
    r reserve 30.0k

    -- compacted  230.4k -> 4.6k  (-225.8k)  extractive, no model  [TIME] ------------
       kept        1 entry verbatim (14), from e2
       elided      1 entry that did not fit
       summarized  0 entries + 1 of the turn in progress into 52 tokens
       files       0 changed, 0 read, all named
       messages    1 of 1 verbatim
       on disk     every entry; recall finds what is out of context
       read        agent-cli recall s.jsonl --read [ID]
       undo        agent-cli undo s.jsonl --in-place

    -- summary ---------------------------------------------------------------------
       Made by code, without a model (extractive). Lines behind > are quoted; an ...
       user [e1]
       > #1 lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dol...
    ");
    assert!(tokens(&env) < Some(170_000));
    let added: Vec<Value> = env.lines("s.jsonl").split_off(4);
    let kinds: Vec<&Value> = added.iter().map(|line| &line["type"]).collect();
    assert_eq!(kinds, ["context_edit", "compaction"]);
    let undone = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(undone["leaf"], "e3");
    assert_eq!(env.messages("s.jsonl"), messages);
}

/// Nothing in it is old enough to be summarized.
#[test]
fn a_lone_call_beyond_the_window_is_shortened_by_edits_alone_and_undo_gives_it_back() {
    let env = TestEnv::new();
    env.session("s.jsonl", "call:c1:5 res:c1:300000");
    let messages = env.messages("s.jsonl");
    assert_snapshot!(env.run(&["plan", "s.jsonl"]), @"
    exit 0
    --- stdout
    Prune  1 message of 230.4k, 230.1k saved
    -- preview: nothing has changed yet --------------------------------------------
      e2    230.4k   too large for the window; nothing is old enough to be summarized
    ");
    assert_snapshot!(env.run(&["compact", "s.jsonl", "--in-place"]), @"
    exit 0
    --- stdout
    Prune  1 message of 230.4k, 230.1k saved
    -- pruned: what was taken out is still in the file -----------------------------
      e2    230.4k   too large for the window; nothing is old enough to be summarized
      undo  agent-cli undo s.jsonl --in-place
    ");
    let context = env.json(&["context", "s.jsonl"]);
    assert!(context["tokens"].as_u64() < Some(170_000));
    assert_eq!(context["messages"][0], messages[0]);
    let added: Vec<Value> = env.lines("s.jsonl").split_off(3);
    let kinds: Vec<&Value> = added.iter().map(|line| &line["type"]).collect();
    assert_eq!(kinds, ["context_edit", "custom"]);
    let undone = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
    assert_eq!(
        (&undone["kind"], &undone["leaf"]),
        (&json!("pruning"), &json!("e2"))
    );
    assert_eq!(env.messages("s.jsonl"), messages);
}

#[test]
fn a_request_beyond_the_window_is_refused_with_the_figures() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:300000");
    let before = env.listing();
    assert_snapshot!(env.run(&["compact", "s.jsonl", "--in-place"]), @"
    exit 3
    --- stderr
    nothing to do: what must stay takes 230406 tokens, more than the window of 200000: tokens of messages 230406; begin a new session or use a larger window
    ");
    assert!(before == env.listing());
}

#[test]
fn branch_without_a_summary() {
    let env = TestEnv::sample();
    let source = env.read("s.jsonl");
    let document = env.json(&["branch", "s.jsonl", "--to", "e17", "--in-place"]);
    let written = env.lines("s.jsonl").pop().expect("lines");
    assert!(env.read("s.jsonl").starts_with(&source));
    let mut shape = written.clone();
    for member in ["id", "timestamp"] {
        shape[member] = json!("");
    }
    assert_snapshot!(shape, @r#"{"customType":"agent-cli/leaf","data":{"from":"e24","reason":"navigate"},"id":"","parentId":"e17","timestamp":"","type":"custom"}"#);
    let mut members = document.clone();
    members["conversation"] = json!(text(&document, "conversation").is_empty());
    members["leaf_entry_id"] = json!(document["leaf_entry_id"] == written["id"]);
    assert_snapshot!(format!("{members:#}"), @r#"
    {
      "collected": [
        "e18",
        "e19",
        "e20",
        "e21",
        "e22",
        "e23",
        "e24"
      ],
      "common_ancestor": "e15",
      "conversation": false,
      "diagnostics": [],
      "editor_text": null,
      "from_id": "e24",
      "leaf_entry_id": true,
      "model": null,
      "modified_files": [
        "/project/notes.md"
      ],
      "new_leaf": "e17",
      "read_files": [],
      "summary": null,
      "summary_entry_id": null,
      "target": "e17",
      "tokens": 440
    }
    "#);
    // The place lasts: whoever opens the session next stands there.
    let context = env.json(&["context", "s.jsonl"]);
    assert_eq!(context["leaf"], written["id"]);
    let there = env.json(&["context", "s.jsonl", "--leaf", "e17"]);
    assert_eq!(context["messages"], there["messages"]);
    assert_snapshot!(without_ids(&env.run(&["tree", "s.jsonl"]).to_string()), @"
    exit 0
    --- stdout
    a test   5 turns, 2 branches
      o e2  #2 lorem ipsum dolor sit amet lorem ipsum...     1 tool     401
      o e7  #7 lorem ipsum dolor sit amet lorem ipsum...     1 tool     109
      C e11  compacted 0  2026-01-01 00:00  after: #7 ...                 45
      o e12  #12 lorem ipsum dolor sit amet lorem ipsu...     1 tool    2.4k
      +-x e18  #18 lorem ipsum dolor sit amet lorem ip...    2 tools     444
      @ e16  #16 lorem ipsum dolor sit amet lorem ipsu...                 51

    @ you are here   o on the path   x left   C compaction   s branch summary
    ");
}

#[test]
fn undo_goes_back_to_the_branch_that_was_left() {
    for options in [&[][..], &["--summarize"]] {
        let env = TestEnv::sample();
        let messages = env.messages("s.jsonl");
        let branch = ["branch", "s.jsonl", "--to", "e17", "--in-place"];
        env.run_with(&branch, options).success();
        assert_ne!(env.messages("s.jsonl"), messages);
        let undone = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
        assert_eq!(
            (&undone["kind"], &undone["leaf"]),
            (&json!("branch"), &json!("e24"))
        );
        assert_eq!(env.messages("s.jsonl"), messages);
    }
}

#[test]
fn branch_with_a_summary() {
    let env = TestEnv::sample();
    let branch = [
        "branch",
        "s.jsonl",
        "--to",
        "e17",
        "--in-place",
        "--summarize",
    ];
    let document = env.json(&branch);
    let written = env.lines("s.jsonl").pop().expect("lines");
    assert_eq!(written["type"], "branch_summary");
    assert_eq!(written["parentId"], "e17");
    assert_eq!(written["fromId"], "e24");
    assert_eq!(written["id"], document["summary_entry_id"]);
    assert_eq!(written["summary"], document["summary"]);
    assert_eq!(document["leaf_entry_id"], Value::Null);
    assert_eq!(document["common_ancestor"], "e15");
    assert_eq!(
        document["collected"],
        json!(["e18", "e19", "e20", "e21", "e22", "e23", "e24"])
    );
    assert_eq!(document["modified_files"], json!(["/project/notes.md"]));
    let context = env.json(&["context", "s.jsonl"]);
    let last = context["messages"]
        .as_array()
        .and_then(|rows| rows.last().cloned());
    assert_eq!(last.expect("a message")["role"], "branchSummary");
}

#[test]
fn branch_to_a_message_of_the_user_gives_it_back_to_be_edited() {
    let env = TestEnv::sample();
    let branch = [
        "branch",
        "s.jsonl",
        "--to",
        "e16",
        "--in-place",
        "--summarize",
    ];
    let document = env.json(&branch);
    let lines = env.lines("s.jsonl");
    let asked = &lines.iter().find(|line| line["id"] == "e16").expect("e16")["message"];
    assert_eq!(document["target"], "e16");
    assert_eq!(document["new_leaf"], "e15");
    assert_eq!(document["editor_text"], asked["content"]);
    assert_eq!(lines.last().expect("lines")["parentId"], "e15");
    let first = env.json(&["branch", "s.jsonl", "--to", "e2", "--dry-run"]);
    assert_eq!(first["new_leaf"], "e1");
}

#[test]
fn branch_to_the_beginning() {
    let env = TestEnv::sample();
    let document = env.json(&["branch", "s.jsonl", "--to", "root", "--in-place"]);
    assert_eq!(document["new_leaf"], Value::Null);
    assert_eq!(
        env.lines("s.jsonl").pop().expect("lines")["parentId"],
        Value::Null
    );
    assert_eq!(env.messages("s.jsonl"), json!([]));
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    assert_ne!(env.messages("s.jsonl"), json!([]));
}

#[test]
fn branch_to_a_copy_and_from_elsewhere() {
    let env = TestEnv::sample();
    let source = env.read("s.jsonl");
    let branch = [
        "branch",
        "s.jsonl",
        "--from",
        "e17",
        "--to",
        "e10",
        "--summarize",
    ];
    let document = env.json(&[&branch[..], &["--out", "copy.jsonl"]].concat());
    assert_eq!(env.read("s.jsonl"), source);
    assert!(env.read("copy.jsonl").starts_with(&source));
    assert_eq!(document["from_id"], "e17");
    assert_eq!(
        env.lines("copy.jsonl").pop().expect("lines")["fromId"],
        "e17"
    );
}

#[test]
fn old_sessions_open_as_their_migrated_copies_do() {
    let version_2 = |text: &str| {
        let lines = text.lines().enumerate().map(|(number, line)| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            match number {
                0 => line["version"] = json!(2),
                1 => (line["id"], line["parentId"]) = (json!("a1"), Value::Null),
                _ => {
                    line["id"] = json!(format!("a{number}"));
                    line["parentId"] = json!(format!("a{}", number - 1));
                }
            }
            if let Some(compaction) = line.as_object_mut()
                && compaction.remove("firstKeptEntryIndex").is_some()
            {
                compaction.insert("firstKeptEntryId".to_owned(), json!("a3"));
            }
            format!("{line}\n")
        });
        lines.collect::<String>()
    };
    for (text, backup) in [
        (VERSION_1.to_owned(), "s.jsonl.v1.bak"),
        (version_2(VERSION_1), "s.jsonl.v2.bak"),
    ] {
        let env = TestEnv::new();
        env.write("s.jsonl", &text);
        let messages = env.messages("s.jsonl");
        let texts: Vec<_> = messages
            .as_array()
            .expect("messages")
            .iter()
            .map(|row| &row["text"])
            .collect();
        assert_eq!(texts, ["what was", "second", "two"]);
        env.run(&["migrate", "s.jsonl", "--out", "copy.jsonl"])
            .success();
        assert_eq!(env.read("s.jsonl"), text.as_bytes());
        assert_eq!(env.lines("copy.jsonl")[0]["version"], 3);
        assert_eq!(env.messages("copy.jsonl"), messages);

        env.run(&["migrate", "s.jsonl", "--in-place"]).success();
        assert_eq!(env.read(backup), text.as_bytes());
        assert_eq!(env.read("s.jsonl"), env.read("copy.jsonl"));
        assert_eq!(env.names(), ["copy.jsonl", "s.jsonl", backup]);
        assert_eq!(env.run(&["migrate", "s.jsonl", "--in-place"]).code, Some(3));
        // A backup is never replaced.
        env.write("s.jsonl", &text);
        env.run(&["migrate", "s.jsonl", "--in-place"]).success();
        assert_eq!(env.read(&format!("{backup}2")), text.as_bytes());
    }
}

#[test]
fn migrate_says_what_it_did() {
    let env = TestEnv::new();
    env.write("s.jsonl", VERSION_1);
    assert_snapshot!(env.run(&["migrate", "s.jsonl", "--out", "new.jsonl"]), @"
    exit 0
    --- stdout
    migrated: version 1 -> 3, 5 entries
    ");
    assert_snapshot!(env.run(&["migrate", "s.jsonl", "--in-place"]), @"
    exit 0
    --- stdout
    migrated: version 1 -> 3, 5 entries
    --- stderr
    migrated from version 1; the old file is kept as [DIR]/s.jsonl.v1.bak
    ");
    assert_snapshot!(env.run(&["migrate", "s.jsonl", "--in-place"]), @"
    exit 3
    --- stderr
    nothing to do: s.jsonl is version 3 already
    ");
}

#[test]
fn out_of_an_old_session_is_a_migrated_copy() {
    let env = TestEnv::new();
    env.write("s.jsonl", VERSION_1);
    env.run(&["migrate", "s.jsonl", "--out", "migrated.jsonl"])
        .success();
    env.run(&["undo", "s.jsonl", "--any", "--out", "undone.jsonl"])
        .success();
    assert_eq!(env.read("s.jsonl"), VERSION_1.as_bytes());
    assert!(
        env.read("undone.jsonl")
            .starts_with(&env.read("migrated.jsonl"))
    );
}

#[test]
fn writing_to_an_old_session_in_place_migrates_it_and_keeps_a_backup() {
    let env = TestEnv::new();
    env.write("s.jsonl", VERSION_1);
    env.run(&["branch", "s.jsonl", "--to", "root", "--out", "copy.jsonl"])
        .success();
    // What changes nothing does not migrate either.
    env.run(&["pin", "s.jsonl", "--remove", "1", "--in-place"]);
    assert_eq!(env.read("s.jsonl"), VERSION_1.as_bytes());
    let output = env.run(&["branch", "s.jsonl", "--to", "root", "--in-place"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_snapshot!(output.stderr, @"migrated from version 1; the old file is kept as [DIR]/s.jsonl.v1.bak");
    assert_eq!(env.read("s.jsonl.v1.bak"), VERSION_1.as_bytes());
    assert_eq!(env.lines("s.jsonl").len(), env.lines("copy.jsonl").len());
    assert_eq!(env.messages("s.jsonl"), env.messages("copy.jsonl"));
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
}

#[cfg(unix)]
#[test]
fn migrating_in_place_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.write("s.jsonl", VERSION_1);
    let mode = || {
        std::fs::metadata(env.path("s.jsonl"))
            .expect("the session")
            .permissions()
            .mode()
    };
    let permissions = PermissionsExt::from_mode(0o640);
    std::fs::set_permissions(env.path("s.jsonl"), permissions).expect("permissions");
    env.run(&["migrate", "s.jsonl", "--in-place"]).success();
    assert_eq!(mode() & 0o777, 0o640);
}

#[test]
fn standard_input() {
    let env = TestEnv::sample();
    let input = env.read("s.jsonl");
    for command in ["inspect", "context", "plan", "tree", "doctor"] {
        let from_file = env.run(&[command, "s.jsonl", "--json"]);
        let from_input = env.run_on(&input, &[command, "-", "--json"]);
        assert_eq!(from_file, from_input, "{command}");
    }
    let out = |session, name| {
        let compact = ["compact", session, "--out", name, "--json"];
        [&compact[..], &SMALL].concat()
    };
    let from_input = env.run_on(&input, &out("-", "a.jsonl")).json();
    let from_file = env.run(&out("s.jsonl", "b.jsonl")).json();
    assert_eq!(from_input["plan_hash"], from_file["plan_hash"]);
    assert_eq!(from_input["summary"], from_file["summary"]);
    assert!(env.read("a.jsonl").starts_with(&input));
    let migrated = env.run_on(VERSION_1.as_bytes(), &["migrate", "-", "--out", "c.jsonl"]);
    assert_snapshot!(migrated, @"
    exit 0
    --- stdout
    migrated: version 1 -> 3, 5 entries
    ");
}

#[test]
fn completions() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(&["completions", shell]).success();
        assert!(
            script.contains("agent-cli") && script.contains("in-place"),
            "{shell}"
        );
    }
}

#[test]
fn models() {
    let env = TestEnv::new();
    let run = |arguments: &[&str], keys: &[(&str, &str)]| {
        let mut command = env.command(crate::env::BINARY);
        command
            .arg("models")
            .args(arguments)
            .envs(keys.iter().copied());
        let text = env.output(&mut command).to_string();
        let lines = text.lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(run(&["HAIKU", "--provider", "anthropic"], &[]), @"
    exit 0
    --- stdout
                                           window   output     $ in    $ out  can   from
    anthropic  key ANTHROPIC_API_KEY is not set  https://api.anthropic.com
      anthropic/claude-haiku-4-5           200.0k    64.0k     1.00     5.00  tir-  generated
      anthropic/claude-haiku-4-5-20251001   200.0k    64.0k     1.00     5.00  tir-  generated
      anthropic/claude-haiku-5-5             1.0M   128.0k     0.10+    0.50+ tir-  generated
    $ per million tokens, + more for large prompts; ? not known
    can: t tools, i images, r reasoning, n native compaction
    from: checked by hand, generated from a public list, service or settings
    ");
    let keys = [("OPENROUTER_API_KEY", "sk-secret"), ("OLLAMA_API_KEY", "")];
    assert_snapshot!(run(&["KIMI-K3", "--provider", "openrouter"], &keys), @"
    exit 0
    --- stdout
                                           window   output     $ in    $ out  can   from
    openrouter  key OPENROUTER_API_KEY is set  https://openrouter.ai/api/v1
      openrouter/moonshotai/kimi-k3          1.0M   131.1k    0.192    16.00  tir-  generated
      openrouter/moonshotai/kimi-k3.1-pro     1.0M   131.1k    0.253     8.80  tir-  generated
      any model that it has, as openrouter/MODEL
    $ per million tokens, + more for large prompts; ? not known
    can: t tools, i images, r reasoning, n native compaction
    from: checked by hand, generated from a public list, service or settings
    ");
    assert_snapshot!(run(&["ollama"], &keys), @"
    exit 0
    --- stdout
    ollama  key OLLAMA_API_KEY is not set, not needed  http://127.0.0.1:11434/v1
      any model that it has, as ollama/MODEL
    ");
    assert_snapshot!(run(&["nothing-like-it"], &[]), @"
    exit 3
    --- stderr
    nothing to do: no model matches nothing-like-it; agent-cli models lists all
    ");
    assert_snapshot!(run(&["--provider", "opena"], &[]), @"
    exit 2
    --- stderr
    error: no provider opena; did you mean openai; add it to the settings under providers
    ");
    let all = run(&[], &keys);
    assert!(
        all.contains("openai/gpt-") && all.contains("vllm/MODEL"),
        "{all}"
    );
    assert!(!all.contains("sk-secret"), "{all}");
}

#[test]
fn a_provider_is_asked_for_its_models() {
    let env = TestEnv::new();
    let list = json!({"data": [{"id": "new", "context_length": 64_000}, {"id": "newer"}]});
    let server = FaultServer::replaying(vec![Reply::json(200, &list)]);
    let command = |arguments: &[&str]| {
        let mut command = env.command(crate::env::BINARY);
        command
            .args(["models", "--provider", "lab"])
            .args(["--set", &format!("providers.lab.baseUrl={}", server.url())])
            .args(["--set", "providers.lab.apiKeyEnv=LAB_KEY"])
            .args(arguments)
            .env("XDG_CACHE_HOME", env.path("cache"));
        command
    };
    let key = ["--set", "providers.lab.keyOptional=false"];
    let refused = env.output(command(&["--refresh"]).args(key));
    assert_snapshot!(refused, @"
    exit 2
    --- stderr
    error: no key for lab: set LAB_KEY, or name another variable with --api-key-env
    ");
    assert_eq!(server.received().len(), 0);
    let asked =
        env.output(command(&["--refresh", "--json"]).env("LAB_KEY", "sk-planted-0123456789"));
    assert_eq!(asked.stderr, "note: lab lists 2 models\n");
    let request = &server.received()[0];
    assert_eq!(request.path, "/models");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-planted-0123456789")
    );
    // From then on they are known, and nothing is asked.
    let document = env.output(&mut command(&["--json"])).json();
    let models = document["models"].as_array().expect("models").iter();
    let facts: Vec<_> = models
        .map(|model| json!([model["name"], model["window"], model["origin"]]))
        .collect();
    let expected = [
        json!(["lab/new", 64_000, "service"]),
        json!(["lab/newer", null, "service"]),
    ];
    assert_eq!(facts, expected);
    assert_eq!(server.received().len(), 1);
    env.write("cache/agent-cli/models/lab.json", "{");
    let told = env.output(&mut command(&[]));
    assert!(
        told.stderr
            .contains("write it again with agent-cli models --refresh"),
        "{told}"
    );
    let unnamed = env.run(&["models", "--refresh"]);
    assert_eq!(unnamed.code, Some(2), "{unnamed}");
}

#[test]
fn models_follow_the_settings() {
    let env = TestEnv::new();
    env.write(
        "settings.json",
        r#"{"providers": {"lab": {"baseUrl": "http://10.0.0.2:8000/v1/", "apiKeyEnv": "LAB_KEY"}},
            "models": {"lab/big": {"window": 32000, "prices": [{"input": 0.123, "output": 2}]}}}"#,
    );
    let arguments = ["models", "--provider", "lab", "--settings", "settings.json"];
    assert_snapshot!(env.run(&arguments).success(), @"
                window   output     $ in    $ out  can   from
    lab  key LAB_KEY is not set  http://10.0.0.2:8000/v1
      lab/big    32.0k        ?    0.123     2.00  t---  settings
      any model that it has, as lab/MODEL
    $ per million tokens, + more for large prompts; ? not known
    can: t tools, i images, r reasoning, n native compaction
    from: checked by hand, generated from a public list, service or settings
    ");
    let document = env.json(&arguments);
    let model = &document["models"][0];
    assert_eq!(model["name"], "lab/big");
    assert_eq!(model["source"], "settings");
    assert_eq!(model["prices"][0]["input"], 0.123);
    let provider = &document["providers"][0];
    assert_eq!(provider["base_url"], "http://10.0.0.2:8000/v1");
    assert_eq!(provider["key_variable"], "LAB_KEY");
    assert_eq!(provider["key_set"], false);

    let document = env.json(&["models", "claude-opus-5-5", "--provider", "anthropic"]);
    let model = &document["models"][0];
    assert_eq!(model["window"], 1_000_000);
    assert_eq!(model["prices"][0]["cache_read"], 0.2);
    assert_eq!(text(model, "date").len(), 10);
    assert!(!text(model, "source").is_empty());
}

#[test]
fn fields_that_the_user_adds_to_requests_are_shown() {
    let env = TestEnv::new();
    env.write(
        "settings.json",
        r#"{"providers": {"lab": {"baseUrl": "http://127.0.0.1:9/v1", "extraBody": {"top_k": 1}}},
            "models": {"lab/big": {"window": 32000, "extraBody": {"seed": 7}, "extraHeaders": {"x-a": "b"}}}}"#,
    );
    let arguments = ["models", "--provider", "lab", "--settings", "settings.json"];
    let shown = env.run(&arguments).success();
    assert!(
        shown.contains(r#"with {"top_k":1}"#) && shown.contains(r#"with {"seed":7}"#),
        "{shown}"
    );
    let document = env.json(&arguments);
    assert_eq!(document["providers"][0]["extra_body"]["top_k"], 1);
    assert_eq!(document["models"][0]["extra_body"]["seed"], 7);
    assert_eq!(document["models"][0]["extra_headers"][0], "x-a");
}

#[test]
fn the_documented_settings_can_be_used() {
    let env = TestEnv::new();
    let docs = include_str!("../../../../docs/reference/settings.md");
    let example = docs.split("```json").nth(1);
    let example = example.and_then(|rest| rest.split("```").next());
    env.write("settings.json", example.unwrap_or_default());
    let document = env.json(&["models", "lab", "--settings", "settings.json"]);
    assert_eq!(document["models"][0]["name"], "lab/qwen3-coder");
    let models = ["models", "gpt-6.2-sol", "--settings", "settings.json"];
    assert_eq!(env.json(&models)["models"][0]["window"], 272_000);
    let set = r#"models."openai/gpt-6.2-sol".window=272000"#;
    assert!(docs.contains(set));
    let models = ["models", "gpt-6.2-sol", "--set", set];
    assert_eq!(env.json(&models)["models"][0]["window"], 272_000);
}

#[test]
fn settings_come_from_a_file_and_from_the_command_line() {
    let env = TestEnv::sample();
    let keep = r#"{"compaction": {"keepRecentTokens": 300, "reserveTokens": 1000}}"#;
    env.write("settings.json", keep);
    let plan = [
        "plan",
        "s.jsonl",
        "--window",
        "8000",
        "--settings",
        "settings.json",
    ];
    let from_file = env.json(&plan);
    let from_line = env.json(&[&["plan", "s.jsonl"], &SMALL[..]].concat());
    assert_eq!(from_file, from_line);
    assert_eq!(from_file["keep_recent_tokens"]["asked"], 300);
    let both = [&plan[..], &["--set", "compaction.keepRecentTokens=500"]].concat();
    let both = env.json(&both);
    assert_eq!(both["keep_recent_tokens"]["asked"], 500);
    assert_eq!(both["threshold"], from_file["threshold"]);
}

#[test]
fn a_profile_changes_the_rules() {
    let env = TestEnv::sample();
    let own = env.json(&["context", "s.jsonl"]);
    let pi = env.json(&["context", "s.jsonl", "--profile", "pi"]);
    assert_ne!(own["tokens"], pi["tokens"]);
    assert_eq!(
        env.run(&["context", "s.jsonl", "--profile", "other"]).code,
        Some(2)
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let env = TestEnv::sample();
    let mut command = env.command("sh");
    command.args([
        "-c",
        "\"$0\" tree s.jsonl --json | head -1",
        crate::env::BINARY,
    ]);
    let output = env.output(&mut command);
    assert_eq!(output.stderr, "");
    assert_eq!(output.stdout, "{\n");
}

#[test]
fn a_prompt_of_several_words_is_said_and_a_single_word_is_no_command() {
    let env = TestEnv::new();
    env.write(
        "script.jsonl",
        "{\"script\":1,\"name\":\"s\",\"window\":16384}\n{\"answer\":{\"text\":\"done\"}}\n",
    );
    let options = ["--provider", "scripted:script.jsonl", "--no-session"];
    let said = env.run_with(&["fix the bug"], &options);
    assert_eq!(said.success().trim(), "done");
    let refused = env.run_with(&["inspekt"], &options);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused.stderr.contains("there is no command inspekt"),
        "{refused}"
    );
    let both = env.run(&["fix the bug", "-p", "x"]);
    assert_eq!(both.code, Some(2), "{both}");
}

#[test]
fn every_agent_is_named_once_where_its_hook_is_described() {
    let help = TestEnv::new().run(&["hook", "--help"]).success();
    let (_, values) = help.split_once("[possible values: ").expect("the agents");
    let (values, _) = values.split_once(']').expect("the end");
    let names: Vec<&str> = values.split(',').map(str::trim).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(names.len(), distinct.len(), "{names:?}");
}

#[test]
fn branches_are_counted_where_parents_follow_their_children() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:5 a:5 u:5 a:5");
    let text = String::from_utf8(env.read("s.jsonl")).expect("text");
    let (header, rest) = text.split_once('\n').expect("lines");
    let mut lines: Vec<&str> = rest.lines().collect();
    // The newest entry is the last line of every session.
    lines[..3].reverse();
    env.write("s.jsonl", format!("{header}\n{}\n", lines.join("\n")));
    let branches = env.json(&["inspect", "s.jsonl"])["branches"].clone();
    assert_eq!(branches[0]["entries"], 4, "{branches}");
}

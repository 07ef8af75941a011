// Sessions that the agent itself lives in: scripts are played with `agent-cli -p`, the events that it tells are
// checked, and what it writes is handed to the comparison with pi.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadAcceptance } from "./accept.mjs";
import { ask, compare, compareContext, Difference, runBinary, show } from "./compare.mjs";

const root = resolve(fileURLToPath(import.meta.url), "../../..");
// The rows of the generated table.
const [, table] = readFileSync(resolve(root, "docs/reference/tools.md"), "utf8").split(/<!-- (?:tools: .*|end of tools) -->/);
const ALL_TOOLS = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
if (!ALL_TOOLS.includes("read")) throw new Error("docs/reference/tools.md has no table of tools");

// ---------------------------------------------------------------------------------------------------------------
// What must be told

const of = (events, type, fields = {}) => events.filter((event) => event.type === type && Object.entries(fields).every(([key, value]) => event[key] === value));

function must(holds, what, seen) {
  if (!holds) throw new Difference(`${what}\n    seen: ${show(seen)}`);
}

/** Automatic compactions that brought something, by reason. */
const compacted = (events, reason) => of(events, "auto_compaction_end", { reason }).filter((event) => event.result !== null && event.error === null);

/** Those that ran between a batch of tools and the next request. */
function betweenTools(events, reason) {
  const steps = events.filter((event) => ["answer", "tool_end", "turn_start", "turn_end", "auto_compaction_start", "auto_compaction_end"].includes(event.type));
  return steps.filter((event, i) => event.type === "auto_compaction_end" && event.reason === reason && event.result !== null && steps[i - 1]?.type === "auto_compaction_start" && steps[i - 2]?.type === "tool_end" && steps[i + 1]?.type === "answer");
}

function toldOf(events, type, count, fields) {
  const found = of(events, type, fields);
  must(found.length === count, `${count} times ${type} ${fields ? JSON.stringify(fields) : ""}`, found);
  return found;
}

/** One recovery of this reason, after which the turn was asked again. */
function recovered(events, reason) {
  const [ended] = toldOf(events, "auto_compaction_end", 1, { reason });
  must(ended.will_retry && ended.result !== null && ended.error === null, `the recovery (${reason}) asks again`, ended);
}

function noErrors(events) {
  toldOf(events, "error", 0);
  const failed = of(events, "auto_compaction_end").filter((event) => event.error !== null);
  must(failed.length === 0, "no compaction that fails", failed);
}

const PLAYS = [
  {
    name: "tools",
    runs: [{ prompt: "Write two files, then count." }],
    sessions: 1,
    told(events) {
      noErrors(events);
      toldOf(events, "tool_end", 15);
      toldOf(events, "queued", 1, { delivery: "steer" });
      toldOf(events, "message", 3);
      recovered(events, "overflow");
      recovered(events, "incomplete");
      must(betweenTools(events, "threshold").length === 1, "one compaction between tools", of(events, "auto_compaction_end"));
      must(of(events, "answer").at(-1).text === "You are welcome.", "the last answer", of(events, "answer").at(-1));
    },
  },
  {
    name: "branches",
    runs: [
      { prompt: "Look at what is there.", code: 5, args: ["--cwd", "."] },
      { prompt: "Say it in one word.", args: ["--system-prompt", "You are brief.", "--tools", "bash"] },
    ],
    sessions: 1,
    tools: ["bash"],
    told(events) {
      toldOf(events, "labelled", 1, { label: "the first way" });
      const moves = toldOf(events, "navigated", 2);
      must(moves[0].summary_entry_id !== null && moves[1].summary_entry_id === null, "one move with a summary, one without", moves);
      const [manual] = toldOf(events, "compaction_end", 1, { reason: "manual" });
      must(manual.result !== null, "the compaction that was asked for", manual);
      toldOf(events, "turn_end", 1, { end: "failed" });
      toldOf(events, "turn_end", 1, { end: "aborted" });
    },
  },
  {
    name: "handoff",
    runs: [{ prompt: "Make a plan." }],
    sessions: 2,
    told(events) {
      noErrors(events);
      toldOf(events, "session_switch", 1);
      must(betweenTools(events, "threshold").length === 1, "one compaction between tools", of(events, "auto_compaction_end"));
      must(compacted(events, "threshold").length === 2, "one compaction after a turn", of(events, "auto_compaction_end"));
      must(of(events, "answer").at(-1).text === "Nothing is left to do.", "the last answer", of(events, "answer").at(-1));
    },
  },
  {
    name: "other-writer",
    runs: [{ prompt: "Write beside pi." }],
    sessions: 1,
    told(events, files) {
      noErrors(events);
      const [append] = toldOf(events, "tool_end", 1, { name: "bash" });
      must(!append.is_error, "pi appends", append);
      must(of(events, "answer").at(-1).text === "Both of us have written.", "the last answer", of(events, "answer").at(-1));
      const entries = readFileSync(files[0], "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
      const roles = entries.filter((entry) => entry.type === "message" && entry.message.role !== "system").map((entry) => entry.message.role);
      must(String(roles) === "user,assistant,user,toolResult,assistant,toolResult,assistant", "every entry of both", roles);
      const ids = new Set(entries.map((entry) => entry.id));
      must(entries.every((entry) => !entry.parentId || ids.has(entry.parentId)), "every parent is there", entries.map((entry) => entry.parentId));
    },
  },
  {
    name: "refactor",
    script: join(root, "examples/scripts/refactor.jsonl"),
    runs: [{ prompt: "tidy up this project" }],
    sessions: 2,
    told(events) {
      noErrors(events);
      toldOf(events, "tool_end", 300);
      const between = betweenTools(events, "threshold").length;
      must(between >= 5, "at least 5 compactions between tools", between);
      recovered(events, "overflow");
      recovered(events, "incomplete");
      toldOf(events, "session_switch", 1);
      const [move] = toldOf(events, "navigated", 1);
      must(move.summary_entry_id !== null && !move.cancelled, "the move leaves a summary", move);
      const commands = new Map(of(events, "tool_start", { name: "bash" }).map((event) => [event.call_id, event.arguments.command]));
      const tests = of(events, "tool_end", { name: "bash" }).filter((event) => /\bcargo test\b/.test(commands.get(event.call_id)));
      must(tests.length > 0 && !tests.at(-1).is_error, "the last cargo test passes", tests.at(-1) ?? null);
    },
  },
];

// ---------------------------------------------------------------------------------------------------------------
// Playing

/** Every session below a folder. */
const sessionsIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => join(folder, name));

/** Plays a script; returns its events, and what went wrong. */
function play(one, bin, folder, pi) {
  const script = one.script ?? join(root, "xtask/conformance/scripts", `${one.name}.jsonl`);
  const [place, sessions] = [join(folder, `${one.name}-work`), join(folder, `${one.name}-sessions`)];
  for (const old of [place, sessions]) rmSync(old, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  // Copies of workspaces go where everything goes, and builds of theirs beside them.
  const { CARGO_TARGET_DIR: _, ...env } = { ...process.env, TMPDIR: place, PI_FOLDER: pi, APPEND: join(root, "xtask/conformance/append.mjs") };
  const run = { events: [], files: [], wrong: null };
  try {
    for (const { prompt, code = 0, args = [] } of one.runs) {
      const begun = ["--session-dir", sessions, ...(run.files.length > 0 ? ["--session", run.files[0]] : [])];
      const done = runBinary(bin, ["-p", prompt, "--mode", "json", "--provider", `scripted:${script}`, ...begun, ...args], { cwd: place, env, timeout: 600000 });
      run.events.push(...done.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
      run.files = sessionsIn(sessions);
      must(done.code === code, `exit code ${code}`, `${done.code}: ${done.stderr.trim()}`);
    }
    must(run.files.length === one.sessions, `${one.sessions} sessions`, run.files);
    one.told(run.events, run.files);
  } catch (error) {
    run.wrong = error;
  }
  return run;
}

/** Plays every script that is there. */
export function playAll(bin, folder, pi) {
  const plays = [];
  for (const one of PLAYS) {
    if (one.script && !existsSync(one.script)) {
      console.log(`note: ${one.name} is not played, because there is no ${one.script}`);
      continue;
    }
    const started = Date.now();
    const run = play(one, bin, folder, pi);
    console.log(`played ${one.name}: ${run.events.length} events, ${run.files.length} sessions, ${((Date.now() - started) / 1000).toFixed(1)} s`);
    plays.push({ ...one, ...run });
  }
  return plays;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases

const spoken = (context) => context.messages.filter((message) => message.role !== "system").map((message) => [message.entry_id, message.role]);

/** What is checked of plays beside the comparisons that every session goes through. */
export async function liveCases(plays, bin, pi, dir) {
  const acceptance = await loadAcceptance(dir);
  const read = (file, ...args) => ask(bin, ["context", file, ...args, "--json"]).document;
  const cases = [];
  for (const one of plays) {
    const push = (name, args, check) => cases.push({ kind: "live", name: `${one.name}: ${name}`, args, check });
    push("events", one.runs.map((run) => run.prompt), () => {
      if (one.wrong) throw one.wrong;
      return "passed";
    });
    one.files.forEach((file, i) => {
      const name = one.files.length > 1 ? `session ${i + 1}` : "session";
      push(`${name} is whole`, ["inspect", file, "--json"], () => {
        compare([], ask(bin, ["inspect", file, "--json"]).document.diagnostics, "diagnostics");
        return "passed";
      });
      push(`${name} opens in pi`, ["context", file], () => acceptance.accepts(file, one.tools ?? ALL_TOOLS));
      push(`${name} by our own rules`, ["context", file], () => {
        compare(spoken(pi.piContext(pi.openSession(file))), spoken(read(file)), "messages");
        return "passed";
      });
      push(`pi goes on with ${name}`, ["context", file], () =>
        acceptance.goesOn(file, (copy) => {
          const expected = pi.piContext(pi.openSession(copy));
          compareContext(expected, read(copy, "--profile", "pi"));
          compare(spoken(expected), spoken(read(copy)), "messages by our own rules");
        }),
      );
    });
  }
  return cases;
}

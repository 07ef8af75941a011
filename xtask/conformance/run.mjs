// The conformance run: the same sessions, leaves and settings go to pi's own functions (in this process) and to
// agent-cli, and every answer is compared; sessions that the agent itself has lived (live.mjs) are among them. The
// last line is `N passed, M failed`; the exit code is 1 when any failed.
//
//   node run.mjs --pi DIR --bin AGENT_CLI [--extra FILE ...] [--only N ...] [--match TEXT] [--dir DIR] [--verbose]
//   node run.mjs --pi DIR --pi-only       runs pi's side alone and prints how varied the cases are
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { ask, askAhead, compare, compareContext, differ, Difference, judge, pick, show } from "./compare.mjs";
import { liveCases, playAll } from "./live.mjs";
import { loadPi, packageFolder } from "./pi.mjs";
import { makeSessions } from "./sessions.mjs";

// ---------------------------------------------------------------------------------------------------------------
// Options

function readOptions(words) {
  const options = { extra: [], only: [], verbose: false, piOnly: false };
  const take = { "--pi": "pi", "--bin": "bin", "--match": "match", "--dir": "dir" };
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === "--verbose") options.verbose = true;
    else if (word === "--pi-only") options.piOnly = true;
    else if (word === "--extra") options.extra.push(resolve(words[++i]));
    else if (word === "--only") options.only.push(...words[++i].split(",").map(Number));
    else if (word in take) options[take[word]] = words[++i];
    else throw new Error(`unknown option ${word}`);
  }
  if (!options.pi) throw new Error("--pi DIR is needed: the folder where pi is installed");
  if (!options.bin && !options.piOnly) throw new Error("--bin PATH is needed: the agent-cli to compare (or --pi-only)");
  if (options.bin) options.bin = resolve(options.bin);
  return options;
}

// ---------------------------------------------------------------------------------------------------------------
// Cases

const KEEPS = [1, 200, 2000, 20000, 60000];
const WINDOWS = [
  { window: 200000, reserveTokens: 16384 },
  { window: 8192, reserveTokens: 1000 },
  { window: 128000, reserveTokens: 16385 },
  { window: 32768, reserveTokens: 4003 },
  { window: 1000000, reserveTokens: 60001 },
  { window: 4000, reserveTokens: 7 },
];
const BUDGETS = [1, 40, 300, 2500, 111616];

const isTip = (session) => {
  const parents = new Set(session.entries.map((entry) => entry.parentId));
  return (entry) => !parents.has(entry.id);
};

/** Leaves of a session: where the file ends, what the session asks for, other branch ends, places on the way. */
function leavesOf(session, asked) {
  const tips = session.entries.filter(isTip(session)).map((entry) => entry.id).slice(-3);
  const path = session.pathTo(session.leaf);
  const onTheWay = path.length > 30 ? [0.35, 0.6, 0.85].map((part) => path[Math.floor(path.length * part)].id) : [];
  return [...new Set([session.leaf, ...asked, ...tips, ...onTheWay])];
}

/** Branch moves: those asked for, from the end to the other branch ends and back, and backwards along the path. */
function movesOf(session, asked) {
  if (session.leaf === null) return [];
  const tips = session.entries.filter(isTip(session)).map((entry) => entry.id).filter((id) => id !== session.leaf).slice(-2);
  const path = session.pathTo(session.leaf);
  const back = path.length > 8 ? [[session.leaf, path[Math.floor(path.length / 2)].id]] : [];
  const moves = [...asked, ...tips.flatMap((tip) => [[session.leaf, tip], [tip, session.leaf]]), ...back];
  return [...new Map(moves.filter(([from, to]) => from && to).map((move) => [move.join("\0"), move])).values()];
}

const plural = (value) => (Array.isArray(value) ? value : []);

function buildCases(sources, pi, folder) {
  const cases = [];
  let turn = 0; // rotates windows and budgets so that neighbours differ
  const push = (kind, source, name, args, fields) => cases.push({ number: cases.length + 1, kind, source, name: `${source.name}: ${name}`, args, ...fields });

  for (const source of sources) {
    const { file, session } = source;
    const withLeaf = (leaf) => (leaf === session.leaf ? [] : ["--leaf", leaf]);
    leavesOf(session, source.leaves).forEach((leaf, rank) => {
      const place = rank === 0 ? "end" : `leaf ${leaf}`;
      push("context", source, `context at ${place}`, ["context", file, ...withLeaf(leaf), "--profile", "pi", "--json"], {
        expected: () => pi.piContext(session, leaf),
      });
      const keeps = rank > 0 ? [KEEPS[turn % 3], KEEPS[(turn + 1) % 5]] : source.text.length > 60000 ? KEEPS : [...KEEPS.slice(0, 3), KEEPS[3 + (turn % 2)]];
      for (const keepRecentTokens of new Set(keeps)) {
        const settings = { ...WINDOWS[turn++ % WINDOWS.length], keepRecentTokens };
        const flags = ["--window", `${settings.window}`, "--set", `compaction.keepRecentTokens=${keepRecentTokens}`, "--set", `compaction.reserveTokens=${settings.reserveTokens}`];
        push("plan", source, `plan at ${place}, keep ${keepRecentTokens}, reserve ${settings.reserveTokens} of ${settings.window}`, ["plan", file, ...withLeaf(leaf), "--profile", "pi", ...flags, "--json"], {
          expected: () => pi.piPlan(session, leaf, settings),
        });
      }
    });

    for (const [from, to] of movesOf(session, source.pairs)) {
      for (const budget of new Set([BUDGETS[turn % 4], BUDGETS[(turn + 2) % 4], BUDGETS[4]])) {
        push("branch", source, `branch ${from} to ${to}, budget ${budget}`, ["branch", file, "--from", from, "--to", to, "--budget", `${budget}`, "--dry-run", "--profile", "pi", "--json"], {
          expected: () => pi.piBranch(session, from, to, budget),
        });
      }
      turn++;
    }

    // Files that agent-cli writes with its own defaults, read back by pi.
    const out = (what) => join(folder, `${source.name}.${what}.out.jsonl`);
    const keep = source.text.length > 60000 ? [20000, 2000] : [200];
    for (const tokens of keep) {
      const strategy = turn++ % 2 ? ["--strategy", "extractive"] : [];
      push("compact-file", source, `compact, keep ${tokens}`, ["compact", file, "--out", out(`compact-${tokens}`), "--json", ...strategy, "--set", `compaction.keepRecentTokens=${tokens}`], { out: out(`compact-${tokens}`) });
    }
    const targets = movesOf(session, source.pairs).filter(([from, to]) => from === session.leaf && to !== from).map(([, to]) => to);
    for (const to of [...new Set(targets)].slice(0, 2)) {
      push("branch-file", source, `branch to ${to}`, ["branch", file, "--to", to, "--summarize", "--out", out(`branch-${cases.length}`), "--json"], { out: out(`branch-${cases.length}`) });
    }
  }
  return cases;
}

// ---------------------------------------------------------------------------------------------------------------
// Comparing

function comparePlan(expected, { code, document }, session) {
  const idle = code === 3 || Boolean(document.nothing_to_do);
  if (expected.nothing_to_do !== idle) differ("nothing to do", expected.nothing_to_do, `${idle} (exit ${code}, ${show(document.nothing_to_do)})`);
  const general = ["leaf", "context_tokens", "threshold", "should_compact"];
  if (idle) {
    if (code !== 3) differ("exit code", 3, code);
    return compare(pick(expected, general.filter((key) => key in document)), document, "");
  }
  compare(pick(expected, general), document, "");
  compare(pick(expected, ["tokens_before", "first_kept_entry_id", "is_split_turn", "turn_start_entry_id"]), document, "");
  const compactions = new Set(session.entries.filter((entry) => entry.type === "compaction").map((entry) => entry.id));
  for (const key of ["summarize", "turn_prefix"]) compare(expected[key], plural(document[key]).filter((id) => !compactions.has(id)), key);
  compare(pick(expected, ["read_files", "modified_files", "previous_summary"]), document, "");
  const asked = plural(document.requests);
  compare(expected.requests.map((request) => request.kind), asked.map((request) => request.kind), "requests: kinds");
  for (const request of expected.requests) compare(request, asked.find(({ kind }) => kind === request.kind), `requests[${request.kind}]`);
}

function compareBranch(expected, { code, document }) {
  const keys = ["from_id", "common_ancestor", "collected", "tokens", "conversation", "read_files", "modified_files"];
  if (code === 3) {
    if (expected.notes.messages > 0) differ("exit code", 0, "3 (nothing to do)");
    return compare(pick(expected, keys.filter((key) => key in document)), document, "");
  }
  compare(pick(expected, keys), document, "");
}

/** A file that agent-cli wrote: nothing of the old one is touched, and pi makes of it what agent-cli makes of it. */
function compareWritten({ source, args, out }, bin, pi) {
  rmSync(out, { force: true });
  const { code } = ask(bin, args, [0, 3]);
  if (readFileSync(source.file, "utf8") !== source.text) differ("the input file", "unchanged", "changed");
  if (code === 3) return "skipped";
  if (!existsSync(out)) differ("the output file", "written", "missing");
  const [before, after] = [readFileSync(source.file), readFileSync(out)];
  if (source.version === 3 && !before.equals(after.subarray(0, before.length))) {
    let at = 0;
    while (before[at] === after[at]) at++;
    differ("the output file", "begins with the bytes of the input", `differs at byte ${at}`);
  }
  const written = pi.openSession(out);
  if (written.entries.length <= source.session.entries.length) differ("entries in the output file", `more than ${source.session.entries.length}`, written.entries.length);
  compareContext(pi.piContext(written), ask(bin, ["context", out, "--profile", "pi", "--json"]).document);
  return "passed";
}

/** Runs one case: "passed", "skipped", "pi fails", or a Difference thrown. */
async function runCase(one, bin, pi) {
  if (one.check) return one.check();
  if (one.out) return compareWritten(one, bin, pi);
  const asked = await one.asked;
  one.asked = null;
  let expected;
  try {
    expected = await one.expected();
  } catch {
    // pi itself throws on such a session. There is nothing to equal, but agent-cli must still answer.
    judge(asked, [0, 3]);
    return "pi fails";
  }
  if (one.kind === "context") compareContext(expected, judge(asked).document);
  if (one.kind === "plan") comparePlan(expected, judge(asked, [0, 3]), one.source.session);
  if (one.kind === "branch") compareBranch(expected, judge(asked, [0, 3]));
  return "passed";
}

// ---------------------------------------------------------------------------------------------------------------
// pi alone: is there enough variety?

async function survey(cases) {
  const counts = {};
  const count = (what, when = true) => { counts[what] = (counts[what] ?? 0) + (when ? 1 : 0); };
  for (const one of cases) {
    count(`${one.kind} cases`);
    if (one.out) continue;
    let answer;
    try {
      answer = await one.expected();
    } catch (error) {
      count("pi itself throws");
      if (options.verbose) console.log(`${one.number} ${one.name}: pi throws ${error.stack.split("\n").slice(0, 2).join(" ")}`);
      continue;
    }
    if (options.verbose) console.log(`${one.number} ${one.name}: ${JSON.stringify(answer, (key, value) => (["messages", "conversation", "previous_summary", "summarize", "turn_prefix", "collected"].includes(key) ? value?.length : value)).slice(0, 400)}`);
    if (one.kind === "context") count("context: empty", answer.messages.length === 0);
    if (one.kind === "plan") {
      count("plan: nothing to do", answer.nothing_to_do);
      count("plan: should compact", answer.should_compact);
      if (answer.nothing_to_do) continue;
      const kinds = answer.requests.map((request) => request.kind).join("+");
      count("plan: split turns", answer.is_split_turn);
      count(`plan: requests ${kinds}`);
      count("plan: recovery omissions", answer.notes.recovery);
      count("plan: first kept is invisible", answer.notes.cutOnMetadata && !answer.notes.recovery);
      count("plan: with a previous summary", answer.previous_summary !== null);
      count("plan: with file lists", answer.read_files.length + answer.modified_files.length > 0);
      count("plan: empty conversation", answer.requests.some((request) => request.conversation === ""));
    }
    if (one.kind === "branch") {
      count("branch: nothing collected", answer.collected.length === 0);
      count("branch: whole", answer.collected.length > 0 && answer.notes.messages === answer.notes.whole);
      count("branch: cut by the budget", answer.notes.messages < answer.notes.whole);
      count("branch: with file lists", answer.read_files.length + answer.modified_files.length > 0);
      count("branch: no common ancestor", answer.common_ancestor === null);
    }
  }
  for (const what of Object.keys(counts).sort()) console.log(`${String(counts[what]).padStart(6)}  ${what}`);
  const wanted = { "plan: split turns": 30, "plan: nothing to do": 30, "branch cases": 40, "plan: with file lists": 20, "plan: recovery omissions": 15, "plan: should compact": 30, "branch: cut by the budget": 30 };
  const lacking = Object.entries(wanted).filter(([what, least]) => (counts[what] ?? 0) < least);
  for (const [what, least] of lacking) console.log(`too few: ${what}, at least ${least} wanted`);
  console.log(`${cases.length} cases, variety ${lacking.length ? "too low" : "as wanted"}`);
  return lacking.length === 0 && cases.length >= 260;
}

// ---------------------------------------------------------------------------------------------------------------
// The run

const quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

async function compareAll(cases, bin, pi) {
  const byKind = new Map();
  let [passed, failed] = [0, 0];
  askAhead(bin, cases.filter((one) => !one.check && !one.out));
  for (const one of cases) {
    const tally = byKind.get(one.kind) ?? { passed: 0, failed: 0, skipped: 0, "pi fails": 0 };
    byKind.set(one.kind, tally);
    try {
      const outcome = await runCase(one, bin, pi);
      tally[outcome]++;
      if (outcome !== "skipped") passed++;
      if (options.verbose) console.log(`${outcome} ${one.number} ${one.name}`);
    } catch (error) {
      tally.failed++;
      failed++;
      console.log(`FAILED ${one.number} ${one.name}`);
      console.log(`  ${error instanceof Difference ? error.message : error.stack}`);
      console.log(`  ${[bin, ...one.args].map(quote).join(" ")}`);
    }
  }
  for (const [kind, tally] of byKind) {
    if (chosen.length === all.length && tally.skipped > 0 && tally.passed + tally.failed === 0) {
      tally.failed++;
      failed++;
      console.log(`FAILED all ${tally.skipped} ${kind} cases said that there is nothing to do`);
    }
    const also = [tally.skipped && `${tally.skipped} with nothing to do (not counted)`, tally["pi fails"] && `${tally["pi fails"]} where pi throws and only an answer is wanted`].filter(Boolean);
    console.log(`${kind.padEnd(13)} ${tally.passed + tally["pi fails"]} passed, ${tally.failed} failed${also.length ? `; ${also.join("; ")}` : ""}`);
  }
  return { passed, failed };
}

const options = readOptions(process.argv.slice(2));
const pi = await loadPi(options.pi);
const folder = options.dir ? resolve(options.dir) : mkdtempSync(join(tmpdir(), "pi-conformance-"));
mkdirSync(folder, { recursive: true });

const sources = makeSessions().map((made) => {
  const file = join(folder, `${made.name}.jsonl`);
  writeFileSync(file, made.text);
  return { ...made, file };
});
options.extra.forEach((given, i) => {
  // Compared through a copy, so that a session in use is neither changed nor read while it grows.
  const name = `extra-${i + 1}-${basename(given, ".jsonl")}`;
  const file = join(folder, `${name}.jsonl`);
  copyFileSync(given, file);
  const text = readFileSync(file, "utf8");
  sources.push({ name, file, text, version: JSON.parse(text.slice(0, text.indexOf("\n"))).version ?? 1, leaves: [], pairs: [] });
});
// What the agent writes while it runs goes through the same comparisons.
const plays = options.piOnly ? [] : playAll(options.bin, folder, packageFolder(options.pi));
for (const { name, files } of plays) {
  files.forEach((file, i) => sources.push({ name: `live-${name}-${i + 1}`, file, text: readFileSync(file, "utf8"), version: 3, leaves: [], pairs: [] }));
}
for (const source of sources) source.session = pi.openSession(source.file);

const all = buildCases(sources, pi, folder);
for (const one of await liveCases(plays, options.bin, pi, options.pi)) all.push({ number: all.length + 1, ...one });
const chosen = all.filter((one) => (options.only.length === 0 || options.only.includes(one.number)) && (!options.match || one.name.includes(options.match) || one.kind === options.match));
const started = Date.now();
console.log(`${sources.length} sessions, ${chosen.length} cases`);

if (options.piOnly) {
  const varied = await survey(chosen);
  if (!options.dir) rmSync(folder, { recursive: true, force: true });
  process.exitCode = varied || chosen.length < all.length ? 0 : 1;
} else {
  const { passed, failed } = await compareAll(chosen, options.bin, pi);
  if (failed > 0) console.log(`session files: ${folder}`);
  else if (!options.dir) rmSync(folder, { recursive: true, force: true });
  console.log(`took ${((Date.now() - started) / 1000).toFixed(1)} s`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

// Drives real peers against a model on loopback: a session is made and compacted, then the model calls our recall, and
// the request that follows must hold a text that had left the context.
//
//   node run.mjs --peers FOLDER --bin AGENT_CLI [NAME ...]
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { resumeExported } from "./exported.mjs";
import { mend } from "./mend.mjs";
import { CALLS, CROWDED, FACT, INVENTORY, QUESTION, crowdedResults, startModel } from "./model.mjs";
import { PEERS, linesBelow } from "./peers.mjs";

/** The longest that one run of a peer may take, in milliseconds. */
const PATIENCE = 180_000;

/** A peer in a home of its own. */
class Place {
  constructor(peers, bin, home, url) {
    Object.assign(this, { peers, bin, home, url, work: join(home, "work"), env: {} });
    this.node = process.execPath;
    mkdirSync(this.work);
  }

  write(path, content) {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }

  /** Returns the path of something that npm installed for a peer. */
  installed(path) {
    return join(this.peers, path);
  }

  /** Runs a program to its end and returns what it printed; `dialogue` may write to its input. */
  run([program, ...args], dialogue = (child) => child.stdin.end()) {
    const inherited = { PATH: process.env.PATH, LANG: "C.UTF-8", TMPDIR: process.env.TMPDIR ?? tmpdir() };
    const env = { ...inherited, HOME: this.home, NO_COLOR: "1", ...this.env };
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd: this.work, env });
      let printed = "";
      const fail = (why) => reject(new Error(`${[program, ...args].join(" ").slice(0, 200)}: ${why}\n${printed.slice(-2000)}`));
      const timer = setTimeout(() => (child.kill("SIGKILL"), fail("did not end")), PATIENCE);
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
      child.on("error", (error) => (clearTimeout(timer), fail(error.message)));
      const began = Date.now();
      if (process.env.MODEL_LOG) child.on("close", () => console.error(`${args.at(-1)}: ${Date.now() - began} ms`));
      child.on("close", (code) => (clearTimeout(timer), code === 0 ? resolve(printed) : fail(`exit code ${code}`)));
      dialogue(child);
    });
  }

  /** Runs a peer that speaks JSON lines, and tells it the next one whenever a line of it satisfies `isAnswer`. */
  async dialogue(command, lines, isAnswer) {
    const answers = [];
    await this.run(command, (child) => {
      const tell = () => (answers.length < lines.length ? child.stdin.write(`${JSON.stringify(lines[answers.length])}\n`) : child.stdin.end());
      let rest = "";
      child.stdout.on("data", (text) => {
        const told = (rest + text).split("\n");
        rest = told.pop();
        for (const answer of told.filter((each) => each.startsWith("{")).map((each) => JSON.parse(each)).filter(isAnswer)) tell(answers.push(answer));
      });
      tell();
    });
    return answers.at(-1);
  }
}

async function drive(name, peers, bin) {
  const peer = PEERS[name];
  const home = mkdtempSync(join(tmpdir(), `agent-cli-${name}-`));
  const model = await startModel();
  try {
    const place = new Place(peers, bin, home, model.url);
    await peer.prepare(place);
    model.follows = peer.follows;
    if (peer.isReadOnly) return await read(name, peer, place);
    await place.run([place.bin, "setup", name]);
    await peer.trust?.(place);
    for (const text of [INVENTORY, "Go on."]) await peer.say(place, text);
    let before = model.requests.length;
    await peer.compact(place);
    const compacted = model.requests.slice(before);
    before = model.requests.length;
    await peer.say(place, QUESTION);
    const schemas = check(model.requests.slice(before));
    const told = taught(peer, [...compacted, ...model.requests.slice(before)]);
    const crowded = await beside(peer, place, model);
    const mended = peer.session ? await mend(peer, place, model) : [];
    await peer.finish?.(place);
    const exported = await resumeExported(name, peer, place, model);
    return [told, schemas, ...crowded, ...mended, ...exported].map((line) => `\n  ${line}`).join("");
  } finally {
    model.stop();
    if (process.env.KEEP_HOME) console.log(`home: ${home}`);
    else rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Checks that the newest session of a peer is found, and that what was said in it is read. */
async function read(name, peer, place) {
  // Cline continues a session in a terminal alone.
  for (const text of name === "cline" ? [INVENTORY] : [INVENTORY, "Go on."]) await peer.say(place, text);
  const found = await place.run([place.bin, "recall", `${name}:newest`, "walrus"]);
  if (!found.includes(FACT)) throw new Error(`not read: ${found.slice(0, 600)}`);
  return `\n  ${found.split("\n")[0]}`;
}

/** Checks what the model was sent after the compaction; returns what our tools take of a request. */
function check(requests) {
  const asked = requests.find(({ turns }) => turns.at(-1)?.role !== "tool" && turns.some(({ text }) => text.includes(QUESTION)));
  const told = requests.find(({ turns }) => turns.at(-1)?.role === "tool");
  if (!asked) throw new Error("the question was not sent");
  if (asked.bytes.includes(FACT)) throw new Error("the fact is in the context after the compaction");
  if (!told) throw new Error(`recall was not called; the tools were ${asked.tools.map(([, tool]) => tool)}`);
  const result = told.turns.at(-1).text;
  if (!result.includes(FACT)) throw new Error(`recall does not tell the fact: ${result.slice(0, 600)}`);
  const bytes = asked.tools.filter(([, name]) => /(^|_)recall(_read)?$/.test(name)).reduce((sum, [, , bytes]) => sum + bytes, 0);
  if (bytes > 4 * 400) throw new Error(`the schemas of our tools take ${bytes} bytes`);
  return `schemas of our tools: ${bytes} bytes, about ${Math.ceil(bytes / 4)} tokens`;
}

/** Checks that recall reads the session that asks, next to a copy of it that is written later and has another fact. */
async function beside(peer, place, model) {
  if (!peer.logs) return [];
  let copy;
  model.before = ({ turns }) => {
    if (!crowdedResults(turns)) return;
    copy ??= copied(linesBelow(join(place.home, peer.logs)));
    utimesSync(copy, Date.now() / 1000 + 60, Date.now() / 1000 + 60);
  };
  peer.settle?.(place);
  const before = model.requests.length;
  await peer.say(place, CROWDED);
  model.before = () => {};
  rmSync(copy);
  const results = model.requests.slice(before).map(({ turns }) => crowdedResults(turns) ?? []);
  const last = results.reduce((most, each) => (each.length > most.length ? each : most), []);
  const right = last.filter(({ text }) => text.includes(FACT));
  if (right.length !== CALLS) throw new Error(`next to a busy session ${right.length} of ${CALLS} calls read their own: ${last.find(({ text }) => !text.includes(FACT))?.text.slice(0, 300)}`);
  return [`next to a busy session: ${right.length} of ${CALLS} calls read their own`];
}

/** Copies a session: another id, another fact. */
function copied(file) {
  const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
  const text = readFileSync(file, "utf8");
  const [id] = basename(file).match(uuid) ?? text.match(uuid);
  const short = "0badcafe";
  const renamed = (text) => text.replaceAll(id, `${short}${id.slice(8)}`);
  const name = renamed(basename(file)).replace(id.slice(0, 8), short);
  if (name === basename(file)) throw new Error(`${file} does not name its session`);
  writeFileSync(join(dirname(file), name), renamed(text).replaceAll(FACT, "there is no key"));
  return join(dirname(file), name);
}

/** Checks that every request after the compaction says that recall exists; returns what the first one says. */
function taught({ taught }, requests) {
  // Until recall tells the fact, a request without it is one after the compaction.
  const after = requests.filter(({ tools, bytes }) => tools.length > 0 && !bytes.includes(FACT));
  const said = after.map(({ turns }) => turns.map(({ text }) => text.match(taught)?.[0]).find(Boolean));
  if (said.length === 0 || said.includes(undefined)) throw new Error(`${said.filter(Boolean).length} of ${said.length} requests after the compaction say ${taught}`);
  // Four letters are counted as a token.
  if (said[0].length > 4 * 300) throw new Error(`more than 300 tokens: ${said[0]}`);
  return `told in ${said.length} requests: ${said[0].replace(/\s+/g, " ").slice(0, 700)}`;
}

const words = process.argv.slice(2);
const take = (name) => words.splice(words.indexOf(name), 2)[1];
const [peers, bin] = [take("--peers"), take("--bin")];
let failed = 0;
for (const name of words.length > 0 ? words : Object.keys(PEERS)) {
  const start = Date.now();
  const told = await drive(name, peers, bin).then(
    (told) => `${PEERS[name].isReadOnly ? "its session is read" : "recall told what a compaction removed"}${told}`,
    (error) => ((failed += 1), `FAILED: ${error.message}`),
  );
  console.log(`${name}: ${told} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}
process.exit(failed > 0 ? 1 : 0);

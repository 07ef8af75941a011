// pi's side of `cargo xtask bench`: one measurement in a process of its own, with pi's real functions.
//
//   node pi-bench.mjs PI_FOLDER KIND FILE
//
// Prints the line of JSON that `xtask bench-child KIND FILE` prints. Loading pi's modules is not in the time.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, kind, file] = process.argv.slice(2);
const core = resolve(folder, "node_modules/@earendil-works/pi-coding-agent/dist/core");
const load = (path) => import(pathToFileURL(join(core, path)).href);
const { SessionManager } = await load("session-manager.js");
const { prepareCompaction } = await load("compaction/compaction.js");

const SETTINGS = { enabled: true, keepRecentTokens: 20_000, reserveTokens: 16_384 };
const SUMMARY = "What was done so far, in a few words. ".repeat(150);

const open = () => SessionManager.open(file, dirname(file));

/** What is done before the clock starts, and what is measured; both answer as the other side does. */
const kinds = {
  idle: { work: () => 0 },
  open: { work: () => open().getEntries().length },
  context: { work: () => open().buildSessionProjection().messages.length },
  plan: {
    work: () => {
      const session = open();
      const projection = session.buildSessionProjection();
      if (!prepareCompaction(session.getBranch(), SETTINGS)) throw new Error("pi has nothing to compact");
      return projection.entries.length;
    },
  },
  append: {
    prepare: open,
    work: (session) => {
      session.appendCompaction(SUMMARY, session.getLeafId(), 150_000);
      return 1;
    },
  },
};

/** The most memory that was resident, in kilobytes. */
function peakKilobytes() {
  try {
    return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

const { prepare, work } = kinds[kind] ?? {};
if (!work) throw new Error(`cannot measure ${kind}`);
const prepared = prepare?.();
const started = process.hrtime.bigint();
const answer = work(prepared);
const nanoseconds = Number(process.hrtime.bigint() - started);
console.log(JSON.stringify({ nanoseconds, peak_kilobytes: peakKilobytes(), answer }));

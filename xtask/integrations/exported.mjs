// Exports a session of Claude Code for a peer, which goes on with it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { goOn } from "./mend.mjs";

const SOURCE = new URL("../../crates/session-import/tests/fixtures/claude-branches.jsonl", import.meta.url);
/** Texts of the user, of a tool and of the model in what the source's model was sent last. */
const TEXTS = ["first request: fix the parser", "fn parse() {}", "One test fails.", "third request: queued while busy", "All done."];

/** Returns what the peer's model was sent of the session. */
export async function resumeExported(name, peer, place, model) {
  if (!peer.resume) return [];
  place.write("claude.jsonl", readFileSync(SOURCE, "utf8").replaceAll("/workspace/project", place.work));
  const [source, file] = ["claude.jsonl", "exported"].map((each) => join(place.home, each));
  const report = JSON.parse(await place.run([place.bin, "export", source, "--to", name, "--out", file, "--json"]));
  const { turns, pairs } = await goOn(model, (text) => peer.resume(place, file, report, text));
  const missing = TEXTS.filter((text) => !turns.some((turn) => turn.text.includes(text)));
  if (missing.length > 0) throw new Error(`of the exported session are missing: ${missing.join("; ")}`);
  return [`opened an exported session of Claude Code: ${pairs}`];
}

// Damages a session as people report it, has it examined and repaired, and lets the peer go on with the copy.
import { renameSync } from "node:fs";
import { join } from "node:path";
import { QUESTION } from "./model.mjs";

const LAST = "Go on with this.";

/** What is done to a session, and what is said of it. */
const DAMAGE = {
  "cut off": /cut off/,
  "a call is gone": /without its call|answers no call/,
  "a result is gone": /call .*(without|has no) (a result|an output|result)/,
  "written twice": /with the same (uu)?id|second output|was already used/,
};

/** Removes the call of one question and the result of the next, repeats a line and cuts the last one off. */
export function damageLines(text, isCall, isResult) {
  const lines = text.trimEnd().split("\n");
  const [calls, results] = [isCall, isResult].map((is) => lines.filter((line) => is.test(line)));
  if (calls.length < 3 || results.length < 3) throw new Error(`${calls.length} calls, ${results.length} results`);
  const kept = lines.filter((line) => line !== calls.at(-2) && line !== results.at(-1));
  kept.splice(kept.indexOf(results.at(-3)) + 1, 0, results.at(-3));
  const last = lines.at(-1);
  return `${kept.join("\n")}\n${last.slice(0, last.length / 2)}`;
}

/** Repeats a message of an exported session, takes the result of its last call away, and cuts the last message off. */
export function damageDocument(text) {
  const document = JSON.parse(text);
  const { state } = document.messages.flatMap(({ parts }) => parts).findLast(({ type }) => type === "tool");
  Object.assign(state, { status: "running", output: undefined, title: undefined });
  document.messages.splice(1, 0, document.messages[0]);
  return JSON.stringify(document, null, 1).slice(0, -200);
}

/** Lets a peer go on; returns what its model was sent first, in which calls must be paired with results. */
export async function goOn(model, say) {
  const before = model.requests.length;
  await say(LAST);
  const { turns } = model.requests.slice(before).find(({ turns }) => turns.some(({ text }) => text.includes(LAST))) ?? {};
  if (!turns) throw new Error("the session was not opened");
  const calls = turns.flatMap(({ calls }) => calls);
  const results = turns.map(({ result }) => result).filter(Boolean);
  const pairs = `calls ${calls}, results ${results}`;
  if (calls.length < 2 || String(calls) !== String(results)) throw new Error(`not paired: ${pairs}`);
  return { turns, pairs };
}

/** Returns what was said of each damage; the peer has gone on with the repaired copy. */
export async function mend(peer, place, model) {
  for (const text of [QUESTION, QUESTION]) await peer.say(place, text);
  const file = await peer.session.damaged(place);
  const examined = async () => (await place.run([place.bin, "doctor", file]).catch(({ message }) => message)).split("\n").map((line) => line.trim());
  const found = await examined();
  const said = (peer.session.damage ?? Object.keys(DAMAGE)).map((name) => {
    const line = found.find((line) => DAMAGE[name].test(line) && /line \d/.test(line));
    if (!line) throw new Error(`doctor does not tell "${name}":\n${found.join("\n")}`);
    return line;
  });
  const copy = join(place.home, "copy");
  await place.run([place.bin, "doctor", file, "--repair", "--out", copy]);
  renameSync(copy, file);
  const left = await examined();
  if (!left.includes("no damage")) throw new Error(`the copy is damaged: ${left.join("\n")}`);
  await peer.session.restored?.(place, file);
  const { turns, pairs } = await goOn(model, (text) => peer.say(place, text));
  const questions = turns.filter(({ role, text }) => role === "user" && text.includes(QUESTION)).length;
  if (questions !== 3) throw new Error(`from the copy came ${questions} questions`);
  return [...said.map((line) => `doctor: ${line}`), `opened the copy: ${questions} questions, ${pairs}`];
}

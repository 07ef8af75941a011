// Asking agent-cli, and comparing what it says with what pi says.
import { execFile, execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

// ---------------------------------------------------------------------------------------------------------------
// agent-cli

const LIMITS = { encoding: "utf8", maxBuffer: 1 << 29, timeout: 60000 };

/** Runs agent-cli for each case, as many at a time as there are processors; `case.asked` is what it answers. */
export function askAhead(bin, cases) {
  const queue = cases.map((one) => {
    let resolve;
    one.asked = new Promise((settle) => (resolve = settle));
    return { one, resolve };
  });
  const next = () => {
    const item = queue.shift();
    if (!item) return;
    const child = execFile(bin, item.one.args, LIMITS, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : `no exit code (${error.signal ?? error.code})`) : 0;
      item.resolve({ code, stdout, stderr });
      next();
    });
    child.stdin.end();
  };
  for (let i = 0; i < availableParallelism(); i++) next();
}

export function runBinary(bin, args, options = {}) {
  try {
    const stdout = execFileSync(bin, args, { ...LIMITS, stdio: ["ignore", "pipe", "pipe"], ...options });
    return { code: 0, stdout, stderr: "" };
  } catch (error) {
    if (error.status == null) return { code: `no exit code (${error.signal ?? error.code})`, stdout: error.stdout ?? "", stderr: error.stderr ?? error.message };
    return { code: error.status, stdout: error.stdout, stderr: error.stderr };
  }
}

export class Difference extends Error {}
export const differ = (where, expected, actual) => {
  throw new Difference(`${where}\n    pi:        ${expected}\n    agent-cli: ${actual}`);
};

/** Runs agent-cli and returns its exit code and its one JSON document. */
export const ask = (bin, args, allowed) => judge(runBinary(bin, args), allowed);

/** Returns the exit code and the one JSON document of an answer. */
export function judge({ code, stdout, stderr }, allowed = [0]) {
  const said = stderr.trim().split("\n").slice(-3).join(" | ").slice(0, 300);
  if (!allowed.includes(code)) differ("exit code", allowed.join(" or "), `${code}${said && `: ${said}`}`);
  try {
    return { code, document: JSON.parse(stdout) };
  } catch (error) {
    return differ("stdout", "one JSON document", `${error.message}; ${stdout.length} characters`);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Comparing

export const show = (value) => {
  const shown = JSON.stringify(value) ?? "(absent)";
  return shown.length > 160 ? `${shown.slice(0, 160)}... (${shown.length} characters)` : shown;
};

/** Throws at the first place where `actual` does not say what `expected` says; other fields of `actual` are free. */
export function compare(expected, actual, where) {
  if (typeof expected === "string" && typeof actual === "string") {
    const [a, b] = [expected.toWellFormed(), actual.toWellFormed()];
    if (a === b) return;
    let at = 0;
    while (a[at] === b[at]) at++;
    const piece = (s) => (s.length <= 90 ? show(s) : `${show(s.slice(Math.max(0, at - 30), at + 60))} (${s.length} UTF-16 units)`);
    differ(a.length > 90 || b.length > 90 ? `${where} (first difference at UTF-16 unit ${at})` : where, piece(a), piece(b));
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const shared = Math.min(expected.length, actual.length);
    for (let i = 0; i < shared; i++) compare(expected[i], actual[i], `${where}[${i}]`);
    if (expected.length === actual.length) return;
    const next = (list) => `${list.length} items${list.length > shared ? `, next: ${show(list[shared])}` : ""}`;
    differ(`${where}: length`, next(expected), next(actual));
  }
  if (expected !== null && typeof expected === "object" && actual !== null && typeof actual === "object" && !Array.isArray(actual)) {
    for (const key of Object.keys(expected)) compare(expected[key], actual[key], where ? `${where}.${key}` : key);
    return;
  }
  if (!Object.is(expected, actual)) differ(where, show(expected), show(actual));
}

export const pick = (object, keys) => Object.fromEntries(keys.map((key) => [key, object[key]]));

export function compareContext(expected, actual) {
  compare(pick(expected, ["leaf", "thinking_level"]), actual, "");
  // A model_change that names no provider (another client's form) gives pi no usable model; nothing to hold anyone to.
  if (expected.model === null || expected.model.provider !== null) compare(expected.model, actual.model, "model");
  compare(expected.messages.map((m) => pick(m, ["entry_id", "role", "tokens"])), actual.messages, "messages");
  expected.messages.forEach((message, i) => {
    if (message.text !== "" && !actual.messages[i].text) differ(`messages[${i}].text`, "some text", show(actual.messages[i].text));
  });
  compare(expected.tokens, actual.tokens, "tokens");
}

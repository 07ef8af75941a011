// Deterministic session files for the conformance run: realistic conversations grown from a seed, and small edge
// sessions that each pin one rule. Nothing here reads a clock or a random source.

// ---------------------------------------------------------------------------------------------------------------
// Chance

/** A small seeded generator (sfc32) with the few draws that the stories need. */
export function dice(seed) {
  let [a, b, c, n] = [seed >>> 0, 0x2545f491, 0x9e3779b9 ^ seed, 1];
  const next = () => {
    const sum = (a + b + n) | 0;
    n = (n + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 16; i++) next();
  const int = (low, high) => low + Math.floor(next() * (high - low + 1));
  return {
    int,
    chance: (p) => next() < p,
    pick: (list) => list[int(0, list.length - 1)],
    // Skewed like real message lengths: half the draws fall below `typical`, a few far above it.
    length: (typical, most) => Math.min(most, Math.max(1, Math.round(typical * 2 ** ((next() + next() + next() - 1.5) * 2.6)))),
  };
}

const VOCABULARY = {
  plain: "please check why this request fails when a folder is empty then add one test for it and keep names short never touch generated files".split(" "),
  code: "fn main() { let total = rows.iter().map(|r| r.len()).sum(); } if (x !== null) return; // TODO ::<Vec<_>> => &mut self; 0x7f \"quoted\" \\n".split(" "),
  cjk: "请 检查 这个 函数 的 返回值 並 修正 テスト を 追加 する 변경 사항 확인".split(" "),
  bright: "🚀 done ✅ naïve café 👩‍👩‍👧 Ωmega → ± 𝒳 e\u0301 İstanbul".split(" "),
};

/** Text of exactly `length` UTF-16 units, or one less where it would end inside a pair. */
function prose(r, length, script = r.pick(["plain", "plain", "plain", "code", "cjk", "bright"])) {
  const words = VOCABULARY[script];
  let out = "";
  while (out.length < length) out += r.pick(words) + (r.chance(0.07) ? "\n" : " ");
  out = out.slice(0, length);
  return /[\ud800-\udbff]$/.test(out) ? out.slice(0, -1) : out;
}

// ---------------------------------------------------------------------------------------------------------------
// JSON as it may stand in a file

/** A value written exactly as given: number spellings, escapes, duplicate keys. */
class Spelled {
  constructor(text) {
    this.text = text;
  }
}
const spelled = (text) => new Spelled(text);
/** An object whose keys keep this order in the file, integer-like and repeated ones included. */
const ordered = (...pairs) => new Spelled(`{${pairs.map(([k, v]) => `${JSON.stringify(k)}:${encode(v)}`).join(",")}}`);

function encode(value, style = {}) {
  if (value instanceof Spelled) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => encode(item, style)).join(style.spaced ? ", " : ",")}]`;
  if (value !== null && typeof value === "object") {
    const gap = style.spaced ? ": " : ":";
    const fields = Object.entries(value).filter(([, v]) => v !== undefined);
    return `{${fields.map(([k, v]) => encode(k, style) + gap + encode(v, style)).join(style.spaced ? ", " : ",")}}`;
  }
  const text = JSON.stringify(value);
  if (!style.ascii) return text;
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);
}

// ---------------------------------------------------------------------------------------------------------------
// The tape: one session being written

const EPOCH = Date.UTC(2025, 2, 3, 9, 0, 0);
const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
const text = (value) => ({ type: "text", text: value });
const thinking = (value) => ({ type: "thinking", thinking: value, thinkingSignature: "c2lnbmVk" });
const image = (mimeType = "image/png") => ({ type: "image", data: "iVBORw0KGgoAAAANSUhEUg==", mimeType });
const usageOf = (input, output, cacheRead = 0, totalTokens = input + output + cacheRead) => ({
  input, output, cacheRead, cacheWrite: 0, totalTokens,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});

class Tape {
  constructor(name, { seed = 1, version = 3, style = {} } = {}) {
    Object.assign(this, { name, version, style, r: dice(seed), at: null, path: [], rows: new Map(), order: 0, calls: 0 });
    this.leaves = [];
    this.pairs = [];
    this.lines = [];
    const stamp = new Date(EPOCH).toISOString();
    const head = version === 1
      ? { type: "session", id: `v1-${name}`, timestamp: stamp, cwd: "/home/user/project", provider: "openai", modelId: "gpt-5", thinkingLevel: "off" }
      : { type: "session", version, id: `s-${name}`, timestamp: stamp, cwd: "/home/user/project" };
    this.lines.push(encode(head, style));
  }

  freshId() {
    if (this.version === 1) return this.order.toString(16).padStart(8, "0");
    for (;;) {
      const id = this.r.int(0x10000000, 0xffffffff).toString(16);
      if (!this.rows.has(id)) return id;
    }
  }

  /** Appends one entry after the current one; `fields` may be a function of the new id. */
  add(type, fields, wantedId) {
    this.order++;
    const id = wantedId ?? this.freshId();
    const own = typeof fields === "function" ? fields(id) : fields;
    const when = EPOCH + this.order * 1379;
    const base = { type, id, parentId: this.at, timestamp: new Date(when).toISOString() };
    if (this.version === 1) {
      delete base.id;
      delete base.parentId;
    }
    if (own.message && !("timestamp" in own.message)) own.message.timestamp = when;
    this.lines.push(encode({ ...base, ...own }, this.style));
    const row = { id, parent: this.at, type, role: own.message?.role, order: this.order, size: JSON.stringify(own).length };
    this.rows.set(id, row);
    this.path.push(row);
    this.at = id;
    return id;
  }

  message(role, fields) { return this.add("message", { message: { role, ...fields } }); }
  user(content) { return this.message("user", { content }); }
  assistant(content, { usage = usageOf(0, 0), stopReason = "stop", ...rest } = {}) {
    return this.message("assistant", { content, api: "openai-responses", provider: "openai", model: "gpt-5", usage, stopReason, ...rest });
  }
  say(value, options) { return this.assistant([text(value)], options); }
  use(...calls) { return this.assistant(calls.map(([name, args]) => call(`t${++this.calls}`, name, args)), { stopReason: "toolUse" }); }
  result(toolName, content, isError = false) {
    return this.message("toolResult", { toolCallId: `t${this.calls}`, toolName, content: typeof content === "string" ? [text(content)] : content, isError });
  }
  bash(command, output, rest = {}) { return this.message("bashExecution", { command, output, exitCode: 0, cancelled: false, truncated: false, ...rest }); }
  system(fields) { return this.message("system", { content: "", ...fields }); }
  note(content, rest = {}) { return this.add("custom_message", { customType: "note", content, display: true, ...rest }); }
  edit(targetId, replacement) { return this.add("context_edit", { targetId, replacement: replacement === null ? null : { content: replacement } }); }
  branchSummary(fromId, summary, rest = {}) { return this.add("branch_summary", { fromId, summary, ...rest }); }
  label(targetId, value) { return this.add("label", { targetId, label: value }); }
  model(provider, modelId) { return this.add("model_change", { provider, modelId }); }
  think(thinkingLevel) { return this.add("thinking_level_change", { thinkingLevel }); }
  spent(usage = usageOf(900, 12)) { return this.add("usage", { kind: "cache_warm", provider: "openai", model: "gpt-5", usage }); }
  data(customType = "todo", data = { open: 2 }) { return this.add("custom", { customType, data }); }
  info(name) { return this.add("session_info", { name }); }

  /** `kept` is an entry id, or "none" for retain-none (the entry's own id). */
  compaction(kept, summary, rest = {}) {
    if (this.version === 1) {
      const index = typeof kept === "number" ? kept : kept === "none" ? this.order + 1 : this.rows.get(kept).order;
      return this.add("compaction", { summary, firstKeptEntryIndex: index, tokensBefore: 4321, ...rest });
    }
    return this.add("compaction", (id) => ({ summary, firstKeptEntryId: kept === "none" ? id : kept, tokensBefore: 4321, ...rest }));
  }

  /** Moves to an earlier entry (null: before everything), so that the next one starts a branch. */
  go(id) {
    this.path = [];
    for (let row = this.rows.get(id); row; row = this.rows.get(row.parent)) this.path.unshift(row);
    this.at = id;
  }

  /** A few ordinary exchanges, for edge sessions that need something before their point. */
  warmUp(turns = 2, size = 120) {
    for (let i = 0; i < turns; i++) {
      this.user(prose(this.r, size, "plain"));
      this.use(["read", { path: `src/part${i}.rs` }]);
      this.result("read", prose(this.r, size * 2, "code"));
      this.say(prose(this.r, size, "plain"));
    }
    return this.at;
  }

  /** Further leaves and branch pairs that the run must look at, beside the ones it finds by itself. */
  watch(...ids) { this.leaves.push(...ids); return ids[0]; }
  cross(from, to) { this.pairs.push([from, to]); }

  finish({ end = "\n", newline = "\n" } = {}) {
    return { name: this.name, version: this.version, text: this.lines.join(newline) + end, leaves: this.leaves, pairs: this.pairs };
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Stories: conversations as they really go

const FILES = [
  ...Array.from({ length: 24 }, (_, i) => `src/${["net", "ui", "store"][i % 3]}/mod_${i}.${i % 2 ? "ts" : "rs"}`),
  "README.md", "docs/日本語.md", "docs/émoji 🚀.md", "assets/ﬁle.txt", "assets/𝒳.txt", "Z.txt", "a.txt", "./a.txt", "/etc/hosts",
];

function oddArguments(r, path) {
  return r.pick([
    () => ({ path, offset: spelled("1.0"), limit: spelled("1e3") }),
    () => ordered(["path", path], ["10", spelled("-0")], ["2", spelled("0.1e-7")], ["b", null]),
    () => ({ path, big: spelled("12345678901234567890"), huge: spelled("1E21"), empty: "", nested: { list: [1, spelled("2.50"), { deep: true }], nothing: null } }),
    () => ({ path, edits: [{ oldText: "a\tb\u0001", newText: "c\u2028d\"" }], dry: false }),
    () => ({}),
    () => ({ path: "" }),
    () => ({ path: 7 }),
  ])();
}

function toolStep(t, o) {
  const { r } = t;
  const parts = [];
  const made = [];
  if (r.chance(0.4)) parts.push(thinking(prose(r, r.length(300 * o.scale, 9000))));
  if (r.chance(0.5)) parts.push(text(prose(r, r.length(160 * o.scale, 4000))));
  for (let i = r.chance(0.2) ? r.int(2, 4) : 1; i > 0; i--) {
    const path = r.pick(FILES);
    const name = r.pick(["read", "read", "read", "edit", "edit", "write", "bash", "grep", "Read"]);
    const args =
      r.chance(0.12) ? oddArguments(r, path)
      : name === "edit" ? { path, oldText: prose(r, r.length(120, 2000)), newText: prose(r, r.length(150, 2000)) }
      : name === "write" ? { path, content: prose(r, r.length(700 * o.scale, 15000), "code") }
      : name === "bash" ? { command: `rg -n ${r.pick(VOCABULARY.plain)} src | head`, timeout: 30 }
      : name === "grep" ? { pattern: r.pick(VOCABULARY.cjk), glob: "*.rs" }
      : { path };
    const id = `call_${++t.calls}`;
    parts.push(call(id, name, args));
    made.push([id, name]);
  }
  t.tokens += 500;
  const usage = usageFor(t, o);
  t.assistant(parts, { stopReason: "toolUse", usage });
  for (const [toolCallId, toolName] of made) {
    const size = r.length(toolName === "edit" || toolName === "write" ? 60 : 900 * o.scale, 45000);
    const content = r.chance(0.04) ? [] : r.chance(0.05) ? prose(r, size) : r.chance(0.04) ? [text(prose(r, size)), image()] : [text(prose(r, size))];
    const status = r.pick(["ok", "error", "unfinished"]);
    const nested = r.pick(["read", "edit", "grep"]);
    const nestedCalls = { complete: true, calls: [{ id: "n", name: nested, arguments: { path: r.pick(FILES) }, status }, { id: "m", name: nested, argumentsBytes: 9, status }] };
    t.message("toolResult", { toolCallId, toolName, content, ...(r.chance(0.1) && { nestedCalls }), isError: r.chance(0.06) });
  }
}

function usageFor(t, o) {
  const { r } = t;
  const seen = Math.round(t.path.reduce((sum, row) => sum + row.size, 0) / 4) + 3000;
  if (o.usage === "none" || r.chance(0.05)) return r.pick([undefined, null, usageOf(0, 0), {}, { input: 5 }]);
  if (r.chance(0.3)) return usageOf(seen, r.int(5, 900), r.int(0, 3000), 0);
  return usageOf(r.int(1, 300), r.int(5, 900), seen);
}

function aside(t, o) {
  const { r } = t;
  const targets = t.path.slice(-25).filter((row) => ["user", "assistant", "toolResult"].includes(row.role) || row.type === "custom_message");
  const anything = [
    () => t.model(r.pick(["openai", "anthropic"]), r.pick(["gpt-5", "claude-sonnet-4-5"])),
    () => t.think(r.pick(["off", "low", "medium", "high"])),
    () => t.label(r.pick(t.path).id, r.chance(0.3) ? "" : `mark ${t.order}`),
    () => t.info(r.chance(0.2) ? "" : `work ${t.order}`),
    () => t.spent(),
    () => t.data(),
    () => t.note(prose(r, r.length(200, 2500))),
    () => t.note([text(prose(r, 80)), image("image/jpeg")], { display: false, details: { n: t.order } }),
    () => t.bash(`cargo test ${r.pick(VOCABULARY.plain)}`, r.chance(0.1) ? "" : prose(r, r.length(500 * o.scale, 20000)), {
      exitCode: r.pick([0, 0, 1, 101, null]), cancelled: r.chance(0.1), truncated: r.chance(0.2), fullOutputPath: "/var/log/output.log", excludeFromContext: r.chance(0.3) || undefined,
    }),
    () => t.add(r.pick(["reset_boundary", "telemetry", "plan_step"]), { reason: "unknown to pi", payload: { n: t.order } }),
    () => o.edits && targets.length && t.edit(r.pick(targets).id, r.pick([null, null, "shortened", [text("[removed]")], [text("a"), text(prose(r, 300))], []])),
    () => t.system({ sections: { preamble: r.chance(0.3) ? null : prose(r, 200, "plain"), memory: prose(r, r.length(150, 900)) } }),
  ];
  r.pick(anything)();
}

function compactNow(t, o) {
  const { r } = t;
  const since = t.path.findLastIndex((row) => row.type === "compaction") + 1;
  const fresh = t.path.slice(since).filter((row) => row.type === "message");
  if (fresh.length < 4) return;
  const kept = r.chance(0.15) ? "none" : r.pick(fresh.slice(Math.floor(fresh.length / 2))).id;
  const details = { readFiles: [r.pick(FILES), r.pick(FILES)].sort(), modifiedFiles: [r.pick(FILES)] };
  const rest = r.pick([
    { details },
    { details },
    { details, fromHook: true, fromExtension: true },
    { details, fromHook: true },
    { details, fromExtension: true },
    { fromHook: false, details, systemMessage: { role: "system", content: "Be brief.", sections: { memory: prose(r, 90) }, timestamp: EPOCH } },
    {},
  ]);
  t.compaction(kept, `## Goal\n${prose(r, r.length(700 * o.scale, 6000))}`, t.version === 1 ? {} : rest);
}

function forkNow(t) {
  const { r } = t;
  const boundary = t.path.findLastIndex((row) => row.type === "compaction");
  const earlier = t.path.slice(Math.max(0, boundary), -3);
  if (earlier.length < 6) return;
  const left = t.at;
  t.go(r.pick(earlier.slice(2)).id);
  t.cross(left, t.at);
  if (r.chance(0.7)) {
    const details = r.pick([undefined, {}, { readFiles: [r.pick(FILES)], modifiedFiles: [r.pick(FILES), r.pick(FILES)] }]);
    t.branchSummary(left, r.chance(0.1) ? "" : prose(r, r.length(500, 3000)), { details, ...(r.chance(0.3) ? { fromHook: true, fromExtension: true } : {}) });
  }
}

function story(name, seed, options) {
  const o = { turns: 12, scale: 1, version: 3, edits: true, forks: 0.12, compactions: 0.1, asides: 0.5, usage: "some", style: {}, ...options };
  const t = new Tape(name, { seed, version: o.version, style: o.style });
  const { r } = t;
  t.tokens = 0;
  if (o.version === 3 && r.chance(0.6)) {
    t.system({
      content: r.pick(["", "You write code.", [text("You write "), text("code.")]]),
      sections: { preamble: prose(r, 900, "plain"), tools: prose(r, 300, "code"), cwd: "/home/user/project" },
      toolsAdded: ["read", "write", "bash"].map((tool) => ({ name: tool, description: prose(r, 90), parameters: { type: "object", properties: { path: { type: "string", minLength: spelled("1.0") } } } })),
    });
  }
  const linear = o.version === 1;
  for (let turn = 0; turn < o.turns; turn++) {
    if (o.version === 2 && r.chance(0.3)) t.message("hookMessage", { customType: "hook", content: r.chance(0.5) ? prose(r, 140) : [text(prose(r, 140))], display: true });
    const asked = prose(r, r.length(150 * o.scale, 8000));
    t.user(r.pick([asked, [text(asked)], [text(asked), image(), text("see above")], r.chance(0.2) ? "" : asked]));
    for (let steps = r.int(0, o.steps ?? 5); steps > 0; steps--) {
      toolStep(t, o);
      if (!linear && r.chance(o.asides / 5)) aside(t, o);
    }
    if (r.chance(0.08)) t.assistant([], { stopReason: "error", errorMessage: "overloaded", usage: r.chance(0.5) ? usageOf(9, 0, 50) : usageOf(0, 0) });
    if (r.chance(0.05)) t.say(prose(r, 50), { stopReason: "aborted", usage: usageOf(70, 5) });
    else if (!r.chance(0.05)) t.say(prose(r, r.length(350 * o.scale, 6000)), { usage: usageFor(t, o) });
    while (!linear && r.chance(o.asides)) aside(t, o);
    if (linear && r.chance(0.3)) t.think("high");
    if (r.chance(o.compactions)) compactNow(t, o);
    if (!linear && r.chance(o.forks)) forkNow(t);
  }
  return t.finish();
}

const STORIES = [
  () => story("story-short", 11, { turns: 4, compactions: 0 }),
  () => story("story-plain", 12, { turns: 10, asides: 0.1, forks: 0, compactions: 0 }),
  () => story("story-busy", 13, { turns: 14, asides: 0.7 }),
  () => story("story-edits", 14, { turns: 14, asides: 0.75, forks: 0 }),
  () => story("story-branches", 15, { turns: 20, forks: 0.4, compactions: 0.02 }),
  () => story("story-more-branches", 16, { turns: 16, forks: 0.5, scale: 0.4 }),
  () => story("story-compacted", 17, { turns: 22, compactions: 0.3, forks: 0.05 }),
  () => story("story-compacted-often", 18, { turns: 24, compactions: 0.5, scale: 0.5 }),
  () => story("story-long-turns", 19, { turns: 6, steps: 22, asides: 0.2, compactions: 0, forks: 0 }),
  () => story("story-long-turn-tail", 20, { turns: 3, steps: 40, scale: 1.5, compactions: 0, forks: 0 }),
  () => story("story-large", 21, { turns: 26, steps: 7, scale: 3, forks: 0.05, compactions: 0.03 }),
  () => story("story-large-compacted", 22, { turns: 30, steps: 6, scale: 3, forks: 0.03, compactions: 0.1 }),
  () => story("story-very-large", 23, { turns: 45, steps: 8, scale: 3, forks: 0.02, compactions: 0 }),
  () => story("story-no-usage", 24, { turns: 12, usage: "none" }),
  () => story("story-ascii-escapes", 25, { turns: 8, style: { ascii: true } }),
  () => story("story-spaced-json", 26, { turns: 8, style: { spaced: true } }),
  () => story("story-tiny-messages", 27, { turns: 40, scale: 0.05, steps: 2, forks: 0.15 }),
  () => story("story-version2", 31, { version: 2, turns: 10, forks: 0.2 }),
  () => story("story-version2-compacted", 32, { version: 2, turns: 16, compactions: 0.4 }),
  () => story("story-version1", 33, { version: 1, turns: 8, compactions: 0 }),
  () => story("story-version1-compacted", 34, { version: 1, turns: 16, compactions: 0.35 }),
  () => story("story-version1-large", 35, { version: 1, turns: 20, scale: 3, compactions: 0.1 }),
];

// ---------------------------------------------------------------------------------------------------------------
// Recovery: failed attempts that an edit took out of the context at the end of a session

/** Starts with a few turns and an unanswered input; `ending` writes the attempts. `input` writes that last input. */
function recovery(name, ending, { input = (t) => t.user(prose(t.r, 900, "plain")), compacted = false } = {}) {
  return () => {
    const t = new Tape(`recovery-${name}`, { seed: 700 + name.length * 31 });
    t.warmUp(4, 300);
    if (compacted) {
      t.compaction(t.path[9].id, "What went before the attempt.", { details: { readFiles: ["old.rs"], modifiedFiles: [] } });
      t.warmUp(2, 200);
    }
    input(t);
    ending(t);
    return t.finish();
  };
}

const failed = (t) => t.assistant([text("half an ans")], { stopReason: "error", errorMessage: "context overflow", usage: usageOf(0, 0) });

const RECOVERIES = [
  recovery("one-attempt", (t) => t.edit(failed(t), null)),
  recovery("two-attempts", (t) => { t.edit(failed(t), null); t.spent(); t.edit(failed(t), null); }),
  recovery("both-at-once", (t) => { const [a, b] = [failed(t), failed(t)]; t.edit(b, null); t.edit(a, null); }),
  recovery("with-tools", (t) => {
    const used = t.use(["read", { path: "x.rs" }]);
    const back = t.result("read", prose(t.r, 800, "code"));
    t.edit(used, null);
    t.edit(back, null);
  }),
  recovery("between-metadata", (t) => { t.think("low"); const a = failed(t); t.label(a, "lost"); t.edit(a, null); t.data(); t.info("retry"); }),
  recovery("after-compaction", (t) => t.edit(failed(t), null), { compacted: true }),
  recovery("input-is-bash", (t) => t.edit(failed(t), null), { input: (t) => t.bash("make", prose(t.r, 1000)) }),
  recovery("input-is-custom", (t) => t.edit(failed(t), null), { input: (t) => t.note(prose(t.r, 1000)) }),
  recovery("input-is-branch-summary", (t) => t.edit(failed(t), null), { input: (t) => t.branchSummary(t.path[3].id, prose(t.r, 1000)) }),
  recovery("replaced-then-omitted", (t) => { const a = failed(t); t.edit(a, "short"); t.edit(a, null); }),
  recovery("custom-omitted-too", (t) => { const n = t.note("hint"); const a = failed(t); t.edit(n, null); t.edit(a, null); }),
  recovery("leaves", (t) => { const a = t.watch(failed(t)); t.watch(t.edit(a, null)); t.spent(); }),
  // From here on the special rule must not apply.
  recovery("not-foreign-edit", (t) => { const a = failed(t); t.edit(t.path[2].id, [text("cut")]); t.edit(a, null); }),
  recovery("not-restored", (t) => { const a = failed(t); t.edit(a, null); t.edit(a, "kept after all"); }),
  recovery("not-only-custom", (t) => t.edit(t.note(prose(t.r, 50)), null)),
  recovery("not-only-metadata", (t) => { t.spent(); t.data(); t.label(t.path[0].id, "x"); }),
  recovery("not-a-visible-error", (t) => { t.edit(failed(t), null); failed(t); }),
  recovery("not-an-excluded-bash", (t) => { t.edit(failed(t), null); t.bash("ls", "x", { excludeFromContext: true }); }),
  recovery("not-after-result", (t) => t.edit(failed(t), null), { input: (t) => { t.use(["bash", { command: "make" }]); t.result("bash", prose(t.r, 3000)); } }),
  recovery("not-empty-branch-summary-only", (t) => t.branchSummary(t.path[3].id, "")),
];

// ---------------------------------------------------------------------------------------------------------------
// Edges: each pins one rule

const EDGES = {
  "header-only": () => {},
  "metadata-only": (t) => { t.model("openai", "gpt-5"); t.think("high"); t.data(); t.info("empty"); t.spent(); },
  "one-user": (t) => t.user("hello"),
  "one-assistant": (t) => t.say("unasked", { usage: usageOf(40, 2) }),
  "one-system": (t) => t.system({ content: "alone", sections: { a: "b" } }),
  "one-result": (t) => t.result("read", prose(t.r, 500)),
  "user-and-metadata": (t) => { t.think("low"); t.user("question"); t.think("high"); },
  "results-only-after-user": (t) => { t.user("q"); t.use(["read", { path: "a" }]); for (let i = 0; i < 4; i++) t.result("read", prose(t.r, 900)); },
  "call-without-result-at-end": (t) => { t.warmUp(3, 400); t.user("now"); t.use(["edit", { path: "gone.rs", oldText: "a", newText: "b" }]); },
  "call-without-result-inside": (t) => { t.warmUp(2); t.use(["write", { path: "w.rs", content: prose(t.r, 400) }], ["read", { path: "r.rs" }]); t.result("read", "only one"); t.user("go on"); t.warmUp(2, 500); },
  "result-without-call": (t) => { t.result("read", prose(t.r, 300)); t.warmUp(2, 300); t.result("bash", prose(t.r, 300)); t.user("end"); },
  "huge-history": (t) => { for (let i = 0; i < 30; i++) { t.user(prose(t.r, 3000)); t.use(["write", { path: `big${i}.txt`, content: prose(t.r, 24000, "plain") }]); t.result("write", "ok"); t.say(prose(t.r, 6000, "plain")); } },
  "results-at-end-exceed-keep": (t) => { t.warmUp(3, 400); t.user("read all"); t.use(["read", { path: "1" }], ["read", { path: "2" }], ["read", { path: "3" }]); for (let i = 0; i < 3; i++) t.result("read", prose(t.r, 90000, "code")); },
  "one-result-exceeds-keep": (t) => { t.user("read"); t.use(["read", { path: "1" }]); t.result("read", prose(t.r, 100000, "code")); },
  "huge-last-user": (t) => { t.warmUp(2); t.user(prose(t.r, 100000)); },
  "huge-thinking-last": (t) => { t.warmUp(2); t.user("think"); t.assistant([thinking(prose(t.r, 250000, "plain")), text("ok")]); },
  "ends-in-compaction": (t) => { t.warmUp(3); t.compaction(t.path[6].id, "so far"); },
  "ends-in-compaction-then-metadata": (t) => { t.warmUp(3); t.compaction(t.path[6].id, "so far"); t.label(t.path[0].id, "a"); t.spent(); },
  "compaction-alone": (t) => t.compaction("none", "nothing before"),
  "retain-none": (t) => { t.warmUp(3); t.compaction("none", "all of it", { details: { readFiles: ["r"], modifiedFiles: ["m"] } }); t.watch(t.at); t.warmUp(3, 300); },
  "retain-none-twice": (t) => { t.warmUp(2); t.compaction("none", "first"); t.warmUp(2); t.compaction("none", "second", { fromHook: true, details: { readFiles: ["hidden"] } }); t.warmUp(2); },
  "kept-id-unknown": (t) => { t.warmUp(3); t.compaction("ffffffff", "lost track"); t.warmUp(2); },
  "kept-id-on-other-branch": (t) => {
    const fork = t.warmUp(2);
    const other = t.user("a side road");
    t.say("indeed");
    t.go(fork);
    t.warmUp(2);
    t.compaction(other, "kept elsewhere");
    t.warmUp(2);
  },
  "kept-id-after-compaction": (t) => { t.warmUp(2); t.add("compaction", { summary: "forward", firstKeptEntryId: "abcdef01", tokensBefore: 1 }); t.add("message", { message: { role: "user", content: "later" } }, "abcdef01"); t.warmUp(2); },
  "kept-id-missing": (t) => { t.warmUp(2); t.add("compaction", { summary: "no id at all", tokensBefore: 1 }); t.warmUp(2); },
  "kept-is-a-result": (t) => { t.warmUp(3, 300); t.compaction(t.path[10].id, "cut at a result"); t.warmUp(2, 300); },
  "kept-is-a-result-short": (t) => { t.warmUp(3, 300); t.compaction(t.path[10].id, "cut at a result"); t.user("short"); },
  "kept-is-metadata": (t) => { t.warmUp(2); const m = t.spent(); t.warmUp(1); t.compaction(m, "cut at metadata"); t.warmUp(2); },
  "kept-is-system": (t) => { t.warmUp(2); const s = t.system({ content: "switch" }); t.warmUp(1); t.compaction(s, "cut at system"); t.system({ content: "again" }); t.warmUp(2); },
  "kept-is-older-compaction": (t) => { t.warmUp(2); const c = t.compaction(t.path[4].id, "older"); t.warmUp(1); t.compaction(c, "newer"); t.warmUp(2); },
  "older-compaction-in-kept-range": (t) => { t.warmUp(3); const k = t.path[5].id; t.compaction(t.path[8].id, "older", { details: { readFiles: ["older.rs"] } }); t.warmUp(1); t.compaction(k, "newer", { details: { readFiles: ["newer.rs"], modifiedFiles: ["both.rs"] } }); t.warmUp(2, 400); },
  "empty-summaries": (t) => { t.warmUp(2); t.compaction(t.path[4].id, ""); t.warmUp(1); t.branchSummary(t.path[1].id, ""); t.warmUp(1, 300); },
  "three-compactions": (t) => { for (let i = 0; i < 3; i++) { t.warmUp(3, 250); t.compaction(t.path.at(-5).id, `number ${i}`, { details: { readFiles: [`r${i}`], modifiedFiles: [`m${i}`] } }); } t.warmUp(3, 250); },
  "hook-details-not-merged": (t) => { t.warmUp(3); t.compaction(t.path[6].id, "by a hook", { fromHook: true, fromExtension: true, details: { readFiles: ["secret"], modifiedFiles: ["x"] } }); t.warmUp(3, 300); },
  "extension-flag-alone": (t) => { t.warmUp(3); t.compaction(t.path[6].id, "by an extension", { fromExtension: true, details: { readFiles: ["from-ext"], modifiedFiles: ["y"] } }); t.warmUp(3, 300); },
  "details-of-odd-shape": (t) => { t.warmUp(2); t.compaction(t.path[4].id, "odd", { details: { readFiles: "not a list", modifiedFiles: ["ok.rs"], more: { deep: 1 } } }); t.warmUp(2); const b = t.at; t.branchSummary(b, "odd too", { details: { readFiles: null, modifiedFiles: { a: 1 } } }); t.warmUp(1); t.cross(t.at, t.path[2].id); },
  "compaction-with-system": (t) => {
    t.system({ content: "old", sections: { a: "one", b: "two" } });
    t.warmUp(3);
    t.compaction(t.path[7].id, "carries the prompt", { systemMessage: { role: "system", content: "current", sections: { a: "one" }, toolsAdded: [{ name: "read", description: "d", parameters: {} }], timestamp: EPOCH } });
    t.warmUp(2);
    t.system({ sections: { a: null, c: "three" } });
    t.user("more");
  },
  "compaction-omitted-by-edit": (t) => { t.warmUp(3); const c = t.compaction(t.path[5].id, "taken away"); t.warmUp(2); t.edit(c, null); t.warmUp(2); },
  "compaction-edited-with-text": (t) => { t.warmUp(3); const c = t.compaction(t.path[5].id, "not replaced"); t.edit(c, "no effect"); t.warmUp(2); },
  "edit-every-kind": (t) => {
    const sources = [
      () => t.user("a user says"), () => t.user([text("in blocks"), image()]), () => t.say("an answer", { usage: usageOf(50, 5) }),
      () => t.result("read", prose(t.r, 400)), () => t.note("a note"), () => t.note([text("note blocks")]), () => t.bash("ls", "out"),
      () => t.branchSummary("00000000", "from a branch"), () => t.system({ content: "prompt", sections: { s: "t" } }), () => t.data(),
    ];
    for (const replacement of [null, "as a string", [text("as "), text("blocks"), image()], [], ""]) {
      const made = sources.map((make) => make());
      for (const id of made) t.edit(id, replacement);
      t.watch(t.at);
    }
    t.user("end");
  },
  "edit-twice": (t) => {
    t.warmUp(2);
    const [u, a, b, d] = [t.user(prose(t.r, 300)), t.say(prose(t.r, 300)), t.note(prose(t.r, 300)), t.result("read", prose(t.r, 300))];
    t.edit(u, null); t.edit(u, "second wins");
    t.edit(a, "first"); t.edit(a, null);
    t.edit(b, [text("x")]); t.edit(b, [text("y".repeat(80))]);
    t.edit(d, "p"); t.edit(d, "q".repeat(400));
    t.warmUp(2);
  },
  "edit-with-calls": (t) => { t.warmUp(2); const u = t.use(["write", { path: "lost.rs", content: "x" }]); t.result("write", "ok"); t.edit(u, [text("changed"), call("t77", "edit", { path: "invented.rs" })]); t.warmUp(3, 300); },
  "edit-omits-file-calls": (t) => { t.warmUp(1); const u = t.use(["write", { path: "omitted.rs", content: "x" }]); const r = t.result("write", "ok"); t.edit(u, null); t.edit(r, null); t.warmUp(3, 300); },
  "edit-before-the-window": (t) => { t.warmUp(2); t.edit(t.path[0].id, "gone anyway"); t.warmUp(1); t.compaction(t.path[8].id, "window"); t.edit(t.path[1].id, null); t.warmUp(2); },
  "edit-in-kept-range": (t) => { t.warmUp(2); const k = t.user(prose(t.r, 400)); t.say("x"); t.edit(k, "kept but shorter"); t.compaction(k, "window"); t.warmUp(2); },
  "edit-of-kept-before-kept": (t) => { t.warmUp(1); const id = "feed0001"; t.edit(id, "early edit"); t.add("message", { message: { role: "user", content: prose(t.r, 200) } }, id); t.warmUp(1); t.compaction(id, "edit lies outside the window"); t.warmUp(2); },
  "edit-target-unknown": (t) => { t.warmUp(2); t.edit("00000bad", null); t.edit("00000bad", "x"); t.warmUp(1); },
  "edit-off-path": (t) => { const fork = t.warmUp(2); const u = t.user("other side"); t.say("yes"); t.go(fork); t.edit(u, null); t.warmUp(2); t.cross(t.at, u); },
  "edit-makes-usage-stale": (t) => { t.user("q"); t.say("a", { usage: usageOf(5000, 10) }); t.user("q2"); t.watch(t.say("b", { usage: usageOf(9000, 10) })); t.edit(t.path[0].id, "Q"); t.watch(t.at); t.user("tail"); t.watch(t.at); t.say("c", { usage: usageOf(7000, 1) }); },
  "metadata-before-user-cut": (t) => { t.warmUp(2, 300); t.think("high"); t.model("anthropic", "claude-sonnet-4-5"); t.user(prose(t.r, 2000)); t.say("done"); },
  "metadata-before-assistant-cut": (t) => { t.warmUp(2, 300); t.user("u"); t.data(); t.spent(); t.say(prose(t.r, 2500)); },
  "omitted-before-cut": (t) => { t.warmUp(2, 300); const a = t.say("omitted"); t.edit(a, null); t.user(prose(t.r, 2000)); t.say("done"); },
  "metadata-everywhere": (t) => { for (let i = 0; i < 6; i++) { t.spent(); t.user(prose(t.r, 300)); t.label(t.path[0].id, `l${i}`); t.use(["read", { path: `f${i}` }]); t.data(); t.result("read", prose(t.r, 500)); t.info(`n${i}`); t.say(prose(t.r, 300)); } },
  "metadata-first-nothing-reached": (t) => { t.think("low"); t.data(); t.user("short"); t.say("short"); },
  "turn-starts-of-all-kinds": (t) => { for (const start of [() => t.bash("make", prose(t.r, 400)), () => t.note(prose(t.r, 400)), () => t.branchSummary("00000000", prose(t.r, 400)), () => t.user(prose(t.r, 400))]) { start(); for (let i = 0; i < 3; i++) { t.use(["read", { path: `p${i}` }]); t.result("read", prose(t.r, 700)); } t.watch(t.at); } },
  "no-turn-start": (t) => { for (let i = 0; i < 5; i++) { t.use(["edit", { path: `only${i}` }]); t.result("edit", prose(t.r, 800)); } },
  "assistant-before-first-user": (t) => { t.say(prose(t.r, 600)); t.use(["read", { path: "early" }]); t.result("read", prose(t.r, 700)); t.user("first"); t.say(prose(t.r, 600)); },
  "bash-variants": (t) => {
    t.user("watch me");
    for (const rest of [{}, { exitCode: 3 }, { exitCode: null }, { cancelled: true, exitCode: 130 }, { truncated: true, fullOutputPath: "/var/log/full" }, { truncated: true }, { excludeFromContext: true }, { excludeFromContext: false }, { exitCode: undefined }]) t.bash("run `it`", prose(t.r, 300), rest);
    t.bash("silent", "");
    t.bash("silent", "", { excludeFromContext: true });
    t.warmUp(2, 400);
  },
  "excluded-bash-only": (t) => { t.bash("a", prose(t.r, 900), { excludeFromContext: true }); t.bash("b", prose(t.r, 900), { excludeFromContext: true }); t.user(prose(t.r, 900)); },
  "system-family": (t) => {
    const tool = (name, extra) => ({ name, description: `does ${name}`, parameters: { type: "object", properties: {}, ...extra } });
    t.system({ content: "base", sections: { intro: "I".repeat(100), rules: "R".repeat(50) }, toolsAdded: [tool("read"), tool("bash", { minimum: spelled("1.50"), maximum: spelled("1e2") })] });
    t.warmUp(1);
    t.watch(t.system({ content: [text("more"), text("still more")], sections: { rules: null, extra: "E".repeat(30) } }));
    t.watch(t.system({ content: "", toolsRemoved: [{ name: "bash" }], toolsAdded: [tool("read", { replaced: true }), tool("grep")] }));
    t.warmUp(1);
    t.watch(t.system({ content: null, sections: { intro: "" } }));
    t.system({ content: "", sections: null });
    t.say("a", { usage: usageOf(4000, 4) });
    t.watch(t.system({ content: "counted in full after usage", sections: { z: "Z".repeat(400) } }));
    t.edit(t.path[0].id, null);
    t.user("last");
  },
  "system-without-timestamp": (t) => { t.system({ content: "untimed", sections: { a: "x".repeat(200) }, timestamp: undefined }); t.user("hi"); },
  "system-between-cut": (t) => { t.warmUp(2, 300); t.system({ content: "in the middle" }); t.user(prose(t.r, 1500)); t.say("end"); },
  "usage-family": (t) => {
    const kinds = [usageOf(1000, 10), usageOf(2000, 20, 30, 0), usageOf(0, 0), null, undefined, {}, { input: 7 }, { totalTokens: 777 }, { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }, { input: 1, output: 2, cacheRead: 3 }, { input: 500, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: null }];
    for (const usage of kinds) { t.user("q".repeat(40)); t.watch(t.say("answer", { usage: usage ?? spelled("null") })); }
    t.message("assistant", { content: [text("no usage field")], provider: "p", model: "m", stopReason: "stop" });
    t.watch(t.at);
    for (const stopReason of ["aborted", "error", "length", "toolUse"]) { t.user("again"); t.watch(t.say("partial", { usage: usageOf(60000, 9), stopReason })); }
  },
  "usage-then-tail": (t) => { t.warmUp(2); t.say("counted", { usage: usageOf(190000, 100) }); t.use(["read", { path: "t" }]); t.result("read", prose(t.r, 4000)); t.user("tail"); },
  "usage-older-than-compaction": (t) => { t.warmUp(1); t.user("k"); t.say("kept", { usage: usageOf(150000, 5) }); t.compaction(t.path.at(-2).id, "stale now"); t.watch(t.at); t.user("new"); t.watch(t.at); t.say("fresh", { usage: usageOf(3000, 5) }); t.user("more"); },
  "odd-arguments": (t) => {
    t.user("odd calls");
    const odd = [
      ordered(["10", 1], ["2", spelled("1.0")], ["b", spelled("1e3")], ["a", spelled("1E21")], ["-1", spelled("-0")], ["01", spelled("0.1e-7")], ["4294967295", spelled("12345678901234567890")], ["4294967294", spelled("-0.0")]),
      ordered(["same", 1], ["other", 2], ["same", { last: "wins" }]),
      spelled('{"__proto__":{"x":1},"constructor":null,"":"empty key"}'),
      spelled('{"n":[1.50,-1e-7,1e-6,123456789012345680000,1e400,5e-324,1.7976931348623157e308,0.000001,100000000000000000000,-1E+2],"t":true}'),
      spelled('{"path":"dup-a","path":"dup-b"}'),
      spelled('{"esc":"\\u0041\\/\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\\u2028\\"\\\\","path":"p\\u00e9.txt"}'),
      { path: "deep.rs", a: { b: { c: [{ 3: "x", 1: "y" }, [], {}, [[null]]] } } },
      {}, [1, "two", { three: 3 }], { path: null }, { path: ["not a string"] }, { file_path: "alias.rs" }, { path: " spaced.rs " },
    ];
    for (const args of odd) for (const name of ["read", "edit"]) { t.use([name, args]); t.result(name, "ok"); }
    t.warmUp(2, 300);
  },
  "lone-surrogates": (t) => {
    t.user(`broken \ud83d here and \ude00 there`);
    t.assistant([thinking("half \ud83d"), text("\udc00 first"), call("t1", "read", { path: "odd\ud83d.txt", "key\udfff": "value \ud83d" })]);
    t.result("read", `${"z".repeat(50)}\ud83d`);
    t.bash("echo \ud83d", "\ude00\ud83d");
    t.note("note \ud83d");
    t.branchSummary("00000000", "summary \ud83d", { details: { readFiles: ["list\ud83d.txt"], modifiedFiles: [] } });
    t.system({ content: "sys \ud83d", toolsAdded: [{ name: "x", description: "tool \ud83d", parameters: {} }] });
    t.watch(t.at);
    t.warmUp(2, 300);
    t.cross(t.at, t.path[0].id);
  },
  "surrogate-pair-at-the-cut": (t) => {
    t.user("long results");
    for (const before of [1998, 1999, 2000]) { t.use(["bash", { command: "x" }]); t.result("bash", `${"a".repeat(before)}😀${"b".repeat(40)}`); }
    t.use(["bash", { command: "exact" }]);
    t.result("bash", "c".repeat(2000));
    t.result("bash", "d".repeat(2001));
    t.result("bash", [text("e".repeat(1500)), image(), text("f".repeat(1500))]);
    t.warmUp(2, 300);
  },
  "unicode-lengths": (t) => { for (const s of ["日本語のテキスト", "👩‍👩‍👧‍👦", "e\u0301e\u0301", "𝒳𝒴𝒵", "\u0000\u0007", "ｱｲｳ", "abc"]) { t.user(s); t.say(s + s); t.use(["edit", { path: s, oldText: s }]); t.result("edit", s); } t.warmUp(1, 300); },
  "file-order": (t) => {
    t.user("sort these");
    for (const path of ["\uffee", "😀", "zebra", "Zebra", "apple", "Äpfel", "a/b", "a-b", "a b", "é", "e\u0301", "10", "9", "same", "same"]) t.use(["read", { path }], [t.r.pick(["write", "edit", "read"]), { path: `${path}x` }]);
    t.use(["edit", { path: "same" }], ["write", { path: "apple" }]);
    t.warmUp(2, 300);
  },
  "failed-calls-count": (t) => { t.user("try"); t.use(["write", { path: "failed.rs", content: "x" }]); t.result("write", "no such folder", true); t.use(["read", { path: "failed.rs" }]); t.result("read", "missing", true); t.warmUp(2, 300); },
  "odd-content": (t) => {
    t.user(null); t.user(""); t.user([]); t.user([text("")]); t.user([{ type: "text" }]); t.user([{ type: "file", name: "x" }, text("known")]);
    t.message("user", {});
    t.assistant(null); t.assistant([]); t.assistant([text("")]); t.assistant([thinking("")]); t.assistant([text("a"), text("b"), thinking("c"), text("")]); t.assistant([{ type: "server_tool", x: 1 }]);
    t.message("toolResult", { toolCallId: "q", toolName: "read", content: null, isError: false });
    t.message("toolResult", { toolCallId: "q", toolName: "read", content: "a string result", isError: false });
    t.result("read", []); t.result("read", [image()]); t.result("read", "");
    t.note(""); t.note([]); t.add("custom_message", { customType: "bare", display: false }); t.note(null);
    t.message("developer", { content: "from another client" });
    t.message("hookMessage", { customType: "h", content: "not migrated in version 3", display: true });
    t.message("custom", { customType: "c", content: "a custom role inside a message", display: true });
    t.message("branchSummary", { summary: "a summary inside a message", fromId: "x" });
    t.message("compactionSummary", { summary: "another one", tokensBefore: 3 });
    t.watch(t.at);
    t.warmUp(2, 300);
  },
  "assistant-with-string": (t) => { t.user("q"); t.message("assistant", { content: "a bare string", provider: "p", model: "m", usage: usageOf(9, 9), stopReason: "stop" }); t.warmUp(2, 300); },
  "null-content-in-branch": (t) => { const fork = t.warmUp(1); t.assistant(null); t.user("left"); const left = t.at; t.go(fork); t.user("right"); t.cross(left, t.at); },
  "models-and-thinking": (t) => { t.watch(t.model("anthropic", "claude-sonnet-4-5")); t.think("high"); t.watch(t.user("q")); t.watch(t.message("assistant", { content: [text("a")], provider: "google", model: "gemini-2.5-pro", usage: usageOf(1, 1), stopReason: "error" })); t.think("xhigh"); t.watch(t.model("openai", "gpt-5")); t.add("model_change", { model: "openai/gpt-5-mini" }); t.think("off"); t.compaction("none", "settings survive"); t.user("q"); },
  "unknown-entries": (t) => { t.warmUp(2); t.add("reset_boundary", {}); t.add("whatever", { message: { role: "user", content: "not a message" } }); t.warmUp(1, 300); t.add("reset_boundary", { reason: "again" }); t.user(prose(t.r, 1500)); t.add("todo_state", { summary: "not a summary" }); },
  "leaf-marker": (t) => { const a = t.warmUp(2); t.warmUp(2); const left = t.at; t.go(a); t.data("agent-cli/leaf", { reason: "navigate", from: left }); t.cross(left, t.at); },
  "leaf-marker-at-root": (t) => { t.warmUp(2); const left = t.at; t.go(null); t.data("agent-cli/leaf", { reason: "navigate", from: left }); t.cross(left, t.at); },
  "branch-shapes": (t) => {
    const fork = t.warmUp(2);
    const stem = t.path.map((row) => row.id);
    t.warmUp(2, 400);
    const left = t.at;
    t.go(fork);
    t.branchSummary(left, prose(t.r, 800), { details: { readFiles: ["left-r"], modifiedFiles: ["left-m"] } });
    t.user("right side");
    t.say("yes");
    const right = t.at;
    for (const [from, to] of [[left, right], [right, left], [left, left], [stem[0], left], [fork, left], [left, fork], [left, stem[0]], [right, stem[4]], [stem[3], stem[1]]]) t.cross(from, to);
  },
  "branch-two-roots": (t) => { t.warmUp(2); const first = t.at; t.go(null); t.warmUp(1); const second = t.at; t.go(null); t.model("openai", "gpt-5"); t.cross(first, second); t.cross(second, first); t.cross(first, t.at); t.cross(t.at, first); },
  "branch-over-compactions": (t) => {
    const fork = t.warmUp(2);
    t.warmUp(2, 300);
    t.compaction(t.path[10].id, prose(t.r, 900), { details: { readFiles: ["in-compaction"], modifiedFiles: [] } });
    t.warmUp(2, 300);
    t.branchSummary(t.path[2].id, prose(t.r, 1200), { details: { readFiles: ["in-summary"], modifiedFiles: ["in-summary-m"] } });
    t.user("after");
    t.branchSummary(t.path[2].id, prose(t.r, 400), { fromHook: true, fromExtension: true, details: { readFiles: ["hook-r"] } });
    t.branchSummary(t.path[2].id, "by an extension", { fromExtension: true, details: { readFiles: ["ext-r"] } });
    t.say("end of it");
    const left = t.at;
    t.go(fork);
    t.user("other");
    t.cross(left, t.at);
  },
  "branch-summary-overflow": (t) => {
    const fork = t.warmUp(1);
    t.branchSummary(fork, prose(t.r, 4000)); t.user(prose(t.r, 360, "plain"));
    t.cross(t.at, fork);
    t.compaction(t.path[1].id, prose(t.r, 3000)); t.say(prose(t.r, 1900, "plain"));
    t.cross(t.at, fork);
  },
  "branch-mixed-content": (t) => {
    const fork = t.warmUp(1);
    t.system({ content: "s".repeat(2000) }); t.bash("secret", "x".repeat(3000), { excludeFromContext: true }); t.bash("seen", "y".repeat(300));
    t.note("n".repeat(300)); t.spent(); t.data(); t.add("reset_boundary", {}); t.branchSummary(fork, ""); t.message("developer", { content: "dev" });
    const w = t.use(["write", { path: "edited-away.rs", content: "z" }]); t.result("write", "w".repeat(4000)); t.edit(w, null); t.user([text("look"), image()]);
    t.cross(t.at, fork);
  },
  "odd-ids": (t) => {
    const long = "x".repeat(80);
    t.add("message", { message: { role: "user", content: "long id" } }, long);
    t.add("message", { message: { role: "assistant", content: [text(prose(t.r, 900))], provider: "p", model: "m", usage: usageOf(3, 3), stopReason: "stop" } }, "ключ-日本");
    t.add("message", { message: { role: "user", content: prose(t.r, 900) } }, "0196a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b");
    t.add("message", { message: { role: "user", content: prose(t.r, 900) } }, "a b\"c");
    t.compaction("ключ-日本", "kept by an odd id");
    t.user("tail");
  },
};

const edge = (name) => () => {
  const t = new Tape(`edge-${name}`, { seed: 9000 + [...name].reduce((sum, letter) => (sum * 33 + letter.charCodeAt(0)) % 65521, 7) });
  EDGES[name](t);
  return t.finish();
};

/** Version 1 and 2 rules, and files whose lines are not quite as pi writes them. */
const FORMS = [
  () => { const t = new Tape("v1-kept-itself", { version: 1, seed: 51 }); t.warmUp(2); t.compaction("none", "keeps nothing"); t.warmUp(2); return t.finish(); },
  () => { const t = new Tape("v1-kept-header", { version: 1, seed: 52 }); t.warmUp(2); t.compaction(0, "points at the header"); t.warmUp(2); return t.finish(); },
  () => { const t = new Tape("v1-kept-later", { version: 1, seed: 53 }); t.warmUp(2); t.compaction(12, "points forward"); t.warmUp(2); return t.finish(); },
  () => { const t = new Tape("v1-kept-beyond", { version: 1, seed: 54 }); t.warmUp(2); t.compaction(900, "points nowhere"); t.warmUp(2); return t.finish(); },
  () => { const t = new Tape("v1-many", { version: 1, seed: 55 }); t.warmUp(8, 400); t.compaction(9, "one", { details: { readFiles: ["v1"] } }); t.warmUp(3, 300); t.compaction(30, "two"); t.message("hookMessage", { customType: "h", content: "old role", display: true }); t.warmUp(3, 300); return t.finish(); },
  () => { const t = new Tape("v2-hooks", { version: 2, seed: 56 }); t.message("hookMessage", { customType: "h", content: prose(t.r, 400), display: true }); t.use(["read", { path: "a" }]); t.result("read", prose(t.r, 900)); t.message("hookMessage", { customType: "h", content: [text("x"), image()], display: true }); t.use(["edit", { path: "b" }]); t.result("edit", "ok"); return t.finish(); },
  () => { const t = new Tape("form-crlf", { seed: 57 }); t.warmUp(3, 300); return t.finish({ newline: "\r\n", end: "\r\n" }); },
  () => { const t = new Tape("form-no-final-newline", { seed: 58 }); t.warmUp(3, 300); return t.finish({ end: "" }); },
  () => { const t = new Tape("form-blank-lines", { seed: 59 }); t.warmUp(3, 300); return t.finish({ newline: "\n\n", end: "\n  \n" }); },
  () => { const t = new Tape("form-torn-tail", { seed: 60 }); t.warmUp(3, 300); return t.finish({ end: '\n{"type":"message","id":"deadbeef","parentId":"' }); },
  () => { const t = new Tape("form-final-newline-twice", { seed: 61 }); t.warmUp(3, 300); return t.finish({ end: "\n\n" }); },
];

/** Every session: { name, version, text, leaves, pairs }. `leaves` and `pairs` are to be looked at in any case. */
export function makeSessions() {
  return [...STORIES, ...RECOVERIES, ...Object.keys(EDGES).map(edge), ...FORMS].map((make) => make());
}

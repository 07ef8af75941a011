// Whether pi takes a session for one of its own: everything that pi reads when it opens, lists, shows and continues
// one, and what pi itself would refuse to write.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { differ, show } from "./compare.mjs";
import { packageFolder } from "./pi.mjs";

/** The folder of a package that pi depends on: beside it, or below it. */
function dependency(folder, name) {
  const places = [join(folder, "node_modules", "@earendil-works", name), resolve(folder, "..", name)];
  const found = places.find((place) => existsSync(join(place, "package.json")));
  if (!found) throw new Error(`pi has no ${name} in ${places.join(" or ")}`);
  return found;
}

export async function loadAcceptance(dir) {
  const folder = packageFolder(dir);
  const ai = dependency(folder, "pi-ai");
  const load = (base, path) => import(pathToFileURL(join(base, "dist", path)).href);
  const [manager, messages, totals, cache, transcript, transform] = await Promise.all([
    load(folder, "core/session-manager.js"),
    load(folder, "core/messages.js"),
    load(folder, "core/usage-totals.js"),
    load(folder, "core/cache-stats.js"),
    load(ai, "utils/transcript.js"),
    load(ai, "api/transform-messages.js"),
  ]);

  /** Opens a copy with pi, and returns what `work` makes of it. */
  async function onCopy(file, work) {
    const scratch = mkdtempSync(join(tmpdir(), "pi-conformance-live-"));
    try {
      const copy = join(scratch, "session.jsonl");
      copyFileSync(file, copy);
      return await work(copy, manager.SessionManager.open(copy, scratch), scratch);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  const must = (holds, where, expected, actual) => holds || differ(where, expected, typeof actual === "string" ? actual : show(actual));

  /** The entries by pi's own rules of writing. */
  function checkEntries(tree) {
    const entries = tree.getEntries();
    manager.assertValidSessionId(tree.getSessionId());
    must(new Set(entries.map((entry) => entry.id)).size === entries.length, "ids", "each one once", "one twice");
    const undated = entries.find((entry) => Number.isNaN(Date.parse(entry.timestamp)));
    must(!undated, "timestamps", "dates", undated);
    const roots = tree.getTree();
    must(roots.length === 1, "roots", 1, roots.length);

    for (const entry of entries) {
      const path = tree.getBranch(entry.id);
      const behind = (id) => path.find((other) => other.id === id);
      if (entry.type === "context_edit") {
        const target = behind(entry.targetId);
        const role = target?.type === "message" ? target.message.role : target?.type;
        must(["user", "assistant", "toolResult", "custom_message"].includes(role), `target of the edit ${entry.id}`, "what pi edits, on the same branch", role);
        must(entry.replacement === null || "content" in entry.replacement, `replacement of the edit ${entry.id}`, "null or content", entry.replacement);
      }
      if (entry.type === "compaction") must(behind(entry.firstKeptEntryId), `firstKeptEntryId of ${entry.id}`, "on its path", entry.firstKeptEntryId);
      if (entry.type === "label") must(tree.getEntry(entry.targetId), `target of the label ${entry.id}`, "an entry", entry.targetId);
      if (entry.type === "branch_summary") must(tree.getEntry(entry.fromId), `fromId of ${entry.id}`, "an entry", entry.fromId);
      if (entry.type !== "message") continue;
      const { role, content, toolCallId } = entry.message;
      if (role === "assistant" || role === "toolResult") must(Array.isArray(content), `content of ${entry.id}`, "blocks", content);
      // pi shows a result in the place of its call, on the same branch.
      const calls = path.flatMap((other) => (other.message?.role === "assistant" ? other.message.content : []));
      if (role === "toolResult") must(calls.some((block) => block.type === "toolCall" && block.id === toolCallId), `call of the result ${entry.id}`, "before it", toolCallId);
    }
  }

  /** The figures that pi adds up for its footer and its statistics: one that is missing makes it fail. */
  function checkFigures(entries) {
    const sums = totals.createUsageTotals();
    for (const entry of entries) {
      if (entry.type === "message" && entry.message.role === "assistant") totals.addUsageToTotals(sums, entry.message.usage);
      else if (entry.usage) totals.addUsageToTotals(sums, entry.usage);
    }
    const waste = cache.computeCacheWaste(entries, { getModel: () => undefined });
    for (const [name, sum] of Object.entries({ ...sums, ...waste })) must(Number.isFinite(sum), `sum of ${name}`, "a number", String(sum));
  }

  /** The request that pi would send to some other model: no call without its result, no result without its call. */
  function checkRequest(projection) {
    const model = { id: "m", provider: "p", api: "a", input: ["text"] };
    const sent = transform.transformMessages(messages.convertToLlm(projection.messages), model);
    let open = [];
    for (const message of sent) {
      if (message.role === "toolResult") {
        must(open.includes(message.toolCallId), `result of ${message.toolCallId}`, "right behind its call", "elsewhere");
        must(message.content[0]?.text !== "No result provided", `result of ${message.toolCallId}`, "in the session", "missing");
        open = open.filter((id) => id !== message.toolCallId);
      } else if (message.role !== "system") {
        must(open.length === 0, "calls without results", "none", open);
        open = message.role === "assistant" ? message.content.filter((block) => block.type === "toolCall").map((block) => block.id) : [];
      }
    }
  }

  /** Opens a session as pi does; `tools` are the names of those that the model has at its leaf. */
  const accepts = (file, tools) =>
    onCopy(file, async (copy, tree, scratch) => {
      checkEntries(tree);
      checkFigures(tree.getEntries());
      const projection = tree.buildSessionProjection();
      checkRequest(projection);
      const system = transcript.getCurrentSystemMessage(projection.messages);
      must(typeof system?.sections?.["agent-cli"] === "string", "the prompt in force", "a section of ours", system?.sections);
      const names = (system.toolsAdded ?? []).map((tool) => tool.name);
      must(show(names) === show(tools), "the tools in force", show(tools), names);
      must(isAbsolute(tree.getHeader().cwd), "the working folder", "found from everywhere", tree.getHeader().cwd);
      const listed = await manager.SessionManager.list(tree.getHeader().cwd, scratch);
      must(listed.length === 1 && listed[0].id === tree.getSessionId(), "pi's list of sessions", tree.getSessionId(), listed.map((info) => info.id));
      must(readFileSync(copy).equals(readFileSync(file)), "the file after pi has opened it", "as it was", "changed");
      return "passed";
    });

  /** Lets pi go on with a session; `read` compares the file that comes of it. */
  const goesOn = (file, read) =>
    onCopy(file, async (copy, tree) => {
      const leaf = tree.getLeafId();
      const timestamp = Date.parse("2026-01-01T00:00:00Z");
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
      const usage = { input: 5, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 10, cost };
      const user = tree.appendMessage({ role: "user", content: "Go on.", timestamp });
      tree.appendMessage({ role: "assistant", content: [{ type: "text", text: "Gone on." }], api: "a", provider: "p", model: "m", usage, stopReason: "stop", timestamp });
      tree.appendLabelChange(leaf, "where pi went on");
      tree.appendCompaction("What was before.", user, 1000);
      tree.appendMessage({ role: "user", content: "And on.", timestamp });
      read(copy);
      return "passed";
    });

  return { accepts, goesOn };
}

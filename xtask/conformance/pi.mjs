// pi's side of the conformance run: loads pi's real functions from an install folder and answers in the shape of
// agent-cli's JSON documents. Sessions are opened on a throw-away copy, so no input file is ever changed.
import crypto from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const PACKAGE = "@earendil-works/pi-coding-agent";
const PINNED = "1.6.0";

/** Finds pi's package folder from either that folder itself or the folder that holds its node_modules. */
export function packageFolder(dir) {
  for (const candidate of [resolve(dir), resolve(dir, "node_modules", PACKAGE), resolve(dir, PACKAGE)]) {
    const manifest = join(candidate, "package.json");
    if (!existsSync(manifest)) continue;
    const { name, version } = JSON.parse(readFileSync(manifest, "utf8"));
    if (name !== PACKAGE) continue;
    if (version !== PINNED) throw new Error(`pi ${version} found in ${dir}, but this run is pinned to ${PINNED}`);
    return candidate;
  }
  throw new Error(`no ${PACKAGE} in ${dir}; install it there with: npm ci --ignore-scripts`);
}

/** Runs `work` while pi's random ids count upwards: the n-th id asked for is n as eight hex digits. */
function withCountedIds(work) {
  const original = crypto.randomUUID;
  let issued = 0;
  crypto.randomUUID = () => `${(++issued).toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
  syncBuiltinESMExports();
  try {
    return work();
  } finally {
    crypto.randomUUID = original;
    syncBuiltinESMExports();
  }
}

/** All the text a message carries, in pi's own fields; used only to know whether there is any. */
function plainText(message) {
  if (message.role === "bashExecution") return `${message.command ?? ""}${message.output ?? ""}`;
  if (typeof message.summary === "string") return message.summary;
  if (typeof message.content === "string") return message.content;
  if (!Array.isArray(message.content)) return "";
  return message.content
    .map((block) => {
      if (block?.type === "text") return block.text ?? "";
      if (block?.type === "thinking") return block.thinking ?? "";
      return block?.type === "toolCall" ? block.name : "";
    })
    .join("");
}

export async function loadPi(dir) {
  const folder = packageFolder(dir);
  const load = (path) => import(pathToFileURL(join(folder, "dist", "core", path)).href);
  const [manager, messages, compaction, utils, branches] = await Promise.all([
    load("session-manager.js"),
    load("messages.js"),
    load("compaction/compaction.js"),
    load("compaction/utils.js"),
    load("compaction/branch-summarization.js"),
  ]);

  /** Opens a file the way pi does and returns its tree; the file itself is left alone. */
  function openSession(file) {
    const scratch = mkdtempSync(join(tmpdir(), "pi-conformance-open-"));
    try {
      const copy = join(scratch, "session.jsonl");
      copyFileSync(file, copy);
      const tree = withCountedIds(() => manager.SessionManager.open(copy, scratch));
      const entries = tree.getEntries();
      return { file, tree, entries, leaf: tree.getLeafId(), pathTo: (id) => (id === null ? [] : tree.getBranch(id)) };
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  const serialize = (list) => utils.serializeConversation(messages.convertToLlm(list));
  const fileLists = (operations) => {
    const { readFiles, modifiedFiles } = utils.computeFileLists(operations);
    return { read_files: readFiles, modified_files: modifiedFiles };
  };

  /** The document of `agent-cli context`. */
  function piContext(session, leaf = session.leaf) {
    const projection = manager.buildSessionProjection(session.entries, leaf);
    const { thinkingLevel, model } = projection;
    return {
      leaf,
      thinking_level: thinkingLevel,
      model: model && { provider: model.provider ?? null, model_id: model.modelId ?? null },
      tokens: compaction.estimateProjectedContextTokens(projection, session.pathTo(leaf)).tokens,
      messages: projection.entries.flatMap(({ sourceEntry, messages: list }) =>
        list.map((message) => ({
          entry_id: sourceEntry.id,
          role: message.role,
          tokens: compaction.estimateTokens(message),
          text: plainText(message),
        })),
      ),
    };
  }

  /** What pi's compact() really asks a model for, seen through a model that only takes notes. */
  async function requestsOf(preparation, window) {
    const seen = [];
    const model = { id: "m", provider: "p", api: "a", contextWindow: window, maxTokens: 0, reasoning: false, input: ["text"] };
    const listen = (_model, context, options) => {
      const prompt = context.messages.at(-1).content.map((block) => block.text).join("");
      // The provider's own limit of the model holds.
      if (options.maxTokens !== undefined) throw new Error(`pi caps an answer at ${options.maxTokens} tokens`);
      seen.push({ prompt });
      const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} };
      return { result: async () => ({ role: "assistant", content: [{ type: "text", text: "noted" }], stopReason: "stop", usage }) };
    };
    await compaction.compact(preparation, model, undefined, undefined, undefined, undefined, undefined, listen);

    const { isSplitTurn, messagesToSummarize, turnPrefixMessages } = preparation;
    const wanted = [];
    const splits = isSplitTurn && turnPrefixMessages.length > 0;
    if (!splits || messagesToSummarize.length > 0) wanted.push({ kind: "history", list: messagesToSummarize, opening: "<conversation>\n", closing: "\n</conversation>\n" });
    if (splits) wanted.push({ kind: "turn_prefix", list: turnPrefixMessages, opening: "# Conversation\n", closing: "\n\n# Instructions\n" });
    if (wanted.length !== seen.length) throw new Error(`pi sent ${seen.length} requests where ${wanted.length} were understood`);
    return wanted.map(({ kind, list, opening, closing }, i) => {
      const conversation = serialize(list);
      if (!seen[i].prompt.startsWith(opening + conversation + closing)) throw new Error(`pi's ${kind} request does not begin as understood`);
      return { kind, conversation };
    });
  }

  /**
   * The document of `agent-cli plan`. `nothing_to_do` is true where pi prepares nothing. `notes` holds facts for the
   * statistics that are no part of the document.
   */
  async function piPlan(session, leaf, { window, keepRecentTokens, reserveTokens }) {
    const settings = { enabled: true, keepRecentTokens, reserveTokens };
    const path = session.pathTo(leaf);
    const projection = manager.buildSessionProjection(session.entries, leaf);
    const tokens = compaction.estimateProjectedContextTokens(projection, path).tokens;
    const common = {
      leaf,
      context_tokens: tokens,
      threshold: window - reserveTokens,
      should_compact: compaction.shouldCompact(tokens, window, settings),
    };
    const preparation = compaction.prepareCompaction(path, settings);
    if (!preparation) return { ...common, nothing_to_do: true, notes: {} };

    // Entries that own the summarized messages, in order: everything visible before the first kept entry.
    const { messagesToSummarize, turnPrefixMessages } = preparation;
    const rows = projection.entries;
    const boundary = rows.findIndex((row) => row.sourceEntry.type === "compaction" && row.messages.length > 0);
    const keptAt = rows.findIndex((row, i) => i > boundary && row.sourceEntry.id === preparation.firstKeptEntryId);
    const owners = [];
    for (const row of rows.slice(boundary + 1, keptAt)) {
      if (row.sourceEntry.type === "compaction") continue;
      for (const message of row.messages) if (message.role !== "system") owners.push({ id: row.sourceEntry.id, message });
    }
    const summarized = [...messagesToSummarize, ...turnPrefixMessages];
    if (JSON.stringify(owners.map((owner) => owner.message)) !== JSON.stringify(summarized)) throw new Error("summarized messages could not be traced to their entries");
    const ids = owners.map((owner) => owner.id);
    const prefix = ids.slice(messagesToSummarize.length);

    const keptRows = rows.slice(keptAt);
    const omittedAttempt = keptRows.some(
      (row) => row.messages.length === 0 && row.sourceEntry.type === "message" && row.sourceEntry.message.role === "assistant",
    );
    return {
      ...common,
      nothing_to_do: false,
      tokens_before: preparation.tokensBefore,
      first_kept_entry_id: preparation.firstKeptEntryId,
      is_split_turn: preparation.isSplitTurn,
      turn_start_entry_id: prefix[0] ?? null,
      summarize: ids.slice(0, messagesToSummarize.length),
      turn_prefix: prefix,
      previous_summary: preparation.previousSummary ?? null,
      ...fileLists(preparation.fileOps),
      requests: await requestsOf(preparation, window),
      notes: {
        recovery: omittedAttempt && keptRows.every((row) => row.messages.length === 0),
        cutOnMetadata: keptRows[0]?.messages.length === 0,
      },
    };
  }

  /** The document of `agent-cli branch --dry-run`. */
  function piBranch(session, from, to, budget) {
    const { entries, commonAncestorId } = branches.collectEntriesForBranchSummary(session.tree, from, to);
    const prepared = branches.prepareBranchEntries(entries, budget);
    const unlimited = () => {
      try {
        return branches.prepareBranchEntries(entries, 0).messages.length;
      } catch {
        return prepared.messages.length; // pi throws on an entry that this budget did not reach
      }
    };
    return {
      from_id: from,
      common_ancestor: commonAncestorId,
      collected: entries.map((entry) => entry.id),
      tokens: prepared.totalTokens,
      conversation: serialize(prepared.messages),
      ...fileLists(prepared.fileOps),
      notes: { messages: prepared.messages.length, whole: unlimited() },
    };
  }

  return { openSession, piContext, piPlan, piBranch };
}

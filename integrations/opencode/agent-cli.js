// Recall for opencode 1.18.34. `agent-cli setup opencode` writes this file, and the name of the program next to it.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The exit code for "nothing to do"; the reason is on standard error. */
const NOTHING = 3;

function program() {
  if (process.env.AGENT_CLI) return process.env.AGENT_CLI;
  try {
    return JSON.parse(readFileSync(new URL("agent-cli.json", import.meta.url), "utf8")).program;
  } catch {
    return "agent-cli";
  }
}

function run(args, input = "") {
  return new Promise((resolve, reject) => {
    const child = execFile(program(), args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error && error.code !== NOTHING) reject(new Error(stderr.trim() || error.message));
      else resolve(stdout.trim() || stderr.trim());
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}

export const AgentCli = async ({ client }) => {
  /** Runs `work` on a file with the whole session, in the form of `opencode export`. */
  async function withSession(id, work) {
    const [info, messages] = await Promise.all([client.session.get({ path: { id } }), client.session.messages({ path: { id } })]);
    const folder = mkdtempSync(join(tmpdir(), "agent-cli-"));
    try {
      const file = join(folder, "session.json");
      writeFileSync(file, JSON.stringify({ info: info.data, messages: messages.data }), { mode: 0o600 });
      return await work(file);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  const recall = (id, options) => withSession(id, (file) => run(["recall", "--for-tools", ...options, "--", file]));

  /** What a compaction removed, by the id of its summary. */
  const facts = new Map();
  let isReported = false;

  async function factsOf({ id, sessionID }) {
    try {
      const input = (file) => JSON.stringify({ transcript_path: file, hook_event_name: "session.compacted" });
      const answer = await withSession(sessionID, (file) => run(["hook", "opencode"], input(file)));
      return JSON.parse(answer).hookSpecificOutput?.additionalContext ?? "";
    } catch (error) {
      if (!isReported) console.error(`agent-cli: ${error.message}`);
      isReported = true;
      return "";
    }
  }

  return {
    tool: {
      recall: {
        description:
          "Search the whole history of this session, also what a compaction removed from the context. Use it before you say that something is unknown or ask the user again. Each query has rare words, a quoted phrase or an id; without queries: an outline of what left.",
        args: { queries: { type: "array", items: { type: "string" } } },
        execute: ({ queries = [] }, { sessionID }) => recall(sessionID, [queries].flat().map((query) => `--query=${query}`)),
      },
      recall_read: {
        description: "Read entries that recall or a summary names: ID, ID@CHARACTER or ID..ID.",
        args: { ids: { type: "array", items: { type: "string" } } },
        execute: ({ ids }, { sessionID }) => recall(sessionID, [`--read=${ids}`]),
      },
    },
    // What is told stands behind the summary of each request, and is not stored.
    "experimental.chat.messages.transform": async (_input, { messages }) => {
      const summary = messages.findLast(({ info }) => info.role === "assistant" && info.summary === true && !info.error);
      const part = summary?.parts.findLast(({ type }) => type === "text");
      if (!part) return;
      const { id } = summary.info;
      if (!facts.has(id)) facts.set(id, await factsOf(summary.info));
      if (facts.get(id)) part.text += `\n\n${facts.get(id)}`;
    },
  };
};

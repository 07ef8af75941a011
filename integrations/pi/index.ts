// Compaction, recall and pins by agent-cli, for pi 1.6.0 and oh-my-pi 18.2.3. `agent-cli setup pi` (or omp) writes
// this file and the settings next to it: `program`, and `compact`, the arguments of every compaction.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** An entry as a session stores it, without `id`, `parentId` and `timestamp`. */
interface Draft {
  type: string;
  [member: string]: any;
}

const SETTINGS = readSettings();
const PROGRAM: string = process.env.AGENT_CLI || SETTINGS.program || "agent-cli";
const COMPACT: string[] = SETTINGS.compact ?? ["--strategy=extractive"];

/** The exit code for "nothing to do"; the reason is on standard error. */
const NOTHING = 3;

/** What stands behind each summary in the context. */
const NOTE =
  "What this summary leaves out is still in the session. Before you say that something is unknown, or ask the user again, search for it with `recall`: distinctive words, exact names, paths or error texts. Then read entries with `recall_read`.";

const text = { type: "string" };
const texts = { type: "array", items: text };
const count = { type: "integer", minimum: 0 };

/** Each tool is a command of agent-cli. */
const TOOLS = [
  {
    name: "recall",
    description:
      "Search the whole history of this session, also what a compaction removed from the context. Use it before you say that something is unknown or ask the user again. Each query has rare words, a quoted phrase or an id; without queries: an outline of what left.",
    properties: {
      queries: texts,
      regex: { type: "boolean" },
      scope: { type: "string", enum: ["session", "project", "all"] },
      kind: { type: "string", enum: ["user", "assistant", "call", "result", "error", "summary"] },
      file: text,
      since: text,
      before: text,
      limit: count,
      max_tokens: count,
    },
    required: [],
  },
  {
    name: "recall_read",
    description: "Read entries that recall or a summary names: ID, ID@CHARACTER or ID..ID.",
    properties: { ids: texts, around: count, max_tokens: count },
    required: ["ids"],
  },
];

/** What the command calls arguments that have another name. */
const OPTIONS: Record<string, string> = { ids: "read", queries: "query", max_tokens: "max-tokens" };

function readSettings(): { program?: string; compact?: string[] } {
  try {
    return JSON.parse(readFileSync(new URL("settings.json", import.meta.url), "utf8"));
  } catch {
    return {};
  }
}

function run(args: string[], cwd: string, signal?: AbortSignal): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd, signal, maxBuffer: 256 * 1024 * 1024 };
    execFile(PROGRAM, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr: (code === -1 ? error?.message : stderr) ?? "" });
    });
  });
}

/** Returns the arguments that name the session and the place in it. */
function session(ctx: ExtensionContext): { options: string[]; file: string } {
  const file = ctx.sessionManager.getSessionFile();
  if (!file) throw new Error("this session is not stored, so there is nothing to look up");
  const leaf = ctx.sessionManager.getLeafId();
  return { options: leaf ? [`--leaf=${leaf}`] : [], file };
}

function show(ctx: ExtensionContext, message: string, type: "info" | "warning" = "info") {
  if (ctx.hasUI) ctx.ui.notify(message, type);
  else console.error(message);
}

/** Runs a command for its text. */
async function answer(ctx: ExtensionContext, command: string[], positional: string[], signal?: AbortSignal): Promise<string> {
  const { options, file } = session(ctx);
  const ran = await run([...command, ...options, "--", file, ...positional], ctx.cwd, signal);
  if (ran.code !== 0 && ran.code !== NOTHING) throw new Error(ran.stderr.trim());
  return (ran.stdout.trim() || ran.stderr.trim()) as string;
}

export default async function (pi: ExtensionAPI) {
  const version = await run(["--version"], process.cwd());
  if (version.code !== 0) {
    pi.on("session_start", (_event, ctx) =>
      show(ctx, `agent-cli: ${version.stderr.trim()}; there is no recall, and compactions are not its own`, "warning"),
    );
    return;
  }

  let isReported = false;
  let restored: Draft[] = [];

  pi.on("session_before_compact", async (event, ctx) => {
    restored = [];
    try {
      const { options, file } = session(ctx);
      const args = ["compact", "--dry-run", "--json", ...options, ...COMPACT];
      const { keepRecentTokens, reserveTokens } = event.preparation.settings;
      for (const [name, tokens] of Object.entries({ keepRecentTokens, reserveTokens })) {
        if (tokens !== undefined) args.push(`--set=compaction.${name}=${tokens}`);
      }
      if (ctx.model?.contextWindow) args.push(`--window=${ctx.model.contextWindow}`);
      if (event.customInstructions) args.push(`--focus=${event.customInstructions}`);
      const ran = await run([...args, "--", file], ctx.cwd, event.signal);
      if (event.signal.aborted) return { cancel: true };
      if (ran.code !== 0) throw new Error(ran.stderr.trim());
      const drafts: Draft[] = JSON.parse(ran.stdout).drafts;
      const compaction = drafts.find((draft) => draft.type === "compaction");
      if (!compaction) throw new Error("agent-cli planned no compaction");
      restored = drafts.filter((draft) => draft.type === "custom_message");
      const { summary, shortSummary, firstKeptEntryId, tokensBefore, details } = compaction;
      return { compaction: { summary, shortSummary, firstKeptEntryId, tokensBefore, details } };
    } catch (error) {
      if (!isReported) show(ctx, `agent-cli did not compact: ${(error as Error).message}`, "warning");
      isReported = true;
    }
  });

  // Files and images that a compaction brings back stand behind its summary.
  pi.on("session_compact", () => {
    for (const { customType, content, display, details } of restored.splice(0)) {
      pi.sendMessage({ customType, content, display, details });
    }
  });

  pi.on("context", (event) => {
    const noted = (message: any) =>
      message.role === "compactionSummary" ? { ...message, summary: `${message.summary}\n\n${NOTE}` } : message;
    return { messages: event.messages.map(noted) };
  });

  for (const { properties, required, ...tool } of TOOLS) {
    const definition = {
      ...tool,
      label: tool.name,
      promptSnippet: tool.description,
      parameters: { type: "object", properties, required } as any,
      // What only oh-my-pi reads: the model sees the tool without asking for it, and it needs no approval.
      loadMode: "essential" as const,
      approval: "read" as const,
      async execute(_id: string, params: Record<string, unknown>, signal: AbortSignal | undefined, _update: unknown, ctx: ExtensionContext) {
        const named = Object.entries(params).filter(([, value]) => value != null && value !== false);
        const options = named.flatMap(([name, value]) => {
          const option = `--${OPTIONS[name] ?? name}`;
          return value === true ? [option] : [value].flat().map((each) => `${option}=${each}`);
        });
        const found = await answer(ctx, ["recall", "--for-tools", ...options], [], signal);
        return { content: [{ type: "text" as const, text: found }], details: undefined };
      },
    };
    pi.registerTool(definition);
  }

  const addCommand = (name: string, description: string, handler: (words: string, ctx: ExtensionContext) => Promise<string>) =>
    pi.registerCommand(name, {
      description,
      handler: async (words, ctx) => {
        await handler(words.trim(), ctx).then(
          (message) => show(ctx, message),
          (error) => show(ctx, error.message, "warning"),
        );
      },
    });

  /** Changes pins through the agent: it alone may write to a session that it has open. */
  async function pin(ctx: ExtensionContext, change: string[], behind: string[] = []): Promise<string> {
    const document = JSON.parse(await answer(ctx, ["pin", "--dry-run", "--json", ...change], behind));
    if (document.nothing_to_do) throw new Error(document.nothing_to_do);
    for (const draft of document.drafts as Draft[]) {
      if (draft.type === "custom") pi.appendEntry(draft.customType, draft.data);
      // oh-my-pi's own setLabel names the extension; both have this method.
      else if (draft.type === "label") (ctx.sessionManager as any).appendLabelChange(draft.targetId, draft.label);
    }
    return document.text;
  }

  addCommand("recall", "Search the whole session: /recall WORDS", (words, ctx) => answer(ctx, ["recall"], [words]));
  addCommand("loss", "Show what compactions removed", (_, ctx) => answer(ctx, ["loss"], []));
  addCommand("pin", "Keep a text or an entry through every compaction: /pin [TEXT | ENTRY-ID]", async (words, ctx) => {
    if (!words) return answer(ctx, ["pin", "--list"], []);
    const isEntry = ctx.sessionManager.getEntry(words) !== undefined;
    return `pinned: ${await (isEntry ? pin(ctx, [], [words]) : pin(ctx, [`--text=${words}`]))}`;
  });
  addCommand("unpin", "Remove a pin: /unpin ENTRY-ID", async (words, ctx) => `unpinned: ${await pin(ctx, [`--remove=${words}`])}`);
}

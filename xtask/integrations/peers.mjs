// The peers: what is written before they run, how they are told something, and how they compact.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { damageDocument, damageLines } from "./mend.mjs";
import { FILL } from "./model.mjs";

/** What the hook tells after a compaction: facts, ids and a call as an example. */
const FACTS = /\d+ entries le(?:ft|ave) the context in this compaction\.[^]*call the tool `[\w-]*recall`[^]*\{"queries":[^]*\[?[\w-]{8,}\]?\.?\n/;

const compat = { supportsDeveloperRole: false, supportsReasoningEffort: false, supportsStore: false };
const model = { id: "mock", name: "Mock", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 100000, maxTokens: 4000 };
const provider = (url) => ({ baseUrl: url, api: "openai-completions", apiKey: "none", compat, models: [model] });

/** Returns the only file of lines with an answer below a folder: gemini, resumed in another minute, begins one that gets none. */
export function linesBelow(folder) {
  const isLog = (file) => file.endsWith(".jsonl") && /:"(assistant|gemini)"/.test(readFileSync(join(folder, file), "utf8"));
  const files = readdirSync(folder, { recursive: true }).filter(isLog);
  if (files.length !== 1) throw new Error(`${folder} has ${files.length} files of lines`);
  return join(folder, files[0]);
}

/** A session of lines, in the only file below a folder, which is damaged and replaced where it is. */
const linesOf = (folder, isCall, isResult) => ({
  damaged(place) {
    const file = linesBelow(join(place.home, folder));
    writeFileSync(file, damageLines(readFileSync(file, "utf8"), isCall, isResult));
    return file;
  },
});

const family = (folder) => linesOf(folder, /"type":"toolCall"/, /"role":"toolResult"/);

/** Compacts in a run that takes commands as JSON lines, and checks whose compaction it was. */
async function compactByRpc(place, command, sessions, isOurs) {
  const answer = await place.dialogue([...command, "--mode", "rpc", "-c"], [{ type: "compact" }], ({ type, command }) => type === "response" && command === "compact");
  if (!answer?.success) throw new Error(`compact: ${JSON.stringify(answer)}`);
  const compaction = readFileSync(linesBelow(join(place.home, sessions)), "utf8").split("\n").findLast((line) => line.includes('"type":"compaction"'));
  if (compaction?.includes('"planHash"') !== isOurs) throw new Error(`whose compaction is this? ${compaction?.slice(0, 300)}`);
}

const pi = (place) => [place.node, place.installed("pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"), "--offline", "--model", "mock/mock"];

const omp = (place) => [place.installed(`omp/node_modules/@oven/bun-${process.platform}-${process.arch}/bin/bun`), place.installed("omp/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js"), "--model", "mock/mock", "--no-title", "--no-lsp"];
const codex = (place) => [place.installed("codex/node_modules/.bin/codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

const opencode = (place) => [place.installed(`opencode/node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`), "run", "-c", "--model", "mock/mock"];
const qwen = (place) => [place.node, place.installed("qwen/node_modules/@qwen-code/qwen-code/cli-entry.js"), "--yolo", "-c", "-p"];

const gemini = (place) => [place.node, place.installed("gemini/node_modules/@google/gemini-cli/bundle/gemini.js"), "--yolo", "--skip-trust", "--model", "mock"];

const cline = (place) => [place.installed(`cline/node_modules/@cline/cli-${process.platform}-${process.arch}/bin/cline`)];

const claude = (place) => [place.installed(`claude/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`), "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions", "-p"];

const said = (content) => ({ type: "user", session_id: "", parent_tool_use_id: null, message: { role: "user", content } });

export const PEERS = {
  claude: {
    prepare(place) {
      place.env = { ANTHROPIC_BASE_URL: place.url.replace(/\/v1$/, ""), ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", IS_SANDBOX: "1", CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" };
    },
    say: (place, text) => place.run([...claude(place), ...(place.began ? ["-c"] : []), text].concat(((place.began = true), []))),
    // By hand, and then by itself: each time the hook tells of the compaction that runs, not of the one before.
    async compact(place) {
      for (const text of ["/compact", FILL, "Go on again."]) await place.run([...claude(place), "-c", text]);
    },
    taught: FACTS,
    logs: ".claude/projects",
  },
  pi: {
    prepare(place) {
      place.write(".pi/agent/models.json", { providers: { mock: provider(place.url) } });
      place.write(".pi/agent/settings.json", { compaction: { keepRecentTokens: 100 } });
    },
    say: (place, text) => place.run([...pi(place), "-c", "-p", text]),
    compact: (place) => compactByRpc(place, pi(place), ".pi/agent/sessions", true),
    taught: /search for it with `recall`/,
    logs: ".pi/agent/sessions",
    session: family(".pi/agent/sessions"),
    resume: (place, file, _, text) => place.run([...pi(place), "--session", file, "-p", text]),
    // Without agent-cli it compacts by itself.
    async finish(place) {
      place.write(".pi/agent/extensions/agent-cli/settings.json", { program: "/nowhere/agent-cli" });
      for (const text of ["Go on.", "Go on again."]) await this.say(place, text);
      await compactByRpc(place, pi(place), ".pi/agent/sessions", false);
    },
  },
  omp: {
    prepare(place) {
      place.write(".omp/agent/models.yml", JSON.stringify({ providers: { mock: provider(place.url) } }));
      place.write(".omp/agent/config.yml", JSON.stringify({ compaction: { keepRecentTokens: 100 } }));
    },
    say: (place, text) => place.run([...omp(place), "-c", "-p", text]),
    compact: (place) => compactByRpc(place, omp(place), ".omp/agent/sessions", true),
    taught: /search for it with `recall`/,
    logs: ".omp/agent/sessions",
    session: family(".omp/agent/sessions"),
  },
  codex: {
    prepare(place) {
      const own = `name = "mock"\nbase_url = "${place.url}"\nwire_api = "responses"`;
      place.write(".codex/config.toml", `model = "mock"\nmodel_provider = "mock"\n\n[model_providers.mock]\n${own}\n`);
    },
    // As its own dialogue /hooks stores it, once the user agrees.
    async trust(place) {
      const lines = [{ id: 1, method: "initialize", params: { clientInfo: { name: "run", version: "1" } } }, { id: 2, method: "hooks/list", params: { cwds: [place.work] } }];
      const { result } = await place.dialogue([codex(place)[0], "app-server"], lines, ({ id }) => id);
      const [{ key, currentHash, trustStatus }] = result.data[0].hooks;
      if (trustStatus !== "untrusted") throw new Error(`the hook is ${trustStatus}`);
      appendFileSync(join(place.home, ".codex/config.toml"), `\n[hooks.state.${JSON.stringify(key)}]\ntrusted_hash = "${currentHash}"\n`);
    },
    say: (place, text) => place.run([...codex(place), "resume", "--last", text]),
    // The turn begins with a compaction, because the context is over the limit.
    compact: (place) => place.run([...codex(place), "-c", "model_auto_compact_token_limit=2000", "resume", "--last", "Go on at last."]),
    taught: FACTS,
    logs: ".codex/sessions",
    session: linesOf(".codex/sessions", /"response_item".*"type":"function_call"/, /"type":"function_call_output"/),
    resume(place, file, report, text) {
      place.write(join(".codex", report.place), readFileSync(file, "utf8"));
      return place.run([...codex(place), "resume", report.session_id, text]);
    },
  },
  qwen: {
    prepare(place) {
      place.env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: place.url, OPENAI_MODEL: "mock" };
      place.write(".qwen/settings.json", { security: { auth: { selectedType: "openai" } }, memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false } });
    },
    say: (place, text) => place.run([...qwen(place), text]),
    // One run: what its hook tells is not stored, and told again to a run that resumes.
    compact: (place) => place.dialogue([...qwen(place).slice(0, -1), "--input-format", "stream-json", "--output-format", "stream-json"], ["/compress", "Go on at last."].map(said), ({ type }) => type === "result"),
    taught: FACTS,
    logs: ".qwen/projects",
    session: linesOf(".qwen/projects", /"functionCall":/, /"functionResponse":/),
  },
  gemini: {
    prepare(place) {
      place.env = { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: place.url.replace(/\/v1$/, "") };
      // It compresses where a prompt begins with more than this share of a window of 1,048,576 tokens.
      place.write(".gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } }, model: { compressionThreshold: 0.0018 }, privacy: { usageStatisticsEnabled: false } });
    },
    say: (place, text) => place.run([...gemini(place), ...(place.began ? ["-r", "latest"] : []), "-p", text].concat(((place.began = true), []))),
    // The second prompt has compressed the answer to the first; the hook speaks before the third.
    compact(place) {
      return this.say(place, "Go on at last.");
    },
    taught: FACTS,
    logs: ".gemini/tmp",
    // It names no session to servers: the hook does, for which the context must not be compressed in the turn.
    follows: true,
    settle(place) {
      const file = join(place.home, ".gemini/settings.json");
      writeFileSync(file, readFileSync(file, "utf8").replace("0.0018", "0.9"));
    },
  },
  // Of these, sessions are read and no more.
  copilot: {
    prepare(place) {
      place.env = { COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false", COPILOT_PROVIDER_BASE_URL: place.url, COPILOT_MODEL: "mock" };
    },
    say: (place, text) => place.run([place.node, place.installed("copilot/node_modules/@github/copilot/npm-loader.js"), ...(text.startsWith("Go") ? ["--continue"] : []), "--allow-all-tools", "-p", text]),
    isReadOnly: true,
  },
  cline: {
    prepare: (place) => place.run([...cline(place), "auth", "-p", "openai-compatible", "-k", "none", "-m", "mock", "-b", place.url]),
    say: (place, text) => place.run([...cline(place), text]),
    isReadOnly: true,
  },
  opencode: {
    prepare(place) {
      const models = { mock: { name: "Mock", limit: { context: 100000, output: 4000 } } };
      const own = { npm: "@ai-sdk/openai-compatible", options: { baseURL: place.url, apiKey: "none" }, models };
      place.write(".config/opencode/opencode.json", { provider: { mock: own }, model: "mock/mock", autoupdate: false, compaction: { tail_turns: 1, preserve_recent_tokens: 500 } });
      place.env = { OPENCODE_DISABLE_MODELS_FETCH: "1" };
    },
    say: (place, text) => place.run([...opencode(place), text]),
    compact: (place) => place.run([...opencode(place), FILL]),
    taught: FACTS,
    session: {
      damage: ["cut off", "a result is gone", "written twice"],
      async damaged(place) {
        const printed = async (...args) => {
          const text = await place.run([opencode(place)[0], ...args]);
          return text.slice(text.search(/^[[{]/m), text.search(/[\]}]\s*$/) + 1);
        };
        const [{ id }] = JSON.parse(await printed("session", "list", "--format", "json"));
        place.write("export.json", damageDocument(await printed("export", id)));
        return join(place.home, "export.json");
      },
      // Another machine, where the session is not.
      async restored(place, file) {
        place.env.XDG_DATA_HOME = join(place.home, "other");
        await place.run([opencode(place)[0], "import", file]);
      },
    },
    async resume(place, file, report, text) {
      await place.run([opencode(place)[0], "import", file]);
      await place.run([opencode(place)[0], "run", "--session", report.session_id, "--model", "mock/mock", text]);
    },
  },
};

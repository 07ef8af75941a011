// The peers: what is written before they run, how they are told something, and how they compact.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FILL } from "./model.mjs";

const compat = { supportsDeveloperRole: false, supportsReasoningEffort: false, supportsStore: false };
const model = { id: "mock", name: "Mock", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 100000, maxTokens: 4000 };
const provider = (url) => ({ baseUrl: url, api: "openai-completions", apiKey: "none", compat, models: [model] });

/** Returns the text of the only file with this end below a folder. */
function textBelow(folder, end) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(end));
  if (files.length !== 1) throw new Error(`${folder} has ${files.length} files *${end}`);
  return readFileSync(join(folder, files[0]), "utf8");
}

/** Compacts in a run that takes commands as JSON lines, and checks whose compaction it was. */
async function compactByRpc(place, command, sessions, isOurs) {
  const answer = await place.dialogue([...command, "--mode", "rpc", "-c"], { type: "compact" }, ({ type, command }) => type === "response" && command === "compact");
  if (!answer?.success) throw new Error(`compact: ${JSON.stringify(answer)}`);
  const compaction = textBelow(join(place.home, sessions), ".jsonl").split("\n").findLast((line) => line.includes('"type":"compaction"'));
  if (compaction?.includes('"planHash"') !== isOurs) throw new Error(`whose compaction is this? ${compaction?.slice(0, 300)}`);
}

const pi = (place) => [place.node, place.installed("pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"), "--offline", "--model", "mock/mock"];

const omp = (place) => [place.installed(`omp/node_modules/@oven/bun-${process.platform}-${process.arch}/bin/bun`), place.installed("omp/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js"), "--model", "mock/mock", "--no-title", "--no-lsp"];
const codex = (place) => [place.installed("codex/node_modules/.bin/codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

const opencode = (place) => [place.installed(`opencode/node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`), "run", "-c", "--model", "mock/mock"];
const qwen = (place) => [place.node, place.installed("qwen/node_modules/@qwen-code/qwen-code/cli-entry.js"), "--yolo", "-c", "-p"];

export const PEERS = {
  pi: {
    prepare(place) {
      place.write(".pi/agent/models.json", { providers: { mock: provider(place.url) } });
      place.write(".pi/agent/settings.json", { compaction: { keepRecentTokens: 100 } });
    },
    say: (place, text) => place.run([...pi(place), "-c", "-p", text]),
    compact: (place) => compactByRpc(place, pi(place), ".pi/agent/sessions", true),
    taught: "search for it with `recall`",
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
    taught: "search for it with `recall`",
  },
  codex: {
    prepare(place) {
      const own = `name = "mock"\nbase_url = "${place.url}"\nwire_api = "responses"`;
      place.write(".codex/config.toml", `model = "mock"\nmodel_provider = "mock"\n\n[model_providers.mock]\n${own}\n`);
    },
    say: (place, text) => place.run([...codex(place), "resume", "--last", text]),
    // The turn begins with a compaction, because the context is over the limit.
    compact: (place) => place.run([...codex(place), "-c", "model_auto_compact_token_limit=2000", "resume", "--last", "Go on at last."]),
  },
  qwen: {
    prepare(place) {
      place.env = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: place.url, OPENAI_MODEL: "mock" };
      place.write(".qwen/settings.json", { security: { auth: { selectedType: "openai" } }, memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false } });
    },
    say: (place, text) => place.run([...qwen(place), text]),
    compact: (place) => place.run([...qwen(place), "/compress"]),
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
    taught: "left the context in this compaction",
  },
};

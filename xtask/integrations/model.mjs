// A model on loopback that answers Chat Completions, Responses, Messages and Gemini. It answers from the request alone, so every
// peer gets the same story: a long answer with a fact in its middle, short answers, and a call of recall.
import { createServer } from "node:http";

/** What the model tells once, and what is asked for after a compaction took it out of the context. */
export const FACT = "the spare key hangs below the blue walrus";
export const INVENTORY = "Read the inventory aloud. Never sail without a lamp.";
export const QUESTION = "Find the spare key.";
/** What is asked next to a busy session, and how often recall is called for it. */
export const CROWDED = "Find the spare key ten times.";
export const CALLS = 10;
/** What is answered as if it filled the context. */
export const FILL = "Fill the context.";

const WORDS = ["crate", "rope", "lamp", "barrel", "sail", "anchor", "bucket", "ladder"];
const line = (n) => `Item ${n}: ${WORDS[n % 8]} ${WORDS[(n * 3 + 1) % 8]}, place ${n * 7}`;
const LONG = Array.from({ length: 300 }, (_, n) => (n === 137 ? `Item 137: ${FACT}` : line(n))).join("\n");
const SHORT = `Work goes on.\n${Array.from({ length: 20 }, (_, n) => line(n + 500)).join("\n")}`;

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? textOf(part.content ?? "")).join("\n");

/** Returns a turn of Gemini's protocol. */
function ofGemini({ role, parts }) {
  const [calls, results] = ["functionCall", "functionResponse"].map((kind) => parts.map((part) => part[kind]).filter(Boolean));
  const text = parts.map((part) => part.text ?? JSON.stringify(part.functionResponse?.response ?? "")).join("\n");
  return { role: results.length > 0 ? "tool" : role === "model" ? "assistant" : "user", text, calls: calls.map(({ id }) => id), result: results[0]?.id };
}

/** Returns a request as `{ tools, turns }`; a turn is `{ role, text, calls, result }`, with the role `tool` for a result. */
function read({ messages, input, contents, tools = [] }) {
  const names = tools.flatMap((tool) => (tool.functionDeclarations ?? tool.tools ?? [tool]).map((each) => [tool.type === "namespace" ? tool.name : undefined, each.function?.name ?? each.name, JSON.stringify(each).length]));
  if (contents) return { tools: names, turns: contents.map(ofGemini) };
  const turns = (messages ?? (typeof input === "string" ? [{ role: "user", content: input }] : input)).map((item) => {
    const isResult = item.role === "tool" || item.type?.endsWith("_output") || (Array.isArray(item.content) && item.content.some(({ type }) => type === "tool_result"));
    const calls = item.type === "function_call" ? [item.call_id] : (item.tool_calls ?? []).map(({ id }) => id);
    const result = isResult ? (item.call_id ?? item.tool_call_id) : undefined;
    return { role: isResult ? "tool" : (item.role ?? "other"), text: textOf(isResult && item.output ? item.output : item.content), calls, result };
  });
  return { tools: names, turns };
}

/** Returns the results since the crowded question was asked, if it was. */
export function crowdedResults(turns) {
  const asked = turns.findLastIndex(({ role, text }) => role === "user" && text.includes(CROWDED));
  return asked < 0 ? undefined : turns.slice(asked).filter(({ role }) => role === "tool");
}

function answerTo({ tools, turns }, follows) {
  const last = turns.at(-1);
  const asked = turns.findLast(({ role }) => role === "user")?.text ?? "";
  const recall = tools.find(([, name]) => /(^|_)recall$/.test(name));
  const results = crowdedResults(turns)?.length ?? 0;
  // Agents stop a model that repeats one call.
  const queries = [`spare key walrus${" again".repeat(results)}`];
  const session = follows ? turns.map(({ text }) => text.match(/"session":"([\w-]+)"/)?.[1]).find(Boolean) : undefined;
  const call = { call: recall, arguments: { queries, session } };
  if (recall && crowdedResults(turns) && results < CALLS) return call;
  if (last.role === "tool") return { text: "Found." };
  if (asked.includes(QUESTION) && recall) return call;
  if (asked.includes("<state_snapshot>")) return { text: `<state_snapshot>${SHORT}</state_snapshot>` };
  const isFirst = turns.every(({ role }) => role !== "assistant");
  return { text: asked.includes(INVENTORY) && isFirst && tools.length > 0 ? LONG : SHORT };
}

const WIRES = {
  "/chat/completions": ({ text, call, arguments: given }, tokens, id) => {
    const delta = call
      ? { tool_calls: [{ index: 0, id, type: "function", function: { name: call[1], arguments: JSON.stringify(given) } }] }
      : { content: text };
    const chunk = (choices, more) => ({ id: "c1", object: "chat.completion.chunk", created: 1, model: "mock", choices, ...more });
    const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
    return [
      [null, chunk([{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }])],
      [null, chunk([{ index: 0, delta: {}, finish_reason: call ? "tool_calls" : "stop" }])],
      [null, chunk([], { usage })],
      [null, "[DONE]"],
    ];
  },
  "/messages": ({ text, call, arguments: given }, tokens, id) => {
    const block = call ? { type: "tool_use", id: `toolu_${id}`, name: call[1], input: {} } : { type: "text", text: "" };
    const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(given) } : { type: "text_delta", text };
    const usage = { input_tokens: tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
    return [
      { type: "message_start", message: { id: `msg_${id}`, type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [], stop_reason: null, stop_sequence: null, usage } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 20 } },
      { type: "message_stop" },
    ].map((event) => [event.type, event]);
  },
  ":streamGenerateContent": ({ text, call, arguments: args }, tokens, id) => {
    const part = call ? { functionCall: { id, name: call[1], args } } : { text };
    const usageMetadata = { promptTokenCount: tokens, candidatesTokenCount: 20, totalTokenCount: tokens + 20 };
    return [[null, { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata }]];
  },
  "/responses": ({ text, call, arguments: given }, tokens, id) => {
    const item = call
      ? { type: "function_call", id: `fc_${id}`, call_id: id, ...(call[0] && { namespace: call[0] }), name: call[1], arguments: JSON.stringify(given), status: "completed" }
      : { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
    const usage = { input_tokens: tokens, input_tokens_details: { cached_tokens: 0 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: tokens + 20 };
    const response = { id: "r1", object: "response", created_at: 1, model: "mock", status: "completed", output: [item], usage };
    return [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ].map((event) => [event.type, event]);
  },
};

/** Starts the model; `requests` holds the body of each request, in order. `before` is called before an answer. A model that
 * `follows` names the session as the hook's example does. */
export async function startModel() {
  const requests = [];
  const model = { requests, before: () => {} };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const url = request.url.split("?")[0].replace(":generateContent", ":streamGenerateContent");
      const wire = Object.keys(WIRES).find((path) => url.endsWith(path));
      if (!wire || request.method !== "POST") return response.writeHead(404).end(`{"error":{"message":"no ${request.url} here"}}`);
      const bytes = Buffer.concat(chunks).toString();
      const body = JSON.parse(bytes);
      const told = read(body);
      requests.push({ ...told, bytes });
      model.before(told);
      const tokens = told.turns.at(-1)?.text.includes(FILL) && told.tools.length > 0 ? 99_000 : Math.ceil(bytes.length / 4);
      const events = WIRES[wire](answerTo(told, model.follows), tokens, `call_${requests.length}`);
      if (process.env.MODEL_LOG) console.error(wire, JSON.stringify(told.turns.map(({ role, text }) => `${role}: ${text.slice(0, 60)}`)), JSON.stringify(told.tools.map(([, name]) => name)));
      if (request.url.includes(":generateContent")) return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(events[0][1]));
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const [name, data] of events) {
        if (name) response.write(`event: ${name}\n`);
        response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
      }
      response.end();
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return Object.assign(model, { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() });
}

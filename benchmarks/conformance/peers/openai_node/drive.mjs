// The openai SDK for Node, with the loop that its documentation shows: no row of the table, since it has no loop of
// its own, but a client that has to work behind the proxy.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages stand in the environment that the runner made, not beside this file.
const require = createRequire(`${process.env.CONFORMANCE_MODULES}/package.json`);
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);

const PROMPT = "Prepare the harbour report with the tools that you have.";
const MOST_STEPS = 8;
const say = (kind, what) => writeSync(1, `${JSON.stringify({ [kind]: what })}\n`);
console.log = console.error;

const text = { type: "string" };
const made = (name, description, properties) => ({
  type: "function",
  function: { name, description, parameters: { type: "object", properties, required: Object.keys(properties) } },
});
const tools = [
  made("tide_at", "When the tide is high at a port.", { port: text }),
  made("clock", "The time at the harbour.", {}),
  made("log_entry", "Write an entry into the harbour log.", { title: text, text }),
  made("berth_plan", "Plan the berths.", {
    ships: { type: "array", items: text },
    limits: { type: "object", additionalProperties: { type: "integer" } },
  }),
];

async function ask({ base_url: baseURL, stream }) {
  const client = new OpenAI({ baseURL, apiKey: "sk-conformance" });
  const messages = [{ role: "user", content: PROMPT }];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const wanted = { model: "test-model", messages, tools };
    const reply = stream
      ? await client.chat.completions.stream(wanted).finalMessage()
      : (await client.chat.completions.create(wanted)).choices[0].message;
    messages.push(reply);
    if (!reply.tool_calls?.length) return reply.content;
    for (const call of reply.tool_calls) {
      const input = JSON.parse(call.function.arguments);
      say("ran", { tool: call.function.name, arguments: input });
      const content = JSON.stringify({ done: call.function.name });
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
  throw new Error(`no answer after ${MOST_STEPS} steps`);
}

say("ready", {});
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say("done", { text: String(await ask(JSON.parse(line))) });
  } catch (error) {
    say("done", { error: { kind: error?.constructor?.name ?? typeof error, message: String(error?.message ?? error).slice(0, 400) } });
  }
}

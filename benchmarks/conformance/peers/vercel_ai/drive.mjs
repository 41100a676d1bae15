// The Vercel AI SDK: generateText and streamText with stepCountIs, over @ai-sdk/openai-compatible.
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages stand in the environment that the runner made, not beside this file.
const require = createRequire(`${process.env.CONFORMANCE_MODULES}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, streamText, stepCountIs, tool } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

const PROMPT = "Prepare the harbour report with the tools that you have.";
const MOST_STEPS = 8;
const say = (kind, what) => writeSync(1, `${JSON.stringify({ [kind]: what })}\n`);
console.log = console.error;

const made = (name, description, inputSchema) =>
  tool({
    description,
    inputSchema,
    execute: async (input) => {
      say("ran", { tool: name, arguments: input });
      return { done: name };
    },
  });
const settled = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const tools = {
  tide_at: made("tide_at", "When the tide is high at a port.", z.object({ port: z.string() })),
  clock: made("clock", "The time at the harbour.", z.object({})),
  log_entry: made(
    "log_entry",
    "Write an entry into the harbour log.",
    z.object({ title: z.string(), text: z.string() }),
  ),
  berth_plan: made(
    "berth_plan",
    "Plan the berths.",
    z.object({ ships: z.array(z.string()), limits: z.record(z.string(), z.number()) }),
  ),
};

async function ask({ base_url: baseURL, stream }) {
  const provider = createOpenAICompatible({ name: "conformance", baseURL, apiKey: "sk-conformance" });
  const settings = { model: provider("test-model"), tools, prompt: PROMPT, stopWhen: stepCountIs(MOST_STEPS) };
  if (!stream) return (await generateText(settings)).text;
  const result = streamText({ ...settings, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
  }
  return await result.text;
}

say("ready", {});
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say("done", { text: String(await ask(JSON.parse(line))) });
  } catch (error) {
    await settled(100); // a tool may still be started after the error was reported
    const kind = error?.constructor?.name ?? typeof error;
    say("done", { error: { kind: error?.name && error.name !== "Error" ? error.name : kind, message: String(error?.message ?? JSON.stringify(error)).slice(0, 400) } });
  }
}

// Runs of one Node process, given the base URLs of a server and of one that is down; prints how they ended.

import { Core, ToolError, fetchAndRun } from "toolreel-host";

const [python, baseUrl, downUrl] = process.argv.slice(2);
const plan = (prompt, config = {}, tool = {}) => ({
  type: "plan",
  model: "m",
  messages: [{ type: "user_message", content: prompt }],
  tools: {
    type: "tool_surface",
    definitions: [{ type: "tool_definition", name: "stock", description: "Parts in stock.", parameters: "{}", ...tool }],
  },
  config: { type: "loop_config", ...config },
});

const approvals = [];
const world = {
  baseUrl,
  apiKey: "key-of-the-host",
  tools: {
    stock: async ({ part }) => {
      if (part === "bolt") throw new ToolError("no bolts", "NOT_FOUND");
      if (part === "nut") throw new RangeError("password 1234");
      return part;
    },
  },
  approve: async (call) => {
    approvals.push(call.arguments);
    return "not today";
  },
};

const core = new Core([python, "-m", "toolreel_core"]);
const ends = async (runPlan, options = {}, ports = world) => {
  const run = core.run(runPlan, fetchAndRun(ports), options);
  const outcome = await run.outcome;
  await run.close();
  return outcome;
};

const many = await Promise.all(
  Array.from({ length: 100 }, (_, n) => ends(plan(`part ${n}`), { journal: `${n}.journal.jsonl` })),
);

let shown = "";
const streamed = await ends(plan("stream part 7", { stream: "always" }), {
  journal: "streamed.journal.jsonl",
  onDelta: (delta) => (shown += delta.kind === "content" ? delta.text : ""),
});
const echoed = await ends(plan("echo"), { journal: "echoed.journal.jsonl" });

const conversation = core.run(plan("part 1"), fetchAndRun(world), { journal: "conversation.journal.jsonl" });
const exchanges = [await conversation.outcome, await conversation.say("part 2")];
await conversation.close();

const stopped = core.run(plan("silence"), fetchAndRun(world), { journal: "stopped.journal.jsonl" });
stopped.cancel("the user left");

console.log(
  JSON.stringify({
    many: many.map((outcome) => outcome.content),
    streamed: streamed.content,
    shown,
    echoed: echoed.content,
    exchanges: exchanges.map((outcome) => outcome.content),
    stopped: (await stopped.outcome).type,
    denied: (await ends(plan("part 3", {}, { needs_approval: true }))).content,
    approvals,
    told: (await ends(plan("part bolt"))).content,
    crashed: (await ends(plan("part nut"))).content,
    late: (await ends(plan("silence", { max_tries: 1 }), {}, { ...world, timeoutMs: 50 })).failure,
    large: (await ends(plan("part 4", { max_tries: 1 }), {}, { ...world, maxBytes: 9 })).failure,
    down: (await ends(plan("part 5", { max_tries: 1 }), {}, { ...world, baseUrl: downUrl })).failure,
    mistake: await ends(plan(7)).catch((error) => error.field),
  }),
);
core.close();

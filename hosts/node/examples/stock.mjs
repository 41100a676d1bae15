// A host with one tool: node examples/stock.mjs PLAN.json BASE_URL JOURNAL. The key is in the environment variable API_KEY.

import { readFileSync } from "node:fs";
import { Core, ToolError, fetchAndRun } from "toolreel-host";

const [planPath, baseUrl, journal] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planPath, "utf8"));

const parts = new Map([["pin", 4], ["shim", 0]]);

const perform = fetchAndRun({
  baseUrl,
  apiKey: process.env.API_KEY,
  tools: {
    async stock({ part }) {
      if (!parts.has(part)) throw new ToolError("no such part", "NOT_FOUND");
      return parts.get(part);
    },
  },
  approve: async (call) => `nobody is there to approve ${call.name}`,
});

const core = new Core([process.env.TOOLREEL_CORE ?? "python3", "-m", "toolreel_core"]);
const run = core.run(plan, perform, { journal });
console.log(JSON.stringify(await run.outcome));
await run.close();
core.close();

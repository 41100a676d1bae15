// The same client with and without the proxy, and from its recordings, in front of a model that writes its calls as text.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";

import { ask } from "./agent.mjs";

// As small models do: the call is in the text, and its JSON has a comma too many.
const CALL = '<tool_call>{"name": "stock", "arguments": {"part": "pin",}}</tool_call>';

/** A model's server: it calls the tool as text, and answers when it has the result. */
async function serveModel() {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const last = JSON.parse(text).messages.at(-1);
    const content = last.role === "tool" ? `There are ${last.content}.` : CALL;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ finish_reason: "stop", message: { role: "assistant", content } }] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

/** Run something with a `toolreel proxy` in front; it stops, and writes what it recorded, at the end. */
async function withProxy(options, work) {
  const proxy = spawn("toolreel", ["proxy", "--port", "0", "--quiet", ...options], {
    env: { ...process.env, NO_PROXY: "127.0.0.1" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    for await (const line of createInterface(proxy.stderr)) {
      if (line.startsWith("Base URL")) return await work(line.split(" ").at(-1));
    }
    assert.fail("the proxy did not start");
  } finally {
    if (proxy.exitCode === null && proxy.kill("SIGINT")) await once(proxy, "exit");
  }
}

test("the proxy repairs, records and replays", async () => {
  const recordings = await mkdtemp(join(tmpdir(), "recordings-"));
  const model = await serveModel();
  const upstream = `http://127.0.0.1:${model.address().port}`;
  const repaired = { answer: "There are 4.", calls: ["stock(pin)"] };
  try {
    // Without the proxy, the client takes the call for the answer.
    assert.deepEqual(await ask("How many pins?", `${upstream}/v1`), { answer: CALL, calls: [] });

    const live = ["--upstream", upstream, "--record", recordings];
    assert.deepEqual(await withProxy(live, (url) => ask("How many pins?", url)), repaired);
  } finally {
    model.close();
  }
  // The model is gone: the recordings answer, and what they don't have is an error.
  await withProxy(["--replay", recordings], async (url) => {
    assert.deepEqual(await ask("How many pins?", url), repaired);
    await assert.rejects(ask("How many shims?", url), /422/);
  });
  await rm(recordings, { recursive: true });
});

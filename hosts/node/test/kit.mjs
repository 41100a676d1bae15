// Plays conversations of the conformance kit with this host: node test/kit.mjs FILE...; a report in TAP.
// The kit performs the effects; the runs are the host's own, and every line that they write has to be the kit's.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Core } from "toolreel-host";

/** A core that takes only the lines of a conversation, in their order. */
class KitCore extends Core {
  wanted = [];
  busy = 0;
  failure;

  async send(line) {
    this.busy += 1;
    const [text, answer] = this.wanted.shift() ?? ["{}", {}];
    try {
      if (text !== line) assert.deepEqual(JSON.parse(line), JSON.parse(text));
      const got = await super.send(line);
      assert.deepEqual(got, answer);
      return got;
    } catch (error) {
      if (!answer.error || error.message !== answer.error.message) this.failure ??= error;
      throw error;
    } finally {
      this.busy -= 1;
    }
  }

  /** Resolves when the line has been sent, and all that follows from its answer has begun. */
  async quiet() {
    while (this.wanted.length || this.busy) await nextTurn();
    await nextTurn();
    if (this.failure) throw this.failure;
  }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const ignored = () => {};

async function play(core, path, folder) {
  const lines = readFileSync(path, "utf8").split("\n");
  const runs = new Map(), waiting = new Map();
  for (const [at, line] of lines.entries()) {
    if (line.startsWith("= ")) {
      const [, name, digest] = /^= (.*) (\S+)$/.exec(line);
      if (runs.has(name)) assert.equal(createHash("sha256").update(readFileSync(join(folder, name))).digest("hex"), digest);
    }
    if (!line.startsWith("> ")) continue;
    const text = line.slice(2), answer = JSON.parse(lines[at + 1].slice(2));
    core.wanted.push([text, answer]);
    const { run: name, start, event, close } = answer.error ? {} : JSON.parse(text);
    const run = runs.get(name), effect = waiting.get(`${name} ${event?.ref}`);
    if (name && start) {
      const perform = (effect, { signal, chunk }) =>
        new Promise((resolve) => {
          const key = `${name} ${effect.ref}`;
          waiting.set(key, { resolve, chunk });
          signal.addEventListener("abort", () => waiting.delete(key));
        });
      runs.set(name, core.run(start, perform, { name, journal: join(folder, name), onDelta: ignored }));
      runs.get(name).outcome.catch(ignored); // the core has kept why
    } else if (run && close) {
      run.close();
    } else if (run && event?.type === "user_spoke") {
      run.say(event.content);
    } else if (run && event?.type === "cancel_requested") {
      run.cancel(event.reason);
    } else if (effect && event.type === "http_chunk") {
      effect.chunk(event.text);
    } else if (effect) {
      effect.resolve(event);
    } else {
      core.send(text).catch(ignored); // no run of this host writes such a line
    }
    await core.quiet();
  }
}

const paths = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "kit-"));
const started = () => new KitCore([process.env.TOOLREEL_CORE ?? "python3", "-m", "toolreel_core"]);
let core = started();
console.log(`1..${paths.length}`);
for (const [at, path] of paths.entries()) {
  try {
    await play(core, path, folder);
    console.log(`ok ${at + 1} - ${basename(path, ".txt")}`);
  } catch (error) {
    console.log(`not ok ${at + 1} - ${basename(path, ".txt")}\n# ${error.message.replaceAll("\n", "\n# ")}`);
    process.exitCode = 1;
    core.close();
    core = started();
  }
}
core.close();
rmSync(folder, { recursive: true });

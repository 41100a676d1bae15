/** Drives toolreel's loop from Node. The core decides; this host sends its requests and runs its tools. */

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** A plan in its stored form, as `python -m toolreel_core --schema` describes it. */
export interface Plan {
  type: "plan";
  model: string;
  messages: object[];
  config?: { max_wall_ms?: number; [key: string]: unknown };
  [key: string]: unknown;
}

type HttpHeaders = Record<string, string>;
type HttpRequest = {
  method: string; path: string; headers: HttpHeaders; key_header: string; body: string; streamed: boolean;
};
/** `endpoint` is the fallback of the plan that it goes to, by name; empty for the plan's own. */
export type SendRequest = { type: "send_request"; ref: number; request: HttpRequest; endpoint: string };
/** `arguments` is a JSON object as text, which also has the integers that a `number` cannot hold. */
type Call = { ref: number; call_id: string; name: string; arguments: string };
/** `key` is the same whenever this call is performed again. */
export type RunTool = Call & { type: "run_tool"; key: string; turn: number };
export type AskApproval = Call & { type: "ask_approval" };
export type Effect = SendRequest | RunTool | AskApproval | { type: "wait"; ref: number; ms: number };

/** What came of an effect. */
export type Event = { ref: number } & (
  | { type: "http_response"; status: number; headers: HttpHeaders; body: string }
  | { type: "request_failed"; failure: "connect" | "timeout" | "broken" | "too_large"; message: string }
  | { type: "tool_returned"; output: string }
  | { type: "approval_given"; approved: boolean; reason?: string }
  | { type: "wait_elapsed" }
);

/** How a run ended: `completed` with its `content`, or another `type`. */
export type Outcome = { type: string; content?: string; [key: string]: unknown };
export type Note = { type: string; [key: string]: unknown };
export type Delta = { kind: string; text: string; [key: string]: unknown };
export interface Answer {
  effects: (Effect | { type: "finish" })[];
  notes: Note[];
  outcome: Outcome | null;
  journal?: string[];
  deltas?: Delta[];
  done?: boolean;
}

/** The core rejected a line of this host; `field` is the place in the line. */
export class CoreError extends Error {
  constructor(readonly field: string, message: string) {
    super(message);
  }
}

/** The core in a process of its own, which serves many runs at once. */
export class Core {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  #gone: Error | undefined;
  #runs = 0;

  constructor([program, ...args]: [string, ...string[]] = ["python3", "-m", "toolreel_core"]) {
    this.#process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const end = (why: string) => {
      this.#gone ??= new Error(`${[program, ...args].join(" ")}: ${why}`);
      for (const { reject } of this.#waiting.splice(0)) reject(this.#gone);
    };
    this.#process.on("error", (error) => end(error.message));
    this.#process.on("close", (code, signal) => end(`ended with ${signal ?? code}`));
    this.#process.stdin.on("error", (error) => end(error.message));
    let unfinished = "";
    // Not node:readline, which ends lines at U+2028 too; JSON has that character in texts.
    this.#process.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = text.split("\n");
      lines[0] = unfinished + lines[0];
      unfinished = lines.pop()!;
      for (const line of lines) this.#answered(line);
    });
  }

  #answered(line: string) {
    const answer = JSON.parse(line), { error } = answer;
    const { resolve, reject } = this.#waiting.shift()!; // each line has one answer, in the order of the lines
    error ? reject(new CoreError(error.field, error.message)) : resolve(answer);
  }

  /** Send one line; its answer. */
  send(line: string): Promise<Answer> {
    if (this.#gone) return Promise.reject(this.#gone);
    this.#process.stdin.write(`${line}\n`);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Begin a run; `await run.outcome` is its end. */
  run(plan: Plan, perform: Perform, options: RunOptions = {}): Run {
    return new Run(this, plan, perform, { name: `run ${(this.#runs += 1)}`, ...options });
  }

  /** End the process; runs that have not ended are rejected. */
  close() {
    this.#process.stdin.end();
  }
}

/** Performs one effect; `fetchAndRun` makes one that does so for real. */
export type Perform = (effect: Effect, here: Here) => Promise<Event>;
export interface Here {
  /** Aborted when the run ends: nobody waits for the effect any more. */
  signal: AbortSignal;
  /** Passes on a piece of a streamed response; resolves to whether the rest can be left unread. */
  chunk?: (text: string) => Promise<boolean>;
}
export interface RunOptions {
  name?: string;
  /** Path of a new file, NAME.journal.jsonl, which `toolreel replay` can prove. */
  journal?: string;
  onNote?(note: Note): void;
  /** Gets what can be shown of a streamed reply, as it arrives. */
  onDelta?(delta: Delta): void;
}

/** A run: each new effect is performed at once, and its event is sent to the core. */
export class Run {
  /** Resolves when nothing is left to do. */
  readonly outcome: Promise<Outcome | null>;
  readonly #began = performance.now();
  readonly #journal: number | undefined;
  #ended: Outcome | null = null;
  #abort = new AbortController();

  constructor(readonly core: Core, readonly plan: Plan, readonly perform: Perform, readonly options: RunOptions) {
    if (options.journal) this.#journal = openSync(options.journal, "wx");
    this.outcome = this.#go({ start: plan });
  }

  /** The user says something: the next exchange of a run that has ended, else part of its next request. */
  say(content: string): Promise<Outcome | null> {
    return this.#go({ event: this.#timed({ type: "user_spoke", content }) });
  }

  cancel(reason = ""): Promise<Outcome | null> {
    return this.#go({ event: { type: "cancel_requested", reason } });
  }

  /** Drop the run from the core. */
  async close() {
    if (this.#journal !== undefined) closeSync(this.#journal);
    await this.core.send(JSON.stringify({ toolreel: 1, run: this.options.name, close: true }));
  }

  async #go(message: object): Promise<Outcome | null> {
    await this.#step(message).catch((error) => {
      this.#abort.abort();
      throw error;
    });
    return this.#ended;
  }

  /** Send a message, perform what its answer asks for, and so on until nothing is left. */
  async #step(message: object): Promise<void> {
    const { answer, signal } = await this.#send(message);
    const perform = async (effect: Effect) => {
      const chunk = async (text: string) => {
        const { deltas, done } = (await this.#send({ event: { type: "http_chunk", ref: effect.ref, text } })).answer;
        for (const delta of deltas ?? []) this.options.onDelta?.(delta);
        return done === true;
      };
      const event = await this.perform(effect, { signal, ...(this.options.onDelta && { chunk }) }).catch((error) => {
        if (!signal.aborted) throw error;
      });
      // What came too late would change nothing.
      if (event && !signal.aborted) await this.#step({ event: this.#timed(event) });
    };
    if (!signal.aborted) await Promise.all(answer.effects.map((effect) => effect.type !== "finish" && perform(effect)));
  }

  /** The answer, and the signal that nobody waits any more for its effects. */
  async #send(message: object): Promise<{ answer: Answer; signal: AbortSignal }> {
    const about = { toolreel: 1, run: this.options.name, ...(this.#journal !== undefined && { with: ["journal"] }) };
    const answer = await this.core.send(JSON.stringify({ ...about, ...message }));
    // Written before an effect of this answer is performed, so that nothing happens that has no record.
    for (const line of answer.journal ?? []) writeSync(this.#journal!, `${line}\n`);
    for (const note of answer.notes) this.options.onNote?.(note);
    this.#ended = answer.outcome;
    const { signal } = this.#abort; // taken here, since the next answer may end the run before this one is followed
    if (answer.outcome) {
      this.#abort.abort();
      this.#abort = new AbortController();
    }
    return { answer, signal };
  }

  /** The time is part of an event only if the plan limits it; else two equal runs have equal journals. */
  #timed<T extends object>(event: T): T {
    if (!this.plan.config?.max_wall_ms) return event;
    return { at_ms: Math.round(performance.now() - this.#began), ...event };
  }
}

/** `baseUrl` usually ends in `/v1`. `apiKey` never goes to the core, and is masked where a server repeats it. */
export type Endpoint = { baseUrl: string; apiKey?: string | undefined };
/** Gets the parsed arguments; returns a value of JSON, or a promise of one. */
export type Tool = (args: any, call: RunTool & { signal: AbortSignal }) => unknown;
export interface World extends Endpoint {
  tools?: Record<string, Tool>;
  /** Decides about a tool that needs approval: `true`, `false`, or why not. */
  approve?(call: AskApproval): Promise<boolean | string>;
  /** The endpoints of the plan's fallbacks, by name. */
  fallbacks?: Record<string, Endpoint>;
  timeoutMs?: number;
  maxBytes?: number;
}

/** Thrown by a tool, for the model to read; of other exceptions it reads only the class. */
export class ToolError extends Error {
  constructor(message: string, readonly code = "TOOL_ERROR") {
    super(message);
  }
}

/** Performs effects for real: requests by `fetch`, tools as functions, approval by callback. */
export function fetchAndRun(world: World): Perform {
  return async (effect, here) => {
    const { ref } = effect;
    switch (effect.type) {
      case "send_request":
        return send(effect, world, here);
      case "run_tool": {
        const tool = world.tools?.[effect.name];
        if (!tool) throw new Error(`the plan has a tool ${effect.name}: give fetchAndRun its function`);
        return { type: "tool_returned", ref, output: await output(tool, effect, here.signal) };
      }
      case "ask_approval": {
        if (!world.approve) throw new Error(`${effect.name} needs approval: give fetchAndRun an approve()`);
        const said = await world.approve(effect);
        return { type: "approval_given", ref, approved: said === true, reason: typeof said === "string" ? said : "" };
      }
      case "wait":
        await sleep(effect.ms, undefined, { signal: here.signal });
        return { type: "wait_elapsed", ref };
    }
  };
}

async function send({ ref, request, endpoint }: SendRequest, world: World, here: Here): Promise<Event> {
  const { timeoutMs = 600_000, maxBytes = 64 * 1024 * 1024 } = world;
  const to = endpoint ? world.fallbacks?.[endpoint] : world;
  if (!to) throw new Error(`the plan has a fallback ${endpoint}: give fetchAndRun its endpoint`);
  const { apiKey } = to;
  const key = apiKey && { [request.key_header]: request.key_header === "authorization" ? `Bearer ${apiKey}` : apiKey };
  const masked = (text: string) => (apiKey ? text.replaceAll(apiKey, "REDACTED") : text);
  const stop = new AbortController(), late = new Error(`no complete response after ${timeoutMs} ms`);
  const abort = () => stop.abort(), timer = setTimeout(() => stop.abort(late), timeoutMs);
  here.signal.addEventListener("abort", abort);
  try {
    const response = await fetch(to.baseUrl + request.path, {
      method: request.method, headers: { ...request.headers, ...key }, body: request.body,
      redirect: "manual", signal: stop.signal,
    });
    const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name, masked(value)]));
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // keeps it
    let body = "", size = 0;
    for await (const bytes of response.body ?? []) {
      if ((size += bytes.byteLength) > maxBytes)
        return { type: "request_failed", ref, failure: "too_large", message: `more than ${maxBytes} bytes` };
      const text = decoder.decode(bytes, { stream: true });
      body += text;
      if (request.streamed && response.ok && (await here.chunk?.(text))) break;
    }
    return { type: "http_response", ref, status: response.status, headers, body: masked(body + decoder.decode()) };
  } catch (error) {
    const { message, cause = error } = error as { message: string; cause?: any };
    const { syscall, code = cause.message } = cause.errors?.[0] ?? cause; // one for each address of a name
    const unsent = ["connect", "getaddrinfo"].includes(syscall) || code === "UND_ERR_CONNECT_TIMEOUT";
    const failure = stop.signal.reason === late ? "timeout" : unsent ? "connect" : "broken";
    const why = code === message ? message : `${message}: ${code}`;
    return { type: "request_failed", ref, failure, message: masked(why) };
  } finally {
    clearTimeout(timer);
    here.signal.removeEventListener("abort", abort);
  }
}

async function output(tool: Tool, call: RunTool, signal: AbortSignal): Promise<string> {
  try {
    return JSON.stringify({ ok: true, data: (await tool(JSON.parse(call.arguments), { ...call, signal })) ?? null });
  } catch (error) {
    const [code, message] = error instanceof ToolError
      ? [error.code, error.message]
      : ["INTERNAL_ERROR", `${call.name} failed with an unexpected ${(error as Error)?.name ?? typeof error}.`];
    return JSON.stringify({ ok: false, errors: [{ code, message }] });
  }
}

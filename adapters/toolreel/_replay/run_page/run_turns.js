// A turn of a run: each event with the effect that it answers, in the order of the journal.
const turns = (() => {
  const { el } = toolreel;
  const { changes, code, counted, diff, duration, folded, json, message, prose, raw, roleOf, whole } = values;
  const FORMS = { chat_completions: "Chat Completions", responses: "Responses", messages: "Messages" };

  const noteList = (notes) => (notes ?? []).map(([level, kind, words]) =>
    el("p", { class: `note ${level}`, title: kind }, words));
  const step = (kind, label, took, ...body) =>
    el("div", { class: `step k-${kind}` }, el("div", { class: "what" }, label), el("div", { class: "body" }, body), el("div", { class: "took" }, took));

  // A range of messages, as the page has them: "same" ones only when they are asked for.
  const itemView = async (source, number, title, extra) => {
    const item = await source.item(number);
    return el("div", { class: `item ${extra}` }, el("p", { class: "role" }, title, " ", el("span", { class: "quiet" }, roleOf(item))), message(item));
  };
  const rangeView = (source, [how, stored, sent, many, fresh], at) => {
    const names = many === 1 ? `message ${at}` : `messages ${at} to ${at + many - 1}`;
    const all = async (first, extra, title) => {
      const made = [];
      for (let each = 0; each < Math.min(many, 200); each += 1) made.push(await itemView(source, first + each, `${title} ${at + each}`, extra));
      return made;
    };
    if (how === "same") return folded(`${names}: as stored`, () => all(stored, "", "message"), { class: "quiet" });
    if (how === "left_out") return folded(`${names}: stored, not sent`, () => all(stored, "gone", "message"), { open: fresh && many <= 3, class: "left-out" });
    if (how === "added") return folded(`${counted(many, "message")} sent, not stored`, () => all(sent, "new", "sent"), { open: fresh && many <= 3, class: "added" });
    return folded(`${names}: sent otherwise than stored`, async () => {
      const made = [];
      for (let each = 0; each < Math.min(many, 50); each += 1) {
        const found = changes(await source.item(stored + each), await source.item(sent + each));
        made.push(el("div", { class: "item" }, el("p", { class: "role" }, `message ${at + each}`), diff(found)));
      }
      return made;
    }, { open: fresh && many <= 3, class: "changed" });
  };
  const sentWords = (ranges) => {
    const many = (kind) => ranges.filter(([how]) => how === kind).reduce((sum, range) => sum + range[3], 0);
    return [["changed", "changed"], ["left_out", "left out"], ["added", "added"]]
      .map(([kind, words]) => (many(kind) ? `${many(kind)} ${words}` : "")).filter(Boolean).join(", ");
  };
  const body = async (source, request) => {
    const sent = [];
    for (const [how, , number, many] of request.sent) {
      if (how === "left_out") continue;
      for (let each = 0; each < many; each += 1) sent.push(await source.item(number + each));
    }
    const options = JSON.parse(whole(source.head.options[request.options]));
    const key = request.form === "responses" ? "input" : "messages";
    const system = request.system ? { system: JSON.parse(whole(request.system)) } : {};
    return JSON.stringify({ model: request.model, ...system, [key]: sent, ...options });
  };
  const request = (source, one) => {
    if (!one.sent) return step("request", "request", "", el("p", {}, one.words));
    const ranges = one.sent;
    const differs = sentWords(ranges);
    const what = one.purpose === "summary" ? "asks for a summary of old messages" : counted(one.messages, "message");
    const to = one.endpoint ? `, to ${one.endpoint}` : "";
    let at = 1;
    const rows = ranges.map((range) => {
      const view = rangeView(source, range, at);
      if (range[0] !== "added") at += range[3];
      return view;
    });
    const form = [FORMS[one.form] ?? one.form, one.streamed ? "streamed" : ""].filter(Boolean).join(", ");
    return step("request", "request", "",
      el("div", { class: "folds" },
        el("p", {}, `${what}, ${counted(one.bytes, "byte")}${to}`, el("span", { class: "quiet" }, ` · ${form}`)),
        differs ? null : folded("sent as stored", () => rows), raw("raw request", () => body(source, one))),
      one.system ? folded("the system message, which this form has apart from the others", () => prose(JSON.parse(whole(one.system)))) : null,
      differs ? el("div", { class: "sent" }, el("p", { class: "note warn" }, `Not as it is stored: ${differs}${ranges.some((range) => range[4]) ? "" : ", as before"}.`), rows) : null);
  };

  const origin = (call) => (call.from && call.from !== "structured" ? el("span", { class: "tag" }, `read from ${call.from}`) : null);
  const call = (one) =>
    el("div", { class: "call" }, el("p", {}, el("code", { class: "name" }, whole(one.name)), " ", origin(one)),
      json(one.arguments, "arguments"),
      one.error ? el("p", { class: "note bad" }, `these arguments could not be read: ${whole(one.error)}`) : null,
      one.original ? folded("as the model wrote it", () => code(one.original, "as the model wrote it")) : null);
  const usage = (one) => {
    const { prompt_tokens: input, completion_tokens: output, cost } = one.usage ?? {};
    return [one.finish && `finish ${one.finish}`, input || output ? `${(input ?? 0).toLocaleString("en")} tokens in, ${(output ?? 0).toLocaleString("en")} out` : "",
      cost === null || cost === undefined ? "" : `cost ${cost}`, one.served?.model ?? "", one.served?.provider ?? ""].filter(Boolean).join(" · ");
  };
  const reply = (source, one) => step("reply", "reply", [duration(one.ms), one.first_ms ? el("small", {}, `first ${duration(one.first_ms)}`) : null],
    one.problem ? el("p", { class: "note bad" }, `A problem: ${one.problem}`) : null,
    one.reasoning ? folded(`reasoning, ${counted(whole(one.reasoning).length, "character")}`, () => prose(one.reasoning)) : null,
    whole(one.text) ? prose(one.text) : one.calls.length ? null : el("p", { class: "quiet" }, "without text and calls"),
    one.calls.map(call),
    noteList((one.notes ?? []).filter(([, kind]) => kind !== "ReplyRead")),
    el("div", { class: "folds" },
      el("p", { class: "quiet" }, usage(one), one.frames ? ` · a stream of ${counted(one.frames, "frame")}` : ""),
      one.raw === undefined ? null : raw(one.frames ? "raw stream" : "raw reply", () => one.raw)));

  const inner = (source, one) => {
    const found = source.inner(one.key);
    return found ? el("p", { class: "inner" }, el("a", { href: found.href }, `the inner agent's run: ${found.words}`)) : null;
  };
  const tool = (source, one) => step(one.ok ? "tool" : "tool failed", "result", duration(one.ms),
    el("p", {}, el("code", { class: "name" }, whole(one.name)), " ", el("span", { class: one.ok ? "good" : "bad" }, one.ok ? "ok" : ["failed", ...one.codes].join(": "))),
    json(one.output, "result"), values.content(one.parts ?? []), inner(source, one), noteList((one.notes ?? []).filter(([, kind]) => kind !== "CallEnded")));

  const shown = (source, one) => {
    const named = (label, ...rest) => step(one.kind, label, duration(one.ms), ...rest, noteList(one.notes));
    switch (one.kind) {
      case "request": return request(source, one);
      case "reply": return reply(source, one);
      case "tool": return tool(source, one);
      case "failed": return named("no reply", el("p", { class: "bad" }, whole(one.message)),
        whole(one.raw) ? raw("raw answer", () => one.raw) : null);
      case "wait": return named("wait", el("p", {}, `${duration(one.planned_ms)} before the next try`));
      case "approval": return named("approval", el("p", {}, el("code", { class: "name" }, whole(one.name)), " ",
        el("span", { class: one.approved ? "good" : "bad" }, one.approved ? "approved" : "denied"), one.reason ? `: ${whole(one.reason)}` : ""));
      case "user": {
        const place = el("div", {});
        source.item(one.message).then((item) => place.replaceChildren(...toolreel.flat([message(item)])));
        return named("user", place);
      }
      case "cancelled": return named("cancelled", el("p", { class: "bad" }, whole(one.reason) || "by the caller"));
      case "remark": return named("note");
      default: return named(one.kind);
    }
  };
  const section = async (source, line, address) => {
    const [number, , level, times, begins] = line;
    const steps = await source.turn(number);
    const total = times.reduce((sum, ms) => sum + (ms ?? 0), 0);
    return el("section", { class: "turn", "data-level": level, id: `turn-${number}`, tabindex: "-1", "aria-label": `Turn ${number}` },
      begins ? el("p", { class: "exchange" }, "The next exchange of the conversation") : null,
      el("h3", {}, el("a", { href: address(number) }, `Turn ${number}`),
        source.decided === number ? el("span", { class: "tag decides" }, "decided the outcome") : null,
        el("span", { class: "quiet" }, total ? duration(total) : "")),
      steps.map((one) => shown(source, one)));
  };
  return { noteList, section };
})();

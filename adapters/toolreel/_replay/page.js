// Values of a run as nodes: texts of any length, JSON, contents of messages, and what differs between two.
const values = (() => {
  const { el } = toolreel;
  const SHOWN = 3000;
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  // A text that was cut, to keep the page small, says how much of it is missing.
  const whole = (text) => (text && typeof text === "object" && "cut" in text ? text.cut : String(text ?? ""));
  const missing = (text) =>
    text && typeof text === "object" && "more" in text
      ? el("p", { class: "quiet" }, `${counted(text.more, "more character")} in the recording.`) : null;

  const long = (text, make) => {
    if (text.length <= SHOWN) return [make(text)];
    const shown = make(`${text.slice(0, SHOWN)}…`);
    const button = el("button", { type: "button", class: "more" }, `Show all ${counted(text.length, "character")}`);
    button.addEventListener("click", () => { shown.textContent = text; button.remove(); });
    return [shown, button];
  };
  const code = (text, label) => [long(whole(text), (shown) => el("pre", { "aria-label": label }, shown)), missing(text)];
  const prose = (text) => [long(whole(text), (shown) => el("div", { class: "prose" }, shown)), missing(text)];
  const parsed = (text) => {
    try { return JSON.parse(text); } catch { return undefined; }
  };
  // Short JSON stays in one line, as it was written.
  const json = (text, label) => {
    const tree = typeof text === "string" ? (text.length > 72 ? parsed(text) : undefined) : text;
    if (tree === undefined || tree === null || typeof tree !== "object" || "cut" in tree) return code(text, label);
    return code(JSON.stringify(tree, null, 2), label);
  };

  // What takes room is made when it is opened.
  const folded = (summary, make, attributes = {}) => {
    const place = el("div", {});
    const fold = el("details", attributes, el("summary", {}, summary), place);
    let made = false;
    const fill = async () => {
      if (made) return;
      made = true;
      place.replaceChildren(...toolreel.flat([await make()]));
    };
    fold.addEventListener("toggle", () => { if (fold.open) fill(); });
    if (attributes.open) fill();
    return fold;
  };
  const raw = (summary, make) => folded(summary, async () => {
    const text = await make();
    const shown = parsed(whole(text));
    const pretty = shown === undefined ? text : JSON.stringify(shown, null, 2);
    return [toolreel.copyButton(whole(text), summary), code(pretty, summary)];
  });

  const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
  const SOUND = { mp3: "audio/mpeg", wav: "audio/wav" };
  const size = (letters) => counted(Math.floor((letters.length * 3) / 4), "byte");
  const part = (one) => {
    if (typeof one === "string") return prose(one);
    // Chat Completions, Responses, and Messages each have a place of their own for it.
    const given = one.image_url?.url ?? one.image_url;
    const url = given ? whole(given) : one.source?.data ? `data:${one.source.media_type};base64,${whole(one.source.data)}` : "";
    if (url) {
      return PICTURE.test(url)
        ? el("figure", {}, el("img", { src: url, alt: "image in the conversation" }), el("figcaption", { class: "quiet" }, `${url.slice(5, url.indexOf(";"))}, ${size(url.split(",")[1])}`))
        : el("p", { class: "quiet" }, `image ${url.startsWith("data:") ? url.slice(0, 40) : url} (not loaded)`);
    }
    const sound = one.input_audio;
    if (sound) {
      const type = SOUND[sound.format];
      const data = whole(sound.data);
      return type && /^[A-Za-z0-9+/=]+$/.test(data)
        ? el("figure", {}, el("audio", { controls: true, src: `data:${type};base64,${data}` }), el("figcaption", { class: "quiet" }, `${type}, ${size(data)}`))
        : el("p", { class: "quiet" }, `sound, ${sound.format}`);
    }
    if (one.file) return el("p", { class: "quiet" }, `file ${whole(one.file.filename ?? "")}, ${size(whole(one.file.file_data ?? ""))}`);
    const text = one.text ?? one.input_text ?? one.output_text;
    return text === undefined ? json(one, one.type ?? "part") : prose(text);
  };
  const content = (given) => (Array.isArray(given) ? given.map(part) : whole(given) ? prose(given) : null);
  const roleOf = (item) => (Array.isArray(item) ? "assistant" : item?.role ?? item?.type ?? "message");
  const message = (item) => {
    const { content: said, ...rest } = item ?? {};
    const calls = (item?.tool_calls ?? []).map((call) =>
      el("p", { class: "called" }, el("code", {}, `${whole(call.function?.name)}(${whole(call.function?.arguments)})`)));
    const other = Object.keys(rest).filter((key) => !["role", "tool_calls", "tool_call_id", "name"].includes(key));
    return [
      content(said), calls,
      other.length ? json(Object.fromEntries(other.map((key) => [key, rest[key]])), "fields of the provider") : null,
    ];
  };

  // Two texts with the part that differs marked.
  const marked = (text, other, tag) => {
    if (text.length < 24 && other.length < 24) return el(tag, {}, text);
    let begin = 0;
    while (begin < text.length && begin < other.length && text[begin] === other[begin]) begin += 1;
    let end = 0;
    while (end < text.length - begin && end < other.length - begin && text.at(-1 - end) === other.at(-1 - end)) end += 1;
    const around = (piece, keepEnd) => (piece.length <= 160 ? piece : keepEnd ? `…${piece.slice(-150)}` : `${piece.slice(0, 150)}…`);
    return [
      around(text.slice(0, begin), true), el(tag, {}, around(text.slice(begin, text.length - end), false)),
      around(text.slice(text.length - end), false),
    ];
  };
  const text = (value) => (value === undefined ? "(absent)" : typeof value === "string" ? value : JSON.stringify(value));
  const changes = (old, now, place = "") => {
    const isTree = (value) => value !== null && typeof value === "object" && !("cut" in value);
    if (isTree(old) && isTree(now) && Array.isArray(old) === Array.isArray(now)) {
      const keys = [...new Set([...Object.keys(now), ...Object.keys(old)])];
      const found = keys.flatMap((key) =>
        changes(old[key], now[key], Array.isArray(now) ? `${place}[${key}]` : place ? `${place}.${key}` : key));
      return found;
    }
    return text(old) === text(now) ? [] : [{ place, old: text(old), new: text(now) }];
  };
  const diff = (found) =>
    found.map((change) => el("div", { class: "change" },
      el("p", { class: "quiet" }, change.place || "everything"),
      el("pre", { class: "was" }, el("span", { class: "unseen" }, "was: "), marked(change.old, change.new, "del")),
      el("pre", { class: "now" }, el("span", { class: "unseen" }, "now: "), marked(change.new, change.old, "ins"))));

  const duration = (ms) => {
    if (ms === null || ms === undefined) return "";
    if (ms < 1000) return `${ms} ms`;
    if (ms < 60000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
    return `${Math.floor(ms / 60000)} min ${Math.floor((ms % 60000) / 1000)} s`;
  };
  return { changes, code, content, counted, diff, duration, folded, json, long, message, prose, raw, roleOf, whole };
})();
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
    el("p", {}, el("code", { class: "name" }, whole(one.name)), " ", el("span", { class: one.ok ? "good" : "bad" }, one.ok ? "ok" : ["failed", ...(one.codes ?? [])].join(": "))),
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
// Two runs side by side: where they part first, then turn by turn.
const comparison = (() => {
  const { el } = toolreel;
  const ASPECTS = {
    wanted: "the runs ask for something different", told: "the same was asked, and the answer differs",
    end: "one run goes on, the other has ended",
  };
  const parsed = (text) => {
    try { return JSON.parse(values.whole(text)); } catch { return values.whole(text); }
  };
  const changesOf = (given) => given.map(({ place, old, new: now }) => {
    const [was, is] = [parsed(old), parsed(now)];
    return { place, old: typeof was === "string" ? was : values.whole(old), new: typeof is === "string" ? is : values.whole(now) };
  });
  const firstView = (compared, { turnLink }) => {
    const { first } = compared;
    if (compared.same) return el("p", { class: "parting same" }, "Nothing differs that the loop acts on.");
    if (!first) return el("p", { class: "parting" }, "Only the plans differ.");
    return el("section", { class: "parting", "aria-label": "First difference" },
      el("h2", {}, "They part at ", turnLink(first.turn, `event ${first.n}, turn ${first.turn}`)),
      el("p", {}, `${ASPECTS[first.aspect]}.`),
      first.changes.length ? values.diff(changesOf(first.changes).slice(0, 12))
        : [["A", first.a], ["B", first.b]].map(([name, words]) => el("p", {}, el("strong", {}, `${name} `), words)));
  };
  const head = (page, runs, parts) => {
    const compared = page.comparison;
    return [
      el("h1", {}, "Two runs, side by side"),
      firstView(compared, parts),
      el("div", { class: "two" }, runs.slice(0, 2).map((run, at) =>
        el("div", {}, parts.card(run, `${"AB"[at]}: ${run.head.name}`), parts.figures({ figures: run.head.figures.filter(([, value]) => !/^(unknown|not measured|none)$/.test(value)) })))),
      compared.plan.length ? el("section", { "aria-label": "Plans" }, el("h2", {}, "What differs in the plans"),
        el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Settings" }, el("table", {},
          el("thead", {}, el("tr", {}, ["setting", "A", "B"].map((name) => el("th", { scope: "col" }, name)))),
          el("tbody", {}, compared.plan.slice(0, 60).map(({ place, old, new: now }) => el("tr", {},
            el("th", { scope: "row" }, el("code", {}, values.whole(place))), [old, now].map((value) => el("td", {}, values.code(value, place))))))))) : null,
    ];
  };
  const of = (page, [a, b], addressOf) => {
    const { turns: pairs, first } = page.comparison;
    const lineOf = (run, number) => (run.place.has(number) ? run.head.turns[run.place.get(number)] : null);
    const all = pairs.map(({ number, same }) => {
      const line = lineOf(a, number) ?? lineOf(b, number) ?? [number, "", "", [null, null, null], false];
      return [number, line[1], same ? "" : "apart", line[3], line[4]];
    });
    const sideOf = async (run, name, number) => {
      const line = lineOf(run, number);
      const made = line ? await turns.section(run, line, (turn) => addressOf({ turn })) : el("p", { class: "quiet" }, "no further turn");
      if (line) made.removeAttribute("id");
      return el("div", { class: "side-of" }, el("p", { class: "role" }, name), made);
    };
    const view = async (_run, [number, label, level]) => {
      const both = async () => el("div", { class: "two" }, await Promise.all([sideOf(a, "A", number), sideOf(b, "B", number)]));
      const parts = first?.turn === number;
      return el("section", { class: "pair", "data-level": level, id: `turn-${number}`, tabindex: "-1", "aria-label": `Turn ${number} of both` },
        parts ? el("p", { class: "parts" }, `Here they part: ${ASPECTS[first.aspect]}`) : null,
        level || parts ? await both() : values.folded(`Turn ${number}, the same in both: ${label}`, both));
    };
    const text = async (_run, [number]) => {
      const said = await Promise.all([a, b].map((run) => (run.place.has(number) ? run.turn(number) : "")));
      return JSON.stringify(said);
    };
    return { lines: () => all, view, text };
  };
  return { head, of };
})();
// The page of one run, or of two side by side: what it shows is in the address behind "#", so it can be passed on.
(() => {
  const { el, flat, data, packed, command, onKeys } = toolreel;
  const { counted, duration } = values;
  const page = data("page");
  if (!page) return;
  const WINDOW = 20;

  // Runs by number; turns and messages are unpacked where they are looked at.
  const runs = page.runs.map((about, number) => {
    const head = data(`run-${number}`);
    const chunk = async (kind, at, size) => (await packed(`run-${number}-${kind}-${Math.floor(at / size)}`))[at % size];
    const place = new Map(head.turns.map(([turn], at) => [turn, at]));
    return {
      ...about, number, head, place, decided: head.decided?.turn ?? null,
      turn: async (turn) => (await chunk("turns", place.get(turn), page.turns))[1],
      item: (at) => chunk("items", at, page.items),
      inner: (key) => {
        const found = key ? page.runs.findIndex((other) => other.key === key) : -1;
        return found < 0 ? null : { href: `#run=${found}`, words: `${data(`run-${found}`).outcome}, ${counted(data(`run-${found}`).turns.length, "turn")}` };
      },
    };
  });
  const compared = page.comparison;

  let state = {};
  const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const addressOf = (changes) => {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({ ...state, ...changes })) if (value) parameters.set(key, value);
    return `#${parameters.toString().replaceAll("%2C", ",") || "top"}`;
  };
  const current = () => runs[Number(state.run)] ?? runs[0];
  const turnLink = (turn, words) => el("a", { href: addressOf({ turn }) }, words ?? `turn ${turn}`);

  // The head of a run: how it ended and why, then what is worth a warning.
  const grown = (node) => {
    // Sizes are set by script: the policy of the page allows no style in its text.
    for (const piece of node.querySelectorAll("[data-grow]")) piece.style.flexGrow = piece.dataset.grow;
    return node;
  };
  const turnLinks = (found) => {
    const some = found.slice(0, 6).map((turn, at) => [at ? ", " : "", turnLink(turn, String(turn))]);
    const more = found.length > 6 ? ` and ${found.length - 6} more` : "";
    return found.length ? el("span", { class: "where" }, found.length > 1 ? "turns " : "turn ", some, more) : null;
  };
  const warnings = (head) => (head.warnings.length
    ? el("ul", { class: "warnings", "aria-label": "Warnings" }, head.warnings.map(([level, words, found]) =>
      el("li", { class: level }, el("span", {}, words), " ", turnLinks(found))))
    : el("p", { class: "quiet" }, "Nothing was repaired, retried or refused."));
  const why = (run) => {
    const { head } = run;
    const decided = head.decided;
    return el("dl", { class: "why" },
      el("dt", {}, "Why"), el("dd", {}, head.rule,
        head.settings.map(([name, value]) => [" ", el("code", {}, `${name} = ${value}`)])),
      decided ? [el("dt", {}, "Decided"), el("dd", {}, turnLink(decided.turn, `upon event ${decided.event}, turn ${decided.turn}`), ": ", el("span", {}, decided.words))] : null,
      head.hint ? [el("dt", {}, "Try"), el("dd", {}, head.hint)] : null);
  };
  const card = (run, title) => el("section", { class: "card", "data-state": run.head.state, "aria-label": "Outcome" },
    title ? el("h2", {}, title) : null,
    el("p", { class: "outcome" }, el("span", { class: "badge" }, run.head.outcome), " ", run.head.words),
    why(run));
  const figures = (head) => el("dl", { class: "figures" }, head.figures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: /^(unknown|none|not measured)$/.test(value) ? "unknown" : null }, value))));

  const planView = (run) => {
    const { plan } = run.head;
    return values.folded(`plan: ${counted(plan.tools.length, "tool")}, ${counted(plan.set.length, "setting")} of its own`, () => [
      el("table", {}, el("tbody", {}, [["plan", plan.digest.slice(0, 16)], ["model", run.head.model], ["provider", run.head.provider],
        ["presets", plan.presets.join(", ")], ...plan.set].filter(([, value]) => value)
        .map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, el("code", {}, value)))))),
      Object.keys(plan.requested ?? {}).length ? [el("h4", {}, "Options"), values.json(plan.requested, "options")] : null,
      plan.tools.map((tool) => values.folded(el("code", {}, values.whole(tool.name)), () => [values.prose(tool.about), values.json(tool.parameters, "parameters")])),
    ]);
  };
  const openingView = (run) => run.head.opening.map((number) => {
    const place = el("div", {});
    const title = el("p", { class: "role" });
    run.item(number).then((item) => {
      title.textContent = values.roleOf(item);
      place.replaceChildren(...flat(values.message(item)));
    });
    return el("div", { class: "step k-opening" }, el("div", { class: "what" }, title), el("div", { class: "body" }, place), el("div", { class: "took" }));
  });

  // The turns: all of them as lines, and some around the chosen one as they are.
  const source = compared ? comparison.of(page, runs, addressOf) : {
    lines: (run) => run.head.turns,
    view: (run, line) => turns.section(run, line, (turn) => addressOf({ turn })),
    text: async (run, line) => JSON.stringify(await run.turn(line[0])),
  };
  const LEVELS = { "": "", info: "", warn: "repaired or retried", bad: "something failed", apart: "they differ" };
  const rail = el("ol", { class: "list rail", "aria-label": "Turns" });
  const flow = el("div", { class: "flow" });
  const status = el("p", { role: "status", class: "quiet" });
  const words = el("input", { type: "search", placeholder: "words of a turn", "aria-label": "search" });
  const only = el("select", { "aria-label": "show" },
    [["", "all turns"], ["marked", compared ? "turns that differ" : "turns with a warning"], ["bad", "turns where something failed"]]
      .filter(([key]) => !compared || key !== "bad").map(([key, label]) => el("option", { value: key }, label)));
  const help = el("p", { class: "quiet noprint keys" }, [["j", "next turn"], ["k", "previous"], ["n", compared ? "next difference" : "next warning"], ["d", compared ? "where they part" : "what decided"], ["/", "search"]]
    .map(([key, what]) => el("span", {}, el("kbd", {}, key), ` ${what} `)));
  let texts = new Map();
  let found = [];
  let from = 0;
  let to = 0;

  const matching = async (run) => {
    const asked = (state.words ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const lines = source.lines(run).filter(([, , level]) =>
      !state.only || (state.only === "bad" ? level === "bad" : level && level !== "info"));
    if (!asked.length) return lines;
    const kept = [];
    for (const line of lines) {
      const key = `${run.number}-${line[0]}`;
      if (!texts.has(key)) texts.set(key, `${line[1]} ${await source.text(run, line)}`.toLowerCase());
      const text = texts.get(key);
      if (asked.every((word) => text.includes(word))) kept.push(line);
    }
    return kept;
  };
  const lineOf = (longest) => ([number, label, level, times, begins]) => el("li", { class: begins ? "begins" : "" },
    el("a", { href: addressOf({ turn: number }), "data-turn": number, "data-level": level },
      el("span", { class: "number" }, number), el("span", { class: "label" }, label),
      LEVELS[level] ? el("span", { class: "unseen" }, `, ${LEVELS[level]}`) : null,
      longest ? el("span", { class: "bar", "aria-hidden": "true" }, ["model", "tools", "waiting"].map((name, at) => el("span", { class: name, "data-grow": String((times[at] ?? 0) / longest) })),
        el("span", { "data-grow": String(Math.max(0, 1 - times.reduce((sum, ms) => sum + (ms ?? 0), 0) / longest)) })) : null));
  const showRail = () => {
    const longest = Math.max(0, ...found.map(([, , , times]) => times.reduce((sum, ms) => sum + (ms ?? 0), 0)));
    rail.replaceChildren(...found.map(lineOf(longest)));
    grown(rail);
    const all = source.lines(current()).length;
    status.textContent = found.length === all ? counted(all, "turn") : `${found.length.toLocaleString("en")} of ${counted(all, "turn")}`;
  };
  const mark = () => {
    rail.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const line = state.turn && rail.querySelector(`[data-turn="${CSS.escape(state.turn)}"]`);
    if (!line) return;
    line.setAttribute("aria-current", "true");
    const [top, bottom] = [line.offsetTop, line.offsetTop + line.offsetHeight];
    if (top < rail.scrollTop || bottom > rail.scrollTop + rail.clientHeight) rail.scrollTop = top - rail.clientHeight / 3;
  };

  let asked = 0;
  const showFlow = async () => {
    const mine = asked += 1;
    const run = current();
    const made = await Promise.all(found.slice(from, to).map((line) => source.view(run, line)));
    if (mine !== asked) return false;
    const more = (label, change) => {
      const button = el("button", { type: "button", class: "more" }, label);
      button.addEventListener("click", change);
      return button;
    };
    flow.replaceChildren(...flat([
      from === 0 && !compared ? [planView(run), openingView(run)] : null,
      from > 0 ? more(`Show earlier turns: ${from} before`, async () => { from = Math.max(0, from - WINDOW); await showFlow(); }) : null,
      made,
      to < found.length ? more(`Show more turns: ${found.length - to} behind`, async () => { to += WINDOW; await showFlow(); }) : null,
      found.length || !source.lines(run).length ? null : el("p", {}, "No turn has these words."),
      to >= found.length && run.head.state === "good" && run.head.answer && !compared && !state.words && !state.only ? el("p", { class: "quiet ending" }, "The last reply is the answer.") : null,
    ]));
    return true;
  };
  const windowAround = (turn) => {
    const at = turn ? found.findIndex(([number]) => String(number) === String(turn)) : 0;
    if (at >= from && at < to) return false;
    from = Math.max(0, at - (at > 2 ? 2 : at));
    to = from + WINDOW;
    return true;
  };

  const header = document.getElementById("head");
  const crumbs = (run) => (run.parent === null || run.parent === undefined ? null
    : el("p", {}, el("a", { href: `#run=${run.parent}` }, "back to the run that called this agent")));
  const others = () => {
    const outer = runs.filter((run) => run.parent === null || run.parent === undefined);
    return compared || outer.length < 2 ? null : el("nav", { "aria-label": "Runs" }, el("ul", {}, outer.map((run, at) =>
      el("li", {}, el("a", { href: `#run=${run.number}`, "aria-current": run === current() ? "true" : null }, `Run ${at + 1}: ${run.head.outcome}`)))));
  };
  const showHead = () => {
    const run = current();
    header.replaceChildren(...flat(compared ? comparison.head(page, runs, { card, figures, turnLink }) : [
      crumbs(run), el("h1", {}, run.head.title),
      el("p", { class: "quiet" }, [run.head.name, run.head.model, run.head.exchanges > 1 ? counted(run.head.exchanges, "exchange") : ""].filter(Boolean).join(" · ")),
      others(),
      el("div", { class: "top" },
        el("div", {}, card(run), values.whole(run.head.answer) && run.head.state !== "resting"
          ? el("section", { class: "answer", "aria-label": "Answer" }, el("h2", {}, run.head.state === "good" ? "Answer" : "Last text"), values.prose(run.head.answer)) : null),
        el("section", { class: "side", "aria-label": "Figures" }, figures(run.head), warnings(run.head))),
      run.head.recorded ? command(`toolreel explain ${run.quoted}`) : el("p", { class: "quiet" }, "This run was not recorded: here is its conversation. A recording has each turn, with requests and replies."),
    ]));
    grown(header);
  };

  const show = async (next) => {
    const before = state;
    const begun = !header.childNodes.length || next.run !== before.run;
    const filtered = begun || next.words !== before.words || next.only !== before.only;
    state = next;
    if (begun) showHead();
    if (filtered) {
      if (document.activeElement !== words) words.value = state.words ?? "";
      only.value = state.only ?? "";
      const kept = await matching(current());
      if (state !== next) return;
      found = kept;
      from = 0;
      to = 0;
      showRail();
    }
    if (windowAround(state.turn) && !await showFlow()) return;
    mark();
  };
  const follow = async () => {
    const next = read();
    delete next.top;
    await show(next);
    const section = next.turn && document.getElementById(`turn-${next.turn}`);
    if (section) {
      section.scrollIntoView();
      section.focus({ preventScroll: true });
    } else if (location.hash === "#top") scrollTo(0, 0);
  };
  // In a notebook the page is a frame without an address of its own, where "#" would mean that of the notebook.
  const framed = location.protocol === "about:";
  document.addEventListener("click", (event) => {
    const link = framed && event.target.closest?.('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    location.hash = link.getAttribute("href");
  });
  const filter = () => {
    const address = addressOf({ words: words.value, only: only.value, turn: "" });
    if (framed) location.hash = address;
    else history.replaceState(null, "", address);
    return show(read());
  };
  words.addEventListener("input", filter);
  only.addEventListener("change", filter);
  const go = (turn) => { if (turn !== undefined) location.hash = addressOf({ turn }); };
  const at = () => found.findIndex(([number]) => String(number) === state.turn);
  onKeys({
    j: () => go(found[Math.min(found.length - 1, at() + 1)]?.[0]),
    k: () => go(found[Math.max(0, at() - 1)]?.[0]),
    n: () => {
      const behind = found.slice(at() + 1).find(([, , level]) => level && level !== "info");
      go(behind?.[0]);
    },
    d: () => go(compared ? compared.first?.turn : current().head.decided?.turn),
    "/": () => { words.focus(); words.scrollIntoView({ block: "nearest" }); },
    Escape: () => {
      words.blur();
      if (state.words || state.only) {
        words.value = only.value = "";
        filter();
      }
    },
  });
  document.getElementById("turns").replaceChildren(el("div", { class: "panes" },
    el("div", { class: "finder noprint" }, el("div", { class: "titled" }, el("h2", {}, "Turns"), status),
      el("div", { class: "controls" }, el("label", {}, "search", words), el("label", {}, "show", only)), rail, help),
    flow));
  window.addEventListener("hashchange", follow);
  follow();
})();
// The list of recordings: the server sends all names and what it knows, and this filters the rows and draws the first.
(() => {
  const { el, onKeys } = toolreel;
  const main = document.getElementById("recordings");
  if (!main) return;
  const STEP = 100, EVERY = 1000;
  const drawn = new Map(), chosen = new Set();
  let entries = null, unread = 0, shown = STEP, order = [], trouble = "";

  const entryOf = ([name, modified, facts]) => {
    const [state, model, turns, calls, tokens, cost, remark] = facts ?? ["", "", null, null, null, "", ""];
    return { name, modified, known: Boolean(facts), state, model, turns, calls, tokens, cost, remark };
  };
  const address = (...names) => `/view?${new URLSearchParams(names.map((name) => ["name", name]))}`;
  const label = (words, made) => el("label", {}, words, made);
  const filters = { search: el("input", { type: "search", id: "search", autocomplete: "off" }), state: el("select", { id: "state" }), model: el("select", { id: "model" }) };
  const { search, state, model } = filters;
  const status = el("p", { role: "status", class: "quiet" }), alert = el("p", { role: "alert" });
  const picked = el("div", { class: "chosen" }), body = el("tbody"), more = el("button", { type: "button", class: "more" });
  const COLUMNS = [["pick", ""], ["name", "name"], ["state", "state"], ["model", "model"], ["number", "turns"], ["number", "calls"], ["number", "tokens"], ["cost", "cost"], ["changed", "changed"]];
  main.append(
    el("div", { class: "controls" }, Object.entries(filters).map(([name, made]) => label(name, made))),
    el("p", { class: "keys quiet" }, [["j", "next"], ["k", "previous"], ["x", "choose"], ["c", "compare"], ["/", "search"], ["Esc", "all"]]
      .map(([key, what]) => el("span", {}, el("kbd", {}, key), ` ${what}`))),
    el("div", { class: "said" }, status, picked, alert),
    el("table", { class: "entries" }, el("thead", {}, el("tr", {}, COLUMNS.map(([name, words]) =>
      el("th", { scope: "col", class: `c-${name}` }, words || el("span", { class: "unseen" }, "chosen"))))), body),
    more,
  );

  const fits = (each) =>
    (!state.value || each.state === state.value) && (!model.value || each.model === model.value) &&
    search.value.toLowerCase().split(/\s+/).every((word) => `${each.name} ${each.state} ${each.model} ${each.remark}`.toLowerCase().includes(word));
  const ago = (then) => {
    const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
    const [size, unit] = seconds < 100 ? [1, "s"] : seconds < 6000 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "d"];
    return `${Math.floor(seconds / size)} ${unit} ago`;
  };
  const LEVELS = { completed: "good", recording: "live", waiting: "live", resting: "plain", cassette: "plain", "": "plain" };
  const number = (value) => (value === null ? "" : value.toLocaleString("en"));
  const cell = (name, words, content, given = {}) => el("td", { class: `c-${name}`, "data-label": words, ...given }, content);
  const rowOf = (each) => {
    const box = el("input", { type: "checkbox", "aria-label": `choose ${each.name}`, tabindex: "-1" });
    box.checked = chosen.has(each.name);
    box.addEventListener("change", () => choose(each.name));
    const row = el("tr", { "aria-selected": box.checked ? "true" : null },
      cell("pick", null, box),
      cell("name", null, [el("a", { href: address(each.name) }, each.name), each.remark && el("span", { class: "remark" }, each.remark)]),
      cell("state", null, each.known ? each.state : "…", { "data-state": LEVELS[each.state] ?? "bad" }), cell("model", null, each.model),
      cell("number", "turns", number(each.turns)), cell("number", "calls", number(each.calls)), cell("number", "tokens", number(each.tokens)),
      cell("cost", "cost", each.cost === "unknown" ? el("span", { class: "quiet" }, each.cost) : each.cost), cell("changed", null, ago(each.modified)));
    row.dataset.name = each.name;
    return row;
  };
  const options = (select, values) => {
    const wanted = select.dataset.wanted ?? select.value;
    const all = [...new Set([...values, wanted])].filter(Boolean).sort();
    if (select.options.length && all.join("\n") === [...select.options].slice(1).map((option) => option.value).join("\n")) return;
    select.replaceChildren(el("option", { value: "" }, "all"), ...all.map((value) => el("option", { value }, value)));
    select.value = wanted;
  };
  const tell = (place, words) => { if (place.textContent !== words) place.textContent = words; };

  const draw = () => {
    const all = entries ?? [];
    options(state, all.map((each) => each.state));
    options(model, all.map((each) => each.model));
    order = all.filter(fits).sort((a, b) => b.modified - a.modified || (a.name < b.name ? -1 : 1));
    tell(status, !entries ? "Looking for recordings…" : `${number(order.length)} of ${number(all.length)}${unread ? `; ${number(unread)} still being read` : ""}`);
    tell(alert, trouble);
    const focused = document.activeElement?.closest?.("tr")?.dataset.name;
    const rows = order.slice(0, shown).map((each) => {
      const print = JSON.stringify([each, ago(each.modified), chosen.has(each.name)]);
      if (drawn.get(each.name)?.print !== print) drawn.set(each.name, { print, row: rowOf(each) });
      return drawn.get(each.name).row;
    });
    if (body.rows.length !== rows.length || rows.some((row, at) => body.rows[at] !== row)) {
      body.replaceChildren(...rows);
      if (focused) [...body.rows].find((row) => row.dataset.name === focused)?.querySelector("a").focus();
    }
    if (entries && !order.length && !unread) body.replaceChildren(el("tr", {}, el("td", { colspan: "9" }, all.length ? "Nothing fits these filters." : "Nothing is recorded here yet.")));
    more.hidden = order.length <= shown;
    more.textContent = `Show ${Math.min(STEP, order.length - shown)} more`;
    const names = [...chosen];
    if (picked.dataset.names === names.join("\n")) return;
    picked.dataset.names = names.join("\n");
    picked.replaceChildren(...(names.length ? [el("span", {}, `Chosen: ${names.join(" and ")}`)] : []),
      ...(names.length === 1 ? [el("span", { class: "quiet" }, "choose another one to compare")] : []),
      ...(names.length === 2 ? [el("a", { class: "button", href: address(...names) }, "Compare")] : []));
  };
  const choose = (name) => {
    if (!chosen.delete(name)) chosen.add(name);
    if (chosen.size > 2) chosen.delete(chosen.values().next().value);
    draw();
  };

  // The filters stand behind "#" in the address, so that the way back from a run leads to the same list.
  const remember = () => {
    const parts = Object.entries(filters).filter(([, made]) => made.value).map(([name, made]) => [name, made.value]);
    history.replaceState(null, "", parts.length ? `#${new URLSearchParams(parts)}` : location.pathname);
  };
  const recall = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const [name, made] of Object.entries(filters)) made.value = made.dataset.wanted = wanted.get(name) ?? "";
    draw();
    for (const made of Object.values(filters)) delete made.dataset.wanted;
  };
  for (const made of Object.values(filters)) made.addEventListener("input", () => { shown = STEP; remember(); draw(); });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") move(0); });
  more.addEventListener("click", () => { shown += STEP; draw(); });
  const move = (by) => {
    const all = [...body.querySelectorAll("td.c-name a")], at = all.indexOf(document.activeElement);
    all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  };
  onKeys({
    j: () => move(1), k: () => move(-1), "/": () => search.focus(), c: () => picked.querySelector("a")?.click(),
    x: () => { const name = document.activeElement?.closest("tr")?.dataset.name; if (name) choose(name); },
    Escape: () => {
      for (const made of Object.values(filters)) made.value = "";
      chosen.clear();
      document.activeElement?.blur();
      remember();
      draw();
    },
  });

  const follow = async () => {
    const began = performance.now();
    try {
      const answer = await fetch("/lines");
      if (!answer.ok) throw new Error(String(answer.status));
      const told = await answer.json();
      entries = told.lines.map(entryOf);
      unread = told.unread;
      const names = new Set(entries.map((each) => each.name));
      for (const kept of [chosen, drawn]) for (const name of [...kept.keys()]) if (!names.has(name)) kept.delete(name);
      trouble = "";
    } catch {
      trouble = "The server does not answer: start toolreel view again, and open the address that it prints.";
    }
    draw();
    // A large folder takes a while to look at: it is looked at less often.
    setTimeout(follow, document.hidden ? 5 * EVERY : unread && !trouble ? 0 : Math.max(EVERY, 10 * (performance.now() - began)));
  };
  window.addEventListener("hashchange", recall);
  recall();
  follow();
})();

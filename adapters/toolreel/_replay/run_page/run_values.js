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

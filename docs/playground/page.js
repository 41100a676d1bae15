"use strict";
// The form is read by the worker whenever it changes. Texts become text nodes, so nothing that is pasted is markup.
(async () => {
  const { el } = toolreel;
  const at = (id) => document.getElementById(id);
  const form = at("form");
  const fail = (words) => {
    at("loading").hidden = true;
    at("failure").hidden = false;
    at("failure").textContent = words;
  };

  const list = (head, items) => (items.length ? [el("h4", {}, head), el("ul", {}, items.map((item) => el("li", {}, item)))] : "");
  const marks = { bad: "✗", warn: "!", info: "i" };
  const noted = ([level, words]) => [el("span", { class: level === "bad" ? "bad" : "quiet", "aria-hidden": "true" }, `${marks[level]} `), words];
  const shownCall = ({ name, format, written, fate }) =>
    el("dl", { class: "call" },
      el("dt", {}, "call"), el("dd", {}, el("code", {}, name), format.startsWith("text:") ? ` in the text, as ${format.slice(5)}` : ""),
      el("dt", {}, "written"), el("dd", {}, el("code", { class: "read" }, written)),
      el("dt", {}, "then"), el("dd", {}, fate));
  const card = ({ settings, verdict, tone, reason, calls, opening, notes, parts, unread, told, request }) =>
    el("article", { class: `card ${tone}` },
      el("h3", {}, settings.map((each, index) => [index ? ", " : "", el("code", {}, each)])),
      el("p", { class: "verdict" }, verdict),
      reason ? el("p", { class: "read" }, reason) : "",
      calls.length ? [el("h4", {}, "Calls"), calls.map(shownCall)] : "",
      list("Notes", [...opening, ...notes].map(noted)),
      list("In the text", parts.map(([text, words]) => [el("code", { class: "read" }, text), ` ${words}`])),
      unread ? [el("h4", {}, "Why no call was read"), el("p", {}, unread)] : "",
      told.length ? [el("h4", {}, "The model is told"), told.map((message) => el("pre", {}, `${message.role}: ${message.content}`))] : "",
      request ? el("details", {}, el("summary", {}, "The next request"), el("pre", {}, request)) : "");

  const show = ({ results, error, field, ms }) => {
    for (const name of ["tools", "settings"]) {
      at(`${name}-error`).textContent = field === name ? error : "";
      for (const input of name === "tools" ? [at("tools")] : [at("settings"), at("preset")]) {
        input.setAttribute("aria-invalid", String(field === name));
      }
    }
    at("cards").classList.toggle("stale", Boolean(error));
    if (error) {
      at("summary").textContent = `The ${field} cannot be used; see there.`;
      return;
    }
    const tried = results.flatMap((result) => result.settings).length;
    const counted = results.length === 1 ? "all lead to the same" : `${results.length} different results`;
    at("summary").textContent = `${tried} settings, ${counted}, in ${Math.max(1, Math.round(ms))} ms.`;
    at("cards").replaceChildren(...results.map(card));
  };

  if (location.protocol === "file:") {
    fail("Browsers load no Python from a folder. Serve the site, and open this page there: python -m http.server --directory build/site/html");
    return;
  }
  const response = await fetch("examples.json").catch(() => null);
  if (!response?.ok) {
    fail("examples.json could not be loaded. Is the folder of this page complete?");
    return;
  }
  const { question, tools, examples } = await response.json();

  const worker = new Worker("worker.js", { type: "module" });
  let [ready, waiting, changed, chosen] = [false, false, false, null];
  const fields = ["kind", "reply", "tools", "question", "preset", "settings"];
  const ask = () => {
    changed = true;
    at("results").setAttribute("aria-busy", "true");
    if (!ready || waiting) return; // asked when Python is there, or when the last answer is
    [changed, waiting] = [false, true];
    worker.postMessage(Object.fromEntries(fields.map((name) => [name, form.elements[name].value])));
  };
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  let total = 1;
  worker.onmessage = ({ data }) => {
    if (data.failure && !ready) fail(`Python could not be started: ${data.failure}`);
    else if (data.bytes) total = data.bytes;
    else if (data.loaded) {
      at("progress").value = data.loaded / total;
      at("stage").textContent = `Loading Python: ${megabytes(data.loaded)} of ${megabytes(total)} MB`;
    } else if (data.stage) at("stage").textContent = data.stage;
    else if (data.presets) {
      at("preset").append(...data.presets.map((name) => el("option", { value: name }, name)));
      at("loading").hidden = true;
      ready = true;
      if (chosen) choose(chosen); // again, now that its preset can be selected
      else ask();
    } else {
      waiting = false;
      at("failure").hidden = true;
      if (data.failure) fail(`This reply could not be read, which is a fault of toolreel. Please report it: ${data.failure}`);
      else show(data);
      at("results").setAttribute("aria-busy", String(changed));
      if (changed) ask();
    }
  };
  worker.onerror = (event) => fail(`Python could not be started: ${event.message || "worker.js could not be loaded"}`);

  const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const buttons = examples.map((example) => {
    const button = el("button", { type: "button", class: "button", "aria-pressed": "false" }, example.title);
    button.addEventListener("click", () => choose(example));
    return button;
  });
  const press = (example) => {
    chosen = example;
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(examples[index] === example)));
  };
  const choose = (example) => {
    const { kind, reply, preset = "" } = example;
    const values = { kind, reply: written(reply), tools: written(tools), question, preset, settings: "" };
    for (const name of fields) form.elements[name].value = values[name];
    press(example);
    ask();
  };
  at("examples").append(...buttons);
  choose(examples[0]);
  // People who paste another kind of reply rarely say so first. Typing leaves the choice as it is.
  const isBody = (text) => {
    if (/^\s*(data|event):/.test(text)) return true;
    try {
      const { choices, output, content, message, error } = JSON.parse(text);
      return [choices, output, content, message, error].some((each) => typeof each === "object" && each);
    } catch {
      return false;
    }
  };
  form.elements.reply.addEventListener("paste", () =>
    setTimeout(() => { form.elements.kind.value = isBody(form.elements.reply.value) ? "body" : "text"; }),
  );
  let timer;
  form.addEventListener("input", () => {
    press(null);
    at("results").setAttribute("aria-busy", "true");
    clearTimeout(timer);
    timer = setTimeout(ask, 150);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
})();

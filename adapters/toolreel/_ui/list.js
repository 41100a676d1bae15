"use strict";
// The list. The server sends what has changed; the page keeps the entries, filters them and draws the first ones.
(() => {
  const { el, onKeys } = toolreel;
  const STEP = 100;
  const EVERY = 1000;
  const GOOD = new Set(["completed"]);
  const LIVE = new Set(["recording", "running", "queued", "waiting", "sleeping"]);
  const NEUTRAL = new Set(["resting", "cassette", ""]);
  const main = document.getElementById("entries");
  const entries = new Map();
  const chosen = new Set();
  let version = 0, unread = 0, shown = STEP, order = [], trouble = "";

  const entryOf = ([key, kind, name, modified, size, facts]) => {
    const [state, model, turns, calls, tokens, cost, note] = facts ?? ["", "", null, null, null, "", ""];
    return { key, kind, name, modified, size, known: Boolean(facts), state, model, turns, calls, tokens, cost, note };
  };
  const address = (...keys) => `/view?${new URLSearchParams(keys.map((key) => ["key", key]))}`;

  const field = (label, made) => el("label", {}, label, made);
  const search = el("input", { type: "search", id: "search", autocomplete: "off" });
  const kind = el("select", { id: "kind" });
  const state = el("select", { id: "state" });
  const model = el("select", { id: "model" });
  const filters = { search, kind, state, model };
  const status = el("p", { role: "status", class: "quiet" });
  const alert = el("p", { role: "alert" });
  const picked = el("div", { class: "chosen" });
  const body = el("tbody");
  const more = el("button", { type: "button", class: "more" });
  const COLUMNS = [
    ["pick", ""], ["name", "name"], ["kind", "kind"], ["state", "state"], ["model", "model"],
    ["number", "turns"], ["number", "calls"], ["number", "tokens"], ["cost", "cost"], ["changed", "changed"],
  ];
  main.append(
    el("div", { class: "controls" }, field("search", search), field("kind", kind), field("state", state), field("model", model)),
    el("p", { class: "keys quiet" }, ...[["j", "next"], ["k", "previous"], ["x", "choose"], ["c", "compare"], ["/", "search"], ["Esc", "all"]]
      .map(([key, what]) => el("span", {}, el("kbd", {}, key), ` ${what}`))),
    el("div", { class: "said" }, status, picked, alert),
    el("table", { class: "entries" },
      el("thead", {}, el("tr", {}, COLUMNS.map(([name, label]) =>
        el("th", { scope: "col", class: `c-${name}` }, label || el("span", { class: "unseen" }, "chosen"))))),
      body),
    more,
  );

  const wordsOf = (each) => `${each.name} ${each.state} ${each.model} ${each.note}`.toLowerCase();
  const fits = (each) =>
    (!kind.value || each.kind === kind.value) && (!state.value || each.state === state.value) &&
    (!model.value || each.model === model.value) &&
    search.value.toLowerCase().split(/\s+/).every((word) => wordsOf(each).includes(word));

  const ago = (then) => {
    const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
    const [size, unit] = seconds < 100 ? [1, "s"] : seconds < 6000 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "d"];
    return `${Math.floor(seconds / size)} ${unit} ago`;
  };
  const level = (each) => GOOD.has(each.state) ? "good" : LIVE.has(each.state) ? "live" :
    NEUTRAL.has(each.state) || each.kind === "evaluation" ? "plain" : "bad";
  const number = (value) => value === null ? "" : value.toLocaleString("en");
  const cell = (name, label, content, more = {}) => el("td", { class: `c-${name}`, "data-label": label, ...more }, content);

  const rowOf = (each) => {
    const box = el("input", { type: "checkbox", "aria-label": `choose ${each.name}`, tabindex: "-1" });
    box.checked = chosen.has(each.key);
    box.addEventListener("change", () => choose(each.key));
    const link = el("a", { href: address(each.key) }, each.name);
    const row = el("tr", { "aria-selected": chosen.has(each.key) ? "true" : null },
      cell("pick", null, box),
      cell("name", null, [link, each.note && el("span", { class: "note" }, each.note)]),
      cell("kind", null, each.kind),
      cell("state", null, each.known ? each.state : "…", { "data-state": level(each) }),
      cell("model", null, each.model),
      cell("number", "turns", number(each.turns)), cell("number", "calls", number(each.calls)),
      cell("number", "tokens", number(each.tokens)), cell("cost", "cost", each.cost === "unknown" ? el("span", { class: "quiet" }, each.cost) : each.cost),
      cell("changed", null, ago(each.modified)));
    row.dataset.key = each.key;
    return row;
  };

  const options = (select, values) => {
    const wanted = select.dataset.wanted ?? select.value;
    const all = [...new Set([...values, ...(wanted ? [wanted] : [])])].filter(Boolean).sort();
    const now = [...select.options].map((option) => option.value).slice(1);
    if (now.join("\n") === all.join("\n") && select.options.length) return;
    select.replaceChildren(el("option", { value: "" }, "all"), ...all.map((value) => el("option", { value }, value)));
    select.value = wanted;
  };

  const drawn = new Map();
  const draw = () => {
    const all = [...entries.values()];
    options(kind, all.map((each) => each.kind));
    options(state, all.map((each) => each.state));
    options(model, all.map((each) => each.model));
    order = all.filter(fits).sort((a, b) => b.modified - a.modified || (a.key < b.key ? -1 : 1));
    const reading = unread ? `; ${unread.toLocaleString("en")} still being read` : "";
    const said = `${order.length.toLocaleString("en")} of ${all.length.toLocaleString("en")}${reading}`;
    if (status.textContent !== said) status.textContent = said;
    if (alert.textContent !== trouble) alert.textContent = trouble;
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    const rows = order.slice(0, shown).map((each) => {
      const print = JSON.stringify([each, ago(each.modified), chosen.has(each.key)]);
      const before = drawn.get(each.key);
      if (before?.print === print) return before.row;
      const row = rowOf(each);
      drawn.set(each.key, { print, row });
      return row;
    });
    const same = body.rows.length === rows.length && rows.every((row, at) => body.rows[at] === row);
    if (!same) {
      body.replaceChildren(...rows);
      if (focused) [...body.rows].find((row) => row.dataset.key === focused)?.querySelector("a").focus();
    }
    if (!order.length && !unread) body.replaceChildren(el("tr", {}, el("td", { colspan: "10" }, all.length ? "Nothing fits these filters." : "Nothing is recorded here yet.")));
    more.hidden = order.length <= shown;
    more.textContent = `Show ${Math.min(STEP, order.length - shown)} more`;
    drawPicked();
  };

  const drawPicked = () => {
    const keys = [...chosen];
    if (picked.dataset.keys === keys.join("\n")) return;
    picked.dataset.keys = keys.join("\n");
    const names = keys.map((key) => entries.get(key).name).join(" and ");
    picked.replaceChildren(...(keys.length ? [el("span", {}, `Chosen: ${names}`)] : []));
    if (keys.length === 1) picked.append(el("span", { class: "quiet" }, "choose another one to compare"));
    if (keys.length === 2) picked.append(el("a", { class: "button", href: address(...keys) }, "Compare"));
  };
  const choose = (key) => {
    if (!chosen.delete(key)) chosen.add(key);
    if (chosen.size > 2) chosen.delete(chosen.values().next().value);
    draw();
  };

  const remember = () => {
    const parts = Object.entries(filters).filter(([, made]) => made.value).map(([name, made]) => [name, made.value]);
    history.replaceState(null, "", parts.length ? `#${new URLSearchParams(parts)}` : location.pathname);
  };
  const recall = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const [name, made] of Object.entries(filters)) {
      made.dataset.wanted = wanted.get(name) ?? "";
      made.value = made.dataset.wanted;
    }
    draw();
    for (const made of Object.values(filters)) delete made.dataset.wanted;
  };
  for (const made of Object.values(filters)) {
    made.addEventListener("input", () => { shown = STEP; remember(); draw(); });
  }
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") move(0); });
  more.addEventListener("click", () => { shown += STEP; draw(); });

  const links = () => [...body.querySelectorAll("td.c-name a")];
  const move = (by) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  };
  onKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => { const key = document.activeElement?.closest("tr")?.dataset.key; if (key) choose(key); },
    c: () => picked.querySelector("a")?.click(),
    "/": () => search.focus(),
    Escape: () => {
      for (const made of Object.values(filters)) made.value = "";
      chosen.clear();
      document.activeElement?.blur();
      remember();
      draw();
    },
  });

  const follow = async () => {
    const seen = order.slice(0, shown).filter((each) => !each.known).slice(0, 60).map((each) => ["seen", each.key]).reverse();
    try {
      const answer = await fetch(`/changes?${new URLSearchParams([["since", version], ...seen])}`);
      if (!answer.ok) throw new Error(String(answer.status));
      const changes = await answer.json();
      for (const key of changes.gone) { entries.delete(key); chosen.delete(key); drawn.delete(key); }
      for (const line of changes.lines) entries.set(line[0], entryOf(line));
      ({ version, unread } = changes);
      trouble = changes.trouble;
    } catch {
      trouble = "The server does not answer: start toolreel ui again, and open the address that it prints.";
    }
    draw();
    setTimeout(follow, document.hidden ? 5 * EVERY : unread ? EVERY / 4 : EVERY);
  };
  window.addEventListener("hashchange", recall);
  recall();
  follow();
})();

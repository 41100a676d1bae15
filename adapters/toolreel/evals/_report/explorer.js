// All runs: filtered, listed, and read. What is shown is in the address behind "#", so it can be passed on.
const explorer = (() => {
  const { el, data, packed, command, onKeys } = toolreel;
  const place = document.getElementById("explorer");
  const index = data("run-index");
  const axes = index.axes;
  const cells = index.cells.map(([name, ...values], number) => ({
    number, name, values: Object.fromEntries(axes.map((axis, at) => [axis, values[at]])), runs: [],
  }));
  const valuesOf = Object.fromEntries(axes.map((axis) => [axis, [...new Set(cells.map((cell) => cell.values[axis]))]]));
  const runs = index.runs.map(([cell, trial, name, result, category, reason, hint, recorded], number) => {
    const run = {
      number, name, trial, result, recorded, cell: cells[cell],
      category, reason, hint,
    };
    run.words = [name, ...Object.values(run.cell.values), result, index.results[result], run.category, run.reason]
      .join(" ").toLowerCase();
    run.cell.runs.push(run);
    return run;
  });
  const runOf = new Map(runs.map((run) => [run.name, run]));
  const cellOf = new Map(cells.map((cell) => [cell.name, cell]));
  const varying = axes.filter((axis) => valuesOf[axis].length > 1);
  const passes = (run) => run.result === "pass" || run.result === "pass_unexercised";
  const SHOWN = 100;

  const titleOf = (run, but = []) =>
    [...varying.filter((axis) => !but.includes(axis)).map((axis) => run.cell.values[axis]), `trial ${run.trial}`].join(", ");
  const resultOf = (run) => el("strong", { class: passes(run) ? "good" : "bad" }, index.results[run.result]);

  // The filters.
  const KEYS = [...varying, "result", "category", "words"];
  const fields = {};
  const option = (value, words) => el("option", { value }, words);
  const choice = (key, label, any, options) => {
    fields[key] = el("select", { "aria-label": label }, option("", any), options);
    return el("label", {}, label, fields[key]);
  };
  const grouped = (names) => {
    const packs = [...new Set(names.map((name) => index.packs[name] ?? ""))];
    return packs.map((pack) =>
      el("optgroup", { label: pack || "others" },
        names.filter((name) => (index.packs[name] ?? "") === pack).map((name) => option(name, name))));
  };
  const categories = [...new Set(runs.map((run) => run.category).filter(Boolean))].sort();
  fields.words = el("input", { type: "search", placeholder: "words of a run" });
  const controls = el("div", { class: "controls" },
    varying.map((axis) => {
      const names = valuesOf[axis];
      return choice(axis, axis, `all ${names.length}`, axis === "scenario" ? grouped(names) : names.map((name) => option(name, name)));
    }),
    choice("result", "outcome", "all", [
      option("bad", "did not pass"),
      ...Object.entries(index.results).map(([key, words]) => option(key, words)),
    ]),
    choice("category", "category", "all", categories.map((name) => option(name, name))),
    el("label", {}, "search", fields.words));
  const count = el("p", { role: "status" });
  const list = el("ul", { class: "list", "aria-label": "Runs" });
  const detail = el("div", { class: "detail", tabindex: "-1", role: "region", "aria-label": "The run" });
  const help = el("p", { class: "quiet noprint" },
    el("kbd", {}, "j"), " and ", el("kbd", {}, "k"), ": next and previous run, ",
    el("kbd", {}, "t"), ": all trials side by side, ",
    el("kbd", {}, "/"), ": search, ", el("kbd", {}, "Esc"), ": back to the list");
  place.append(controls, count, help, el("div", { class: "panes" }, list, detail));

  // What is shown, read from the address and written into it.
  let state = {};
  let found = runs;
  let shown = SHOWN;
  const addressOf = (changes) => {
    const parameters = new URLSearchParams();
    const next = { ...state, run: "", cell: "", runs: "", ...changes };
    for (const key of [...KEYS, "run", "cell", "runs"]) if (next[key]) parameters.set(key, next[key]);
    // Commas stay as they are, for people.
    return `#${parameters.toString().replaceAll("%2C", ",") || "runs"}`;
  };
  const read = () => {
    const text = location.hash.slice(1);
    return text.includes("=") ? Object.fromEntries(new URLSearchParams(text)) : null;
  };
  const fits = (run) => {
    const words = (state.words ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    return varying.every((axis) => !state[axis] || run.cell.values[axis] === state[axis])
      && (!state.result || (state.result === "bad" ? run.result !== "pass" : run.result === state.result))
      && (!state.category || run.category === state.category)
      && words.every((word) => run.words.includes(word));
  };

  const rowOf = (run) =>
    el("li", {}, el("a", { href: addressOf({ run: run.name }), "aria-current": run.name === state.run ? "true" : null },
      resultOf(run), ` ${titleOf(run)}`, run.category ? el("small", {}, run.category) : null));
  const showList = () => {
    const at = found.findIndex((run) => run.name === state.run);
    if (at >= shown) shown = at + SHOWN;
    list.replaceChildren(...found.slice(0, shown).map(rowOf));
    if (found.length > shown) {
      const more = el("button", { type: "button", class: "more" }, `Show more: ${(found.length - shown).toLocaleString("en")} are left`);
      more.addEventListener("click", () => {
        const focus = shown;
        shown += SHOWN;
        showList();
        list.children[focus]?.querySelector("a")?.focus();
      });
      list.append(el("li", {}, more));
    }
    count.textContent = `${found.length.toLocaleString("en")} of ${runs.length.toLocaleString("en")} runs`;
  };

  const toldOf = async (run) => {
    return (await packed(`cell-${run.cell.number}`))[run.name];
  };
  const verdictOf = (run) => [
    el("p", {}, resultOf(run), run.category ? ` ${run.category}` : null),
    run.reason ? el("p", { class: passes(run) ? "" : "bad" }, run.reason) : null,
    run.hint ? el("p", { class: "quiet" }, run.hint) : null,
    run.recorded
      ? command(`toolreel eval replay ${index.folder} ${run.name}`)
      : el("p", { class: "quiet" }, "not recorded"),
  ];
  // The same task with another value on one axis: such as under another strategy.
  const twins = (run) =>
    runs.filter((other) => other.trial === run.trial
      && axes.filter((axis) => other.cell.values[axis] !== run.cell.values[axis]).length === 1
      && other.cell.values.scenario === run.cell.values.scenario);
  const linksOf = (run) => {
    const trials = run.cell.runs.length > 1
      ? [el("a", { href: addressOf({ cell: run.cell.name }) }, `all ${run.cell.runs.length} trials side by side`)] : [];
    const others = twins(run).map((other) => {
      const axis = axes.find((each) => other.cell.values[each] !== run.cell.values[each]);
      return [el("a", { href: addressOf({ runs: `${run.name},${other.name}` }) }, `with ${other.cell.values[axis]}`), " (", resultOf(other), ")"];
    });
    return el("ul", { class: "links noprint" }, [...trials, ...others].map((link) => el("li", {}, link)));
  };
  const backLink = () => el("p", { class: "noprint" }, el("a", { href: addressOf({}) }, "back to the list"));
  const columnOf = async (run, title) => ({
    head: [el("a", { href: addressOf({ run: run.name }) }, title), " ", resultOf(run)],
    told: await toldOf(run),
    error: [run.category, run.reason].filter(Boolean).join(": "),
  });
  const contents = async () => {
    if (state.run && runOf.has(state.run)) {
      const run = runOf.get(state.run);
      return [backLink(), el("h3", {}, titleOf(run)), verdictOf(run), linksOf(run), transcripts.single(await toldOf(run))];
    }
    if (state.cell && cellOf.has(state.cell)) {
      const cell = cellOf.get(state.cell);
      const columns = await Promise.all(cell.runs.map((run) => columnOf(run, `trial ${run.trial}`)));
      const title = varying.map((axis) => cell.values[axis]).join(", ");
      return [backLink(), el("h3", {}, title), transcripts.besides(columns)];
    }
    const several = (state.runs ?? "").split(",").map((name) => runOf.get(name)).filter(Boolean);
    if (several.length > 1) {
      const differing = varying.filter((axis) => several.some((run) => run.cell.values[axis] !== several[0].cell.values[axis]));
      const columns = await Promise.all(several.map((run) =>
        columnOf(run, differing.map((axis) => run.cell.values[axis]).join(", ") || `trial ${run.trial}`)));
      return [backLink(), el("h3", {}, titleOf(several[0], differing)), transcripts.besides(columns)];
    }
    if (state.run || state.cell || state.runs) return [el("p", {}, "This page has no such run.")];
    return [el("p", { class: "quiet" }, "Choose a run to read it turn by turn, or a cell of the table above to see its trials side by side.")];
  };
  let asked = 0;
  const showDetail = async () => {
    const mine = asked += 1;
    const made = await contents();
    if (mine === asked) detail.replaceChildren(...made.flat(9).filter((each) => each !== null && each !== undefined && each !== ""));
  };

  const show = async (next) => {
    const filtersChanged = KEYS.some((key) => (next[key] ?? "") !== (state[key] ?? ""));
    state = next;
    if (filtersChanged) shown = SHOWN;
    for (const key of KEYS) if (document.activeElement !== fields[key]) fields[key].value = state[key] ?? "";
    found = runs.filter(fits);
    showList();
    await showDetail();
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  };
  const follow = async () => {
    const next = read();
    if (!next) return;
    await show(next);
    const target = next.run || next.cell || next.runs ? detail : place;
    target.scrollIntoView();
    if (target === detail) detail.focus({ preventScroll: true });
  };
  const filter = () => {
    const chosen = Object.fromEntries(KEYS.map((key) => [key, fields[key].value]));
    // Without an entry in the history for each letter.
    history.replaceState(null, "", addressOf({ ...chosen, run: state.run, cell: state.cell, runs: state.runs }));
    show({ ...state, ...chosen });
  };
  for (const key of KEYS) fields[key].addEventListener(key === "words" ? "input" : "change", filter);

  const move = (by) => {
    const at = found.findIndex((run) => run.name === state.run);
    const next = found[at < 0 ? 0 : Math.min(found.length - 1, Math.max(0, at + by))];
    if (next) location.hash = addressOf({ run: next.name });
  };
  onKeys({
    j: () => move(1),
    k: () => move(-1),
    t: () => { const run = runOf.get(state.run); if (run) location.hash = addressOf({ cell: run.cell.name }); },
    "/": () => { place.scrollIntoView(); fields.words.focus(); },
    Escape: () => {
      if (document.activeElement === fields.words) fields.words.blur();
      else if (state.run || state.cell || state.runs) {
        const before = state.run;
        history.pushState(null, "", addressOf({}));
        show(read() ?? {}).then(() => {
          const row = list.children[Math.max(0, found.findIndex((run) => run.name === before))];
          row?.querySelector("a")?.focus();
        });
      }
    },
  });
  window.addEventListener("hashchange", follow);
  show({}).then(follow);
})();

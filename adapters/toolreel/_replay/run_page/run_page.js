// The page of one run, or of two side by side: what it shows is in the address behind "#", so it can be passed on.
const runPage = (() => {
  const { el, flat, data, packed, command, onKeys } = toolreel;
  const { counted, duration } = values;
  const page = data("page");
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
  const shares = (given) => {
    const total = (given ?? []).reduce((sum, [, ms]) => sum + (ms ?? 0), 0);
    if (!total) return null;
    return el("div", { class: "shares" },
      el("div", { class: "bar", "aria-hidden": "true" }, given.map(([name, ms]) => el("span", { class: name, "data-grow": String(ms ?? 0) }))),
      el("p", { class: "quiet" }, given.filter(([, ms]) => ms).map(([name, ms]) => el("span", { class: `key ${name}` }, `${name} ${duration(ms)}`))));
  };
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
    run.head.verdict ? el("p", {}, "Judged: ", el("strong", {}, run.head.verdict[0]), run.head.verdict[1] ? `, ${values.whole(run.head.verdict[1])}` : "") : null,
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
      found.length ? null : el("p", {}, "No turn has these words."),
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
        el("section", { class: "side", "aria-label": "Figures" }, figures(run.head), shares(run.head.shares), warnings(run.head))),
      run.head.recorded ? command(run.head.command ?? `toolreel explain ${run.quoted}`) : el("p", { class: "quiet" }, "This run was not recorded, so there are no raw requests and replies: record it to see them."),
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

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
      compared.other_bytes.length ? el("p", { class: "quiet" }, `Ids, times or token counts differ in ${values.counted(compared.other_bytes.length, "earlier event")}, which changes nothing.`) : null,
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

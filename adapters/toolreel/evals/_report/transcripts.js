// Transcripts: one run turn by turn, and several side by side with the place where they part.
const transcripts = (() => {
  const { el } = toolreel;
  const whole = (text) => (typeof text === "string" ? text : text.cut);
  const block = (text, label) => {
    const shown = el("pre", label ? { "aria-label": label } : {}, whole(text));
    if (typeof text === "string") return shown;
    return [shown, el("p", { class: "quiet" }, `${text.more.toLocaleString("en")} more characters are in the cassette.`)];
  };
  const callOf = (call) =>
    el("div", { class: call.ok ? "call" : "call failed" },
      el("p", {}, el("code", {}, whole(call.name)), " ",
        el("span", { class: call.ok ? "good" : "bad" }, [call.ok ? "ok" : "not ok", ...call.codes].join(": "))),
      block(call.arguments, "arguments"), block(call.result, "result"));
  const turnOf = (turn) => [
    ...turn.said.map((text) => el("div", { class: "turn" }, el("h4", {}, "user"), block(text))),
    el("div", { class: "turn" },
      el("h4", {}, `Turn ${turn.number}`, turn.finish ? el("span", { class: "quiet" }, ` finish ${turn.finish}, ${turn.tokens}`) : null),
      turn.remarks.map((remark) => el("p", { class: "quiet" }, whole(remark))),
      whole(turn.text) ? block(turn.text) : null,
      turn.calls.map(callOf)),
  ];
  const openingOf = (told) =>
    told.opening.map(([role, text]) => el("div", { class: "turn" }, el("h4", {}, role), block(text)));
  const problemOf = (told) => el("p", { class: "quiet" }, "Cannot be told: ", whole(told.problem));
  const attempt = (told) =>
    told.attempt > 1 ? el("p", { class: "quiet" }, `Attempt ${told.attempt}; those before it were repeated.`) : null;
  const ending = (told) => el("p", { class: "state" }, whole(told.ending));

  const single = (told) =>
    told.problem ? [problemOf(told)] : [attempt(told), openingOf(told), told.turns.map(turnOf), ending(told)];

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  // Runs that began with the same words are compared word by word. Trials draw their own names and numbers,
  // so of those only the calls and how they went can be compared.
  const turnDiffers = (one, other, exactly) => {
    const many = Math.max(one.calls.length, other.calls.length);
    for (let at = 0; at < many; at += 1) {
      const [call, opposite] = [one.calls[at], other.calls[at]];
      if (!call || !opposite) return `${one.calls.length} calls, and ${other.calls.length}`;
      for (const what of exactly ? ["name", "arguments", "result"] : ["name", "ok"]) {
        if (!same(call[what], opposite[what])) return `${what === "ok" ? "the success" : `the ${what}`} of call ${at + 1}`;
      }
    }
    if (exactly && !same(one.text, other.text)) return "the text";
    return one.finish === other.finish ? "" : "why the reply ended";
  };
  const pairDiffers = (one, other) => {
    const exactly = same(one.opening, other.opening);
    const many = Math.max(one.turns.length, other.turns.length);
    for (let at = 0; at < many; at += 1) {
      if (!one.turns[at] || !other.turns[at]) return { turn: at + 1, what: "not all of them have this turn" };
      const what = turnDiffers(one.turns[at], other.turns[at], exactly);
      if (what) return { turn: at + 1, what };
    }
    return (exactly ? same(one.ending, other.ending) : one.ending === other.ending)
      ? null : { turn: many + 1, what: "how they ended" };
  };
  const firstDifference = (told) =>
    told.slice(1).map((other) => pairDiffers(told[0], other)).filter(Boolean)
      .sort((a, b) => a.turn - b.turn)[0] ?? null;

  // columns: { head: nodes, told: transcript, error: text }
  const besides = (columns) => {
    const known = columns.filter(({ told }) => !told.problem);
    const parts = known.length > 1 ? firstDifference(known.map(({ told }) => told)) : null;
    const many = Math.max(0, ...known.map(({ told }) => told.turns.length));
    const cells = (make) => columns.map((column) => el("td", {}, make(column)));
    const rows = [];
    const mark = (turn) => {
      if (parts?.turn !== turn) return {};
      rows.push(el("tr", { class: "parts", id: "parts" },
        el("td", { colspan: columns.length }, el("strong", {}, `Here they part: ${parts.what}`))));
      return { class: "parts" };
    };
    const shared = known.length === columns.length && known.every(({ told }) => same(told.opening, known[0].told.opening));
    rows.push(shared
      ? el("tr", {}, el("td", { colspan: columns.length }, openingOf(known[0].told)))
      : el("tr", {}, cells(({ told }) => (told.problem ? problemOf(told) : openingOf(told)))));
    for (let at = 0; at < many; at += 1) {
      const row = mark(at + 1);
      rows.push(el("tr", row, cells(({ told }) =>
        told.problem ? "" : told.turns[at] ? turnOf(told.turns[at]) : el("span", { class: "quiet" }, "no further turn"))));
    }
    const last = mark(many + 1);
    rows.push(el("tr", last, cells(({ told, error }) => [told.problem ? null : ending(told), error ? el("p", {}, error) : null])));
    const words = known.length < 2 ? ""
      : parts ? `They part in turn ${parts.turn}: ${parts.what}.`
      : "What they did is the same; only the verdicts may differ.";
    return [
      el("p", { class: "state" }, words),
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Runs side by side" },
        el("table", { class: "beside" },
          el("thead", {}, el("tr", {}, columns.map(({ head }) => el("th", { scope: "col" }, head)))),
          el("tbody", {}, rows))),
    ];
  };
  return { single, besides };
})();

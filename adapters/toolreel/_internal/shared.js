"use strict";
// What all pages share. Texts become text nodes and nothing else, so nothing that a model wrote is markup.
const toolreel = (() => {
  const flat = (nodes) => nodes.flat(9).filter((each) => each !== null && each !== undefined && each !== "");
  const el = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...flat(children));
    return made;
  };
  const data = (id) => {
    const found = document.getElementById(id);
    return found && JSON.parse(found.textContent);
  };
  const unpack = async (letters) => {
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  };
  // Each is unpacked once, when it is first looked at.
  const kept = new Map();
  const packed = (id) => {
    if (!kept.has(id)) {
      const found = document.getElementById(id);
      kept.set(id, found ? unpack(found.textContent) : Promise.resolve(null));
    }
    return kept.get(id);
  };
  // A page that was opened as a file may not have the clipboard; then the selection is copied.
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = el("textarea", { class: "unseen", readonly: true });
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  };
  const copyButton = (text, what) => {
    const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "copy");
    button.addEventListener("click", async () => {
      button.textContent = (await copied(text)) ? "copied" : "press Ctrl+C";
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });
    return button;
  };
  const command = (text, what = "the command") =>
    el("p", { class: "command" }, el("code", {}, text), " ", copyButton(text, what));
  for (const place of document.querySelectorAll("[data-copy]")) {
    place.after(" ", copyButton(place.textContent, place.dataset.copy));
  }
  for (const table of document.querySelectorAll("table[data-sorts]")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = el("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const shown = (row) => row.cells[column].textContent.trim();
        const rows = [...table.tBodies[0].rows].sort((a, b) =>
          shown(a).localeCompare(shown(b), "en", { numeric: true })
        );
        table.tBodies[0].append(...(falling ? rows.reverse() : rows));
      });
    });
  }
  // Keys never act while a field has the focus, or together with a key that belongs to the browser.
  const onKeys = (actions) =>
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input,select,textarea");
      if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
      const action = actions[event.key];
      if (action) {
        event.preventDefault();
        action(event);
      }
    });
  return { el, flat, data, packed, command, copyButton, onKeys };
})();

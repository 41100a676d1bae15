"use strict";
// Niceties: a page without scripts has everything else.
for (const table of document.querySelectorAll("table[data-sorts]")) {
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const told = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows].sort((a, b) =>
        told(a).localeCompare(told(b), "en", { numeric: true })
      );
      table.tBodies[0].append(...(falling ? rows.reverse() : rows));
    });
  });
}
for (const place of document.querySelectorAll("[data-filters]")) {
  const rows = [...document.getElementById(place.dataset.filters).tBodies[0].rows];
  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("span");
  field.type = "search";
  field.placeholder = "words that a row must have";
  label.append("Filter ", field);
  count.setAttribute("role", "status");
  place.append(label, count);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      left += row.hidden ? 0 : 1;
    }
    count.textContent = `${left} of ${rows.length}`;
  });
}
const opened = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target) {
    const around = target.closest("details");
    if (around) around.open = true;
    target.scrollIntoView();
  }
};
window.addEventListener("hashchange", opened);
opened();

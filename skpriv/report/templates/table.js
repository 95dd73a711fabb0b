"use strict";
// Sorts and filters the table of all records. Without it, the table is a plain one.
for (const details of document.querySelectorAll("details.long")) {
  const body = details.querySelector("tbody");
  const rows = [...body.rows].map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    atRisk: [...row.cells].some((cell) => cell.textContent === "at risk"),
  }));
  const headings = [...details.querySelectorAll("thead th")];
  const controls = details.querySelector(".controls");
  const [search, onlyAtRisk] = controls.querySelectorAll("input");
  const status = controls.querySelector("[role=status]");

  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const { row, text, atRisk } of rows) {
      row.hidden = !text.includes(wanted) || (onlyAtRisk.checked && !atRisk);
      shown += !row.hidden;
    }
    const number = (n) => n.toLocaleString("en");
    status.textContent = `Shown: ${number(shown)} of ${number(rows.length)}`;
  };

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent : Number(value);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (column) => {
    const heading = headings[column];
    // A column of numbers begins with the highest.
    const numeric = heading.classList.contains("figure");
    const now = heading.getAttribute("aria-sort");
    const next = now === null ? numeric : now === "ascending";
    for (const other of headings) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", next ? "descending" : "ascending");
    const sign = next ? -1 : 1;
    const keys = new Map(rows.map(({ row }) => [row, keyOf(row, column)]));
    rows.sort((a, b) => sign * compare(keys.get(a.row), keys.get(b.row)));
    body.append(...rows.map(({ row }) => row));
  };

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(column));
    heading.append(button);
  });
  search.addEventListener("input", filter);
  onlyAtRisk.addEventListener("change", filter);
  controls.hidden = false;
  filter();
}

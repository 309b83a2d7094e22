"use strict";
// Rows are sorted by numbers where both cells begin with one, else by their words; those without come last.
const words = new Intl.Collator(undefined, { numeric: true });
function sort(table, column, rising) {
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const text = row.cells[column].textContent.trim();
    return { row, text, size: Number(text.split(" ")[0].replace("−", "-").replaceAll(",", "")) };
  });
  keyed.sort((a, b) => Number.isNaN(a.size) - Number.isNaN(b.size)
    || (a.size - b.size || words.compare(a.text, b.text)) * (rising ? 1 : -1));
  table.tBodies[0].append(...keyed.map(({ row }) => row));
}
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const rising = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    sort(table, column, rising);
  }));
}
// A folded chart is drawn when it is opened: then its width is known.
document.addEventListener("toggle", ({ target }) => {
  const folded = target.querySelector(":scope > template");
  if (folded) folded.replaceWith(folded.content);
}, true);

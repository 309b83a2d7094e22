"use strict";
// Rows are sorted by numbers where all cells have one, else by their words; a dash comes last.
const words = new Intl.Collator(undefined, { numeric: true });
function sort(table, column, rising) {
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const { dataset, textContent } = row.cells[column];
    const text = textContent.trim();
    const size = Number(dataset.v ?? text.replace("−", "-").replaceAll(",", "").split(" ")[0]);
    return { row, text, size, missing: text === "" || text === "–" };
  });
  const numbers = keyed.every(({ missing, size }) => missing || !Number.isNaN(size));
  keyed.sort((a, b) => (a.missing || b.missing ? a.missing - b.missing
    : (numbers ? a.size - b.size : words.compare(a.text, b.text)) * (rising ? 1 : -1)));
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
document.addEventListener("input", ({ target }) => {
  const wanted = target.value.toLowerCase();
  for (const row of document.getElementById(target.dataset.filter).tBodies[0].rows)
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
// A chart is drawn when it is seen first, or when the page is printed.
const options = { displayModeBar: false };
function draw(chart) {
  const script = chart.querySelector("script");
  if (!script) return;
  const { data, layout } = JSON.parse(script.textContent);
  script.remove();
  window.Plotly.newPlot(chart, data, { ...layout, autosize: true }, options);
  new ResizeObserver(([{ contentRect: { width } }]) => width
    && window.Plotly.relayout(chart, { width })).observe(chart);
}
const charts = document.querySelectorAll(".chart");
const watcher = new IntersectionObserver((entries) => entries
  .filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => draw(target)));
charts.forEach((chart) => watcher.observe(chart));
window.addEventListener("beforeprint", () => charts.forEach(draw));

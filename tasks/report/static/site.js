"use strict";
(() => {
  // Every word must be in one of the names; the search is part of the address.
  const form = document.getElementById("search");
  const rows = [...document.querySelectorAll("#boards-table tbody tr")];
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const fields = [...form.elements].filter((field) => field.name);

  function search() {
    for (const row of rows) {
      row.hidden = !fields.every((field) => {
        const names = row.dataset[field.name].toLowerCase().split("\n");
        return names.some((name) => words(field.value).every((word) => name.includes(word)));
      });
    }
    const shown = rows.filter((row) => !row.hidden).length;
    for (const part of document.querySelectorAll("main [data-board]:not(tr)")) {
      part.hidden = rows.find((row) => row.dataset.board === part.dataset.board).hidden;
    }
    document.getElementById("count").textContent = `${shown} of ${rows.length}`;
    const asked = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
    history.replaceState(null, "", `#${new URLSearchParams(asked)}`);
  }

  const asked = new URLSearchParams(location.hash.slice(1));
  for (const field of fields) field.value = asked.get(field.name) ?? "";
  form.addEventListener("input", search);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (fields.some((field) => field.value)) search();
})();

"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Elements are made from text alone: a name that looks like markup stays a name.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  async function unpack(id) {
    const raw = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(raw, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // Theme -----------------------------------------------------------------------------------
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const memory = {
    get() { try { return localStorage.getItem("leaseboard-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("leaseboard-theme", value); } catch { /* private */ } },
  };
  const asked = new URLSearchParams(location.search).get("theme") || memory.get();
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  find("#theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    memory.set(root.dataset.theme);
    redraw();
  });
  system.addEventListener("change", () => redraw());
  let onScreen;
  window.addEventListener("beforeprint", () => { // paper is light
    onScreen = root.dataset.theme;
    root.dataset.theme = "light";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (onScreen) root.dataset.theme = onScreen;
    else delete root.dataset.theme;
    redraw();
  });

  // Tables: sort and filter -----------------------------------------------------------------
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  function sortable(table) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = find("button", head);
      if (button) button.addEventListener("click", () => sort(table, heads, column));
    });
  }
  function sort(table, heads, column) {
    const rising = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", rising ? "ascending" : "descending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      const value = cell.dataset.v ?? cell.textContent.trim();
      return { row, value, size: value === "" ? NaN : Number(value) };
    });
    const numbers = keyed.every((k) => k.value === "" || !Number.isNaN(k.size));
    keyed.sort((a, b) => {
      if (a.value === "" || b.value === "") return (a.value === "") - (b.value === "");
      const order = numbers ? a.size - b.size : words.compare(a.value, b.value);
      return rising ? order : -order;
    });
    body.append(...keyed.map((k) => k.row));
  }
  function refilter(id) {
    const table = document.getElementById(id);
    const field = find(`[data-filter="${id}"]`);
    const picker = find(`select[data-pick="${id}"]`);
    const wanted = (field ? field.value : "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      const picked = !picker || !picker.value
        || row.cells[picker.dataset.column].textContent === picker.value;
      row.hidden = !(picked && wanted.every((word) => text.includes(word)));
      shown += row.hidden ? 0 : 1;
    }
    const count = find(`[data-count="${id}"]`);
    if (count) count.textContent = `${shown} of ${table.tBodies[0].rows.length}`;
  }
  all("table.sortable").forEach(sortable);
  all("[data-filter]").forEach((field) =>
    field.addEventListener("input", () => refilter(field.dataset.filter)));
  all("select[data-pick]").forEach((picker) =>
    picker.addEventListener("change", () => refilter(picker.dataset.pick)));

  // Charts ----------------------------------------------------------------------------------
  let library = null;
  const plotly = () => (library ??= unpack("plotly").then((code) => {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.Plotly;
  }));
  const drawn = new Map();

  function themed(spec) {
    const style = getComputedStyle(root);
    const token = (name) => style.getPropertyValue(name).trim();
    const filled = JSON.stringify([spec.data, spec.layout])
      .replaceAll('"$ink"', JSON.stringify(token("--ink")))
      .replaceAll('"$muted"', JSON.stringify(token("--muted")))
      .replaceAll('"$surface"', JSON.stringify(token("--ground")))
      .replaceAll('"$accent"', JSON.stringify(token("--accent")));
    const [data, layout] = JSON.parse(filled);
    const axis = { gridcolor: token("--line"), zerolinecolor: token("--line"),
      linecolor: token("--muted"), automargin: true };
    const axes = Object.fromEntries(["xaxis", "yaxis", ...Object.keys(layout)]
      .filter((name) => /^[xy]axis\d*$/.test(name))
      .map((name) => [name, { ...axis, ...layout[name] }]));
    return [data, {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: "system-ui, sans-serif", size: 13, color: token("--ink") },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: token("--muted"), activecolor: token("--ink") },
      margin: { l: 56, r: 14, t: 30, b: 44 },
      hoverlabel: { bgcolor: token("--raised"), bordercolor: token("--line"),
        font: { color: token("--ink") }, namelength: 60, align: "left" },
      ...axes,
    }];
  }
  // The button that would upload a chart stays away: a page never calls anybody.
  const options = { responsive: true, displaylogo: false, showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

  async function draw(figure, spec) {
    const area = make("div", { class: "area", role: "group",
      "aria-label": `${spec.title}. ${spec.note}` });
    const tools = make("div", { class: "tools" });
    figure.replaceChildren(make(figure.dataset.heading || "h3", {}, spec.title), tools, area,
      make("figcaption", {}, spec.note));
    area.style.minHeight = `${spec.layout.height || 400}px`;
    area.style.minWidth = `${spec.layout.meta?.minWidth || 0}px`;
    const library = await plotly();
    const [data, layout] = themed(spec);
    await library.newPlot(area, data, layout, options);
    drawn.set(area, spec);
    legend(tools, area, spec, library);
    for (const name of spec.log) scaleButton(tools, area, spec, name, library);
  }
  function legend(tools, area, spec, library) {
    const entries = spec.data.map((trace, index) => ({ trace, index }))
      .filter(({ trace }) => trace.name && trace.showlegend !== false);
    if (entries.length < 2 && !entries.some(({ trace }) => trace.legendgroup)) return;
    for (const { trace, index } of entries) {
      const group = spec.data.map((other, i) => ({ other, i }))
        .filter(({ other, i }) => i === index
          || (trace.legendgroup && other.legendgroup === trace.legendgroup))
        .map(({ i }) => i);
      const swatch = make("span", { class: "swatch" });
      const paint = trace.fillcolor || trace.line?.color || trace.marker?.color || "$ink";
      swatch.style.background = paint.startsWith("$") ? `var(--${paint.slice(1)})` : paint;
      const name = new DOMParser().parseFromString(trace.name, "text/html").body.textContent;
      const shown = String((trace.visible ?? true) === true);
      const button = make("button", { type: "button", "aria-pressed": shown }, swatch, name);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        for (const i of group) spec.data[i].visible = on;
        library.restyle(area, { visible: on }, group);
      });
      tools.append(button);
    }
  }
  function scaleButton(tools, area, spec, name, library) {
    const key = `${name}axis`;
    const button = make("button", { type: "button", class: "scale",
      "aria-pressed": String(spec.layout[key].type === "log") }, `log ${name}`);
    button.addEventListener("click", () => {
      const log = spec.layout[key].type !== "log";
      spec.layout[key].type = log ? "log" : "linear";
      button.setAttribute("aria-pressed", String(log));
      library.relayout(area, { [`${key}.type`]: spec.layout[key].type, [`${key}.autorange`]: true });
    });
    tools.append(button);
  }
  async function redraw() {
    const library = drawn.size ? await plotly() : null;
    for (const [area, spec] of drawn) {
      if (area.isConnected) library.react(area, ...themed(spec), options);
      else drawn.delete(area);
    }
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      entry.target.dispatchEvent(new Event("seen"));
    }
  }, { rootMargin: "400px" });
  function lazily(figure, spec) {
    figure.addEventListener("seen", async () => draw(figure, await spec()), { once: true });
    watcher.observe(figure);
  }

  const load = async (id) => JSON.parse(await unpack(id));
  for (const figure of document.querySelectorAll("figure.chart[data-spec]")) {
    lazily(figure, () => load(figure.dataset.spec));
    // What the page is read for is drawn at once, so that it is on paper too.
    if (figure.matches("#summary *, #tests *")) figure.dispatchEvent(new Event("seen"));
  }
  all("select[data-chart]").forEach((picker) => {
    const chart = document.getElementById(picker.dataset.chart);
    picker.addEventListener("change", async () => {
      chart.dataset.spec = picker.value;
      await draw(chart, await load(picker.value));
    });
  });

  // The page of a job -----------------------------------------------------------------------
  function grid(label, columns, rows, tagged) {
    const head = make("tr", {}, ...columns.map((name) =>
      make("th", { scope: "col" }, make("button", { type: "button" }, name))));
    const body = rows.map((row) => make("tr", {}, ...row.map((value, i) => {
      const text = value === null || value === undefined ? "–" : String(value);
      if (i === tagged) return make("td", {}, make("span", { class: `tag ${text}` }, text));
      return make("td", typeof value === "number" ? { class: "n", "data-v": value } : {}, text);
    })));
    const table = make("table", { class: "sortable" }, make("thead", {}, head),
      make("tbody", {}, ...body));
    sortable(table);
    return make("div", { class: "scroll tall", tabindex: "0", role: "region",
      "aria-label": label }, table);
  }
  function command(text) {
    const button = make("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it by hand";
      }
    });
    return make("div", { class: "command" }, make("pre", {}, make("code", {}, text)), button);
  }
  async function showJob(key) {
    const job = JSON.parse(await unpack(`payload-${key}`));
    find("#job h1").textContent = job.title;
    const body = find("#job .body");
    body.replaceChildren(command(job.command), make("dl", { class: "facts" },
      ...job.facts.map(([name, text]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, text)))));
    if (!job.figures) body.append(make("p", { class: "callout" }, "This job left no event log."));
    for (const spec of job.figures || []) {
      const figure = make("figure", { class: "chart", "data-heading": "h2" });
      body.append(spec.folded ? make("details", { class: "folded" },
        make("summary", {}, spec.folded), figure) : figure);
      lazily(figure, async () => spec);
    }
    if (job.configurations?.rows.length) {
      const { total, rows, columns, outcomes } = job.configurations;
      const listed = Object.entries(outcomes).map(([name, n]) => `${n} ${name}`).join(", ");
      body.append(make("h2", {}, `Configurations (${total})`),
        make("p", {}, rows.length < total ? `${listed}. The ${rows.length} that consumed most:`
          : `${listed}.`), grid("Configurations", columns, rows, 1));
    }
    if (job.decisions?.rows.length) {
      const { total, rows } = job.decisions;
      const shown = rows.length < total ? `${rows.length} of ${total}` : `${total}`;
      body.append(make("h2", {}, `Decisions (${shown})`), grid("Decisions", ["At", "What", "Which"], rows));
    }
    if (job.events) {
      const listed = Object.entries(job.events).map(([name, n]) => `${n} ${name}`).join(", ");
      body.append(make("p", { class: "note" }, `Events: ${listed}.`));
    }
  }
  async function route() {
    if (!find("#job")) return;
    const key = location.hash.startsWith("#job-") ? location.hash.slice(5) : "";
    const open = Boolean(key && document.getElementById(`payload-${key}`));
    if (open) await showJob(key);
    if (key && location.hash !== `#job-${key}`) return; // another link was followed meanwhile
    find("#board").hidden = open;
    find("#job").hidden = !open;
    if (open) {
      window.scrollTo(0, 0);
      find("#job h1").focus({ preventScroll: true });
    } else if (location.hash.length > 1) {
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", route);
  route();
})();

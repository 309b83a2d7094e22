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

  const bytesOf = (id) => Uint8Array.from(atob(document.getElementById(id).textContent),
    (character) => character.charCodeAt(0));
  async function unpack(id) {
    const stream = new Blob([bytesOf(id)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // The browser's own decompression is asynchronous: a page that is printed cannot wait for it.
  // RFC 1951; the gzip header is of ten bytes, and the last four bytes are the length.
  const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83,
    99, 115, 131, 163, 195, 227, 258];
  const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
    1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  function unpackNow(id) {
    const bytes = bytesOf(id);
    const out = new Uint8Array(new DataView(bytes.buffer).getUint32(bytes.length - 4, true));
    let at = 10, to = 0, hold = 0, held = 0;
    const bits = (n) => {
      while (held < n) { hold |= bytes[at++] << held; held += 8; }
      const value = hold & ((1 << n) - 1);
      hold >>>= n; held -= n;
      return value;
    };
    const tree = (lengths) => { // canonical Huffman code: symbols by length
      const count = new Uint16Array(16), place = new Uint16Array(17);
      for (const length of lengths) if (length) count[length]++;
      for (let i = 1; i < 16; i++) place[i + 1] = place[i] + count[i];
      const symbols = new Uint16Array(lengths.length);
      lengths.forEach((length, symbol) => { if (length) symbols[place[length]++] = symbol; });
      return { count, symbols };
    };
    const symbol = ({ count, symbols }) => {
      for (let code = 0, first = 0, index = 0, length = 1; ; length++) {
        code |= bits(1);
        const n = count[length];
        if (code - n < first) return symbols[index + code - first];
        index += n;
        first = (first + n) << 1;
        code <<= 1;
      }
    };
    const trees = () => {
      const [literals, distances, codes] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
      const lengths = Array(19).fill(0);
      for (let i = 0; i < codes; i++) lengths[ORDER[i]] = bits(3);
      const code = tree(lengths), all = [];
      while (all.length < literals + distances) {
        const one = symbol(code);
        if (one < 16) all.push(one);
        else {
          const times = one === 16 ? 3 + bits(2) : one === 17 ? 3 + bits(3) : 11 + bits(7);
          all.push(...Array(times).fill(one === 16 ? all.at(-1) : 0));
        }
      }
      return [tree(all.slice(0, literals)), tree(all.slice(literals))];
    };
    const fixed = [tree(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9
      : i < 280 ? 7 : 8))), tree(Array(30).fill(5))];
    for (let last = 0; !last;) {
      last = bits(1);
      const kind = bits(2);
      if (!kind) { // stored
        hold = held = 0;
        const length = bytes[at] | (bytes[at + 1] << 8);
        out.set(bytes.subarray(at + 4, at + 4 + length), to);
        at += 4 + length; to += length;
        continue;
      }
      const [literal, distance] = kind === 1 ? fixed : trees();
      for (let one = symbol(literal); one !== 256; one = symbol(literal)) {
        if (one < 256) { out[to++] = one; continue; }
        const i = one - 257;
        const length = LENGTHS[i] + (i < 8 || i === 28 ? 0 : bits((i - 4) >> 2));
        const j = symbol(distance);
        const back = DISTANCES[j] + (j < 4 ? 0 : bits((j - 2) >> 1));
        for (let k = 0; k < length; k++, to++) out[to] = out[to - back];
      }
    }
    return new TextDecoder().decode(out);
  }

  const load = (id) => JSON.parse(unpackNow(id));

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
  let onScreen, folded = [];
  window.addEventListener("beforeprint", () => { // paper is light, narrow, and unfolds nothing
    onScreen = root.dataset.theme;
    root.dataset.theme = "light";
    folded = all("details:not([open], [data-lazy])")
      .filter((each) => all("tr", each).length <= FEW);
    for (const each of folded) each.open = true;
    for (const [figure, spec] of pending) draw(figure, spec(), plotlyNow());
    redraw(PAPER);
    for (const table of all("table")) fit(table);
  });
  window.addEventListener("afterprint", () => {
    if (onScreen) root.dataset.theme = onScreen;
    else delete root.dataset.theme;
    for (const each of folded) each.open = false;
    for (const table of all("table")) table.removeAttribute("style");
    redraw();
  });

  function fit(table) { // a wide table is made smaller
    Object.assign(table.style, { fontSize: "8.5pt", width: "min-content" });
    const wide = table.offsetWidth;
    table.removeAttribute("style");
    if (wide > PAPER) table.style.zoom = PAPER / wide;
  }

  // Tables: sort and filter -----------------------------------------------------------------
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const MOST = 200; // rows that are shown before a reader asks for all
  const MORE = 5000; // rows that are added at once
  const FEW = 40; // rows that are unfolded on paper
  const FILTERED = 8; // more rows than these can be filtered
  const models = new Map(); // the rows of each table, shown or not
  function sortable(table, rows, most = MOST) {
    const heads = all("thead th", table);
    models.set(table, { rows: rows ?? [...table.tBodies[0].rows].map((element) => ({ element,
      cells: [...element.cells].map((cell) => [cell.textContent.trim(), cell.dataset.v]) })),
      most });
    heads.forEach((head, column) => {
      find("button", head)?.addEventListener("click", () => sort(table, heads, column));
    });
  }
  function sort(table, heads, column) {
    const rising = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", rising ? "ascending" : "descending");
    const keyed = models.get(table).rows.map((row) => {
      const [text, v] = row.cells[column];
      const value = String(v ?? (text === "–" ? "" : text));
      const size = value === "" ? NaN : Number(value.replace("−", "-").replaceAll(",", ""));
      return { row, value, size };
    });
    const numbers = keyed.every((k) => k.value === "" || !Number.isNaN(k.size));
    keyed.sort((a, b) => {
      if (a.value === "" || b.value === "") return (a.value === "") - (b.value === "");
      const order = numbers ? a.size - b.size : words.compare(a.value, b.value);
      return rising ? order : -order;
    });
    models.get(table).rows = keyed.map((k) => k.row);
    show(table);
  }
  // Only rows that are shown are in the document, which keeps a page of ten thousand jobs quick.
  function show(table) {
    const { rows, most } = models.get(table);
    const field = find(`[data-filter="${table.id}"]`);
    const pickers = all(`select[data-pick="${table.id}"]`).filter(({ value }) => value);
    const wanted = (field?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => {
      row.text ??= row.cells.map(([text]) => text).join(" ").toLowerCase();
      return pickers.every(({ value, dataset }) => (value === "> 0"
        ? Number(row.cells[dataset.column][0]) > 0 : row.cells[dataset.column][0] === value))
        && wanted.every((word) => row.text.includes(word));
    });
    table.tBodies[0].replaceChildren(
      ...found.slice(0, most).map((row) => (row.element ??= row.made())));
    const count = find(`[data-count="${table.id}"]`);
    if (count) count.textContent = `${found.length} of ${rows.length}`;
    const more = find(`[data-more="${table.id}"]`);
    if (more) {
      more.hidden = found.length <= most;
      more.textContent = found.length <= most + MORE ? `Show all ${found.length} rows`
        : `Show ${MORE} more rows`;
    }
  }
  all("table.sortable:not([data-rows])").forEach((table) => sortable(table));
  // A long table is packed by column: texts, and what cells are sorted by (v), kinds and hints.
  function fill(table) {
    const columns = load(`${table.id}-rows`);
    const heads = all("thead th", table);
    const keys = columns.find(({ name }) => name === "Key")?.text;
    const made = (row) => make("tr", {}, ...heads.map((head, i) => {
      const { text, v, kind, hint, link } = columns[i];
      const href = link?.[row] || (keys && i === 0 && `#job-${keys[row]}`);
      const pill = kind?.[row].startsWith("tag ");
      const style = [head.className, pill ? "" : kind?.[row]].filter(Boolean).join(" ");
      const isKey = i === Number(table.dataset.rows);
      return make(isKey ? "th" : "td", {
        ...(isKey && { scope: "row" }), ...(style && { class: style }),
        ...((v?.[row] ?? null) !== null && { "data-v": v[row] }),
        ...(hint?.[row] && { title: hint[row] }),
      }, href ? make("a", { href }, text[row])
        : pill ? make("span", { class: kind[row] }, text[row]) : text[row]);
    }));
    sortable(table, columns[0].text.map((_, row) => ({ made: () => made(row),
      cells: heads.map((_, i) => [columns[i].text[row], columns[i].v?.[row] ?? undefined]) })));
    show(table);
  }
  all("table[data-rows]").forEach(fill);
  document.addEventListener("input", ({ target }) => {
    const id = target.dataset.filter ?? target.dataset.pick;
    if (id) show(document.getElementById(id));
  });
  document.addEventListener("click", ({ target }) => {
    if (!target.dataset.more) return;
    const table = document.getElementById(target.dataset.more);
    models.get(table).most += MORE;
    show(table);
  });

  // Charts ----------------------------------------------------------------------------------
  let library = null;
  function run(code) {
    if (window.Plotly) return window.Plotly;
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    return window.Plotly;
  }
  const plotly = () => (library ??= unpack("plotly").then(run));
  const plotlyNow = () => window.Plotly ?? run(unpackNow("plotly"));
  const pending = new Map(); // figures that are not drawn yet
  const drawn = new Map();
  const PAPER = 660; // pixels
  const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));

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
  // The button that would upload a chart stays away: a page never sends anything.
  const options = { displaylogo: false, showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

  function draw(figure, spec, library) {
    pending.delete(figure);
    const area = make("div", { class: "area", role: "group",
      "aria-label": `${spec.title}. ${spec.note}` });
    const tools = make("div", { class: "tools" });
    figure.replaceChildren(make(figure.dataset.heading || "h3", {}, spec.title), tools, area,
      make("figcaption", {}, spec.note));
    area.style.minHeight = `${spec.layout.height || 400}px`;
    area.style.minWidth = `${spec.layout.meta?.minWidth || 0}px`;
    const [data, layout] = themed(spec);
    library.newPlot(area, data, layout, options);
    // At once and by its own box: a window that shrinks while a picture is taken cuts no chart.
    new ResizeObserver(([{ contentRect: { width } }]) =>
      width && library.relayout(area, { width })).observe(area);
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
  function redraw(width) {
    for (const [area, spec] of drawn) {
      const [data, layout] = themed(spec);
      area.style.width = width ? `${width}px` : "";
      area.style.minHeight = width ? "" : `${spec.layout.height || 400}px`;
      if (area.isConnected) window.Plotly.react(area, data, { ...layout, width,
        height: width ? Math.max(0.75 * layout.height, Math.min(layout.height, 320))
          : layout.height }, options);
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
    pending.set(figure, spec);
    figure.addEventListener("seen", async () => {
      const library = await plotly();
      if (pending.has(figure)) draw(figure, spec(), library);
    }, { once: true });
    watcher.observe(figure);
  }

  for (const figure of document.querySelectorAll("figure.chart[data-spec]")) {
    lazily(figure, () => load(figure.dataset.spec));
    // All are drawn when there is time, so that they are on paper too.
    later(() => figure.dispatchEvent(new Event("seen")));
  }
  all("select[data-chart]").forEach((picker) => {
    const chart = document.getElementById(picker.dataset.chart);
    picker.addEventListener("change", async () => {
      chart.dataset.spec = picker.value;
      draw(chart, load(picker.value), await plotly());
    });
  });

  // The page of a job -----------------------------------------------------------------------
  // A table of rows that are lists of numbers and texts; `picks` are columns that can be picked.
  function grid(parent, label, columns, rows, { picks = [], most = MORE, job = null } = {}) {
    const id = `${label.toLowerCase().replaceAll(" ", "-")}-list`;
    const text = (value) => (value === null ? "–" : String(value));
    const made = (row) => make("tr", {}, ...columns.map((name, i) => {
      if (name === "Outcome") return make("td", {}, make("span", { class: `tag ${row[i]}` }, row[i]));
      if (job && !i) return make("th", { scope: "row" }, make("a", { href: job(row) }, row[i]));
      const style = typeof row[i] === "number" ? "n" : name === "Configuration" ? "long" : "";
      return make("td", style ? { class: style } : {}, text(row[i]));
    }));
    const table = make("table", { id, class: "sortable" }, make("caption", {}, label),
      make("thead", {}, make("tr", {}, ...columns.map((name) =>
        make("th", { scope: "col" }, make("button", { type: "button" }, name))))),
      make("tbody"));
    const options = (i) => (columns[i] === "Leases" ? [["> 0", "at least one"], ["0", "none"]]
      : [...new Set(rows.map((row) => text(row[i])))].sort(words.compare).map((one) => [one, one]));
    if (rows.length > FILTERED) {
      parent.append(make("div", { class: "filter" },
        make("label", {}, `Filter ${label.toLowerCase()} `,
          make("input", { type: "search", "data-filter": id })),
        ...picks.map((name) => [name, columns.indexOf(name)]).map(([name, i]) => make("label", {},
          `${name} `, make("select", { "data-pick": id, "data-column": i },
            ...[["", "all"], ...options(i)].map(([value, shown]) => make("option", { value }, shown))))),
        make("output", { "data-count": id, "aria-live": "polite" })));
    }
    parent.append(make("div", { class: "scroll tall", tabindex: "0", role: "region",
      "aria-label": label }, table),
    make("button", { type: "button", class: "more", "data-more": id, hidden: "" }));
    sortable(table, rows.map((row) => ({ made: () => made(row),
      cells: row.map((value) => [text(value)]) })), most);
    show(table);
  }
  const rowsOf = (columns) => columns[0].map((_, row) => columns.map((column) => column[row]));
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
  const FIRST = ["Score", "Metric", "Status", "Consumed", "CPU seconds", "Wall seconds"];
  function showJob(columns, row) {
    const about = Object.fromEntries(columns.map(({ name, text }) => [name, text[row]]));
    const { Algorithm, Data, Repetition, command: words, log, ...facts } = about;
    const shown = Object.entries(facts).filter(([, text]) => text);
    const place = ([name]) => (FIRST.indexOf(name) + 1 || FIRST.length + 1);
    shown.sort((a, b) => place(a) - place(b));
    const job = log.startsWith("logs-") ? load(log)[facts.Key] : {};
    find("#job h1").textContent = `${Algorithm} on ${Data}, repetition ${Repetition}`;
    const body = find("#job .body");
    for (const figure of all("figure", body)) pending.delete(figure);
    body.replaceChildren(
      command(words.replace(/\{([A-Z][a-z ]+)\}/g, (whole, name) => facts[name] ?? whole)),
      make("dl", { class: "facts" }, ...shown.map(
        ([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)))));
    if (document.getElementById("mlflow")) {
      const { ui, jobs, configurations } = load("mlflow");
      const link = (experiment, tag, words) => make("a", { href: `${ui}/#/experiments/${experiment}`
        + `/runs?searchFilter=${encodeURIComponent(`tags.${tag} = '${facts.Key}'`)}`
        + "&workflowType=machine_learning" }, words);
      body.append(make("p", {}, "In MLflow: ", link(jobs, "leaseboard.key", "this job"), ", ",
        link(configurations, "leaseboard.job", "its configurations"), "."));
    }
    if (!job.figures) body.append(make("p", { class: "callout" }, log === "left out"
      ? "The charts of this job are left out, as the page would be too large. The command above "
        + "repeats the job, and its events are in the folder of the run."
      : "This job left no event log."));
    for (const spec of job.figures || []) {
      const figure = make("figure", { class: "chart", "data-heading": "h2" });
      body.append(spec.folded ? make("details", { class: "folded" },
        make("summary", {}, spec.folded), figure) : figure);
      lazily(figure, () => spec);
    }
    if (job.configurations?.total) {
      const { total, cells, columns, outcomes } = job.configurations;
      const whole = `configurations-${facts.Key}`;
      const rows = rowsOf(document.getElementById(whole) ? load(whole) : cells);
      const listed = Object.entries(outcomes).map(([name, n]) => `${n} ${name}`).join(", ");
      body.append(make("h2", {}, `Configurations (${total})`),
        make("p", {}, rows.length < total ? `${listed}. The ${rows.length} that consumed most:`
          : `${listed}.`));
      grid(body, "Configurations", columns, rows, { picks: ["Outcome", "Leases"] });
    }
    if (job.decisions?.rows.length) {
      const { total, rows } = job.decisions;
      const shown = rows.length < total ? `${rows.length} of ${total}` : `${total}`;
      body.append(make("h2", {}, `Decisions (${shown})`));
      grid(body, "Decisions", ["At", "What", "Which"], rows);
    }
    if (job.events) {
      const listed = Object.entries(job.events).map(([name, n]) => `${n} ${name}`).join(", ");
      body.append(make("p", { class: "note" }, `Events: ${listed}.`));
    }
  }
  // One table of the configurations of all jobs; a page without it opens as fast.
  find("#configurations details")?.addEventListener("toggle", async ({ target }) => {
    const jobs = Object.fromEntries(load("jobs-table-rows").map(({ name, text }) => [name, text]));
    const logs = new Map(), rows = [];
    const read = async (id) => JSON.parse(await unpack(id));
    for (const [i, key] of jobs.Key.entries()) {
      const log = jobs.log[i], whole = `configurations-${key}`;
      if (!log.startsWith("logs-")) continue;
      if (!logs.has(log)) logs.set(log, await read(log));
      const cells = document.getElementById(whole) ? await read(whole)
        : logs.get(log)[key].configurations.cells;
      const first = [jobs.Algorithm[i], jobs.Data[i], Number(jobs.Repetition[i])];
      for (const row of rowsOf(cells)) rows.push(Object.assign([...first, ...row], { key }));
    }
    grid(target, "All configurations", ["Algorithm", "Data", "Repetition", "Configuration",
      "Outcome", "Origin", "Leases", "Units", "Score", "Reason"], rows, { most: MOST,
      job: ({ key }) => `#job-${key}`,
      picks: ["Algorithm", "Data", "Repetition", "Outcome", "Leases"] });
  }, { once: true });

  function route() {
    if (!find("#job")) return;
    const key = location.hash.startsWith("#job-") ? location.hash.slice(5) : "";
    const columns = key ? load("jobs-table-rows") : [];
    const row = columns.find(({ name }) => name === "Key")?.text.indexOf(key) ?? -1;
    const open = row >= 0;
    if (open) showJob(columns, row);
    find("#board").hidden = open;
    find("#job").hidden = !open;
    if (open) {
      window.scrollTo(0, 0);
      find("#job h1").focus({ preventScroll: true });
    } else if (location.hash.length > 1) {
      const target = document.getElementById(location.hash.slice(1));
      const details = target && find("details.folded", target);
      if (details && ["jobs", "configurations"].includes(target.id)) details.open = true;
      target?.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", route);
  route();
})();

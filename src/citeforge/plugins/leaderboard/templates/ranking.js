"use strict";
// Draws one page of the ranking at a time: a table of 1,000 systems sorts as fast as one of 50.
const more = [];
let filters = makeFilters([], [], draw);
const state = { view: 0, by: 0, down: true, start: 0, find: "", columns: [], fields: [], sort: null };

window.citeforgeMore = (view, found) => { more[view] = found; draw(); };

function choose(view) {
  state.view = view;
  const v = data.views[view];
  state.by = v.main;
  state.sort = v.main;
  state.down = v.b[v.main] >= 0;
  state.start = 0;
  filters = makeFilters(v.f, v.a, () => { state.start = 0; draw(); });
  get("filtering").hidden = !get("filters").childElementCount;
  // What systems say of themselves has room beside three measures, or those that sum up scores.
  state.columns = [...new Set([v.main, ...v.h, ...v.m.keys()])].slice(0, v.f.length ? Math.max(3, v.h.length) : 6);
  state.fields = [...v.f.keys()];
  get("measure").replaceChildren(...v.m.map((name, i) => make("option", { value: i }, name)));
  get("measure").value = v.main;
  const boxes = v.m.map((name, i) => {
    const box = make("input", { type: "checkbox", value: i });
    box.checked = state.columns.includes(i);
    box.addEventListener("change", () => {
      state.columns = [...get("columns").querySelectorAll("input:checked")].map(b => +b.value);
      draw();
    });
    return make("label", { title: v.d[i] }, box, name);
  });
  get("columns").replaceChildren(make("legend", {}, "Measures shown"), ...boxes);
  const fields = v.f.map((name, i) => {
    const box = make("input", { type: "checkbox", value: i });
    box.checked = true;
    box.addEventListener("change", () => {
      state.fields = [...get("fields").querySelectorAll("input:checked")].map(b => +b.value);
      draw();
    });
    return make("label", {}, box, name);
  });
  get("fields").replaceChildren(make("legend", {}, "About systems"), ...fields);
  get("fields").hidden = !fields.length;
  if (v.m.length) explain(v.main);
  if (v.m.length) get("meaning").textContent = `${v.z}.`;
  draw();
}

function rank(measure) {
  state.by = state.sort = measure;
  state.down = data.views[state.view].b[measure] >= 0;
  state.start = 0;
  if (!state.columns.includes(measure)) {
    state.columns = [...state.columns, measure].sort((a, b) => a - b);
    for (const box of get("columns").querySelectorAll("input")) box.checked = state.columns.includes(+box.value);
  }
  get("measure").value = measure;
  const v = data.views[state.view];
  explain(measure);
  if (measure !== v.main && !more[state.view]) {
    const view = state.view;
    document.head.append(make("script", { src: `more-${view}.js` }));
  }
  draw();
}

function order() {
  const v = data.views[state.view];
  const rows = v.s.map((_, i) => i)
    .filter(i => said(state.find, v.s[i], v.a[i]) && filters.pass(v.a[i]));
  const sign = state.down ? -1 : 1;
  if (state.sort === null) rows.sort((a, b) => -sign * byName.compare(v.s[a], v.s[b]));
  else {
    // Equal hundredths: the ranks tell which value is the higher one.
    const column = v.v[state.sort], groups = state.sort === v.main ? v.g : [];
    rows.sort((a, b) => column[a] === null ? 1 : column[b] === null ? -1
      : sign * (column[a] - column[b]) || -sign * v.b[state.sort] * ((groups[a] ? groups[a][0] : 0) - (groups[b] ? groups[b][0] : 0)) || a - b);
  }
  // Controls stand below: they do not compete.
  return [...rows.filter(i => !v.c[i]), ...rows.filter(i => v.c[i])];
}

// What the ranking by the chosen measure has under a key: ranks q, intervals of ranks g and of values i; of other measures than the main one it comes later.
function ranking(v, key) {
  return state.by === v.main ? v[key] : more[state.view] ? more[state.view][key][state.by] : [];
}

function interval(v, i) {
  return ranking(v, "i")[i] || null;
}

function header(title, key, left) {
  const button = make("button", { type: "button" }, title);
  const cell = make("th", { scope: "col", ...(left ? { class: "left" } : {}) }, button);
  if (key !== null) for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => explain(key));
  if (state.sort === key) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
  button.addEventListener("click", () => {
    state.down = state.sort === key ? !state.down : key !== null && data.views[state.view].b[key] >= 0;
    state.sort = key;
    state.start = 0;
    draw();
    get("table").querySelector("th[aria-sort] button").focus();
  });
  return cell;
}

function explain(measure) {
  const v = data.views[state.view];
  get("about").replaceChildren(`${v.m[measure]}: ${v.d[measure]}.`, ...(v.l[measure] ? [" ", make("a", { href: v.l[measure] }, "Definition")] : []));
}

// The systems of the table in its order, with all measures.
function records() {
  const v = data.views[state.view], ranks = ranking(v, "q");
  return order().map(i => ({
    rank: ranks[i] || null, system: v.s[i], control: Boolean(v.c[i]),
    ...Object.fromEntries(v.m.map((name, m) => [name, v.v[m][i] === null ? null : v.v[m][i] / 100])),
    ...Object.fromEntries(v.f.map((name, f) => [name, v.a[i][f]])),
  }));
}

// A text that a spreadsheet would compute begins with an apostrophe.
function field(value) {
  const text = value === null ? "" : String(value);
  const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function asCsv(rows) {
  const names = Object.keys(rows[0] || {});
  return [names, ...rows.map(row => names.map(n => row[n]))].map(r => r.map(field).join(",") + "\r\n").join("");
}

function draw() {
  const v = data.views[state.view];
  get("csv").hidden = get("json").hidden = get("about").hidden = !v;
  if (!v) { get("count").textContent = "No system was scored yet."; return; }
  const rows = order(), place = ranking(v, "q"), groups = ranking(v, "g");
  const span = scale(v);
  // Where labels are hidden, nothing by query is there to test systems with.
  const ranked = v.g.some(Boolean);
  get("table").classList.toggle("ranked", ranked);
  // What ranks stands first, beside the name: a phone shows it without scrolling.
  const columns = [state.by, ...state.columns.filter(m => m !== state.by)];
  const page = rows.slice(state.start, state.start + PAGE).map(i => {
    const ranks = groups[i] ? [...new Set(groups[i])].join("–") : "–";
    const line = make("tr", v.c[i] ? { class: "control" } : {}, make("td", {}, place[i] ? String(place[i]) : "–",
      ...(ranked ? [make("small", { class: "phone" }, ranks)] : [])),
      ...(ranked ? [make("td", {}, ranks)] : []),
      make("td", { class: "left system" },
        make("a", { href: `systems/${v.p[i]}.html`, dir: "auto", title: v.s[i] }, v.s[i]),
        ...(v.c[i] ? [make("small", {}, "control, not ranked")] : []),
        ...(v.n[i] ? [make("small", { class: "missing" }, v.n[i])] : []),
        ...(v.o[i] ? [make("small", {}, v.o[i])] : [])));
    for (const m of columns) {
      const cell = make("td", {}, make("a", { href: `systems/${v.p[i]}.html#m${m}` }, showHundredths(v.v[m][i], v.k[m])), ...(v.u[m].includes(i) ? [` ${data.below}`] : []));
      const ends = m === state.by ? interval(v, i) : null;
      if (ends) cell.append(make("small", {}, `${showHundredths(ends[0], v.k[m])} – ${showHundredths(ends[1], v.k[m])}`));
      line.append(cell);
    }
    line.append(make("td", { class: "left" }, bar(v.v[state.by][i], interval(v, i), span)));
    for (const f of state.fields) line.append(make("td", { class: "left said" }, v.a[i][f]));
    return line;
  });
  // What copying scores, knowing nothing, stands below all systems, whatever the order.
  if (v.e.some(x => x !== null)) page.push(make("tr", { class: "control" }, make("td", {}, "–"),
    ...(ranked ? [make("td", {}, "–")] : []),
    make("td", { class: "left system" }, data.line),
    ...columns.map(m => make("td", {}, showHundredths(v.e[m], v.k[m]))),
    make("td", {}), ...state.fields.map(() => make("td", {}))));
  const head = make("tr", {}, make("th", { scope: "col" }, "Rank"),
    ...(ranked ? [make("th", { scope: "col" }, "95 %")] : []),
    header("System", null, true), ...columns.map(m => header(v.m[m], m)),
    make("th", { scope: "col", class: "left" }, "Interval", ticks(span, v.k[state.by])),
    ...state.fields.map(f => make("th", { scope: "col", class: "left" }, v.f[f])));
  get("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...page));
  const end = Math.min(state.start + PAGE, rows.length);
  get("count").textContent = rows.length ? `Systems ${state.start + 1} to ${end} of ${rows.length}` : "No such system.";
  get("back").hidden = get("next").hidden = rows.length <= PAGE;
  get("back").disabled = state.start === 0;
  get("next").disabled = end >= rows.length;
}

// The axis has the range of the measure; where that is open, it reaches from zero to all ends of intervals.
function scale(v) {
  const known = v.v[state.by].flatMap((value, i) => [value, ...(interval(v, i) || [])]).filter(x => x !== null);
  const [low, high] = v.x[state.by];
  return [low ?? Math.min(0, ...known), high ?? Math.max(...known, 1)];
}

// The ends of the axis, above the bars.
function ticks([low, high], digits) {
  const whole = [low, high].every(x => x % 100 === 0) ? 0 : digits;
  return make("span", { class: "scale", "aria-hidden": "true" }, make("span", {}, showHundredths(low, whole)), make("span", {}, showHundredths(high, whole)));
}

// The bar spans the interval; where there is none, it reaches from zero to the value.
function bar(value, ends, [low, high]) {
  const box = make("span", { class: "bar", "aria-hidden": "true" });
  if (value === null) return box;
  const at = x => 100 * (x - low) / (high - low);
  const [from, to] = ends || [Math.min(0, value), value];
  const inner = document.createElement("i");
  inner.style.left = `${Math.max(0, at(from))}%`;
  inner.style.width = `${Math.max(1, Math.min(100, at(to)) - Math.max(0, at(from)))}%`;
  box.append(inner);
  return box;
}

// On a phone the first score comes before what one may do, and before what the table's name means.
const isWide = matchMedia("(min-width: 40rem)").matches;
get("filtering").open = isWide;
if (isWide && get("scope")) get("about").before(get("scope"));
get("view").append(...data.views.map((v, i) => make("option", { value: i }, v.t)));
get("view").addEventListener("change", event => choose(+event.target.value));
get("measure").addEventListener("change", event => rank(+event.target.value));
get("find").addEventListener("input", event => { state.find = event.target.value; state.start = 0; draw(); });
get("back").addEventListener("click", () => { state.start -= PAGE; draw(); });
get("next").addEventListener("click", () => { state.start += PAGE; draw(); });
get("csv").addEventListener("click", () => download("ranking.csv", "text/csv", asCsv(records())));
get("json").addEventListener("click", () => download("ranking.json", "application/json", JSON.stringify(records(), null, 1)));
if (data.views.length) choose(0); else draw();

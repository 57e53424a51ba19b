"use strict";
// Systems by benchmarks, one page at a time; what is asked for stands in the address.
const LAST = Number.MAX_SAFE_INTEGER;
const state = { start: 0, sort: "mean", down: false };
const filters = makeFilters(data.f, data.a, redraw);

// Sorts by name, by mean rank (the best is the least), or by a benchmark (its entry 7 says whether the best is the most or the least; the last one is its decimals).
function key(i) {
  if (state.sort === "mean") return data.k[i];
  const cell = data.c[state.sort][i];
  return Array.isArray(cell) ? cell[0] : null;
}

function order() {
  const rows = data.s.map((_, i) => i).filter(i => said(get("find").value, data.s[i], data.a[i])
    && filters.pass(data.a[i]) && (!get("whole").checked || data.n[i] === 0));
  const sign = state.down ? -1 : 1;
  if (state.sort === "name") return rows.sort((a, b) => !data.r[a] - !data.r[b] || sign * byName.compare(data.s[a], data.s[b]));
  return rows.sort((a, b) => {
    if (!data.r[a] !== !data.r[b]) return data.r[a] ? -1 : 1;
    const [one, two] = [key(a), key(b)];
    if (one === null || two === null) return (one === null) - (two === null) || a - b;
    return sign * (one - two) || a - b;
  });
}

function header(title, name, down, attributes, ...more) {
  const button = make("button", { type: "button" }, title);
  const cell = make("th", { scope: "col", ...attributes }, button, ...more);
  if (state.sort === name) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
  button.addEventListener("click", () => {
    state.down = state.sort === name ? !state.down : down;
    state.sort = name;
    redraw();
    get("table").querySelector("th[aria-sort] button").focus();
  });
  return cell;
}

function score(b, i) {
  const [, folder] = data.b[b], digits = data.b[b].at(-1), cell = data.c[b][i], page = data.p[b][i];
  if (!page) return make("td", { class: "absent" }, "missing");
  const link = make("a", { href: `${folder}/systems/${page}.html` });
  if (!Array.isArray(cell)) {
    link.append("other scores");
    return make("td", { class: "absent" }, link);
  }
  link.append(showHundredths(cell[0], digits));
  const found = make("td", {}, link);
  if (cell.length > 1) found.append(make("small", {}, `${showHundredths(cell[1], digits)} – ${showHundredths(cell[2], digits)}`));
  return found;
}

function line(i, boards) {
  const means = data.r[i];
  const rank = means ? make("td", {}, means[0], make("small", {}, `${means[1]} – ${means[2]}`))
    : make("td", {}, "–");
  const first = data.p.findIndex(column => column[i]);
  const name = make("a", { href: `${data.b[first][1]}/systems/${data.p[first][i]}.html`, dir: "auto", title: data.s[i] }, data.s[i]);
  const cells = boards.map(b => score(b, i));
  const own = state.sort === "mean" || state.sort === "name" ? [rank, ...cells] : [cells[0], rank, ...cells.slice(1)];
  return make("tr", means ? {} : { class: "control" }, make("td", {}, means ? String(data.k[i]) : "–"),
    make("th", { scope: "row", class: "left system" }, name, ...(means ? [] : [make("small", {}, "control, not ranked")])),
    ...own, make("td", {}, data.n[i] ? `${data.n[i]} of ${data.b.length}` : "0"),
    ...data.a[i].map(text => make("td", { class: "left said", dir: "auto" }, text)));
}

function draw() {
  const rows = order(), page = rows.slice(state.start, state.start + PAGE);
  // What sorts stands first, beside the name: a phone shows it without scrolling.
  const boards = data.b.map((_, b) => b).sort((a, b) => (b === state.sort) - (a === state.sort) || a - b);
  const heads = boards.map(b => header(data.b[b][0], b, data.b[b][7] > 0, { title: data.b[b][5], dir: "auto" },
    make("small", {}, data.b[b][2])));
  const rank = header("Mean rank", "mean", false, {}, make("small", {}, "95 %"));
  const own = boards[0] === state.sort ? [heads[0], rank, ...heads.slice(1)] : [rank, ...heads];
  const head = make("tr", {}, make("th", { scope: "col" }, "Rank"), header("System", "name", false, { class: "left" }),
    ...own, make("th", { scope: "col" }, "Missing"),
    ...data.f.map(name => make("th", { scope: "col", class: "left" }, name)));
  get("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...page.map(i => line(i, boards))));
  const end = state.start + page.length;
  get("count").textContent = !data.s.length ? "No system was scored yet."
    : rows.length ? `Systems ${state.start + 1} to ${end} of ${rows.length}` : "No such system.";
  get("back").hidden = get("next").hidden = rows.length <= PAGE;
  get("back").disabled = state.start === 0;
  get("next").disabled = end >= rows.length;
}

function redraw() {
  state.start = 0;
  draw();
  const asked = new URLSearchParams(filters.values());
  if (get("find").value) asked.set("find", get("find").value);
  if (get("whole").checked) asked.set("whole", "1");
  if (state.sort !== "mean" || state.down) asked.set("sort", `${state.sort}${state.down ? "-" : ""}`);
  const hash = String(asked);
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

function recall() {
  const asked = new URLSearchParams(location.hash.slice(1));
  get("find").value = asked.get("find") || "";
  get("whole").checked = asked.has("whole");
  for (const field of data.f) filters.choose(field, asked.get(field) || "");
  const sort = /^(mean|name|\d+)(-?)$/.exec(asked.get("sort") || "mean");
  state.sort = !sort || +sort[1] >= data.b.length ? "mean" : isNaN(sort[1]) ? sort[1] : +sort[1];
  state.down = Boolean(sort && sort[2]);
  state.start = 0;
  draw();
}

get("find").addEventListener("input", redraw);
get("whole").addEventListener("change", redraw);
get("back").addEventListener("click", () => { state.start -= PAGE; draw(); });
get("next").addEventListener("click", () => { state.start += PAGE; draw(); });
window.addEventListener("hashchange", recall);
recall();

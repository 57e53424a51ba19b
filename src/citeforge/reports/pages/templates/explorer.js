"use strict";
(() => {
const holder = document.getElementById("explorer-index");
if (!holder) return;
const index = JSON.parse(holder.textContent);
const load = window.citeforgeLoad;
const $ = id => document.getElementById(`x-${id}`);
const ROW = 52;
// Name in the address, bit, of several answers, of one.
const FLAGS = [["unsupported", 8, "have an unsupported statement", "unsupported statement"],
  ["uncited", 2, "cite nothing", "cites nothing"],
  ["outside", 4, "cite what was not shown", "cites what was not shown"],
  ["refused", 16, "refuse (by phrases of several languages)", "refuses"], ["missing", 1, "are missing", "missing"]];
// Name in the address, as `field=value`, to the numbers of field and value.
const SLICES = new Map(index.fields.flatMap(([name, values], field) =>
  values.map((value, number) => [`${name}=${value}`, [field, number]])));
const state = { a: 0, b: -1, m: 0, o: "worst", t: "", low: "", high: "", low2: "", high2: "", s: "",
  f: new Set(), q: "" };
const found = { slices: [], A: [], B: null, flags: [], flagsB: [], rows: [], hits: null, ids: [], texts: [] };

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}
const limit = text => text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text) * 100;

// --- state and address -------------------------------------------------------------------
function fromAddress() {
  const p = new URLSearchParams(location.hash.slice(1));
  const number = (key, most, other) => {
    const n = Number(p.get(key));
    return p.has(key) && Number.isInteger(n) && n >= 0 && n < most ? n : other;
  };
  const main = index.measures.findIndex(m => m[0] === index.by);
  state.a = number("a", index.systems.length, 0);
  state.b = number("b", index.systems.length, -1);
  state.m = Math.max(0, p.has("m") ? index.measures.findIndex(m => m[0] === p.get("m")) : main);
  state.o = ["worst", "best", "difference", "query"].includes(p.get("o")) ? p.get("o")
    : state.b < 0 ? "worst" : "difference";
  for (const key of ["t", "low", "high", "low2", "high2", "q"]) state[key] = p.get(key) || "";
  state.s = SLICES.has(p.get("s")) ? p.get("s") : "";
  state.f = new Set((p.get("f") || "").split(",").filter(n => FLAGS.some(f => f[0] === n)));
}
function toAddress() {
  const p = new URLSearchParams();
  p.set("a", state.a);
  if (state.b >= 0) p.set("b", state.b);
  p.set("m", index.measures[state.m][0]);
  p.set("o", state.o);
  for (const key of ["t", "low", "high", "low2", "high2", "q"]) if (state[key]) p.set(key, state[key]);
  if (state.s) p.set("s", state.s);
  if (state.f.size) p.set("f", [...state.f].join(","));
  history.replaceState(null, "", `#${p}`);
}
function toControls() {
  $("s").value = state.s; $("a").value = state.a; $("b").value = state.b; $("m").value = state.m; $("o").value = state.o;
  for (const key of ["t", "low", "high", "low2", "high2"]) $(key).value = state[key];
  for (const box of $("flags").querySelectorAll("input")) box.checked = state.f.has(box.value);
  const two = state.b >= 0;
  for (const e of document.querySelectorAll(".x-of-b")) e.hidden = !two;
  $("scatter-box").hidden = !two;
  $("o").querySelector("[value=difference]").disabled = !two;
}

// --- data --------------------------------------------------------------------------------
const column = (s, m) => index.systems[s].measures.includes(m) ? load(`v-${s}-${m}`)
  : Promise.resolve(new Array(index.n).fill(null));
const flagsOf = s => index.systems[s].answers ? load(`f-${s}`) : Promise.resolve([]);
let turn = 0;
async function refresh() {
  const mine = ++turn;
  const [names, slices, A, flags, B, flagsB] = await Promise.all([load("q"),
    index.fields.length ? load("s") : [], column(state.a, state.m),
    flagsOf(state.a), state.b < 0 ? null : column(state.b, state.m),
    state.b < 0 ? [] : flagsOf(state.b)]);
  if (mine !== turn) return;
  [found.ids, found.texts] = names;
  Object.assign(found, { slices, A, B, flags, flagsB });
  await search(mine);
}
async function search(mine) {
  const words = state.t.toLowerCase().split(/\s+/).filter(Boolean);
  found.hits = null;
  if (words.length) {
    const systems = [state.a, state.b].filter(s => s >= 0 && index.systems[s].answers);
    const blocks = Math.ceil(index.n / index.block), hits = new Uint8Array(index.n);
    for (let block = 0; block < blocks; block++) {
      const parts = await Promise.all(systems.map(s => load(`a-${s}-${block}`)));
      const gold = index.gold ? await load(`g-${block}`) : undefined;
      if (mine !== turn) return;
      const end = Math.min(index.n, (block + 1) * index.block);
      for (let i = block * index.block; i < end; i++) {
        const at = i - block * index.block;
        const answers = parts.map(p => p[at] ? p[at][0].map(s => s[0]).join(" ") : "");
        const all = [found.ids[i], found.texts[i], ...answers, ...(gold ? gold[at] : [])]
          .join(" ").toLowerCase();
        hits[i] = words.every(w => all.includes(w)) ? 1 : 0;
      }
      if (block % 10 === 9) $("count").textContent = `Searching: ${end} of ${index.n} queries …`;
    }
    found.hits = hits;
  }
  apply();
}

// --- list --------------------------------------------------------------------------------
function apply() {
  const start = performance.now();
  const { A, B, flags, flagsB, hits } = found;
  const [low, high, low2, high2] = ["low", "high", "low2", "high2"].map(k => limit(state[k]));
  const mask = FLAGS.filter(f => state.f.has(f[0])).map(f => f[1]);
  const inside = (v, from, to) => from === null && to === null
    || v !== null && (from === null || v >= from) && (to === null || v <= to);
  const rows = [], [field, value] = SLICES.get(state.s) || [];
  for (let i = 0; i < index.n; i++) {
    if (state.s && found.slices[field][i] !== value) continue;
    if (hits && !hits[i]) continue;
    if (!inside(A[i], low, high)) continue;
    if (B && !inside(B[i], low2, high2)) continue;
    if (!mask.every(bit => (flags[i] & bit) || B && (flagsB[i] & bit))) continue;
    rows.push(i);
  }
  const key = state.o === "difference" && B
    ? i => A[i] === null || B[i] === null ? null : -Math.abs(A[i] - B[i])
    : state.o === "best" ? i => A[i] === null ? null : -A[i] : i => A[i];
  if (state.o !== "query") {
    const keys = new Map(rows.map(i => [i, key(i)]));
    rows.sort((x, y) => {
      const a = keys.get(x), b = keys.get(y);
      return a === null ? (b === null ? x - y : 1) : b === null ? -1 : a - b || x - y;
    });
  }
  found.rows = rows;
  const measure = index.measures[state.m][0];
  const order = { worst: `lowest ${measure} of ${index.systems[state.a].name} first`,
    best: `highest ${measure} of ${index.systems[state.a].name} first`,
    difference: `largest difference of ${measure} first`, query: "as in the benchmark" }[state.o];
  $("count").textContent = `${rows.length.toLocaleString("en")} of ${index.n.toLocaleString("en")} queries, ${order}`;
  $("space").style.height = `${rows.length * ROW}px`;
  draw();
  if (B) scatter();
  performance.measure("citeforge-list", { start, end: performance.now() });
}
function draw() {
  const list = $("list"), { rows, A, B } = found;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const last = Math.min(rows.length, first + Math.ceil(list.clientHeight / ROW) + 8);
  const lines = [];
  let active = null;
  for (let at = first; at < last; at++) {
    const i = rows[at], selected = found.ids[i] === state.q;
    const value = make("span", {}, make("b", {}, B ? `${showHundredths(A[i])} against ${showHundredths(B[i])}` : showHundredths(A[i])));
    if (B && A[i] !== null && B[i] !== null) value.append(`, difference ${showHundredths(A[i] - B[i], 2, "+")}`);
    const told = FLAGS.filter(f => (found.flags[i] || 0) & f[1]).map(f => f[3]);
    if (told.length) value.append(` · ${told.join(", ")}`);
    const row = make("div", { class: "x-row", role: "option", id: `x-row-${at}`,
      "aria-selected": String(selected), "aria-posinset": at + 1, "aria-setsize": rows.length },
      make("span", { dir: "auto" }, found.texts[i] || found.ids[i]), value);
    row.style.top = `${at * ROW}px`;
    row.addEventListener("click", () => choose(at));
    if (selected) active = row.id;
    lines.push(row);
  }
  $("space").replaceChildren(...lines);
  if (active) list.setAttribute("aria-activedescendant", active);
  else list.removeAttribute("aria-activedescendant");
}
function choose(at) {
  const list = $("list"), i = found.rows[at];
  if (i === undefined) return;
  state.q = found.ids[i];
  if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
  if ((at + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (at + 1) * ROW - list.clientHeight;
  toAddress();
  draw();
  detail();
}
$("list").addEventListener("scroll", () => requestAnimationFrame(draw));
$("list").addEventListener("keydown", event => {
  const at = found.rows.findIndex(i => found.ids[i] === state.q), last = found.rows.length - 1;
  const page = Math.max(1, Math.floor($("list").clientHeight / ROW) - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page,
    Home: 0, End: last }[event.key];
  if (to !== undefined) { event.preventDefault(); choose(Math.max(0, Math.min(last, to))); }
  else if (event.key === "Enter" && at >= 0) { event.preventDefault(); $("detail").focus(); }
});

// --- one answer --------------------------------------------------------------------------
const wordsOf = text => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
// The part of a passage that carries a statement's words: runs of two or more that both have.
function marked(text, statements) {
  const pairs = new Set();
  for (const s of statements) {
    const w = wordsOf(s);
    for (let i = 1; i < w.length; i++) pairs.add(`${w[i - 1]} ${w[i]}`);
  }
  const places = [...text.matchAll(/[\p{L}\p{N}]+/gu)];
  const on = new Array(places.length).fill(false);
  for (let i = 1; i < places.length; i++) {
    if (pairs.has(`${places[i - 1][0].toLowerCase()} ${places[i][0].toLowerCase()}`)) on[i - 1] = on[i] = true;
  }
  const out = [];
  let from = 0;
  for (let i = 0; i < places.length; i++) {
    if (!on[i]) continue;
    let j = i;
    while (j + 1 < places.length && on[j + 1]) j++;
    const end = places[j].index + places[j][0].length;
    out.push(text.slice(from, places[i].index), make("mark", {}, text.slice(places[i].index, end)));
    from = end;
    i = j;
  }
  return [...out, text.slice(from)];
}
// Parts of a text by (start, end) of ranges, which count characters; `inside` and `outside` make nodes.
function cut(text, ranges, inside, outside) {
  const chars = [...text], on = new Uint8Array(chars.length), out = [];
  for (const [start, end] of ranges) on.fill(1, start, end);
  for (let from = 0, to; from < chars.length; from = to) {
    to = from + 1;
    while (to < chars.length && on[to] === on[from]) to++;
    const part = chars.slice(from, to).join("");
    out.push(...(on[from] ? [inside(part)] : outside(part)));
  }
  return out;
}
function side(system, answer, i, place) {
  const box = make("div", { class: "x-side" }, make("h4", { dir: "auto" }, index.systems[system].name));
  if (!index.systems[system].answers) {
    box.append(make("p", { class: "note" }, "Its score file carries no answers: score it with --details."));
    return box;
  }
  if (!answer) { box.append(make("p", {}, "No answer.")); return box; }
  const text = make("p", { dir: "auto" });
  const jumps = new Map();
  const cite = (cited, wrong, words) => {
    for (const c of cited) {
      const link = make("button", { type: "button", class: "x-cite", "aria-label": `Passage ${c + index.base}` }, `[${c + index.base}]`);
      link.addEventListener("click", () => jump(place, c));
      text.append(" ", link);
      jumps.set(c, [...(jumps.get(c) || []), words]);
    }
    if (wrong) text.append(" ", make("span", { class: "tag" }, `${wrong} not shown`));
  };
  for (const [n, [words, cited, wrong, supported]] of answer[0].entries()) {
    const kind = supported === true ? "yes" : supported === false ? "no" : "open";
    const title = { yes: "supported by its citations", no: "not supported by its citations",
      open: "not judged" }[kind];
    const own = answer[4].filter(w => w[0] === n).map(w => [w[1], w[2]]);
    text.append(make("span", { class: `statement ${kind}`, title },
      ...cut(words, own, part => make("mark", { class: "x-said" }, part), part => [part])));
    cite(cited, wrong, words);
    text.append(" ");
  }
  if (!answer[0].length) {
    text.append(answer[2].length || answer[3] ? "Citations and no words:" : "An empty answer.");
    cite(answer[2], answer[3], "");
  }
  box.append(text);
  const lines = make("tbody");
  for (const m of index.systems[system].measures) {
    const told = answer[1].find(l => l[0] === m);
    const cell = make("td", {});
    lines.append(make("tr", {}, make("td", {}, index.measures[m][0]), cell,
      make("td", {}, told ? told[1] : "")));
    load(`v-${system}-${m}`).then(v => { cell.textContent = showHundredths(v[i]); });
  }
  box.append(make("details", {}, make("summary", {}, "Values and arithmetic"), make("table", {}, lines)));
  box.jumps = jumps;
  box.said = answer[4];
  return box;
}
function passages(list, jumps, said, place) {
  return list.map(([id, title, text, label], k) => {
    const kind = label ? ` ${label.replace(/[ _]/g, "-")}` : "";
    const box = make("div", { class: `passage${kind}`, id: `x-p-${place}-${k}`, tabindex: "-1" },
      make("strong", {}, `[${k + index.base}] `));
    if (label) box.append(make("span", { class: "tag" }, label.replaceAll("_", " ")), " ");
    if (title) box.append(make("em", {}, `${title}. `));
    const quoted = said.filter(w => w[3] === k).flatMap(w => w[4]);
    box.append(...cut(text, quoted, part => make("mark", { class: "x-quote" }, part),
      part => marked(part, jumps.get(k) || [])));
    return box;
  });
}
function jump(place, k) {
  const box = document.getElementById(`x-p-${place}-${k}`);
  document.querySelectorAll(".passage.hit").forEach(e => e.classList.remove("hit"));
  box.classList.add("hit");
  box.scrollIntoView({ block: "nearest" });
  box.focus({ preventScroll: true });
}
let asked = 0;
async function detail() {
  const mine = ++asked, box = $("detail");
  let i = found.ids.indexOf(state.q);
  if (i < 0) {  // nothing chosen yet: the first of the list
    if (!found.rows.length) { box.replaceChildren(make("p", { class: "note" }, "No answer is like that.")); return; }
    i = found.rows[0];
  }
  const block = Math.floor(i / index.block), at = i % index.block;
  const systems = [state.a, state.b].filter(s => s >= 0);
  const parts = await Promise.all(systems.map(async s => index.systems[s].answers
    ? [(await load(`a-${s}-${block}`))[at], (await load(index.systems[s].passages[block]))[at]] : [null, []]));
  const gold = index.gold ? (await load(`g-${block}`) || [])[at] || [] : [];
  const labels = index.fields.length ? await load("s") : [];
  if (mine !== asked) return;
  const fields = labels.flatMap((numbers, f) => numbers[i] < 0 ? [] : [`${index.fields[f][0]}: ${index.fields[f][1][numbers[i]]}`]);
  const content = [make("h3", { dir: "auto" }, found.texts[i] || found.ids[i]), make("p", { class: "note" }, [found.ids[i], ...fields].join(" · "))];
  if (found.B && found.A[i] !== null && found.B[i] !== null) {
    content.push(make("p", {}, `Difference of ${index.measures[state.m][0]}: ${showHundredths(found.A[i] - found.B[i], 2, "+")}`));
  }
  if (gold.length) content.push(make("div", {}, make("strong", {}, "Gold"),
    make("ul", { class: "x-gold" }, ...gold.map(g => make("li", {}, g)))));
  const names = systems.map(s => index.systems[s].passages[block]);
  const same = systems.length === 2 && names[0] !== undefined && names[0] === names[1];
  const sides = systems.map((s, n) => side(s, parts[n][0], i, same ? 0 : n));
  if (same || systems.length === 1) {
    const all = new Map();
    for (const s of sides) for (const [k, w] of s.jumps || []) all.set(k, [...(all.get(k) || []), ...w]);
    content.push(make("div", { class: "x-pair" }, ...sides),
      ...passages(parts[0][1], all, sides.flatMap(s => s.said || []), 0));
  } else {
    sides.forEach((s, n) => s.append(...passages(parts[n][1], s.jumps || new Map(), s.said || [], n)));
    content.push(make("div", { class: "x-pair" }, ...sides));
  }
  content.push(make("p", { class: "note" }, "Underlined: plain supported, wavy not supported by its citations, dashed not judged. Marked in passages: runs of two or more words that a statement citing them shares."
    + (sides.some(s => s.said && s.said.length) ? " With a ground of their own: words that the system itself cites for; dotted: what it quotes." : "")));
  box.replaceChildren(...content);
}

// --- scatter and brush -------------------------------------------------------------------
const PAD = 20;  // room for the names of the axes
let ends = [0, 10000];
function scatter() {
  const canvas = $("scatter"), wide = canvas.clientWidth, ratio = devicePixelRatio || 1;
  if (!wide) return;
  canvas.width = canvas.height = wide * ratio;
  const draw2d = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const ink = name => style.getPropertyValue(name).trim();
  draw2d.scale(ratio, ratio);
  let low = 0, high = index.measures[state.m][1] * 100;
  for (const v of [found.A, found.B]) for (const x of v) if (x !== null) { if (x < low) low = x; if (x > high) high = x; }
  ends = [low, high];
  const place = x => PAD + (wide - 2 * PAD) * (x - low) / (high - low || 1);
  draw2d.strokeStyle = ink("--line");
  draw2d.beginPath(); draw2d.moveTo(PAD, wide - PAD); draw2d.lineTo(wide - PAD, PAD); draw2d.stroke();
  const chosen = new Uint8Array(index.n);
  for (const i of found.rows) chosen[i] = 1;
  const across = Math.ceil(wide) + 1, counts = new Uint32Array(across * across);
  for (const on of [0, 1]) {
    // Queries that fall on one pixel share a dot, whose area tells how many they are.
    const dots = [];
    counts.fill(0);
    for (let i = 0; i < index.n; i++) {
      if (chosen[i] !== on || found.A[i] === null || found.B[i] === null) continue;
      const at = Math.round(place(found.B[i])) * across + Math.round(place(found.A[i]));
      if (counts[at]++ === 0) dots.push(at);
    }
    draw2d.fillStyle = on ? ink("--mark") : ink("--line");
    for (const at of dots) {
      const size = Math.min(2 * PAD, 2.5 + Math.sqrt(counts[at]));
      draw2d.fillRect(at % across - size / 2, wide - Math.floor(at / across) - size / 2, size, size);
    }
  }
  canvas.setAttribute("aria-label", `${index.measures[state.m][0]} of ${index.systems[state.b].name} (up) against ${index.systems[state.a].name} (right), ${found.rows.length} queries chosen`);
  draw2d.fillStyle = ink("--fg");
  draw2d.font = "11px system-ui, sans-serif";
  draw2d.fillText(`↑ ${index.systems[state.b].name.slice(0, 30)}`, 4, 11);
  const words = `${index.systems[state.a].name.slice(0, 30)} →`;
  draw2d.fillText(words, wide - draw2d.measureText(words).width - 4, wide - 2);
}
let from = null;
const point = event => {
  const box = $("scatter").getBoundingClientRect(), [low, high] = ends;
  const value = share => low + (high - low) * Math.max(0, Math.min(1, share));
  const room = box.width - 2 * PAD;
  return [value((event.clientX - box.left - PAD) / room), value((box.bottom - event.clientY - PAD) / room)];
};
$("scatter").addEventListener("pointerdown", event => {
  from = point(event);
  $("scatter").setPointerCapture(event.pointerId);
});
let due = null;
$("scatter").addEventListener("pointermove", event => {
  if (!from) return;
  const to = point(event), text = v => String(Math.round(v) / 100);
  state.low = text(Math.min(from[0], to[0])); state.high = text(Math.max(from[0], to[0]));
  state.low2 = text(Math.min(from[1], to[1])); state.high2 = text(Math.max(from[1], to[1]));
  if (due === null) due = requestAnimationFrame(() => { due = null; $("list").scrollTop = 0; toControls(); apply(); });
});
for (const name of ["pointerup", "pointercancel"]) $("scatter").addEventListener(name, () => {
  if (from) { from = null; toAddress(); }
});

// --- controls ----------------------------------------------------------------------------
const options = (select, rows) => select.append(...rows.map(([value, text]) => make("option", { value }, text)));
options($("a"), index.systems.map((s, i) => [i, s.name]));
options($("b"), [[-1, "none"], ...index.systems.map((s, i) => [i, s.name])]);
options($("s"), [["", "all"], ...[...SLICES.keys()].map(name => [name, name.replace("=", ": ")])]);
$("s-box").hidden = !SLICES.size;
options($("m"), index.measures.map((m, i) => [i, m[0]]));
for (const [name, , words] of FLAGS) {
  const box = make("input", { type: "checkbox", value: name });
  box.addEventListener("change", () => {
    if (box.checked) state.f.add(name); else state.f.delete(name);
    changed();
  });
  $("flags").append(make("label", {}, box, words));
}
$("flags").hidden = !index.systems.some(s => s.answers);
function changed() {
  $("list").scrollTop = 0; toControls(); toAddress(); apply();
  if (!found.ids.includes(state.q)) detail();
}
function reloaded() {
  $("list").scrollTop = 0;
  toControls();
  toAddress();
  return refresh().then(detail, failed);
}
for (const key of ["a", "m"]) $(key).addEventListener("change", e => { state[key] = Number(e.target.value); reloaded(); });
$("b").addEventListener("change", event => {
  state.b = Number(event.target.value);
  state.o = state.b >= 0 ? "difference" : "worst";
  reloaded();
});
for (const key of ["o", "s"]) $(key).addEventListener("change", event => { state[key] = event.target.value; changed(); });
for (const key of ["low", "high", "low2", "high2"]) $(key).addEventListener("input", event => { state[key] = event.target.value; changed(); });
let later = null;
$("t").addEventListener("input", event => {
  state.t = event.target.value;
  clearTimeout(later);
  later = setTimeout(reloaded, 150);
});
$("clear").addEventListener("click", () => {
  Object.assign(state, { t: "", s: "", low: "", high: "", low2: "", high2: "", f: new Set() });
  reloaded();
});
const failed = error => { $("count").textContent = error.message; };
function arrive() {  // by an address: what it chooses is in sight
  fromAddress();
  toControls();
  refresh().then(() => {
    const at = found.rows.findIndex(i => found.ids[i] === state.q);
    if (at > 0) { $("list").scrollTop = (at - 1) * ROW; draw(); }
    return detail();
  }).catch(failed);
}
addEventListener("hashchange", arrive);
addEventListener("resize", () => { draw(); if (found.B) scatter(); });
arrive();
})();

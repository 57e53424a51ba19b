"use strict";
// What the tables of the site share.
const PAGE = 50;
const MOST_VALUES = 200;
const byName = new Intl.Collator("en", { numeric: true });
const get = id => document.getElementById(id);
const data = JSON.parse(get("data").textContent);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  element.append(...children);
  return element;
}

// Whether a system's name and what is said of it hold these words.
function said(words, name, about) {
  return `${name} ${about.join(" ")}`.toLowerCase().includes(words.toLowerCase());
}

// One choice for each field that tells systems apart; `changed` is called after a choice.
function makeFilters(fields, rows, changed) {
  const chosen = new Map();
  const boxes = fields.map((field, at) => {
    const values = [...new Set(rows.map(row => row[at]))].filter(Boolean).sort(byName.compare);
    // Of a cost everybody has an own one.
    if (field === "cost" || values.length < 2 || values.length > MOST_VALUES) return null;
    const box = make("select", { "data-field": field },
      make("option", { value: "" }, "all"), ...values.map(v => make("option", { value: v }, v)));
    box.addEventListener("change", () => { chosen.set(at, box.value); changed(); });
    return make("label", {}, field, box);
  });
  get("filters").replaceChildren(...boxes.filter(Boolean));
  return {
    pass: row => [...chosen].every(([at, value]) => !value || row[at] === value),
    values: () => [...chosen].filter(([, value]) => value).map(([at, value]) => [fields[at], value]),
    choose: (field, value) => {
      const box = [...get("filters").querySelectorAll("select")].find(b => b.dataset.field === field);
      if (!box) return;
      box.value = value;
      chosen.set(fields.indexOf(field), box.value);
    },
  };
}

"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const lower = data.map(row => `${row[1]} ${row[2]}`.toLowerCase());
const MOST = 100;

function draw(words) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = data.filter((_, i) => parts.every(part => lower[i].includes(part)));
  const items = hits.slice(0, MOST).map(([page, id, text]) => {
    const link = document.createElement("a"), item = document.createElement("li");
    link.href = `queries/${page}.html`;
    link.textContent = text;
    item.append(link, ` (${id})`);
    return item;
  });
  document.getElementById("found").replaceChildren(...items);
  const rest = hits.length > MOST ? `, the first ${MOST} shown` : "";
  document.getElementById("count").textContent = `${hits.length} of ${data.length} queries${rest}`;
}

document.getElementById("find").addEventListener("input", event => draw(event.target.value));
draw("");

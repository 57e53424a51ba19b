"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const lower = data.map(row => `${row[1]} ${row[2]}`.toLowerCase());
const PAGE = 100;
let start = 0;

function draw(words) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = data.filter((_, i) => parts.every(part => lower[i].includes(part)));
  const items = hits.slice(start, start + PAGE).map(([page, id, text]) => {
    const link = document.createElement("a"), item = document.createElement("li");
    link.href = `queries/${page}.html`;
    link.textContent = text;
    item.append(link, ` (${id})`);
    return item;
  });
  document.getElementById("found").replaceChildren(...items);
  const end = Math.min(start + PAGE, hits.length);
  const rest = hits.length > PAGE ? `, ${start + 1} to ${end} shown` : "";
  for (const id of ["back", "next"]) document.getElementById(id).hidden = hits.length <= PAGE;
  document.getElementById("back").disabled = start === 0;
  document.getElementById("next").disabled = end >= hits.length;
  document.getElementById("count").textContent = `${hits.length} of ${data.length} queries${rest}`;
}

const find = document.getElementById("find");
find.addEventListener("input", () => { start = 0; draw(find.value); });
document.getElementById("back").addEventListener("click", () => { start -= PAGE; draw(find.value); });
document.getElementById("next").addEventListener("click", () => { start += PAGE; draw(find.value); });
draw("");

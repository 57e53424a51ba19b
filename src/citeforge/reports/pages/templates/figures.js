"use strict";
// A plot is saved as it is seen: the page's colours stand in the file.
(() => {
  const section = document.getElementById("figures");
  if (!section) return;
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const drawing = name => {
    const svg = document.getElementById(`plot-${name}`).querySelector("svg");
    const style = getComputedStyle(document.documentElement);
    return svg.outerHTML.replace(/var\((--\w+)\)/g, (_, v) => style.getPropertyValue(v).trim());
  };
  section.addEventListener("click", event => {
    const button = event.target.closest("button[data-save]");
    if (!button) return;
    const name = button.dataset.name;
    if (button.dataset.save === "svg") save(`${name}.svg`, "image/svg+xml", drawing(name));
    else window.citeforgeLoad(`csv-${name}`).then(text => save(`${name}.csv`, "text/csv", text));
  });
})();

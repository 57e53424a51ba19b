"use strict";
// Data come in chunks: from an element of the page, or as scripts beside it. A page that was
// opened from a disk may not fetch files, but it may load scripts.
(() => {
  const element = document.getElementById("chunks");
  const folder = document.documentElement.dataset.chunks;
  const known = new Map(), waiting = new Map();
  let inside = null;
  window.citeforgeChunk = (name, value) => {
    known.set(name, value);
    if (waiting.has(name)) { waiting.get(name)(value); waiting.delete(name); }
  };
  window.citeforgeLoad = name => {
    if (known.has(name)) return Promise.resolve(known.get(name));
    if (element) {
      inside = inside || JSON.parse(element.textContent);
      return Promise.resolve(inside[name]);
    }
    const promise = new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `${folder}/${name}.js`;
      script.addEventListener("error", () => reject(new Error(`${script.src} cannot be read`)));
      document.head.append(script);
    });
    known.set(name, promise);
    return promise;
  };
})();

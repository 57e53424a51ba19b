"use strict";
// The list follows its files: it asks for the part that changes, and keeps what is chosen.
(() => {
  const lists = document.getElementById("lists"), state = document.getElementById("state");
  const QUIET = 2000;
  async function refresh() {
    let wait = QUIET;
    const begin = performance.now();
    try {
      if (!document.hidden) {
        const query = new URLSearchParams(location.search);
        query.set("part", "1");
        query.set("since", lists.firstElementChild.dataset.tag);
        const reply = await fetch(`?${query}`);
        if (reply.status === 200) show(await reply.text());
        if (state.textContent) state.textContent = "";
      }
    } catch {
      state.textContent = "citeforge view has ended: start it again, and open its new address.";
    }
    // A folder that takes long to look through is looked through less often.
    setTimeout(refresh, Math.max(wait, 10 * (performance.now() - begin)));
  }
  function show(text) {
    const chosen = new Set([...lists.querySelectorAll("input:checked")].map(box => box.value));
    const focus = document.activeElement && lists.contains(document.activeElement) ? document.activeElement.id : "";
    const scrolled = [...lists.querySelectorAll(".scroll")].map(box => [box.getAttribute("aria-label"), box.scrollLeft]);
    lists.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    for (const box of lists.querySelectorAll("input")) box.checked = chosen.has(box.value);
    for (const box of lists.querySelectorAll(".scroll")) {
      const before = scrolled.find(([name]) => name === box.getAttribute("aria-label"));
      if (before) box.scrollLeft = before[1];
    }
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  }
  setTimeout(refresh, QUIET);
})();

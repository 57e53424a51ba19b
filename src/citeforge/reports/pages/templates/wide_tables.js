// A table that is wider than its frame says that it can be scrolled.
for (const table of document.querySelectorAll(".scroll > table")) {
  const frame = table.parentElement;
  if (!frame.previousElementSibling?.matches(".wide")) {
    const note = document.createElement("p");
    note.className = "note wide";
    note.textContent = "The table is wider than the page: scroll it.";
    frame.before(note);
  }
  const observer = new ResizeObserver(() => {
    frame.previousElementSibling.hidden = frame.scrollWidth <= frame.clientWidth;
  });
  observer.observe(table);
  observer.observe(frame);
}

// Keys for the whole page. Searching and moving need no server; other keys are sent to it.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const at = document.activeElement;
  if (at?.closest("input, textarea, select, [contenteditable], [role=listbox]")) {
    if (event.key === "Escape") at.blur();
    return;
  }
  if (document.querySelector(".q-dialog__inner")) return;
  if (event.key === "/") {
    const search = document.querySelector(".search input");
    if (search) {
      event.preventDefault();
      search.focus();
    }
    return;
  }
  const onControl = at && at !== document.body && at.closest("a, button, summary, [tabindex]");
  if (event.key === "Enter" ? !onControl : ["j", "k", "p", "r", "n", "?"].includes(event.key)) {
    emitEvent("untildone_key", event.key);
  }
});

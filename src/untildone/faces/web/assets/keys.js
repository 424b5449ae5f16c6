// @ts-check
/**
 * Keys. A page declares its keys where the things are: `data-key="p"` on a button, link or field; `data-key="g i"` is one key after
 * another. A row (`data-row`) is selected by the focus on its link (`data-row-link`); keys inside rows are those of the selected row.
 * `j` and `k` move between rows, `o` opens one, `u` and Escape go back (to the link with `data-key="u"`, if the page has one), `?` lists the keys.
 */

const WAIT_FOR_SECOND = 1200;
let first = "";
let firstAt = 0;

/** Whether somebody types. @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));
}

/** @returns {HTMLElement[]} */
function rowLinks() {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-row] [data-row-link]")].filter(isShown));
}

/** @param {Element} element */
function isShown(element) {
  return element instanceof HTMLElement && element.getClientRects().length > 0;
}

/** The selected row. @returns {Element | null} */
function selected() {
  return document.activeElement?.closest("[data-row]") || null;
}

/** Select the next or the previous row; at the edge of a page, turn it. @param {number} by */
function move(by) {
  const links = rowLinks();
  const row = selected();
  const at = links.findIndex((link) => row?.contains(link));
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
  if (next) {
    next.focus();
    next.closest("[data-row]")?.scrollIntoView({ block: "nearest" });
    return;
  }
  const turn = document.querySelector(by > 0 ? "[data-next]" : "[data-previous]");
  if (turn instanceof HTMLElement) {
    sessionStorage.setItem("untildone:select", by > 0 ? "first" : "last");
    turn.click();
  }
}

/** Use a thing: type in a field, press a button, follow a link. @param {Element | null | undefined} thing */
function use(thing) {
  if (!(thing instanceof HTMLElement)) return false;
  if (isField(thing)) {
    thing.focus();
    if (thing instanceof HTMLInputElement) thing.select();
  } else {
    thing.click();
  }
  return true;
}

/** The thing with a key: in the selected row, else outside of all rows. @param {string} key */
function thingOf(key) {
  const named = `[data-key="${CSS.escape(key)}"]`;
  const inRow = [...(selected()?.querySelectorAll(named) || [])].find(isShown);
  return inRow || [...document.querySelectorAll(named)].find((thing) => !thing.closest("[data-row]") && isShown(thing));
}

function back() {
  if (use(thingOf("u"))) return;
  if (document.referrer.startsWith(location.origin) && history.length > 1) history.back();
  else if (location.pathname !== "/") location.assign("/");
}

/** What a thing is called. @param {Element} thing */
export function nameOf(thing) {
  return (thing.getAttribute("aria-label") || thing.getAttribute("title") || thing.getAttribute("placeholder") || thing.textContent || "").trim().replace(/\s+/g, " ");
}

function listKeys() {
  const dialog = document.getElementById("keys");
  const list = dialog?.querySelector("[data-page-keys]");
  if (!(dialog instanceof HTMLDialogElement) || !list) return;
  list.replaceChildren();
  const known = new Set();
  for (const thing of document.querySelectorAll("[data-key]")) {
    const key = thing.getAttribute("data-key") || "";
    const name = thing.getAttribute("data-key-name") || nameOf(thing);
    if (!isShown(thing) || known.has(key)) continue;
    known.add(key);
    const keys = document.createElement("dt");
    for (const each of key.split(" ")) keys.append(Object.assign(document.createElement("kbd"), { textContent: each }), " ");
    list.append(keys, Object.assign(document.createElement("dd"), { textContent: name }));
  }
  dialog.showModal();
}

/** @param {string} query */
async function openPalette(query = "") {
  (await import("./palette.js")).open(query);
}

/** Whether the key did something. @param {string} key */
function press(key) {
  const both = first && Date.now() - firstAt < WAIT_FOR_SECOND ? thingOf(`${first} ${key}`) : undefined;
  first = "";
  if (both) return use(both);
  if (document.querySelector(`[data-key^="${CSS.escape(key)} "]`)) {
    [first, firstAt] = [key, Date.now()];
    return true;
  }
  switch (key) {
    case "j":
    case "k":
      move(key === "j" ? 1 : -1);
      return true;
    case "o":
      return use(selected()?.querySelector("[data-row-link]"));
    case "u":
    case "Escape":
      back();
      return true;
    case "?":
      listKeys();
      return true;
    case "/":
      if (!use(thingOf("/"))) openPalette();
      return true;
    default:
      return use(thingOf(key));
  }
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isField(event.target)) {
    if (event.key === "Escape" && event.target instanceof HTMLElement) leave(event.target);
    return;
  }
  if (press(event.key)) event.preventDefault();
});

/** Leave a field; what was typed stays, and the row of the field is selected. @param {HTMLElement} field */
function leave(field) {
  const link = field.closest("[data-row]")?.querySelector("[data-row-link]");
  if (link instanceof HTMLElement) link.focus();
  else field.blur();
}

document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest("[data-palette]")) openPalette();
});

const wanted = sessionStorage.getItem("untildone:select");
if (wanted) {
  sessionStorage.removeItem("untildone:select");
  rowLinks().at(wanted === "first" ? 0 : -1)?.focus();
}

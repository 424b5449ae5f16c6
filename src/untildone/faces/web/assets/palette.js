// @ts-check
/** The command palette: pages, acts of the present page, and loops by title. */
import { call } from "./base.js";
import { nameOf } from "./keys.js";

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("palette"));
const input = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
const list = /** @type {HTMLElement} */ (dialog.querySelector("[role=listbox]"));
const MOST_LOOPS = 8;
const SEARCH_AFTER = 150;

/** @typedef {{group: string, name: string, keys?: string, run: () => void}} Command */
/** @type {Command[]} */
let shown = [];
let chosen = 0;
let searches = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {Element | null} */
let selectedRow = null;

/** Things that can be used now: the pages, then the acts of this page, those of the selected row first. @returns {Command[]} */
function commands() {
  /** @type {Command[]} */
  const found = [];
  for (const thing of document.querySelectorAll("a[data-key], button[data-key], [data-act][data-key], textarea[data-key], input[data-key], [data-command]")) {
    if (!(thing instanceof HTMLElement) || !thing.getClientRects().length || dialog.contains(thing)) continue;
    const row = thing.closest("[data-row]");
    if (row && row !== selectedRow) continue;
    const title = row?.querySelector("[data-row-link]")?.textContent?.trim();
    const name = [thing.dataset.keyName || nameOf(thing), title].filter(Boolean).join(": ");
    const isPage = thing.closest("header.bar") !== null;
    found.push({
      group: (isPage ? dialog.dataset.pages : dialog.dataset.acts) || "",
      name,
      keys: thing.dataset.key,
      run: () => (thing.matches("textarea, input") ? thing.focus() : thing.click()),
    });
  }
  return found.sort((a, b) => Number(a.group === dialog.dataset.pages) - Number(b.group === dialog.dataset.pages));
}

/** @param {string} query */
function matching(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return commands().filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

/** @param {string} query @returns {Promise<Command[]>} */
async function loops(query) {
  const answer = await call("GET", `/api/v1/loops?limit=${MOST_LOOPS}&q=${encodeURIComponent(query)}`);
  return answer.loops.map((/** @type {any} */ line) => ({
    group: dialog.dataset.loops || "",
    name: line.title || line.loop_id,
    run: () => location.assign(`/loops/${line.loop_id}`),
  }));
}

/** @param {Command[]} found */
function show(found) {
  shown = found;
  chosen = Math.min(chosen, Math.max(0, found.length - 1));
  list.replaceChildren();
  let group = "";
  found.forEach((command, place) => {
    if (command.group !== group) {
      group = command.group;
      const heading = Object.assign(document.createElement("div"), { className: "palette-group quiet", textContent: group });
      heading.setAttribute("role", "presentation");
      list.append(heading);
    }
    const option = Object.assign(document.createElement("div"), { id: `palette-${place}`, className: "palette-option" });
    option.setAttribute("role", "option");
    option.append(Object.assign(document.createElement("span"), { textContent: command.name, className: "stretch" }));
    for (const key of (command.keys || "").split(" ").filter(Boolean)) option.append(Object.assign(document.createElement("kbd"), { textContent: key }));
    option.addEventListener("click", () => run(place));
    list.append(option);
  });
  if (!found.length) list.append(Object.assign(document.createElement("p"), { className: "quiet", textContent: dialog.dataset.nothing || "" }));
  mark();
}

function mark() {
  [...list.querySelectorAll("[role=option]")].forEach((option, place) => {
    option.setAttribute("aria-selected", `${place === chosen}`);
    if (place === chosen) option.scrollIntoView({ block: "nearest" });
  });
  if (shown.length) input.setAttribute("aria-activedescendant", `palette-${chosen}`);
  else input.removeAttribute("aria-activedescendant");
}

/** @param {number} place */
function run(place) {
  const command = shown[place];
  if (!command) return;
  dialog.close();
  command.run();
}

function search() {
  const query = input.value.trim();
  const number = ++searches;
  const here = matching(query);
  show(here);
  clearTimeout(timer);
  if (query) {
    timer = setTimeout(async () => {
      const found = await loops(query).catch(() => []);
      if (number === searches) show([...here, ...found]);
    }, SEARCH_AFTER);
  }
}

/** Show the palette. @param {string} query */
export function open(query) {
  if (dialog.open || document.querySelector("dialog[open]")) return;
  selectedRow = document.activeElement?.closest("[data-row]") || null;
  input.value = query;
  chosen = 0;
  dialog.showModal();
  search();
}

input.addEventListener("input", () => {
  chosen = 0;
  search();
});
input.addEventListener("keydown", (event) => {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by && shown.length) {
    chosen = (chosen + by + shown.length) % shown.length;
    mark();
  } else if (event.key === "Enter") run(chosen);
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

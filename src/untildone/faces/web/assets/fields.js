// @ts-check
/**
 * The fields of a form. A field is a box with `data-field` and `data-kind`. Its content is what the widget shows: true or false, a text, or a list of texts. Its value is what the API takes for it.
 */

/** @typedef {boolean | string | string[]} Content */
/** @typedef {boolean | number | string | string[] | Record<string, string>} Value */

/** What is wrong with the content of a field. */
export class FieldError extends Error {}

/**
 * The fields below an element that belong to it, and not to a form inside of it.
 * @param {Element} root
 * @returns {HTMLElement[]}
 */
export function boxesOf(root) {
  const all = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-field]")]);
  return all.filter((box) => box.parentElement?.closest("[data-profile], form") === root);
}

/** What the widget showed at first. @param {HTMLElement} box */
export function initialOf(box) {
  return /** @type {Content} */ (JSON.parse(box.dataset.initial ?? '""'));
}

/** @param {HTMLElement} box @returns {Content} */
export function contentOf(box) {
  switch (box.dataset.kind) {
    case "switch":
      return input(box).checked;
    case "rounds":
      return noLimit(box)?.checked ? "none" : number(box).value.trim();
    case "checks":
      return rows(box).map((row) => row.value.trim()).filter(Boolean);
    default:
      return input(box).value;
  }
}

/** @param {HTMLElement} box @param {Content} content */
export function showContent(box, content) {
  switch (box.dataset.kind) {
    case "switch":
      input(box).checked = content === true;
      break;
    case "rounds":
      showRounds(box, String(content));
      break;
    case "checks":
      showRows(box, Array.isArray(content) ? content : []);
      break;
    default:
      if (input(box).value !== String(content)) input(box).value = String(content);
  }
}

/** Whether the content differs from what was there at first. @param {HTMLElement} box */
export function isChanged(box) {
  return !isSame(contentOf(box), initialOf(box));
}

/** @param {unknown} one @param {unknown} other */
export function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * The value for the content of a field; undefined: the field is empty and sets nothing.
 * @param {HTMLElement} box @param {Record<string, string>} texts
 * @returns {Value | undefined}
 */
export function valueOf(box, texts) {
  const content = contentOf(box);
  if (typeof content !== "string") return content;
  switch (box.dataset.kind) {
    case "rounds":
      return content === "none" ? content : numberOf(box, content, texts);
    case "whole":
    case "number":
      return numberOf(box, content, texts);
    case "lines":
      return linesOf(content);
    case "pairs":
      return Object.fromEntries(linesOf(content).map((line) => pairOf(line, texts)));
    default:
      return content === "" && box.dataset.countsEmpty === undefined ? undefined : content;
  }
}

/** @param {HTMLElement} box @param {string} content @param {Record<string, string>} texts */
function numberOf(box, content, texts) {
  if (number(box).validity.badInput) throw new FieldError(texts.notANumber);
  if (content.trim() === "") return undefined;
  const value = Number(content);
  if (!Number.isFinite(value)) throw new FieldError(texts.notANumber);
  if (box.dataset.kind !== "number" && !Number.isInteger(value)) throw new FieldError(texts.notWhole);
  return value;
}

/** @param {string} content */
function linesOf(content) {
  return content.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** @param {string} line @param {Record<string, string>} texts @returns {[string, string]} */
function pairOf(line, texts) {
  const mark = line.indexOf("=");
  if (mark < 1) throw new FieldError(texts.notAPair.replace("{line}", line.slice(0, 60)));
  return [line.slice(0, mark).trim(), line.slice(mark + 1).trim()];
}

/** The widget that gets the focus. @param {HTMLElement} box @returns {HTMLElement} */
export function widgetOf(box) {
  if (box.dataset.kind === "rounds") return number(box);
  const found = box.querySelector("input, select, textarea, button");
  return found instanceof HTMLElement ? found : box;
}

/** @param {HTMLElement} box */
function input(box) {
  return /** @type {HTMLInputElement} */ (box.querySelector("input, select, textarea"));
}

/** @param {HTMLElement} box */
function number(box) {
  return /** @type {HTMLInputElement} */ (box.querySelector('input[type="number"]'));
}

/** @param {HTMLElement} box */
function noLimit(box) {
  return /** @type {HTMLInputElement | null} */ (box.querySelector("[data-none]"));
}

/** @param {HTMLElement} box @param {string} content */
function showRounds(box, content) {
  const without = content === "none";
  const tick = noLimit(box);
  if (tick) tick.checked = without;
  const slider = /** @type {HTMLInputElement} */ (box.querySelector('input[type="range"]'));
  slider.disabled = number(box).disabled = without;
  if (without) return;
  number(box).value = content;
  if (content !== "") slider.value = content;
}

/** @param {HTMLElement} box */
function rows(box) {
  return /** @type {HTMLTextAreaElement[]} */ ([...box.querySelectorAll("[data-rows] textarea")]);
}

/** @param {HTMLElement} box @param {string[]} commands */
function showRows(box, commands) {
  const list = /** @type {HTMLElement} */ (box.querySelector("[data-rows]"));
  while (rows(box).length > commands.length) list.lastElementChild?.remove();
  while (rows(box).length < commands.length) addRow(box);
  rows(box).forEach((row, place) => {
    if (row.value !== commands[place]) row.value = commands[place];
  });
}

/** Add a row to a list of checks. @param {HTMLElement} box @param {string} [command] @returns {HTMLTextAreaElement} */
export function addRow(box, command = "") {
  const template = /** @type {HTMLTemplateElement} */ (box.querySelector("template[data-row]"));
  box.querySelector("[data-rows]")?.append(template.content.cloneNode(true));
  const row = rows(box)[rows(box).length - 1];
  row.value = command;
  return row;
}

/** Make the parts of a field work together: slider and number, rows that are added and removed. @param {HTMLElement} box */
export function enliven(box) {
  box.dataset.initial = JSON.stringify(contentOf(box));
  if (box.dataset.kind === "rounds") enlivenRounds(box);
  if (box.dataset.kind === "checks") enlivenChecks(box);
  if (box.dataset.kind === "choice") enlivenChoice(box);
}

/** @param {HTMLElement} box */
function enlivenRounds(box) {
  box.addEventListener("input", (event) => {
    const moved = event.target;
    if (!(moved instanceof HTMLInputElement)) return;
    if (moved.type === "checkbox") showRounds(box, moved.checked ? "none" : number(box).value || String(initialOf(box)).replace("none", "5"));
    else showRounds(box, moved.value);
  });
}

/** @param {HTMLElement} box */
function enlivenChecks(box) {
  box.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    if (button.dataset.do === "remove-row") button.closest("li")?.remove();
    else if (button.dataset.do === "add-row") addRow(box).focus();
    else if (button.dataset.addCheck !== undefined) addOnce(box, button.dataset.addCheck);
    else return;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  box.addEventListener("keydown", (event) => {
    const row = event.target;
    if (!(row instanceof HTMLTextAreaElement) || event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    if (row.value.trim()) addRow(box).focus();
  });
  box.addEventListener("input", () => markSuggestions(box));
  markSuggestions(box);
}

/** @param {HTMLElement} box @param {string} command */
function addOnce(box, command) {
  const empty = rows(box).find((row) => !row.value.trim());
  if (empty) empty.value = command;
  else if (!rows(box).some((row) => row.value.trim() === command)) addRow(box, command);
}

/** A suggestion that is taken is not offered again. @param {HTMLElement} box */
export function markSuggestions(box) {
  const taken = rows(box).map((row) => row.value.trim());
  for (const each of box.querySelectorAll("[data-add-check]"))
    if (each instanceof HTMLElement) each.hidden = taken.includes(each.dataset.addCheck ?? "");
}

/** Say what the chosen option needs: how its program is installed. @param {HTMLElement} box */
function enlivenChoice(box) {
  const select = /** @type {HTMLSelectElement} */ (box.querySelector("select"));
  const note = /** @type {HTMLElement} */ (box.querySelector(".field-note"));
  const tell = () => {
    const hint = select.selectedOptions[0]?.dataset.hint ?? "";
    note.textContent = hint;
    note.hidden = !hint;
  };
  box.addEventListener("input", tell);
  tell();
}

/** Whether a field has an effect with what the form shows now. @param {HTMLElement} box @param {Map<string, HTMLElement>} others */
export function hasEffect(box, others) {
  const [name, required] = (box.dataset.onlyWith ?? "").split("=", 2);
  const other = others.get(name);
  if (!other) return true;
  const content = contentOf(other);
  const fits = required === undefined ? (Array.isArray(content) ? content.length > 0 : Boolean(content)) : content === required;
  return fits || Boolean(required !== undefined && box.dataset.optional !== undefined && contentOf(box));
}

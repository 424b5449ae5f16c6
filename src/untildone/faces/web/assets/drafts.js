// @ts-check
/**
 * Drafts: what a person typed, kept in this browser until it is sent. A draft outlives a reload, a lost connection and the server.
 *
 * A text field with `data-draft="key"` is kept by itself; an element with `data-drop-draft="key"` says that it was sent. Forms of several fields use the functions.
 * All tabs show the same draft: what is typed in one appears in the others.
 */

const PREFIX = "untildone:draft:";

/** @typedef {Record<string, unknown>} Contents What was typed, by field. */

/**
 * The draft of a key; null if there is none.
 * @param {string} key
 * @returns {Contents | null}
 */
export function readDraft(key) {
  try {
    const kept = JSON.parse(localStorage.getItem(PREFIX + key) ?? "null");
    return kept !== null && typeof kept === "object" && !Array.isArray(kept) ? kept : null;
  } catch {
    return null; // no storage in this browser, or not ours
  }
}

/**
 * Keep a draft; without contents, forget it. Returns whether the browser keeps it.
 * @param {string} key
 * @param {Contents} contents
 */
export function writeDraft(key, contents) {
  try {
    if (Object.keys(contents).length) localStorage.setItem(PREFIX + key, JSON.stringify(contents));
    else localStorage.removeItem(PREFIX + key);
    return true;
  } catch {
    return false;
  }
}

/**
 * Forget a draft, because it was sent or discarded.
 * @param {string} key
 */
export function dropDraft(key) {
  writeDraft(key, {});
  for (const field of draftFields()) if (field.dataset.draft === key) field.value = "";
}

/**
 * Call `take` with the draft whenever another tab has changed it, and when the page comes back from the history of the browser.
 * @param {string} key
 * @param {(contents: Contents | null) => void} take
 */
export function onDraft(key, take) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + key) take(readDraft(key));
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) take(readDraft(key));
  });
}

/** @type {WeakSet<Element>} */
const keptFields = new WeakSet();

/**
 * Keep the text fields below `root` that have `data-draft`. A field is kept once, however often this is called.
 * @param {ParentNode} [root]
 */
export function keepDrafts(root = document) {
  for (const field of draftFields(root)) {
    if (keptFields.has(field)) continue;
    keptFields.add(field);
    const key = field.dataset.draft ?? "";
    show(field, readDraft(key));
    field.addEventListener("input", () => writeDraft(key, field.value ? { text: field.value } : {}));
    onDraft(key, (contents) => show(field, contents ?? { text: "" }));
  }
}

/**
 * @param {ParentNode} [root]
 * @returns {(HTMLTextAreaElement | HTMLInputElement)[]}
 */
function draftFields(root = document) {
  return [...root.querySelectorAll("textarea[data-draft], input[data-draft]")].filter(
    (each) => each instanceof HTMLTextAreaElement || each instanceof HTMLInputElement,
  );
}

/**
 * @param {HTMLTextAreaElement | HTMLInputElement} field
 * @param {Contents | null} contents
 */
function show(field, contents) {
  if (contents === null || typeof contents.text !== "string" || field.value === contents.text) return;
  field.value = contents.text;
  field.dispatchEvent(new Event("draft", { bubbles: true }));
}

for (const sent of document.querySelectorAll("[data-drop-draft]")) dropDraft(sent.getAttribute("data-drop-draft") ?? "");
keepDrafts();
// A field may come later: with a question that an agent asks while the page is open.
document.addEventListener("untildone:replaced", () => keepDrafts());

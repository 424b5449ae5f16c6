// @ts-check
/** Comments on lines of a diff: collected in the browser, sent as one message to the agent. And the tree, which opens files. */
import { call, complain, toast } from "./base.js";

/** @typedef {{path: string, line: string, side: string, text: string, words: string}} Comment */
const area = /** @type {HTMLElement | null} */ (document.querySelector("[data-comments]"));
const key = `untildone-comments-${area?.dataset.comments}`;

/** @returns {Comment[]} */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(key) || "[]");
  } catch {
    return [];
  }
}

/** @param {Comment[]} comments */
function keep(comments) {
  if (comments.length) localStorage.setItem(key, JSON.stringify(comments));
  else localStorage.removeItem(key);
  show();
}

/** All comments as one message. @param {Comment[]} comments */
function message(comments) {
  const signs = /** @type {Record<string, string>} */ ({ old: "-", new: "+", both: " " });
  const parts = comments.map((each) => `${each.path}:${each.line}\n> ${signs[each.side] ?? " "}${each.text}\n${each.words}`);
  return [`${area?.dataset.what}:`, ...parts].join("\n\n");
}

function show() {
  const comments = kept();
  const bar = /** @type {HTMLElement | null} */ (document.querySelector(".comment-bar"));
  const count = /** @type {HTMLElement | null} */ (document.querySelector("[data-count]"));
  if (bar) bar.hidden = comments.length === 0;
  if (count) count.textContent = ((comments.length === 1 && count.dataset.one) || count.dataset.words || "{n}").replace("{n}", `${comments.length}`);
  for (const row of document.querySelectorAll("tr.comment.saved")) row.remove();
  for (const each of comments) {
    const file = [...document.querySelectorAll(".file")].find((found) => /** @type {HTMLElement} */ (found).dataset.path === each.path);
    const button = file && [...file.querySelectorAll("[data-line]")].find((found) => isAt(/** @type {HTMLElement} */ (found), each));
    if (button) button.closest("tr")?.after(savedRow(each));
  }
}

/** @param {HTMLElement} button @param {Comment} comment */
function isAt(button, comment) {
  return button.dataset.line === comment.line && button.dataset.side === comment.side;
}

/** @param {Comment} comment */
function savedRow(comment) {
  const row = emptyRow();
  row.classList.add("saved");
  const words = document.createElement("p");
  words.textContent = comment.words;
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = area?.dataset.delete || "";
  remove.addEventListener("click", () => keep(kept().filter((each) => JSON.stringify(each) !== JSON.stringify(comment))));
  row.cells[0].append(words, remove);
  return row;
}

function emptyRow() {
  const row = document.createElement("tr");
  row.className = "comment";
  row.insertCell().colSpan = 4;
  return row;
}

/** Open a field for a comment below a line. @param {HTMLElement} button */
function write(button) {
  const file = /** @type {HTMLElement | null} */ (button.closest(".file"));
  document.querySelector("tr.comment:not(.saved)")?.remove();
  const row = emptyRow();
  const form = document.createElement("form");
  const field = document.createElement("textarea");
  field.rows = 3;
  field.setAttribute("aria-label", area?.dataset.commentWord || "");
  const actions = document.createElement("div");
  actions.className = "actions";
  const save = document.createElement("button");
  save.className = "primary";
  save.textContent = area?.dataset.save || "";
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.textContent = area?.dataset.cancelWord || "";
  cancel.addEventListener("click", () => row.remove());
  actions.append(save, cancel);
  form.append(field, actions);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { line = "", side = "", text = "" } = button.dataset;
    if (field.value.trim()) keep([...kept(), { path: file?.dataset.path || "", line, side, text, words: field.value.trim() }]);
    row.remove();
  });
  row.cells[0].append(form);
  button.closest("tr")?.after(row);
  field.focus();
}

/** @param {HTMLElement} button */
async function send(button) {
  button.setAttribute("aria-busy", "true");
  try {
    await call("POST", `/api/v1/loops/${area?.dataset.comments}/messages`, { text: message(kept()) });
    keep([]);
    toast(button.dataset.sent || "");
  } catch (error) {
    complain(error);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Open the file that a link of the tree names. @param {string} hash */
function open(hash) {
  const file = hash.startsWith("#file-") ? document.getElementById(hash.slice(1)) : null;
  if (file instanceof HTMLDetailsElement) file.open = true;
  file?.scrollIntoView();
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const line = event.target.closest("[data-line]");
  const sender = event.target.closest("[data-send]");
  const link = event.target.closest("[data-open-file]");
  if (line instanceof HTMLElement) write(line);
  if (sender instanceof HTMLElement) send(sender);
  if (event.target.closest("[data-discard]")) keep([]);
  if (link) open(link.getAttribute("href") || "");
});
for (const select of document.querySelectorAll("form.tools select")) select.addEventListener("change", () => /** @type {HTMLSelectElement} */ (select).form?.requestSubmit());
document.addEventListener("untildone:loaded", show);
open(location.hash);
show();

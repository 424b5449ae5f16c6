// @ts-check
/** The output of an agent: followed while it grows, read back in windows, searched. A request for more is held by the server until there is some. */
import { fetchPart, freshen } from "./base.js";

const NEAR = 120;
const MOST_EARLIER = 30;
const TIME = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "medium" });
/** @type {WeakSet<Element>} */
const followed = new WeakSet();

/** The parts of an output box. @param {HTMLElement} box */
function parts(box) {
  return {
    log: /** @type {HTMLElement | null} */ (box.querySelector(".output")),
    toEnd: /** @type {HTMLElement | null} */ (box.querySelector("[data-to-end]")),
    earlier: /** @type {HTMLElement | null} */ (box.querySelector("[data-earlier]")),
  };
}

/** @param {HTMLElement} log */
function isAtEnd(log) {
  return log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
}

/** @param {string} html */
function nodesOf(html) {
  return /** @type {HTMLElement[]} */ ([...new DOMParser().parseFromString(html, "text/html").body.children]);
}

/** Add fresh blocks, with the time at which they came. The last block may have grown: it is replaced, and stays open if it was. @param {HTMLElement} box @param {HTMLElement[]} fresh */
function append(box, fresh) {
  const { log, toEnd } = parts(box);
  if (!log || !fresh.length) return;
  const wasAtEnd = isAtEnd(log);
  const first = Number(fresh[0].dataset.at);
  for (const old of /** @type {HTMLElement[]} */ ([...log.children])) {
    if (Number(old.dataset.at) < first) continue;
    const next = fresh.find((each) => each.dataset.at === old.dataset.at);
    if (next) next.dataset.came = old.dataset.came || "";
    if (old instanceof HTMLDetailsElement && next instanceof HTMLDetailsElement) next.open = old.open;
    old.remove();
  }
  for (const each of fresh) each.dataset.came ??= TIME.format(new Date());
  log.append(...fresh);
  freshen(log);
  if (wasAtEnd) log.scrollTop = log.scrollHeight;
  if (toEnd) toEnd.hidden = wasAtEnd;
  if (box.querySelector("[data-find]") instanceof HTMLInputElement) find(box);
}

/** @param {HTMLElement} box */
async function follow(box) {
  const { log } = parts(box);
  if (!log || followed.has(box)) return;
  followed.add(box);
  log.scrollTop = log.scrollHeight;
  while (box.isConnected && box.dataset.going) {
    if (document.visibilityState !== "visible" || !box.checkVisibility()) {
      await pause(500);
      continue;
    }
    const last = /** @type {HTMLElement | null} */ (log.lastElementChild);
    try {
      const answer = await fetchPart(`${box.dataset.output}?from=${last?.dataset.at || 0}&size=${box.dataset.size}`);
      if (!answer.ok) throw new Error();
      const html = await answer.text();
      if (answer.headers.get("x-size") !== box.dataset.size) append(box, nodesOf(html));
      box.dataset.size = answer.headers.get("x-size") || "-1";
      box.dataset.going = answer.headers.get("x-going") || "";
      await pause(150);
    } catch {
      await pause(2000);
    }
  }
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Show the window before the first block. @param {HTMLElement} box */
async function loadEarlier(box) {
  const { log, earlier } = parts(box);
  if (!log) return;
  const answer = await fetchPart(`${box.dataset.output}?before=${box.dataset.start}`);
  if (!answer.ok) return;
  const height = log.scrollHeight;
  log.prepend(...nodesOf(await answer.text()));
  log.scrollTop += log.scrollHeight - height;
  box.dataset.start = answer.headers.get("x-start") || "0";
  if (earlier) earlier.hidden = box.dataset.start === "0";
}

/** Hide the blocks without the words, and open those with them. @param {HTMLElement} box */
function find(box) {
  const field = /** @type {HTMLInputElement | null} */ (box.querySelector("[data-find]"));
  const found = /** @type {HTMLElement | null} */ (box.querySelector("[data-found]"));
  const { log } = parts(box);
  if (!field || !log) return;
  const words = field.value.trim().toLowerCase();
  let hits = 0;
  for (const block of /** @type {HTMLElement[]} */ ([...log.children])) {
    const hit = words !== "" && (block.textContent || "").toLowerCase().includes(words);
    block.hidden = words !== "" && !hit;
    block.classList.toggle("hit", hit);
    if (hit && block instanceof HTMLDetailsElement) block.open = true;
    hits += hit ? 1 : 0;
  }
  if (found) found.textContent = words ? (found.dataset.words || "{n}").replace("{n}", `${hits}`) : "";
}

/** Search in all of the output, as far as a page can hold it. @param {HTMLElement} box */
async function search(box) {
  for (let n = 0; n < MOST_EARLIER && box.dataset.start !== "0"; n++) {
    const before = box.dataset.start;
    await loadEarlier(box);
    if (box.dataset.start === before) break;
  }
  find(box);
}

/** @param {ParentNode} inside */
function followAll(inside) {
  for (const box of inside.querySelectorAll(".output-box")) {
    const { log } = parts(/** @type {HTMLElement} */ (box));
    if (box instanceof HTMLElement && box.dataset.going) follow(box);
    else if (log && !followed.has(box)) followed.add(box);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-to-end], [data-earlier]") : null;
  const box = button?.closest(".output-box");
  if (!(button instanceof HTMLElement) || !(box instanceof HTMLElement)) return;
  const { log } = parts(box);
  if (button.hasAttribute("data-earlier")) loadEarlier(box).catch(() => {});
  else if (log) {
    log.scrollTop = log.scrollHeight;
    button.hidden = true;
  }
});
document.addEventListener("scroll", (event) => {
  const log = event.target;
  if (!(log instanceof HTMLElement) || !log.classList.contains("output")) return;
  const box = log.closest(".output-box");
  const { toEnd } = parts(/** @type {HTMLElement} */ (box));
  if (toEnd) toEnd.hidden = isAtEnd(log);
}, true);
document.addEventListener("input", (event) => {
  const field = event.target;
  const box = field instanceof HTMLInputElement && field.hasAttribute("data-find") ? field.closest(".output-box") : null;
  if (box instanceof HTMLElement) search(box);
});
document.addEventListener("untildone:loaded", (event) => event.target instanceof Element && followAll(event.target));
document.addEventListener("untildone:replaced", () => followAll(document));
followAll(document);

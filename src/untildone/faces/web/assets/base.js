// @ts-check
/** What every page uses: calls of the API, short messages, times in the time zone of the browser, buttons that act, fragments. */

const words = document.body.dataset;
const language = document.documentElement.lang;
const LONG = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long" });
const DATE = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat(language, { timeStyle: "short" });

/** @type {Record<string, string>} By code; empty in English. */
const PROBLEMS = JSON.parse(words.problems || "{}");

/** Why the API refuses, in the language of the page, with its English words behind. @param {string | undefined} code @param {string} english */
function translated(code, english) {
  const title = PROBLEMS[code || ""];
  return title ? `${title}（${english}）` : english;
}

/** An error of the API, with what its answer says. */
export class Problem extends Error {
  /** @param {number} status @param {{detail?: string, hint?: string, code?: string, errors?: {field: string, message: string}[]}} told */
  constructor(status, told) {
    super(translated(told.code, told.detail || `${status}`));
    this.status = status;
    this.hint = told.hint || "";
    this.code = told.code || "";
    this.errors = (told.errors || []).map(({ field, message }) => ({ field, message: translated(told.code, message) }));
  }
}

/**
 * Call the API. Raises a Problem if it refuses, and one of status 0 if it cannot be reached.
 * @param {string} method @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...keyed(method), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, { detail: words.unreachable });
  }
  if (answer.status === 401) logIn();
  const isJson = (answer.headers.get("content-type") || "").includes("json");
  const content = answer.status === 204 || !isJson ? null : await answer.json();
  if (content?.code === "session-key") await fetch("/api/v1/sessions/current", { method: "DELETE" }).then(logIn);
  if (!answer.ok) throw new Problem(answer.status, content || {});
  return content;
}

let isLeaving = false;

/** Go to the login page, and from there back to this page. */
function logIn() {
  if (isLeaving) return;
  isLeaving = true;
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** The key of the session, which the login put into the storage of this origin. @param {string} method @returns {Record<string, string>} */
function keyed(method) {
  try {
    const key = localStorage.getItem("untildone:key");
    return key && method !== "GET" ? { "x-untildone-key": key } : {};
  } catch {
    return {}; // no storage in this browser
  }
}

/** Show a short message. Errors stay until they are closed. @param {string} text @param {"" | "bad"} [kind] */
export function toast(text, kind = "") {
  const shown = document.createElement("div");
  shown.className = `toast ${kind}`;
  const message = document.createElement("span");
  message.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "×";
  close.setAttribute("aria-label", words.close || "×");
  close.addEventListener("click", () => shown.remove());
  shown.append(message, close);
  document.getElementById("toasts")?.append(shown);
  if (kind !== "bad") setTimeout(() => shown.remove(), 5000);
}

/** Show an error. @param {unknown} error */
export function complain(error) {
  if (error instanceof Problem) toast([error.message, error.hint].filter(Boolean).join(" "), "bad");
  else throw error;
}

/** Ask for a yes. @param {string} question @returns {Promise<boolean>} */
export function confirmed(question) {
  const dialog = document.createElement("dialog");
  const text = document.createElement("p");
  text.textContent = question;
  const actions = document.createElement("form");
  actions.method = "dialog";
  actions.className = "actions";
  for (const [value, label, look] of [["yes", words.yes || "Yes", "primary"], ["", words.cancel || "Cancel", ""]]) {
    const button = document.createElement("button");
    button.value = value;
    button.textContent = label;
    button.className = look;
    actions.append(button);
  }
  dialog.append(text, actions);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    }),
  );
}

/**
 * Make the children of `old` those of `fresh` with as few changes as possible, so that focus, selection, typed text,
 * scroll positions and open details stay. An element with `data-keep` is left alone. Elements with an id are recognised by it, others
 * by their tag and their first class.
 * @param {Element} old @param {Element} fresh
 */
function morph(old, fresh) {
  /** @type {Map<string, ChildNode>} */
  const keyed = new Map();
  for (const child of old.children) if (child.id) keyed.set(child.id, child);
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const present = counterpart(wanted, keyed, at);
    if (!present) {
      old.insertBefore(wanted, at);
      continue;
    }
    at = skipTo(at, present);
    update(present, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    if (isTypedIn(at)) at.dataset.over = "";
    else at.remove();
    at = next;
  }
}

/**
 * Whether somebody is typing in an element. It stays until they leave it: what they type next would else go to the keys of the page.
 * @param {ChildNode} node @returns {node is HTMLElement}
 */
function isTypedIn(node) {
  const field = document.activeElement;
  return node instanceof HTMLElement && node.contains(field) && (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) && field.value !== field.defaultValue;
}

/**
 * The child that is to become `wanted`, from `at` on; null: there is none.
 * @param {Node} wanted @param {Map<string, ChildNode>} keyed @param {ChildNode | null} at
 */
function counterpart(wanted, keyed, at) {
  if (!(wanted instanceof Element)) return at && isAlike(at, wanted) ? at : null;
  if (wanted.id) {
    const present = keyed.get(wanted.id);
    keyed.delete(wanted.id);
    return present && isAlike(present, wanted) ? present : null;
  }
  let each = at;
  while (each && !isAlike(each, wanted)) each = each.nextSibling;
  return each;
}

/**
 * Take away what lies between `at` and a later child, and return the node after that child. What has an id comes behind it: it may be wanted yet.
 * @param {ChildNode | null} at @param {ChildNode} child
 */
function skipTo(at, child) {
  let last = child;
  while (at && at !== child) {
    const next = at.nextSibling;
    if (at instanceof Element && (at.id || isTypedIn(at))) {
      last.after(at);
      last = at;
    } else {
      at.remove();
    }
    at = next;
  }
  return child.nextSibling;
}

/** @param {Node} a @param {Node} b */
function isAlike(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  if (!(a instanceof Element) || !(b instanceof Element)) return true;
  return a.id === b.id && a.classList[0] === b.classList[0];
}

/** @param {Node} present @param {Node} wanted */
function update(present, wanted) {
  if (!(present instanceof Element) || !(wanted instanceof Element)) {
    if (present.nodeValue !== wanted.nodeValue) present.nodeValue = wanted.nodeValue;
    return;
  }
  if (present.hasAttribute("data-keep")) return;
  const kept = ["style", "aria-busy", ...(present instanceof HTMLDetailsElement ? ["open"] : ["value", "checked"])];
  for (const { name } of [...present.attributes]) if (!wanted.hasAttribute(name) && !kept.includes(name)) present.removeAttribute(name);
  for (const { name, value } of [...wanted.attributes]) {
    if (present instanceof HTMLDetailsElement && name === "open") continue;
    if (present.getAttribute(name) !== value) present.setAttribute(name, value);
  }
  if (!(present instanceof HTMLTextAreaElement)) morph(present, wanted);
}

/** Put HTML that our server rendered into an element. @param {Element} element @param {string} html */
export function replaceFragment(element, html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  morph(element, parsed.body);
  freshen(element);
  element.dispatchEvent(new CustomEvent("untildone:replaced", { bubbles: true }));
}

/** Whether what this page shows is being deleted: then there is nothing more to fetch. */
let isGoing = false;

/** Fetch the HTML of a fragment and show it. @param {Element} element @param {string} [path] */
export async function refresh(element, path) {
  const from = path || element.getAttribute("data-fragment");
  if (!from || isGoing) return;
  const answer = await fetchPart(from);
  if (answer.ok) replaceFragment(element, await answer.text());
}

/** Fetch a part of a page. A person who is logged out is led to the login. @param {string} path @returns {Promise<Response>} */
export async function fetchPart(path) {
  const answer = await fetch(path, { headers: { accept: "text/html" } });
  if (answer.status === 401) logIn();
  return answer;
}

/** Write the times in an element as the browser's person reads them. @param {ParentNode} inside */
export function freshen(inside) {
  for (const each of inside.querySelectorAll("time[datetime]")) {
    const time = /** @type {HTMLTimeElement} */ (each);
    const at = new Date(time.dateTime);
    const text = time.hasAttribute("data-since") ? elapsed(at) : time.hasAttribute("data-moment") ? moment(at) : age(at);
    if (time.textContent !== text) time.textContent = text;
    if (time.dataset.titled === time.dateTime) continue;
    time.dataset.titled = time.dateTime;
    time.title = LONG.format(at);
  }
}

/** @param {Date} at */
function moment(at) {
  const isToday = at.toDateString() === new Date().toDateString();
  return (isToday ? CLOCK : DATE).format(at);
}

/** @param {Date} at */
function elapsed(at) {
  const seconds = Math.max(0, Math.floor((Date.now() - at.getTime()) / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (parts[0] ? parts : parts.slice(1)).map((part, place) => (place ? `${part}`.padStart(2, "0") : `${part}`)).join(":");
}

/** @param {Date} at */
function age(at) {
  const seconds = (Date.now() - at.getTime()) / 1000;
  if (seconds > 86400 || seconds < -60)
    return DATE.format(at);
  if (seconds < 5) return words.justNow || "";
  const [text, n] = seconds < 60 ? [words.secondsAgo, seconds] : seconds < 3600 ? [words.minutesAgo, seconds / 60] : [words.hoursAgo, seconds / 3600];
  return (text || "{n}").replace("{n}", `${Math.floor(n)}`);
}

/**
 * Do what a button says: `data-act="POST /api/v1/…"`, with `data-body` (JSON), `data-confirm` (a question first),
 * itself or in a dialog with `data-match`: only if the loop is still in that state,
 * `data-done` (a message) and `data-then`: where to go, with {name} from the answer.
 * @param {HTMLElement} button
 */
export async function act(button) {
  if (button.getAttribute("aria-busy") === "true") return;
  const [method, path] = (button.dataset.act || "").split(" ");
  if (button.dataset.confirm && !(await confirmed(button.dataset.confirm))) return;
  button.setAttribute("aria-busy", "true");
  try {
    const match = button.dataset.match ?? button.closest("dialog")?.dataset.match;
    const body = button.dataset.body === undefined ? undefined : JSON.parse(button.dataset.body);
    isGoing = method === "DELETE" && button.dataset.then !== undefined;
    const answer = await call(method, path, body, match ? { "if-match": match } : {});
    if (button.dataset.done) toast(button.dataset.done);
    if (button.dataset.then) location.assign(button.dataset.then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(answer?.[name] ?? "")));
    button.dispatchEvent(new CustomEvent("untildone:done", { bubbles: true, detail: { name: button.dataset.name, answer } }));
  } catch (error) {
    isGoing = false;
    complain(error);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Copy a text. On plain HTTP beyond loopback browsers have no clipboard: there the old way does it. @param {string} text */
async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
  } else {
    const field = document.createElement("textarea");
    field.className = "visually-hidden";
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  toast(words.copied || "");
}

/** @param {HTMLElement} button */
async function changeTheme(button) {
  const themes = /** @type {const} */ (["auto", "dark", "light"]);
  const root = document.documentElement;
  const next = themes[(themes.indexOf(/** @type {"auto"} */ (root.dataset.theme || "auto")) + 1) % themes.length];
  root.dataset.theme = next;
  document.cookie = `untildone_theme=${next}; path=/; max-age=31536000; SameSite=Lax`;
  toast(button.dataset[next] || next);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-act], [data-copy], [data-theme-button]") : null;
  if (!(button instanceof HTMLElement)) return;
  if (button.hasAttribute("data-theme-button")) changeTheme(button);
  else if (button.dataset.copy !== undefined) copy(button.dataset.copy);
  else act(button);
});
document.addEventListener("focusout", (event) => {
  const over = event.target instanceof Element ? event.target.closest("[data-over]") : null;
  const fragment = over?.closest("[data-fragment]");
  if (fragment && !(event.relatedTarget instanceof Node && over?.contains(event.relatedTarget))) setTimeout(() => refresh(fragment).catch(() => undefined));
});
setInterval(() => document.visibilityState === "visible" && freshen(document), 1000);
freshen(document);

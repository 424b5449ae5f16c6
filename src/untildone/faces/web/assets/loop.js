// @ts-check
/** The page of one loop: dialogs, the message box, parts that are fetched when opened, budget and tasks. */
import { call, complain, fetchPart, freshen, refresh, replaceFragment } from "./base.js";
import { dropDraft } from "./drafts.js";

/** The element with a selector around a target of an event. @param {EventTarget | null} target @param {string} selector */
function around(target, selector) {
  const found = target instanceof Element ? target.closest(selector) : null;
  return found instanceof HTMLElement ? found : null;
}

/** Fetch all fragments of the page anew, after an act. */
function refreshAll() {
  for (const each of document.querySelectorAll("[data-fragment]")) refresh(each).catch(() => {});
}

/** What verify and bisect answer is shown below the buttons. @param {string} name @param {any} answer */
function showResult(name, answer) {
  const place = document.getElementById("act-result");
  const texts = document.getElementById("result-words")?.dataset;
  if (!place || !texts || !answer) return;
  if (name === "bisect") place.textContent = (texts.broke || "{n}").replace("{n}", answer.broke);
  if (name !== "verify") return;
  const lines = answer.checks.map((/** @type {any} */ each) => `${each.agrees ? "✓" : "✗"} ${each.command}: ${each.agrees ? texts.agrees : texts.differs}`);
  if (answer.same_workspace !== true) lines.push(texts.otherWorkspace || "");
  place.textContent = [answer.holds ? texts.holds : texts.fails, ...lines].join("\n");
}

function showRename() {
  const line = document.querySelector("[data-title]");
  const form = line?.querySelector("form");
  const title = line?.querySelector("h1");
  if (!form || !title) return;
  form.hidden = false;
  title.hidden = true;
  const input = form.querySelector("input");
  input?.focus();
  input?.select();
}

/** Show the title that the loop has now: another person may have changed it. */
function showTitle() {
  const fresh = document.querySelector("[data-title-now]");
  const title = document.getElementById("loop-title");
  if (fresh && title && !title.hidden && fresh.innerHTML !== title.innerHTML) title.replaceChildren(...fresh.cloneNode(true).childNodes);
}

/** @param {HTMLFormElement} form */
async function rename(form) {
  const line = /** @type {HTMLElement} */ (form.closest("[data-title]"));
  const title = /** @type {HTMLElement} */ (line.querySelector("h1"));
  const words = new FormData(form).get("title")?.toString().trim() || "";
  try {
    if (words) {
      await call("PATCH", `/api/v1/loops/${line.dataset.title}`, { title: words });
      title.textContent = words;
    }
    form.hidden = true;
    title.hidden = false;
  } catch (error) {
    complain(error);
  }
}

/** Fetch the content of a part that was opened. @param {Element} details */
async function load(details) {
  const place = details.querySelector(":scope > .lazy");
  const from = details.getAttribute("data-lazy");
  if (!(details instanceof HTMLDetailsElement) || !details.open || !place || !from || place.hasAttribute("data-ready")) return;
  place.setAttribute("data-ready", "");
  try {
    const answer = await fetchPart(from);
    if (!answer.ok) throw new Error();
    place.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
    freshen(place);
    place.dispatchEvent(new CustomEvent("untildone:loaded", { bubbles: true }));
  } catch {
    place.removeAttribute("data-ready");
  }
}

/** Send what is in the message box. @param {HTMLFormElement} form @param {string} how */
async function send(form, how) {
  const field = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text"));
  const effect = document.getElementById("message-effect");
  const words = field.value.trim();
  if (!words || form.getAttribute("aria-busy") === "true") return;
  const path = `/api/v1/loops/${form.dataset.message}`;
  form.setAttribute("aria-busy", "true");
  try {
    const heard = await call("POST", `${path}/messages`, { text: words });
    let status = heard.loop.status;
    dropDraft(field.dataset.draft || "");
    if (how === "go-on" && status === "paused" && !heard.goes_on) status = (await call("POST", `${path}/resume`)).status;
    const said = heard.notices.length ? heard.notices : [status === "running" ? form.dataset.sent : form.dataset.sentRest];
    if (effect) effect.replaceChildren(...said.map(notice));
    refreshAll();
  } catch (error) {
    complain(error);
  } finally {
    form.removeAttribute("aria-busy");
  }
}

/** @param {string} text */
function notice(text) {
  const shown = document.createElement("p");
  shown.className = "notice";
  shown.textContent = text;
  return shown;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let previewing;

/** Show what round controls will do while a message is typed. @param {HTMLTextAreaElement} field */
function preview(field) {
  const form = field.form;
  const effect = document.getElementById("message-effect");
  if (!form?.dataset.preview || !effect) return;
  clearTimeout(previewing);
  previewing = setTimeout(async () => {
    if (!field.value.includes("[")) return effect.replaceChildren();
    try {
      const answer = await fetchPart(`${form.dataset.preview}?text=${encodeURIComponent(field.value.slice(0, 400))}`);
      if (answer.ok) replaceFragment(effect, await answer.text());
    } catch {
      // Offline: the preview comes back with the connection.
    }
  }, 200);
}

/** Save the limits that were changed; an error is shown at its field. @param {HTMLFormElement} form */
async function saveBudget(form) {
  /** @type {Record<string, string>} */
  const change = {};
  const fields = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input")]);
  for (const field of fields) {
    const error = document.getElementById(`error-${field.name}`);
    if (error) error.textContent = "";
    field.removeAttribute("aria-invalid");
    if (field.value !== field.dataset.was) change[field.name] = field.value === "" ? "none" : `=${field.value}`;
  }
  if (!Object.keys(change).length) return;
  try {
    await call("POST", `/api/v1/loops/${form.dataset.budget}/budget`, change);
    for (const field of fields) field.dataset.was = field.value;
    const folded = form.closest("details");
    if (folded) folded.open = false;
    refreshAll();
  } catch (problem) {
    const errors = /** @type {any} */ (problem).errors || [];
    for (const each of errors) {
      const field = fields.find((input) => each.field.split(".").includes(input.name));
      const place = field && document.getElementById(`error-${field.name}`);
      if (!field || !place) continue;
      field.setAttribute("aria-invalid", "true");
      place.textContent = each.message;
    }
    if (!errors.length) complain(problem);
  }
}

/** @param {HTMLFormElement} form @param {string} method @param {string} path */
async function saveTask(form, method, path) {
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("text"));
  if (!field.value.trim()) return;
  try {
    await call(method, path, { text: field.value.trim() });
    if (method === "POST") dropDraft(field.dataset.draft || "");
    const menu = form.closest("details");
    if (menu) menu.open = false;
    refreshAll();
  } catch (error) {
    complain(error);
  }
}

/** Move a task to where it is dragged; *Move up* in its menu does it without a pointer. @param {HTMLElement} grip */
function drag(grip) {
  const task = /** @type {HTMLElement} */ (grip.closest(".task"));
  const list = /** @type {HTMLElement} */ (task.parentElement);
  const from = [...list.children].indexOf(task);
  const done = new AbortController();
  task.classList.add("dragged");
  /** @param {PointerEvent} event */
  const move = (event) => {
    const over = around(document.elementFromPoint(event.clientX, event.clientY), ".task");
    if (!over || over === task || over.parentElement !== list) return;
    const { top, height } = over.getBoundingClientRect();
    if (event.clientY < top + height / 2) over.before(task);
    else over.after(task);
  };
  const drop = async () => {
    done.abort();
    task.classList.remove("dragged");
    const position = [...list.children].indexOf(task);
    if (position !== from) await call("PATCH", grip.dataset.grip || "", { position }).catch(complain);
    refreshAll();
  };
  document.addEventListener("pointermove", move, { signal: done.signal });
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, drop, { signal: done.signal });
}

document.addEventListener("pointerdown", (event) => {
  const grip = around(event.target, "[data-grip]");
  if (!grip || event.button !== 0) return;
  event.preventDefault();
  drag(grip);
});
document.addEventListener("click", (event) => {
  const close = around(event.target, "[data-close]");
  if (close) close.closest("dialog")?.close();
  const opener = around(event.target, "[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog || "");
  if (dialog instanceof HTMLDialogElement) {
    // What is asked here is about the loop as the person sees it now: another person may take it up meanwhile.
    dialog.dataset.match = document.querySelector("[data-tag]")?.getAttribute("data-tag") || "";
    dialog.showModal();
  }
  if (around(event.target, "[data-name=rename]")) showRename();
  const cancel = around(event.target, "button[value=cancel]");
  const form = cancel?.closest("form.rename");
  if (form instanceof HTMLFormElement) {
    form.hidden = true;
    const title = document.getElementById("loop-title");
    if (title) title.hidden = false;
  }
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(/** @type {Node} */ (event.target)) || around(event.target, "[data-act], [data-dialog], [data-name]")) /** @type {HTMLDetailsElement} */ (menu).open = false;
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const submitter = event.submitter instanceof HTMLButtonElement ? event.submitter.value : "";
  /** @type {(() => Promise<void>) | undefined} */
  let save;
  if (form.dataset.message) save = () => send(form, submitter);
  else if (form.dataset.budget) save = () => saveBudget(form);
  else if (form.dataset.task) save = () => saveTask(form, "PATCH", form.dataset.task || "");
  else if (form.dataset.newTask) save = () => saveTask(form, "POST", form.dataset.newTask || "");
  else if (form.classList.contains("rename")) save = () => rename(form);
  if (!save) return;
  event.preventDefault();
  save();
});
document.addEventListener("input", (event) => {
  const field = event.target;
  if (field instanceof HTMLTextAreaElement && field.form?.dataset.preview) preview(field);
});
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) /** @type {HTMLDetailsElement} */ (menu).open = false;
  if (!(event.key === "Enter" && (event.ctrlKey || event.metaKey) && field instanceof HTMLTextAreaElement && field.form)) return;
  event.preventDefault();
  field.form.requestSubmit();
});
document.addEventListener("toggle", (event) => event.target instanceof Element && event.target.matches("[data-lazy]") && load(event.target), true);
document.addEventListener("untildone:replaced", () => document.querySelectorAll("details[data-lazy][open]").forEach(load));
document.addEventListener("untildone:replaced", showTitle);
document.addEventListener("untildone:done", (event) => {
  if (!(event.target instanceof HTMLElement) || event.target.dataset.then) return;
  const { name = "", answer } = /** @type {CustomEvent} */ (event).detail;
  showResult(name, answer);
  refreshAll();
});
document.querySelectorAll("details[data-lazy][open]").forEach(load);
document.addEventListener("draft", (event) => event.target instanceof HTMLTextAreaElement && preview(event.target));
const message = document.querySelector("form[data-preview] textarea");
if (message instanceof HTMLTextAreaElement) preview(message);

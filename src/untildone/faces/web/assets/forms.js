// @ts-check
/**
 * The forms for a new loop and for settings: what was changed, drafts of it, and errors at the fields they are about.
 * A form has `data-form` (new or settings), `data-draft` (the key of its draft) and `data-texts` (its sentences, as JSON).
 */
import { Problem, call, toast } from "./base.js";
import { dropDraft, onDraft, readDraft, writeDraft } from "./drafts.js";
import {
  FieldError, boxesOf, contentOf, enliven, hasEffect, initialOf, isChanged, isSame, markSuggestions, showContent, valueOf, widgetOf,
} from "./fields.js";

/** @typedef {import("./fields.js").Value} Value */
/** @typedef {import("./fields.js").Content} Content */

const SAVED = "untildone:saved";
const FORM = document.querySelector("form[data-form]");
if (FORM instanceof HTMLFormElement) begin(FORM);

/** @param {HTMLFormElement} form */
function begin(form) {
  for (const box of form.querySelectorAll("[data-field]")) if (box instanceof HTMLElement) enliven(box);
  if (sessionStorage.getItem(SAVED)) toast(textsOf(form).saved);
  sessionStorage.removeItem(SAVED);
  const key = form.dataset.draft ?? "";
  const kept = readDraft(key);
  restore(form, kept);
  refresh(form);
  if (kept && isDirty(form)) note(form, textsOf(form).restored);
  form.addEventListener("input", () => {
    refresh(form);
    keep(form);
  });
  form.addEventListener("click", (event) => clicked(form, event));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter instanceof HTMLButtonElement ? event.submitter : null;
    submit(form, button?.value ?? "");
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(/** @type {HTMLButtonElement} */ (form.querySelector("button.primary")));
  });
  onDraft(key, (contents) => {
    reset(form);
    restore(form, contents);
    refresh(form);
  });
  addEventListener("beforeunload", (event) => {
    if (form.dataset.form === "settings" && isDirty(form) && !form.dataset.left) event.preventDefault();
  });
  workspaces(form);
}

/** @param {HTMLFormElement} form @returns {Record<string, string>} */
function textsOf(form) {
  return JSON.parse(form.dataset.texts ?? "{}");
}

/** The task of a new loop. @param {HTMLFormElement} form */
function taskOf(form) {
  const task = form.elements.namedItem("task");
  return task instanceof HTMLTextAreaElement ? task : null;
}

/** The parts of a form with fields of their own: the form itself, then each profile. @param {HTMLFormElement} form @returns {HTMLElement[]} */
function partsOf(form) {
  return [form, .../** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-profile]"))];
}

/** @param {HTMLElement} part @param {HTMLElement} box */
function nameIn(part, box) {
  return part.dataset.profile === undefined ? `${box.dataset.field}` : `profiles\n${part.dataset.profile}\n${box.dataset.field}`;
}

// --- drafts ---

/** What differs from what was there at first. Secrets stay out of the browser's storage. @param {HTMLFormElement} form */
function changesOf(form) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  const task = taskOf(form);
  if (task && task.value !== task.defaultValue) changes["task"] = task.value;
  for (const part of partsOf(form))
    for (const box of boxesOf(part)) {
      if (box.dataset.kind === "secret") continue;
      if (isChanged(box)) changes[`field\n${nameIn(part, box)}`] = contentOf(box);
      if (box.dataset.unset !== undefined) changes[`unset\n${nameIn(part, box)}`] = true;
    }
  const names = profileNames(form);
  if (!isSame(names, firstProfiles(form))) changes["profiles"] = names;
  return changes;
}

/** @param {HTMLFormElement} form */
function isDirty(form) {
  const secrets = [.../** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('input[type="password"]'))];
  return Object.keys(changesOf(form)).length > 0 || secrets.some((each) => each.value);
}

/** @param {HTMLFormElement} form */
function keep(form) {
  const attempt = readDraft(form.dataset.draft ?? "")?.attempt;
  const changes = changesOf(form);
  const kept = writeDraft(form.dataset.draft ?? "", Object.keys(changes).length && attempt ? { ...changes, attempt } : changes);
  if (!kept) note(form, textsOf(form).notKept);
}

/** @param {HTMLFormElement} form @param {Record<string, unknown> | null} changes */
function restore(form, changes) {
  if (!changes) return;
  const task = taskOf(form);
  if (task && typeof changes.task === "string" && task.value !== changes.task) task.value = changes.task;
  if (Array.isArray(changes.profiles)) showProfiles(form, changes.profiles.map(String));
  for (const part of partsOf(form))
    for (const box of boxesOf(part)) {
      const name = nameIn(part, box);
      if (changes[`unset\n${name}`]) unset(box);
      const content = changes[`field\n${name}`];
      if (content !== undefined) showContent(box, /** @type {Content} */ (content));
      if (box.dataset.kind === "checks") markSuggestions(box);
    }
  openChanged(form);
}

/** Show everything as it was at first. @param {HTMLFormElement} form */
function reset(form) {
  const task = taskOf(form);
  if (task) task.value = task.defaultValue;
  showProfiles(form, firstProfiles(form));
  for (const part of partsOf(form))
    for (const box of boxesOf(part)) {
      delete box.dataset.unset;
      showContent(box, initialOf(box));
      if (box.dataset.kind === "checks") markSuggestions(box);
    }
}

/** Open what is folded and holds changes. @param {HTMLFormElement} form */
function openChanged(form) {
  for (const folded of form.querySelectorAll("details"))
    if ([.../** @type {NodeListOf<HTMLElement>} */ (folded.querySelectorAll("[data-field]"))].some(isChanged)) folded.open = true;
}

/** A line about the draft, with a way to discard it. @param {HTMLFormElement} form @param {string} text */
function note(form, text) {
  const place = form.querySelector(".draft-note");
  const words = place?.querySelector("span");
  if (!(place instanceof HTMLElement) || !words) return;
  words.textContent = text;
  place.hidden = false;
}

// --- what depends on what ---

/** Show the fields that have an effect, and the usual rounds of the chosen mode. @param {HTMLFormElement} form */
function refresh(form) {
  for (const part of partsOf(form)) {
    const boxes = new Map(boxesOf(part).map((box) => [box.dataset.field ?? "", box]));
    for (const box of boxes.values()) {
      box.hidden = !hasEffect(box, boxes);
      const mode = boxes.get("mode");
      if (box.dataset.usual && mode) followMode(box, String(contentOf(mode)));
    }
  }
  const save = form.querySelector("[data-when-changed]");
  if (save instanceof HTMLElement) save.hidden = !isDirty(form);
}

/** @param {HTMLElement} box @param {string} mode */
function followMode(box, mode) {
  const usual = JSON.parse(box.dataset.usual ?? "{}")[mode];
  if (usual === undefined || isSame(usual, initialOf(box))) return;
  const untouched = !isChanged(box);
  box.dataset.initial = JSON.stringify(usual);
  if (untouched) showContent(box, usual);
}

/** @param {HTMLFormElement} form @param {Event} event */
function clicked(form, event) {
  const button = event.target instanceof Element ? event.target.closest("[data-do]") : null;
  if (!(button instanceof HTMLElement)) return;
  const box = /** @type {HTMLElement | null} */ (button.closest("[data-field]"));
  switch (button.dataset.do) {
    case "unset":
      if (box) unset(box);
      break;
    case "add-profile":
      addProfile(form);
      break;
    case "remove-profile":
      button.closest("[data-profile]")?.remove();
      break;
    case "discard":
      dropDraft(form.dataset.draft ?? "");
      reset(form);
      forgetErrors(form);
      hideNote(form);
      break;
    default:
      return;
  }
  refresh(form);
  keep(form);
}

/** @param {HTMLFormElement} form */
function hideNote(form) {
  const place = form.querySelector(".draft-note");
  if (place instanceof HTMLElement) place.hidden = true;
}

/** Show a field as it is without the file. @param {HTMLElement} box */
function unset(box) {
  box.dataset.unset = "";
  showContent(box, JSON.parse(box.dataset.otherwise ?? '""'));
}

/** Another workspace has other settings: its form is another page. The task goes along. @param {HTMLFormElement} form */
function workspaces(form) {
  const choice = form.querySelector("select[data-workspaces]");
  if (!(choice instanceof HTMLSelectElement)) return;
  choice.addEventListener("input", (event) => event.stopPropagation());
  choice.addEventListener("change", () => {
    const key = `${form.dataset.form}:${choice.value}`;
    const task = taskOf(form)?.value;
    const there = readDraft(key);
    if (task && !there?.task) writeDraft(key, { ...there, task });
    if (task) dropDraft(form.dataset.draft ?? "");
    location.assign(`${location.pathname}?workspace=${encodeURIComponent(choice.value)}`);
  });
}

// --- profiles ---

/** @param {HTMLFormElement} form */
function profileNames(form) {
  return partsOf(form).slice(1).map((part) => part.dataset.profile ?? "");
}

/** @param {HTMLFormElement} form @returns {string[]} */
function firstProfiles(form) {
  return JSON.parse(/** @type {HTMLElement | null} */ (form.querySelector("[data-profiles]"))?.dataset.profiles ?? "[]");
}

/** @param {HTMLFormElement} form @param {string[]} names */
function showProfiles(form, names) {
  for (const part of partsOf(form).slice(1)) if (!names.includes(part.dataset.profile ?? "")) part.remove();
  for (const name of names) if (!profileNames(form).includes(name)) insertProfile(form, name);
}

/** @param {HTMLFormElement} form */
function addProfile(form) {
  const field = /** @type {HTMLInputElement} */ (form.querySelector("[data-new-profile]"));
  const name = field.value.trim();
  const error = /** @type {HTMLElement} */ (form.querySelector("[data-new-profile-error]"));
  const taken = profileNames(form).includes(name);
  error.hidden = !taken;
  error.textContent = taken ? textsOf(form).profileTaken.replace("{name}", name) : "";
  if (!name || taken) return field.focus();
  field.value = "";
  widgetOf(boxesOf(insertProfile(form, name))[0]).focus();
}

let added = 0;

/** @param {HTMLFormElement} form @param {string} name @returns {HTMLElement} */
function insertProfile(form, name) {
  const place = /** @type {HTMLElement} */ (form.querySelector("[data-profiles]"));
  const template = /** @type {HTMLTemplateElement} */ (form.querySelector("template[data-new]"));
  const made = /** @type {HTMLElement} */ (/** @type {Element} */ (template.content.firstElementChild).cloneNode(true));
  added += 1;
  for (const each of made.querySelectorAll("[id], [for], [aria-describedby], [aria-labelledby]"))
    for (const attribute of ["id", "for", "aria-describedby", "aria-labelledby"])
      if (each.hasAttribute(attribute)) each.setAttribute(attribute, (each.getAttribute(attribute) ?? "").replaceAll("new-", `new${added}-`));
  made.dataset.profile = name;
  const title = made.querySelector("[data-name]");
  if (title) title.textContent = name;
  place.append(made);
  for (const box of boxesOf(made)) enliven(box);
  return made;
}

// --- sending ---

/**
 * What was changed, by setting; null for what no longer is to be set. Errors are put at their fields: then there is nothing to send.
 * @param {HTMLFormElement} form @param {HTMLElement} part
 * @returns {Record<string, Value | null> | undefined}
 */
function settingsOf(form, part) {
  /** @type {Record<string, Value | null>} */
  const values = {};
  let wrong = false;
  for (const box of boxesOf(part)) {
    if (box.hidden && form.dataset.form === "new") continue;
    try {
      const value = changeOf(box, textsOf(form));
      if (value !== undefined) values[box.dataset.field ?? ""] = value;
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      complainAt(box, error.message);
      wrong = true;
    }
  }
  return wrong ? undefined : values;
}

/**
 * The value to set, null to set nothing, undefined to leave it as it is.
 * @param {HTMLElement} box @param {Record<string, string>} texts
 * @returns {Value | null | undefined}
 */
function changeOf(box, texts) {
  if (box.dataset.unset !== undefined && isSame(contentOf(box), JSON.parse(box.dataset.otherwise ?? '""'))) return null;
  return isChanged(box) ? (valueOf(box, texts) ?? null) : undefined;
}

/** @param {HTMLFormElement} form @param {string} how */
async function submit(form, how) {
  if (form.getAttribute("aria-busy") === "true") return;
  forgetErrors(form);
  form.setAttribute("aria-busy", "true");
  try {
    await (form.dataset.form === "new" ? create(form, how === "start") : save(form));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showProblem(form, error);
  } finally {
    form.removeAttribute("aria-busy");
    focusFirstError(form);
  }
}

/** @param {HTMLFormElement} form @param {boolean} start */
async function create(form, start) {
  const task = taskOf(form);
  const settings = settingsOf(form, form);
  if (!task?.value.trim()) complainAt(/** @type {HTMLElement} */ (task?.closest("[data-task]")), textsOf(form).noTask);
  if (!settings || !task?.value.trim()) return;
  for (const name of Object.keys(settings)) if (settings[name] === null) delete settings[name];
  const from = form.dataset.from;
  const body = from
    ? { task: task.value, settings, start }
    : { task: task.value, settings, start, workspace: form.dataset.workspace };
  const path = from ? `/api/v1/loops/${encodeURIComponent(from)}/duplicate` : "/api/v1/loops";
  const made = await call("POST", path, body, { "idempotency-key": keyFor(form, JSON.stringify(body)) });
  dropDraft(form.dataset.draft ?? "");
  location.assign(`/loops/${encodeURIComponent(made.loop_id)}`);
}

/**
 * The key with which the server knows a request that is sent again: the same as long as the same is sent. It is a part of the
 * draft, so that it outlives a reload.
 * @param {HTMLFormElement} form @param {string} body
 */
function keyFor(form, body) {
  const draft = readDraft(form.dataset.draft ?? "") ?? {};
  const last = /** @type {{key?: string, body?: string} | undefined} */ (draft.attempt);
  if (last?.key && last.body === body) return last.key;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const key = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  writeDraft(form.dataset.draft ?? "", { ...draft, attempt: { key, body } });
  return key;
}

/** Write the project's file: as it is now, with what was changed here. @param {HTMLFormElement} form */
async function save(form) {
  const changed = settingsOf(form, form);
  const parts = partsOf(form).slice(1).map((part) => [part.dataset.profile ?? "", settingsOf(form, part)]);
  if (!changed || parts.some(([, values]) => values === undefined)) return;
  const path = `/api/v1/settings?scope=project&workspace=${encodeURIComponent(form.dataset.workspace ?? "")}`;
  const file = await call("GET", path);
  const whole = merged(file, changed);
  const names = profileNames(form);
  if (!isSame(names, firstProfiles(form)) || parts.some(([, values]) => Object.keys(values ?? {}).length)) {
    const kept = Object.entries(file.profiles ?? {}).filter(([name]) => names.includes(name) || !firstProfiles(form).includes(name));
    whole.profiles = Object.fromEntries(kept);
    for (const [name, values] of /** @type {[string, Record<string, Value | null>][]} */ (parts))
      whole.profiles[name] = merged(file.profiles?.[name] ?? {}, values);
  }
  await call("PUT", path, whole);
  dropDraft(form.dataset.draft ?? "");
  form.dataset.left = "";
  sessionStorage.setItem(SAVED, "1");
  location.reload();
}

/** @param {Record<string, any>} old @param {Record<string, Value | null>} changed @returns {Record<string, any>} */
function merged(old, changed) {
  const all = Object.entries({ ...old, ...changed });
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}

// --- errors ---

/** @param {HTMLFormElement} form @param {Problem} problem */
function showProblem(form, problem) {
  const errors = problem.code === "agent-missing" ? [{ field: "settings.agent", message: problem.message }] : problem.errors;
  const hint = errors.length < 2 ? problem.hint : "";
  const elsewhere = errors.filter(({ field, message }) => {
    const box = boxFor(form, field);
    if (box) complainAt(box, sentences(message.replace(/^Setting '[^']*': /, ""), hint || box.dataset.expected || ""));
    return !box;
  });
  if (errors.length && !elsewhere.length) return;
  const told = elsewhere.length ? sentences(...elsewhere.map((each) => each.message), hint) : sentences(problem.message, problem.hint);
  const place = /** @type {HTMLElement} */ (form.querySelector(".form-error"));
  place.textContent = problem.status === 0 ? textsOf(form).away : told;
  place.hidden = false;
}

/** Texts one after the other, each as a sentence. @param {...string} texts */
function sentences(...texts) {
  return texts.filter(Boolean).map((text) => text[0].toUpperCase() + text.slice(1) + (/[.!?。]$/.test(text) ? "" : ".")).join(" ");
}

/** The field that an error of the API is about: `settings.checks.0`, `profiles.mine.model`. @param {HTMLFormElement} form @param {string} field */
function boxFor(form, field) {
  if (field === "task") return /** @type {HTMLElement | null} */ (form.querySelector("[data-task]"));
  const path = field.replace(/^(body\.)?(settings\.)?/, "");
  const profile = partsOf(form).slice(1).find((part) => path.startsWith(`profiles.${part.dataset.profile}.`));
  const rest = profile ? path.slice(`profiles.${profile.dataset.profile}.`.length) : path;
  return boxesOf(profile ?? form).find((box) => rest.split(".")[0] === box.dataset.field);
}

/** @param {HTMLElement} box @param {string} message */
function complainAt(box, message) {
  const place = /** @type {HTMLElement} */ (box.querySelector(".field-error"));
  place.textContent = [place.textContent, message].filter(Boolean).join(" ");
  place.hidden = false;
  box.hidden = false;
  box.dataset.wrong = "";
  widgetOf(box).setAttribute("aria-invalid", "true");
  for (let outer = box.closest("details"); outer; outer = outer.parentElement?.closest("details") ?? null) outer.open = true;
}

/** @param {HTMLFormElement} form */
function forgetErrors(form) {
  for (const place of form.querySelectorAll(".field-error, .form-error")) {
    place.textContent = "";
    if (place instanceof HTMLElement) place.hidden = true;
  }
  for (const box of form.querySelectorAll("[data-wrong]")) if (box instanceof HTMLElement) delete box.dataset.wrong;
  for (const widget of form.querySelectorAll("[aria-invalid]")) widget.removeAttribute("aria-invalid");
}

/** @param {HTMLFormElement} form */
function focusFirstError(form) {
  const first = form.querySelector("[data-wrong]");
  if (first instanceof HTMLElement) widgetOf(first).focus();
  else form.querySelector(".form-error:not([hidden])")?.scrollIntoView({ block: "nearest" });
}

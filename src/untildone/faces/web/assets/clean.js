// @ts-check
/** Cleaning up: counts the loops that ended long ago, and deletes them when the person says so. */
import { call, complain, refresh, toast } from "./base.js";

const dialog = document.getElementById("clean-dialog");
const form = dialog?.querySelector("form");
if (dialog instanceof HTMLDialogElement && form) offer(dialog, form);

/** @param {HTMLDialogElement} dialog @param {HTMLFormElement} form */
function offer(dialog, form) {
  document.querySelector("[data-clean]")?.addEventListener("click", () => {
    dialog.showModal();
    count(form);
  });
  form.addEventListener("change", () => count(form));
  form.addEventListener("submit", (event) => {
    const submitter = event.submitter instanceof HTMLButtonElement ? event.submitter.value : "";
    if (submitter === "cancel") return;
    event.preventDefault();
    if (submitter === "delete") remove(dialog, form);
  });
}

/** @param {HTMLFormElement} form @param {boolean} dryRun */
function wanted(form, dryRun) {
  const chosen = new FormData(form);
  const workspace = chosen.get("workspace");
  return { older_than: chosen.get("older_than"), dry_run: dryRun, ...(workspace ? { workspace } : {}) };
}

/** Say how many loops would go. An answer that is no longer wanted is dropped. @param {HTMLFormElement} form */
async function count(form) {
  const asked = wanted(form, true);
  show(form, form.dataset.counting || "", 0);
  try {
    const { found } = await call("POST", "/api/v1/clean", asked);
    if (JSON.stringify(asked) !== JSON.stringify(wanted(form, true))) return;
    show(form, worded(found.length ? form.dataset.found : form.dataset.nothing, found.length), found.length);
  } catch (error) {
    show(form, "", 0);
    complain(error);
  }
}

/** @param {HTMLDialogElement} dialog @param {HTMLFormElement} form */
async function remove(dialog, form) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("[value=delete]"));
  button.disabled = true;
  try {
    const { deleted, problems } = await call("POST", "/api/v1/clean", wanted(form, false));
    dialog.close();
    toast(worded(form.dataset.done, deleted.length));
    const [first] = Object.values(problems);
    if (first) toast(`${first}`, "bad");
    for (const fragment of document.querySelectorAll("main [data-fragment], .badge[data-fragment]")) refresh(fragment).catch(() => undefined);
  } catch (error) {
    button.disabled = false;
    complain(error);
  }
}

/** @param {HTMLFormElement} form @param {string} text @param {number} found */
function show(form, text, found) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("[value=delete]"));
  /** @type {HTMLElement} */ (form.querySelector("[role=status]")).textContent = text;
  button.disabled = !found;
}

/** @param {string | undefined} text @param {number} count */
function worded(text, count) {
  return (text || "{n}").replace("{n}", count.toLocaleString(document.documentElement.lang));
}

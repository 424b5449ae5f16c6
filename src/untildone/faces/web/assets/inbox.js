// @ts-check
/** The inbox and the list of loops: answers that send and go on in one act, the wish for notifications, filters that apply at once. */
import { call, complain, refresh, toast } from "./base.js";
import { dropDraft } from "./drafts.js";
import { WISH } from "./attention.js";

const REFRESH_WORKING_EVERY = 5_000;
const REFRESH_SETTLING_EVERY = 2_000;

/** Send an answer; a loop that does not go on by itself is resumed. @param {HTMLFormElement} form */
async function answer(form) {
  const field = form.querySelector("textarea");
  const button = form.querySelector("button");
  if (!field?.value.trim() || button?.getAttribute("aria-busy") === "true") return;
  button?.setAttribute("aria-busy", "true");
  try {
    const heard = await call("POST", `${form.dataset.answer}/messages`, { text: field.value });
    dropDraft(field.dataset.draft || "");
    field.value = "";
    if (!heard.goes_on && heard.loop.status === "paused") await call("POST", `${form.dataset.answer}/resume`);
    toast(form.dataset.done || "");
    showAgain();
  } catch (error) {
    complain(error);
  } finally {
    button?.removeAttribute("aria-busy");
  }
}

function showAgain() {
  for (const fragment of document.querySelectorAll("main [data-fragment], .badge[data-fragment]")) refresh(fragment).catch(() => undefined);
}

/** A switch that asks for permission only when it is switched on. @param {HTMLElement} label */
function offerNotifications(label) {
  const box = label.querySelector("input");
  if (!box || !("Notification" in window)) return;
  label.hidden = false;
  box.checked = localStorage.getItem(WISH) !== null && Notification.permission === "granted";
  box.addEventListener("change", async () => {
    const wished = box.checked && (await Notification.requestPermission()) === "granted";
    if (box.checked && !wished) toast(label.dataset.asked || "", "bad");
    box.checked = wished;
    if (wished) localStorage.setItem(WISH, "yes");
    else localStorage.removeItem(WISH);
  });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset.answer === undefined) return;
  event.preventDefault();
  answer(form);
});
document.addEventListener("keydown", (event) => {
  const form = event.target instanceof HTMLTextAreaElement ? event.target.closest("form[data-answer]") : null;
  if (form instanceof HTMLFormElement && event.key === "Enter" && (event.ctrlKey || event.metaKey)) answer(form);
});
document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.hasAttribute("data-submits")) event.target.form?.requestSubmit();
});
document.addEventListener("untildone:done", showAgain);
/** Show the inbox anew now and then, while somebody looks and it has such an element. @param {string} element @param {number} every */
function refreshWhile(element, every) {
  setInterval(() => {
    const inbox = document.querySelector(`#inbox:has(${element})`);
    if (inbox && document.visibilityState === "visible") refresh(inbox).catch(() => undefined);
  }, every);
}

// The output of an agent grows without an event, and a receipt is written a moment after the last event of its loop.
refreshWhile("[data-working]", REFRESH_WORKING_EVERY);
refreshWhile("[data-settling]", REFRESH_SETTLING_EVERY);
const offer = document.querySelector("[data-notify]");
if (offer instanceof HTMLElement) offerNotifications(offer);

// @ts-check
/** On every page: how many loops need the person, in the title of the tab; and notifications, if the person wishes. */

export const WISH = "untildone:notify";
const TOLD = "untildone:told";
const MOST_TOLD = 200;
const title = document.title;

function count() {
  const number = document.querySelector("[data-needs]")?.getAttribute("data-needs");
  document.title = number ? `(${number}) ${title}` : title;
}

/** Whether this is the first time that a browser hears of this need. @param {string} loop @param {string} what */
function isNews(loop, what) {
  /** @type {Record<string, string>} */
  const told = JSON.parse(localStorage.getItem(TOLD) || "{}");
  if (told[loop] === what) return false;
  delete told[loop];
  const kept = Object.entries({ ...told, [loop]: what }).filter(([, each]) => each);
  localStorage.setItem(TOLD, JSON.stringify(Object.fromEntries(kept.slice(-MOST_TOLD))));
  return what !== "";
}

/** @param {any} line */
function tell(line) {
  const need = line.needs;
  const isNew = isNews(line.loop_id, need ? `${need.kind} ${need.text}` : "");
  if (!isNew || document.visibilityState === "visible" || Notification.permission !== "granted") return;
  const shown = new Notification(line.title || line.loop_id, { body: need.text, tag: line.loop_id });
  shown.addEventListener("click", () => {
    window.focus();
    location.assign(`/loops/${line.loop_id}`);
  });
}

document.addEventListener("untildone:replaced", count);
document.addEventListener("untildone:loop", (event) => {
  const line = /** @type {CustomEvent} */ (event).detail;
  if (line && "Notification" in window && localStorage.getItem(WISH)) tell(line);
});
count();

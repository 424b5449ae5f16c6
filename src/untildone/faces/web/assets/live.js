// @ts-check
/**
 * Live pages: one stream of all loops for all tabs of the browser. One tab holds a lock and reads the stream; it tells the others
 * on a channel. Where locks are missing (plain HTTP beyond loopback), each visible tab reads its own stream.
 * Every change arrives as the event `untildone:loop` on the document, whose detail is the line of the loop as the API hands it out.
 * An element with `data-fragment` is fetched anew when a loop has changed (with `data-loop`: when that loop has; with `data-state`: when its status or need has). A tab in the background waits
 * until it is seen, but for elements with `data-in-background`: the number in its title.
 */
import { call, refresh } from "./base.js";

const STREAM = "/api/v1/events";
const AT_MOST_EVERY = 1000;
const IN_BACKGROUND_EVERY = 5000;
const LOST_AFTER = 1500;
const channel = new BroadcastChannel("untildone");
/** @type {Map<Element, number>} */
const lastShown = new Map();
/** @type {Set<Element>} */
const due = new Set();

/** @param {any} line */
function changed(line) {
  document.dispatchEvent(new CustomEvent("untildone:loop", { detail: line }));
  for (const fragment of document.querySelectorAll("[data-fragment]")) {
    const loop = fragment.getAttribute("data-loop");
    // Of a loop that was deleted, there is nothing more to fetch, also not what is due already.
    if (loop && line && loop === line.loop_id && !("status" in line)) fragment.removeAttribute("data-fragment");
    else if ((!loop || !line || loop === line.loop_id) && isOther(fragment, line)) want(fragment);
  }
}

/** Whether a fragment that depends on the state of its loop only is of another state. @param {Element} fragment @param {any} line */
function isOther(fragment, line) {
  const shown = fragment.getAttribute("data-state");
  const state = line ? `${line.status} ${line.needs?.kind ?? ""}` : "";
  if (shown !== null) fragment.setAttribute("data-state", state);
  return shown === null || shown !== state;
}

/** Show a fragment anew, at once or when its time has come. @param {Element} fragment */
function want(fragment) {
  if (due.has(fragment)) return;
  due.add(fragment);
  const every = document.visibilityState === "visible" ? AT_MOST_EVERY : IN_BACKGROUND_EVERY;
  const wait = Math.max(0, (lastShown.get(fragment) || 0) + every - Date.now());
  setTimeout(() => show(fragment), wait);
}

/** @param {Element} fragment */
async function show(fragment) {
  const isWanted = document.visibilityState === "visible" || fragment.hasAttribute("data-in-background");
  if (!isWanted || !fragment.isConnected) return;
  due.delete(fragment);
  lastShown.set(fragment, Date.now());
  try {
    await refresh(fragment);
  } catch {
    // The server is away: the stream reports a change when it is back.
  }
}

/** Show the page anew if a loop has changed since the server rendered it and before this tab heard of changes. */
async function catchUp() {
  const since = document.body.dataset.at;
  if (!since || !document.querySelector("[data-fragment]")) return;
  const missed = await call("GET", `/api/v1/loops?limit=1&since=${encodeURIComponent(since)}`).catch(() => null);
  if (missed?.total) changed(null);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let losing;

/** Say that the connection is lost, if it is for longer than a moment. @param {boolean} is */
function tellLost(is) {
  clearTimeout(losing);
  const told = /** @type {HTMLElement | null} */ (document.querySelector("[data-lost] > span"));
  if (told && is) losing = setTimeout(() => (told.hidden = false), LOST_AFTER);
  else if (told) told.hidden = true;
}

/** Tell it in all tabs. @param {boolean} is */
function noteLost(is) {
  tellLost(is);
  channel.postMessage({ lost: is });
}

/** Read the stream until told to stop. @param {AbortSignal} [until] */
function read(until) {
  const source = new EventSource(STREAM);
  let wasLost = false;
  for (const kind of ["loop", "gone"]) {
    source.addEventListener(kind, (event) => {
      const line = JSON.parse(event.data);
      changed(line);
      channel.postMessage(line);
    });
  }
  source.addEventListener("open", () => {
    if (wasLost) {
      changed(null);
      channel.postMessage(null);
    } else catchUp();
    wasLost = false;
    noteLost(false);
  });
  source.addEventListener("error", () => {
    if (!wasLost) noteLost(true);
    wasLost = true;
    if (source.readyState === EventSource.CLOSED) setTimeout(() => until?.aborted || read(until), 3000);
  });
  until?.addEventListener("abort", () => source.close());
}

function readWhileVisible() {
  let stop = new AbortController();
  const follow = () => {
    stop.abort();
    if (document.visibilityState === "visible") read((stop = new AbortController()).signal);
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

channel.addEventListener("message", ({ data }) => (data && "lost" in data ? tellLost(data.lost) : changed(data)));
addEventListener("offline", () => tellLost(true));
addEventListener("online", () => {
  tellLost(false);
  changed(null);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") for (const fragment of [...due]) show(fragment);
});
if (navigator.locks) navigator.locks.request("untildone-stream", () => new Promise(() => read()));
else readWhileVisible();
catchUp();

// @ts-check
/** After the login: keep the key of the session in the storage of this origin, and go to the page that was asked for. */
const { key = "", next = "/" } = document.body.dataset;
try {
  localStorage.setItem("untildone:key", key);
} catch {
  // No storage in this browser: the session may only read.
}
location.replace(next);

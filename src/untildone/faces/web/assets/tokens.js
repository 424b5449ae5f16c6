// @ts-check
/** The page of tokens: makes a token or a login link, and shows its secret once. */
import { Problem, call, complain, refresh } from "./base.js";

const form = document.querySelector("form[data-new-token]");
if (form instanceof HTMLFormElement)
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    make(form);
  });
const button = document.querySelector("[data-new-link]");
if (button instanceof HTMLElement) button.addEventListener("click", () => link(button));

/** @param {HTMLFormElement} form */
async function make(form) {
  const name = /** @type {HTMLInputElement} */ (form.elements.namedItem("name"));
  const scope = /** @type {HTMLSelectElement} */ (form.elements.namedItem("scope"));
  complainAt(name, "");
  if (!name.value.trim()) return complainAt(name, form.dataset.nameless ?? "");
  try {
    const made = await call("POST", "/api/v1/tokens", { name: name.value.trim(), scope: scope.value });
    show((form.dataset.made ?? "").replace("{name}", made.name), made.token);
    name.value = "";
    await refresh(/** @type {Element} */ (document.getElementById("tokens")), "/fragments/tokens");
  } catch (error) {
    if (error instanceof Problem && (error.status === 409 || error.status === 422))
      complainAt(name, [error.errors[0]?.message ?? error.message, error.hint].filter(Boolean).join(" "));
    else complain(error);
  }
}

/** @param {HTMLElement} button */
async function link(button) {
  try {
    show(button.dataset.made ?? "", new URL((await call("POST", "/api/v1/login-links", {})).path, location.href).href);
  } catch (error) {
    complain(error);
  }
}

/** @param {HTMLInputElement} field @param {string} message */
function complainAt(field, message) {
  const place = /** @type {HTMLElement} */ (document.getElementById(`e-${field.id}`));
  place.textContent = message;
  place.hidden = !message;
  field.toggleAttribute("aria-invalid", false);
  if (!message) return;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

/** @param {string} about @param {string} secret */
function show(about, secret) {
  const place = /** @type {HTMLElement} */ (document.querySelector("[data-secret]"));
  /** @type {HTMLElement} */ (place.querySelector("[data-about]")).textContent = about;
  /** @type {HTMLElement} */ (place.querySelector("[data-value]")).textContent = secret;
  /** @type {HTMLElement} */ (place.querySelector("[data-copy]")).dataset.copy = secret;
  place.hidden = false;
  place.focus();
}

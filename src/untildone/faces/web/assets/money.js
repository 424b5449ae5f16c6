// @ts-check
/** The days of the money page are those of the person's time zone. */
import { refresh } from "./base.js";

const money = document.getElementById("money");
const offset = -new Date().getTimezoneOffset();
const path = `/fragments/money?offset=${offset}`;
if (money && money.getAttribute("data-fragment") !== path) {
  money.setAttribute("data-fragment", path);
  refresh(money).catch(() => undefined);
}
document.querySelector("[data-zone]")?.remove();

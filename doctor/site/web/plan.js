// Plan: shows the plans that follow from the tables for the fields of a form. The page's URL contains the fields.
import { copier, el } from "./dom.js";
import { ask, ready } from "./judge.js";
import { plans, problem } from "./view.js";

const form = document.getElementById("wish");
const shown = document.getElementById("plans");
const empty = shown.firstElementChild;
let turn = 0;

const wish = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
const link = () => `#plan&${new URLSearchParams(wish())}`;

async function update() {
  const mine = ++turn;
  const asked = wish();
  if (location.hash.startsWith("#plan")) history.replaceState(null, "", link());
  if (!Object.keys(asked).some((name) => name !== "os")) {
    shown.replaceChildren(empty);
    return;
  }
  shown.setAttribute("aria-busy", "true");
  await ready;
  const answer = await ask("plan", asked);
  if (mine !== turn) return;
  shown.replaceChildren(...(answer.error ? [problem(answer)] : plans(answer)));
  shown.removeAttribute("aria-busy");
}

/** Fill in the form from the URL's parameters. */
export function from(parameters) {
  if (![...parameters].length) return;
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = parameters.has(field.name);
    else field.value = parameters.get(field.name) || "";
  }
  update();
}

export function open() {
  let timer;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 350); });
  form.addEventListener("reset", () => setTimeout(update));
  form.querySelector("[data-copy-link]").replaceWith(copier("Copy link", () => new URL(link(), document.baseURI).href, "quiet"));
}

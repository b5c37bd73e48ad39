// Explain: judges a pasted text or files, and shows the verdicts.
import { el } from "./dom.js";
import { ask, ready } from "./judge.js";
import { problem, report, tone } from "./view.js";
import { SYSTEMS } from "./words.js";

const LARGEST = 64 << 20;
const text = document.getElementById("text");
const verdicts = document.getElementById("verdicts");
let turn = 0;

/** The lines of a text as the judge counts them. */
function linesOf(words) {
  const plain = words.replaceAll("\r\n", "\n");
  return (plain.includes("\n") ? plain : plain.replaceAll("\r", "\n")).replace(/\n$/, "").split("\n");
}

/** The text of a file; null if only the judge can detect its encoding. */
function decoded(bytes) {
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) ? "utf-16le" : (bytes[0] === 0xfe && bytes[1] === 0xff) ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(utf16, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function goTo(number) {
  const start = text.value.split("\n").slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const end = text.value.indexOf("\n", start);
  text.focus();
  text.setSelectionRange(start, end < 0 ? text.value.length : end);
  text.scrollTop = (number - 4) * parseFloat(getComputedStyle(text).lineHeight);
}

/** Judge one input: {name, bytes, words (its text or null), go}. platform: the system that the user chose, if any. */
async function judged(input, platform = "") {
  const answer = await ask("explain", { name: input.name, platform }, input.bytes);
  if (answer.error) return problem(answer);
  const shown = report(answer, input.words === null ? null : { lines: linesOf(input.words), go: input.go }, download(answer.report, input.name));
  if (!answer.report.facts.platform || platform) shown.querySelector("h2").nextElementSibling.append(chooser(input, platform, () => shown));
  shown.dataset.verdict = answer.report.findings[0].code;
  shown.dataset.tone = tone(answer.report.findings[0]);
  return shown;
}

/** A list from which the user chooses the platform if the report does not show it; it affects the conclusions. */
function chooser(input, platform, shown) {
  const select = el("select.chip", { "aria-label": "The machine runs" }, el("option", { value: "" }, "system: unknown"),
    Object.entries(SYSTEMS).map(([value, name]) => el("option", { value, selected: value === platform }, name)));
  select.addEventListener("change", async () => {
    const old = shown();
    old.classList.add("busy");
    old.replaceWith(await judged(input, select.value));
    verdicts.querySelector("select")?.focus();
  });
  return select;
}

function download(document_, name) {
  const button = el("button.quiet", { type: "button" }, "Save JSON");
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 1)], { type: "application/json" }));
    el("a", { href: address, download: `${name === "-" ? "report" : name}.tfgpu.json` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  return button;
}

async function show(inputs) {
  const mine = ++turn;
  verdicts.setAttribute("aria-busy", "true");
  verdicts.firstElementChild?.classList.add("busy");
  if (!document.getElementById("state").classList.contains("ready")) {
    verdicts.replaceChildren(el("p.notice", "The verdict appears as soon as tfgpu-doctor has started."));
  }
  await ready;
  const shown = [];
  for (const input of inputs) {
    shown.push([input.name, await judged(input)]);
    if (mine !== turn) return;
  }
  const list = shown.length > 1
    ? el("ul.verdict-list", shown.map(([name, article], at) => {
      article.id = `report-${at + 1}`;
      article.prepend(el("p.dim", name));
      return el("li", el("a", { href: `#report-${at + 1}`, onclick: (event) => { event.preventDefault(); article.scrollIntoView(); } }, name), el(`span.tone.${article.dataset.tone || "warning"}`, article.dataset.verdict || "not read"));
    }))
    : "";
  verdicts.replaceChildren(...[list, ...shown.map(([, article]) => article)].filter(Boolean));
  verdicts.removeAttribute("aria-busy");
  verdicts.focus({ preventScroll: true });
  if (verdicts.getBoundingClientRect().top > innerHeight * 0.6) verdicts.scrollIntoView();
}

const pasted = () => ({ name: "-", bytes: new TextEncoder().encode(text.value), words: text.value, go: goTo });

function judge() {
  if (text.value.trim()) show([pasted()]);
  else text.focus();
}

/** Judge files. */
export async function files(list) {
  const inputs = [];
  for (const file of list) {
    const bytes = file.size > LARGEST ? new Uint8Array(LARGEST + 1) : new Uint8Array(await file.arrayBuffer());
    inputs.push({ name: file.name, bytes, words: file.size > LARGEST ? null : decoded(bytes), go: null });
  }
  if (inputs.length === 1 && inputs[0].words !== null && inputs[0].words.length < 2e6) {
    text.value = inputs[0].words;
    inputs[0].go = goTo;
  }
  if (inputs.length) show(inputs);
}

/** Start listening for events, and judge the text that was pasted before. */
export function open() {
  document.getElementById("judge").addEventListener("click", judge);
  document.getElementById("judge").disabled = false;
  document.getElementById("clear").addEventListener("click", () => { text.value = ""; text.focus(); });
  text.addEventListener("paste", () => setTimeout(judge));
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) judge(); });
  const chosen = document.getElementById("files");
  chosen.addEventListener("change", () => { files([...chosen.files]); chosen.value = ""; });
  for (const button of document.querySelectorAll("[data-example]")) {
    button.addEventListener("click", async () => {
      const response = await fetch(`examples/${button.dataset.example}.txt`);
      text.value = await response.text();
      text.scrollTop = 0;
      judge();
    });
    button.disabled = false;
  }
  if (text.value.trim()) judge();
}

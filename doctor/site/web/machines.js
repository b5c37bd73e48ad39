// Machines: shows the report of one machine, or of two machines with their differences; in `tfgpu-doctor serve`, also of this machine.
import { el } from "./dom.js";
import { ask, here, ready } from "./judge.js";
import { problem, report, said } from "./view.js";
import { LABELS } from "./words.js";

const shown = document.getElementById("compared");
const differences = document.getElementById("differences");

async function show(questions) {
  await ready;
  shown.setAttribute("aria-busy", "true");
  const machines = [];
  for (const { name, call, data } of questions) machines.push({ name, answer: await ask(call, call === "explain" ? { name } : {}, data) });
  shown.replaceChildren(...machines.map(({ name, answer }) => {
    if (answer.error) return problem(answer);
    const article = report(answer, null);
    article.prepend(el("p.dim", name));
    return article;
  }));
  shown.removeAttribute("aria-busy");
  const [first, second] = machines.filter(({ answer }) => !answer.error);
  differences.replaceChildren(...(second ? compared(first, second) : []));
  (second ? differences : shown).focus({ preventScroll: true });
}

/** The findings and facts in which two reports differ. */
function compared(first, second) {
  const rows = Object.keys(LABELS).map((key) => [LABELS[key], ...[first, second].map(({ answer }) => said(key, answer.report.facts[key]?.value))]);
  const codes = ({ answer }) => answer.report.findings.map((finding) => finding.code).join(", ");
  const different = [["Findings", codes(first), codes(second)], ...rows].filter(([, a, b]) => a !== b);
  if (!different.length) return [el("p.notice", "The two reports state the same facts and findings.")];
  const head = el("thead", el("tr", ["", first.name, second.name].map((name) => el("th", { scope: "col" }, name))));
  return [
    el("h3", "What differs"),
    el("div.scroll", { tabindex: "0", role: "region", "aria-label": "What differs" }, el("table.fits", head, el("tbody",
      different.map(([label, a, b]) => el("tr", el("th", { scope: "row" }, label), el("td", a || "not stated"), el("td", b || "not stated")))))),
  ];
}

/** Show the reports in files. */
export async function files(list) {
  const questions = [];
  for (const file of list.slice(0, 2)) questions.push({ name: file.name, call: "explain", data: new Uint8Array(await file.arrayBuffer()) });
  if (questions.length) show(questions);
}

export function open() {
  const chosen = document.getElementById("reports");
  chosen.addEventListener("change", () => { files([...chosen.files]); chosen.value = ""; });
  if (!here) return;
  const button = document.getElementById("here");
  button.hidden = false;
  button.addEventListener("click", () => show([{ name: "this machine", call: "check" }]));
}

// Shows a report or a plan (JSON of schema 1) as elements of the page.
import { copier, el, prose } from "./dom.js";
import { LABELS, PARTS, ROUTES, SURENESS, SYSTEMS, TITLES } from "./words.js";

const GOOD = { healthy: "good", "benign-messages": "good", undetermined: "unknown" };
const FITS = { true: ["yes", "fits"], false: ["no", "does not fit"], null: ["null", "not known"] };
const AROUND = 2; // the number of lines to show before and after a line of evidence
const LONGEST = 800; // how many characters of a line to show
const MOST = 40; // how many lines of evidence to show

export const tone = (finding) => GOOD[finding.code] || finding.severity;
const page = (code) => (code in TITLES ? `findings/${code}.html` : "findings/index.html");
const paragraphs = (text) => text.split("\n").filter((line) => line.trim()).map((line) => el("p", prose(line)));
const folded = (summary, ...inner) => el("details", el("summary", summary), ...inner);
const tableRows = (rows) => (rows.length ? folded("What the tables say", el("ul", rows.map((row) => el("li", row)))) : "");

/** An error message as an element. */
export function problem({ error, hint }) {
  const words = error.replace(/(^|\s)--(?=[a-z])/g, "$1");
  return el("article.warning", { role: "alert" }, el("h2", "That did not work"), el("p", prose(words)), hint ? el("p.dim", prose(hint.replace(/(^|\s)--(?=[a-z])/g, "$1"))) : "");
}

function command(text) {
  return el("div.command", el("pre", el("code", text)), copier("Copy", text));
}

function step(one) {
  const notes = [SYSTEMS[one.platform], one.needs_root ? "as an administrator" : ""].filter(Boolean).map((note) => el("span.chip", note));
  const capital = (words) => (/^[a-z]+[ ,:;]/.test(words) ? words[0].toUpperCase() + words.slice(1) : words);
  if (one.kind === "manual") return el("li", prose(capital(one.text)), one.why ? [". ", el("span.dim", prose(capital(one.why)))] : "", " ", notes);
  const why = one.why || (one.kind === "python" ? "in the program" : "run");
  return el("li", prose(why[0].toUpperCase() + why.slice(1)), " ", notes, command(one.text));
}

/** The steps; one that begins with "or" begins another way, which gets a heading of its own. */
export function steps(list) {
  const ways = [];
  for (const one of list) {
    const name = one.kind === "manual" ? "text" : "why";
    const other = ways.length && /^or\b,? */i.exec(one[name]);
    if (!ways.length || other) ways.push([]);
    ways[ways.length - 1].push(other ? { ...one, [name]: one[name].slice(other[0].length) } : one);
  }
  return ways.map((way, at) => [ways.length > 1 ? el("h4", `Way ${at + 1} of ${ways.length}`) : "", el("ol.steps", way.map(step))]);
}

const place = (source) => (source.line === null ? source.source === "-" ? "the whole report" : source.source : source.source === "-" ? `line ${source.line}` : `${source.source}:${source.line}`);

function quotes(list) {
  return list.map((source) => el("blockquote", el("cite", place(source)), source.text.trim() ? el("code", source.text) : ""));
}

/** The lines of evidence in a text, marked, with some lines around them. counting: the numbers of the lines of evidence. go: called with the number of a clicked line. */
function listing(lines, counting, go) {
  const shown = new Set();
  for (const number of counting) for (let at = number - AROUND; at <= number + AROUND; at++) if (at >= 1 && at <= lines.length) shown.add(at);
  const rows = [];
  let before = 0;
  for (const number of [...shown].sort((a, b) => a - b)) {
    if (number > before + 1) rows.push(gap(number - before - 1));
    const text = lines[number - 1];
    const label = el("button", { type: "button", "aria-label": `line ${number}: show it in the text` }, String(number));
    if (go) label.addEventListener("click", () => go(number));
    rows.push(el(counting.has(number) ? "tr.seen" : "tr", el("th", { scope: "row" }, label), el("td", text.length > LONGEST ? `${text.slice(0, LONGEST)} ...` : text)));
    before = number;
  }
  if (before < lines.length) rows.push(gap(lines.length - before));
  return el("div.lines", { tabindex: "0", role: "region", "aria-label": "Lines of the report that are evidence" }, el("table", el("tbody", rows)));
}

const gap = (count) => el("tr.gap", el("th", "\u22ef"), el("td", `${count} more line${count === 1 ? "" : "s"}`));

function evidence(list, text) {
  const numbers = [...new Set(list.map((source) => source.line).filter((line) => line !== null && text && line <= text.lines.length))];
  const counting = new Set(numbers.slice(0, MOST));
  const others = list.filter((source) => !counting.has(source.line));
  return [counting.size ? listing(text.lines, counting, text.go) : "", quotes(others.slice(0, MOST))];
}

function finding(one, text) {
  return [
    paragraphs(one.explanation),
    one.prescription.length ? [el("h3", "What to do"), steps(one.prescription)] : "",
    one.verify ? [el("h3", "Check whether it helped"), command(one.verify)] : "",
    el("h3", "Evidence"),
    evidence(one.evidence, text),
    one.consequences.length ? [el("h3", one.confidence === "certain" ? "Also seen; this cause explains it" : "Also seen; this cause would explain it"), el("ul", one.consequences.map((words) => el("li", prose(words))))] : "",
    tableRows(one.tables),
  ];
}

function meta(one) {
  return el("p.meta", el("span.chip.tone", one.severity), el("span.chip", SURENESS[one.confidence]), el("a.chip", { href: page(one.code) }, el("code", one.code)));
}

function fits(parts) {
  const rows = parts.filter((part) => part.have || part.fits === false).map((part) => {
    const [kind, word] = FITS[String(part.fits)];
    return el("tr", el("th", { scope: "row" }, PARTS[part.part] || part.part), el("td", part.have || "not known"), el("td", part.needs || "-"), el(`td.tone.${kind}`, word));
  });
  if (!rows.length) return "";
  const head = el("thead", el("tr", ["part", "has", "needs", "fits"].map((name) => el("th", { scope: "col" }, name))));
  return [
    el("h3", "What goes together"),
    el("table.fits", head, el("tbody", rows)),
    tableRows([...new Set(parts.flatMap((part) => part.tables))]),
  ];
}

function alternatives(list) {
  if (!list.length) return "";
  return folded(
    "Other possible causes, and the command that checks each",
    el("ul.alternatives", list.map((other) => {
      const share = Math.round(100 * other.likelihood);
      return el("li.likely",
        el("meter", { min: "0", max: "100", value: String(share), "aria-label": `${share} percent` }),
        el("span", `${share} % `, el("a", { href: page(other.code) }, TITLES[other.code] || other.code)),
        other.test ? command(other.test) : "");
    })),
  );
}

/** A fact's value as text. */
export function said(key, value) {
  if (value === null || value === undefined) return "";
  if (key === "platform") return SYSTEMS[value] || String(value);
  if (key === "gpus") {
    return value.map((gpu) => {
      const more = [gpu.compute_capability ? `compute capability ${gpu.compute_capability}` : "", gpu.memory_mib ? `${gpu.memory_mib} MiB` : ""].filter(Boolean);
      return (gpu.name || gpu.pci_id || "unnamed") + (more.length ? ` (${more.join(", ")})` : "");
    }).join(", ");
  }
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, item]) => `${name}=${item}`).join(", ");
  return String(value);
}

/** A report as an article. text: its lines, and a function that shows one of them; null if it is not text. actions: buttons. */
export function report({ report: document_, markdown }, text, actions = []) {
  const [verdict, ...others] = document_.findings;
  const facts = Object.entries(document_.facts).map(([key, fact]) => [el("dt", LABELS[key] || key), el("dd", said(key, fact.value))]);
  const link = new URL(page(verdict.code), document.baseURI).href;
  return el(`article.${tone(verdict)}`,
    el("h2", verdict.title),
    meta(verdict),
    finding(verdict, text),
    others.length ? [el("h3", "Also found"), others.map((one) => folded(one.title, el(`div.${tone(one)}`, meta(one), finding(one, text))))] : "",
    fits(document_.compatibility),
    alternatives(document_.alternatives),
    facts.length ? [el("h3", document_.source.kind === "machine" ? "What was seen" : "What was read"), el("dl.facts", facts)] : "",
    el("div.row", copier("Copy as Markdown for an issue", markdown, "main"), copier("Copy link to this finding", link, "quiet"), actions),
    el("p.dim", "The Markdown contains no names, addresses or secrets. The link contains only the code of the finding."),
  );
}

/** The plans, and the findings about requests that cannot be met. */
export function plans({ plan: document_, markdown }) {
  const blocks = document_.findings.map((one) => el(`article.${tone(one)}`, el("h2", one.title), meta(one), paragraphs(one.explanation),
    steps(one.prescription.filter((s) => s.kind === "manual")), tableRows(one.tables)));
  const list = document_.plans.map((one, at) => planned(one, at));
  if (!list.length) list.push(el("p.notice", "There is no plan for this platform."));
  const [first, ...others] = list;
  const more = others.length ? [el("h3", "Other plans"), ...others] : [];
  const copy = el("div.row", copier("Copy as Markdown", markdown, "main"));
  const fails = document_.findings.some((one) => one.severity === "error"); // then the plan is the nearest one that would work
  return fails ? [...blocks, el("h3", "What would work, the nearest first"), first, ...more, copy] : [first, ...blocks, ...more, copy];
}

function planned(one, at) {
  const numbers = [["Python", one.python], ["CUDA", one.cuda], ["cuDNN", one.cudnn], ["minimum driver", one.driver_minimum]].filter(([, value]) => value);
  const inner = [
    el("p.numbers", numbers.map(([name, value]) => el("span.chip", `${name} ${value}`))),
    one.changes.length ? [el("h3", "What changes"), el("ul", one.changes.map((words) => el("li", prose(words))))] : "",
    el("h3", "Commands"), steps(one.commands),
    folded("Why", el("ul", one.why.map((words) => el("li", prose(words))))),
  ];
  const title = `TensorFlow ${one.tensorflow}, ${ROUTES[one.route] || one.route}`;
  if (at === 0) return el("article.good.plan", el("h2", title), inner);
  return el("article.info.plan", folded(title, inner));
}

// The page: shows one of its parts, accepts dropped files, and starts the judge.
import * as explain from "./explain.js";
import * as judge from "./judge.js";
import * as machines from "./machines.js";
import * as plan from "./plan.js";

const PARTS = ["explain", "plan", "machines"];

function show() {
  const [name, query] = [location.hash.slice(1).split("&")[0], location.hash.split("&").slice(1).join("&")];
  const part = PARTS.includes(name) ? name : "explain";
  for (const id of PARTS) document.getElementById(id).hidden = id !== part;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${part}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (part === "plan") plan.from(new URLSearchParams(query));
  if (part === "machines" && judge.here && !document.getElementById("compared").hasChildNodes()) document.getElementById("here").click();
}

explain.open();
plan.open();
machines.open();
addEventListener("hashchange", show);
show();

for (const type of ["dragenter", "dragover"]) addEventListener(type, (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const list = [...event.dataTransfer.files];
  if (!list.length) return;
  if (document.getElementById("machines").hidden) explain.files(list);
  else machines.files(list);
});

judge.start();
// The files for the next visit are cached only when the judge is ready, so that caching does not delay it.
if (!judge.here && "serviceWorker" in navigator) judge.ready.then(() => navigator.serviceWorker.register("sw.js"));

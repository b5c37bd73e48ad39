// Calls the judge (doctor/site/judge.py), which runs in Python in a worker of this page or in `tfgpu-doctor serve`.

const SERVED = document.querySelector("meta[name=judge]").content === "server";
const STAGES = ["", "Loading Python (5 MB, once)", "Loading tfgpu-doctor", "Starting tfgpu-doctor", "Ready"];
const waiting = new Map();
const state = document.getElementById("state");
const progress = document.getElementById("progress");
let number = 0;
let worker = null;

function show(stage) {
  document.getElementById("state-text").textContent = stage === 4
    ? SERVED ? "Ready. tfgpu-doctor runs on this computer." : "Ready. tfgpu-doctor runs in this browser."
    : `${STAGES[stage]} ...`;
  progress.value = stage;
  progress.hidden = stage === 4;
  state.classList.toggle("ready", stage === 4);
}

function fail(why) {
  document.getElementById("state-text").textContent = `tfgpu-doctor did not start: ${why}. Reload the page, or use tfgpu-doctor on the command line.`;
  progress.hidden = true;
  state.classList.add("failed");
}

let tell;
/** Resolved when the judge has started. */
export const ready = new Promise((resolve) => { tell = resolve; });
export const here = SERVED;

/** Start the judge; the page shows its progress. */
export function start() {
  if (SERVED) {
    show(4);
    tell();
    return;
  }
  if (typeof WebAssembly !== "object") {
    fail("this browser has no WebAssembly, or it is switched off");
    return;
  }
  show(1);
  // A worker from a blob has this page's content security policy; a worker from a URL would have none.
  const source = `import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  worker = new Worker(address, { type: "module" });
  worker.onerror = (event) => fail(event.message || "a file of the runtime is missing");
  worker.onmessage = ({ data }) => {
    if (data.stage) {
      show(data.stage);
      if (data.stage === 4) tell();
    } else if (data.failed !== undefined) {
      fail(data.failed);
    } else {
      const resolve = waiting.get(data.id);
      waiting.delete(data.id);
      resolve(data.broken === undefined ? JSON.parse(data.answer) : { error: `tfgpu-doctor failed: ${data.broken}`, hint: "reload the page" });
    }
  };
}

/** The answer of doctor/site/judge.py to a call; it has `error` and `hint` if the call failed. */
export async function ask(call, parameters = {}, data = new Uint8Array()) {
  if (SERVED) {
    try {
      const response = await fetch(`judge/${call}?${new URLSearchParams(parameters)}`, { method: "POST", body: data });
      if (!response.ok) throw new Error(`${response.status}`);
      return await response.json();
    } catch (error) {
      return { error: `the server does not answer (${error.message})`, hint: "is tfgpu-doctor serve still running?" };
    }
  }
  return new Promise((resolve) => {
    waiting.set(++number, resolve);
    worker.postMessage({ id: number, call, parameters, data });
  });
}

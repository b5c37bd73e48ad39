// The judge in the browser: Python, compiled to WebAssembly, with the modules and tables of tfgpu-doctor.
import { loadPyodide } from "./runtime/pyodide.mjs";

const here = (path) => new URL(path, import.meta.url).href;

async function start() {
  const archive = fetch(here("judge.zip")).then((response) => {
    if (!response.ok) throw new Error(`judge.zip: ${response.status}`);
    return response.arrayBuffer();
  });
  archive.catch(() => {}); // reported below
  postMessage({ stage: 1 });
  const python = await loadPyodide({ indexURL: here("runtime/"), lockFileURL: here("runtime/pyodide-lock.json") });
  postMessage({ stage: 2 });
  python.unpackArchive(await archive, "zip", { extractDir: "/judge" });
  postMessage({ stage: 3 });
  const answer = python.runPython(`
import gc, sys
sys.path.insert(0, "/judge")
sys.dont_write_bytecode = True
gc.set_threshold(100_000, 20, 20)
from doctor.site.judge import answer_json
answer_json("explain", "{}", b"""tensorflow 2.15.0, RTX 3080, python 3.11: no GPU is found. Is it the cuda or the driver?
2024-01-02 03:04:05.678901: W tsl/platform/default/dso_loader.cc:67] Could not load dynamic library 'libcudart.so.12'
2024-01-02 03:04:05.678901: E stream_executor/cuda/cuda_driver.cc:271] failed call to cuInit: CUDA_ERROR_NO_DEVICE
2024-01-02 03:04:05.678901: E stream_executor/cuda/cuda_dnn.cc:447] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR
""")
lambda call, parameters, data: answer_json(call, parameters, data.to_bytes())
`);
  postMessage({ stage: 4 });
  return answer;
}

const started = start();
started.catch((error) => postMessage({ failed: String(error && error.message || error) }));

onmessage = async ({ data: { id, call, parameters, data } }) => {
  try {
    const answer = await started;
    postMessage({ id, answer: answer(call, JSON.stringify(parameters), data) });
  } catch (error) {
    postMessage({ id, broken: String(error && error.message || error) });
  }
};

// node compile.mjs PYODIDE FOLDER: compile the Python modules below FOLDER with the interpreter that will run them
// (see compile.py). The page then starts in half the time, because Pyodide's library consists of source files.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ env: { HOME: "/", PYTHONHASHSEED: "0", PYTHONNODEBUGRANGES: "1" } });
python.mountNodeFS("/work", path.resolve(folder));
python.runPython(fs.readFileSync(new URL("compile.py", import.meta.url), "utf-8"));

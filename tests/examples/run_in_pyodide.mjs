// Runs a Python file in Pyodide: node run_in_pyodide.mjs FOLDER FILE, where FOLDER holds the packages.
import fs from "fs";
import { loadPyodide } from "pyodide";

const [folder, file] = process.argv.slice(2);
const python = await loadPyodide();
python.FS.mkdir("/packages");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/packages");
python.runPython("import sys; sys.path.insert(0, '/packages')");
python.runPython(fs.readFileSync(file, "utf8"));

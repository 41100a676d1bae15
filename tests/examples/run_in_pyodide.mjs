// Runs a Python file with the packages of the playground: node run_in_pyodide.mjs PLAYGROUND FILE
import fs from "fs";
import { pathToFileURL } from "url";

const [folder, file] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
const python = await loadPyodide();
python.unpackArchive(new Uint8Array(fs.readFileSync(`${folder}/packages.zip`)), "zip", { extractDir: "/packages" });
python.runPython("import sys; sys.path.insert(0, '/packages')");
python.runPython(fs.readFileSync(file, "utf8"));

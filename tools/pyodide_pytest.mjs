// pytest on CPython 3.14 in WebAssembly (pyodide): node tools/pyodide_pytest.mjs FOLDER PYTEST-ARGUMENT...
// FOLDER holds node_modules/pyodide and site/, the Python packages (Makefile, test-wasm). Run from the repository's root.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...args] = process.argv.slice(2);
const home = path.resolve(folder);
const require = createRequire(path.join(home, "package.json"));
const { loadPyodide } = await import(pathToFileURL(path.join(path.dirname(require.resolve("pyodide")), "pyodide.mjs")));

const python = await loadPyodide({ args: ["-X", "utf8"], env: { PYTHONDONTWRITEBYTECODE: "1", CI: process.env.CI ?? "" } });
for (const [here, there] of [[process.cwd(), "/repository"], [path.join(home, "site"), "/site"]]) {
  python.FS.mkdirTree(there);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: here }, there);
}
python.globals.set("pytest_arguments", python.toPy(args));
process.exitCode = python.runPython(`
import os, sys
sys.path[:0] = ["/repository", "/site"]
os.chdir("/repository")
import pytest
int(pytest.main(["-p", "no:cacheprovider", *pytest_arguments]))
`);

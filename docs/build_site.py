"""Builds the site of these pages in build/site/html: ``python -m docs.build_site``, or `make site`.

The pages that docs/README.md leads to are laid out as in the checkout, so that the links between them hold.
A link to a file of another kind, such as an example, leads to a page that shows the file; one to a folder, to
its README.md or to a list of its files.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from docs import build_playground

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "site"
INDEX = "docs/README.md"
"""Its headings and the links in its lists are the navigation."""
PLAYGROUND = "docs/playground"
"""A page with files of its own, which is built and not rendered."""

MOST_PAGES = 50
"""Files of a linked folder that become pages; of a larger one, only the names are listed."""

_LINK = re.compile(r"(?<=\]\()(?P<path>[^()#:\s]+)(?=[#)])")
_SHIM = re.compile(r'<script src="https://[^"]+/iframe-worker/shim"[^>]*></script>')
_ELSEWHERE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^>]*>')


def main() -> None:
    """Lay out the pages, render them, and check that they load nothing from elsewhere."""
    shutil.rmtree(BUILD, ignore_errors=True)
    pages, waiting = set[str](), [INDEX]
    while waiting:
        page = waiting.pop()
        if page not in pages:
            pages.add(page)
            waiting += _lay_out(page)
    build_playground.build(BUILD / "pages" / PLAYGROUND)
    config = (ROOT / "docs" / "site.yml").read_text("utf-8")
    # JSON is YAML, too.
    (BUILD / "mkdocs.yml").write_text(f"{config}nav: {json.dumps(_navigation())}\n", "utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--strict", "--config-file", BUILD / "mkdocs.yml"], cwd=ROOT, check=False
    )
    if built.returncode:
        sys.exit("make site: the pages have the faults above")
    _search_without_a_server(BUILD / "html")
    for reference in (BUILD / "html" / "docs" / "reference").glob("*.html"):
        package, text = import_module(reference.stem), reference.read_text("utf-8")
        public = [name for name in package.__all__ if not isinstance(getattr(package, name), ModuleType)]
        if missing := [name for name in public if f'id="{reference.stem}.{name}"' not in text]:
            sys.exit(f"make site: {reference.stem} lacks {', '.join(missing)}; each needs a docstring")
    sys.stdout.write(f"{len(pages)} pages; read them in build/site/html/index.html\n")


def _lay_out(page: str) -> list[str]:
    """Write a page, and return the pages that it links."""
    linked = []

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found["path"]))
        path = ROOT / target
        if target.startswith(f"{PLAYGROUND}/"):
            return found["path"]
        if path.is_dir():
            target = f"{target}/README.md"
        elif path.suffix in {".svg", ".png"}:
            copy = BUILD / "pages" / target
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            return found["path"]
        elif path.suffix != ".md":
            target = f"{target}.md"
        if path.exists():
            linked.append(target)  # else zensical says where the broken link is
        return posixpath.relpath(target, posixpath.dirname(page) or ".")

    path = ROOT / page
    if path.is_file():
        text = path.read_text("utf-8")
    elif path.name == "README.md":
        text = _files(path.parent)
    else:
        text = _source(path.with_suffix(""))
    # Not what stands in blocks of code.
    parts = re.split(r"(^```+.*?^```+$)", text, flags=re.DOTALL | re.MULTILINE)
    text = "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)
    copy = BUILD / "pages" / page
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text, "utf-8")
    return linked


def _files(folder: Path) -> str:
    """A page that lists the files of a folder."""
    files = sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".hypothesis"} & set(path.parts)
    )
    # Each link is a page of the site: an example's files are worth one, those of all tests are not.
    linked = len(files) <= MOST_PAGES
    return f"# {folder.relative_to(ROOT)}\n\n" + "".join(
        f"- [{file}]({file})\n" if linked else f"- `{file}`\n" for file in files
    )


def _source(path: Path) -> str:
    """A page that shows a file."""
    source, name = path.read_text("utf-8", "replace"), path.relative_to(ROOT)
    if path.suffix != ".ipynb":
        return f"# {name}\n\n````{path.suffix[1:]}\n{source}\n````\n"
    shown = []
    for cell in json.loads(source)["cells"]:
        text = "".join(cell["source"])
        shown.append(text if cell["cell_type"] == "markdown" else f"````python\n{text}\n````")
        for output in cell.get("outputs", []):
            printed = output.get("text") or output.get("data", {}).get("text/plain", [])
            shown.append(f"````text\n{''.join(printed)}\n````")
    return "\n\n".join(shown)


def _navigation() -> list[dict[str, str | list[dict[str, str]]]]:
    """Each heading of the index with the pages that its list links."""
    navigation: list[dict[str, str | list[dict[str, str]]]] = []
    for section in re.split(r"^## ", (ROOT / INDEX).read_text("utf-8"), flags=re.MULTILINE)[1:]:
        listed = re.findall(r"^- \[([^]]+)\]\(([^)#]+)\)", section, re.MULTILINE)
        pages = [{title: posixpath.normpath(f"docs/{page}")} for title, page in listed]
        navigation.append({section.partition("\n")[0]: pages})
    return navigation


def _search_without_a_server(html: Path) -> None:
    """Let the search run where pages are opened from a folder, in which browsers start no worker from a file.

    The theme would load a script for it from elsewhere; ours starts the worker from its source.
    """
    (worker,) = (html / "assets" / "javascripts" / "workers").glob("search*.js")
    (html / "search_worker.js").write_text(
        'if (location.protocol === "file:") {\n'
        f"  const source = {json.dumps(worker.read_text('utf-8'))};\n"
        "  const FileWorker = window.Worker;\n"
        "  window.Worker = function () {\n"
        '    return new FileWorker(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));\n'
        "  };\n"
        "}\n",
        "utf-8",
    )
    for page in html.rglob("*.html"):
        depth = len(page.relative_to(html).parts) - 1
        text = _SHIM.sub(f'<script src="{"../" * depth}search_worker.js"></script>', page.read_text("utf-8"))
        if loaded := _ELSEWHERE.search(text):
            sys.exit(f"make site: {page.relative_to(html)} loads from elsewhere: {loaded[0]}")
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

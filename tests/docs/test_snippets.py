from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Generator, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.forks import Forks
from tests.docs.snippets import PAGES, ROOT, RUN, Failure, blocks_of, run_page

BLOCKS = [block for page in RUN for block in blocks_of(page)]
NOT_RUN = [block for block in BLOCKS if block.not_run]


@pytest.fixture(scope="module")
def forks() -> Generator[Forks]:
    with Forks(Path(sys.executable)) as forks:
        yield forks


def test_every_command_that_is_not_run_exists_with_its_options() -> None:
    """Those of toolreel and of make; the rest belongs to pip, git and other programs."""
    from click import Command, Context, Group

    from toolreel._cli import LazyCommand, toolreel

    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for block in NOT_RUN:
        for line in block.commands().replace("\\\n", " ").splitlines():
            words = line.partition(" #")[0].split()
            if words[:1] == ["make"]:
                assert {word for word in words[1:] if "=" not in word} <= targets, block.place
            if words[:1] != ["toolreel"]:
                continue
            command: Command = toolreel
            for word in words[1:]:
                if isinstance(command, Group):
                    found = command.get_command(Context(command), word)
                    assert found is not None, f"{block.place}: toolreel has no {word}"
                    command = found.load() if isinstance(found, LazyCommand) else found
            known = set(chain.from_iterable(one.opts for one in command.params))
            assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, block.place


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in PAGES:
        for extras in re.findall(r"toolreel\[([a-z0-9,]+)\]", page.read_text("utf-8")):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), page.name


def test_every_page_is_linked_from_the_index() -> None:
    """The table of contents in docs/README.md has them all."""
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {page.name for page in PAGES if page.parent.name == "docs"} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_pages_and_examples_import_public_names_only() -> None:
    """Those that docs/reference shows, by ``from``: a fork has more loaded than ``import`` would load."""
    packages = [page.stem for page in (ROOT / "docs" / "reference").glob("*.md")]
    public = {(package, name) for package in packages for name in import_module(package).__all__}
    codes = {block.place: block.code for block in BLOCKS if block.language == "python"}
    codes |= {path.name: path.read_text("utf-8") for path in (ROOT / "examples").rglob("*.py")}
    for notebook in (ROOT / "examples").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        codes |= {
            f"{notebook.name}, cell {n}": "".join(cell["source"])
            for n, cell in enumerate(cells)
            if cell["cell_type"] == "code"
        }
    private = [(place, *each) for place, code in codes.items() for each in set(imported(code)) - public]
    assert not private


def test_every_example_is_listed_and_says_what_it_needs() -> None:
    """check_install.py runs those that do."""
    folder = ROOT / "examples"
    scripts = sorted((folder / "scripts").glob("*.py"))
    projects = sorted({path.parent for path in folder.glob("*/*.*")} - {folder / "scripts"})
    index = (folder / "README.md").read_text("utf-8")
    links = re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", index, re.MULTILINE)
    assert sorted(folder / link for link in links) == sorted([*projects, *scripts])
    assert all(script.read_text("utf-8").startswith("# /// script\n") for script in scripts)
    for project in projects:
        assert (project / "pyproject.toml").exists()
        assert any(block.runs for block in blocks_of(project / "README.md")), project


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Each name of toolreel that is imported, with its package."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("toolreel"):
                yield from ((module, each.name) for each in names)
            case ast.Import(names=names):
                yield from ((each.name, "") for each in names if each.name.startswith("toolreel"))
            case _:
                pass


PAGE = """\
Save this as `greet.py`:

```python
def greet():
    return "hello"
```

```python
from greet import greet
print(greet())
```

```text
bye
```
"""


def test_a_page_that_is_wrong_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks) -> None:
    monkeypatch.setattr("tests.docs.snippets.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    with pytest.raises(Failure, match=r"page.md:13: the page shows\nbye"):
        run_page(page, tmp_path, forks)

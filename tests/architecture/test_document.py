from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.turn_trace import plain
from tests.architecture.decisions import FOLDER
from tests.architecture.document import ARCHITECTURE, PAGES, generated
from tests.architecture.folders import top_folders
from tests.architecture.source import ROOT

TO_READ_FIRST = 10
DATA = {"toolreel_core/_protocol/effects.py"}
"""Read first, and no step of a turn: making an effect calls no function of the module."""


def text() -> str:
    return ARCHITECTURE.read_text("utf-8")


def section(title: str) -> str:
    found: list[str] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 1, title
    return found[0]


def reading_list() -> list[str]:
    """The files to read first, as paths in the repository."""
    names = re.findall(r"^\d+\. `([^`]+)`", section("Ten files to read first"), re.MULTILINE)
    return [name if name.startswith("adapters/") else f"domain/toolreel_core/{name}" for name in names]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_generated_parts_show_the_code_as_it_is(page: Path) -> None:
    assert page.read_text("utf-8") == generated(page), "run `python -m tests.architecture.document`"


def test_the_files_to_read_first_exist() -> None:
    files = reading_list()
    assert len(set(files)) == TO_READ_FIRST
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_a_turn_really_goes_through_the_files_to_read_first() -> None:
    called = set(plain().calls)
    modules = {name.partition("/")[2] for name in reading_list()}
    assert modules - called == DATA


def test_every_invariant_names_tests_that_exist() -> None:
    invariants = re.split(r"^\d+\. ", section("Invariants"), flags=re.MULTILINE)[1:]
    assert len(invariants) == 10
    for invariant in invariants:
        names = re.findall(r"`([^`]+\.py)`", invariant)
        assert names, invariant
        # a name without a folder is in the folder of the one before it
        folder = Path(names[0]).parent
        paths = [Path(name) if "/" in name else folder / name for name in names]
        assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_every_path_and_module_that_the_guide_for_contributors_names_exists() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    words = {word for code in re.findall(r"`([^`\n]+)`", guide) for word in code.split()}
    # A word with capitals, such as `evals/scenarios/PACK/NAME.toml`, stands for many paths.
    paths = {word for word in words if re.fullmatch(r"[a-z0-9_.-]+/[a-z0-9_./-]*", word)}
    modules = {word for word in words if re.fullmatch(r"(tests|benchmarks)(\.[a-z_]+)+", word)}
    assert paths
    assert modules
    named = {path for path in paths if not path.startswith(".venv/")}
    named |= {module.replace(".", "/") for module in modules}
    places = (".", "adapters", "adapters/toolreel", "domain", "domain/toolreel_core")
    files = {
        path: [ROOT / place / f"{path}{end}" for place in places for end in ("", ".py")] for path in named
    }
    missing = [path for path in sorted(named) if not any(file.exists() for file in files[path])]
    assert not missing, f"CONTRIBUTING.md names what is not there: {', '.join(missing)}"


def test_every_folder_says_what_it_is_for() -> None:
    assert [row for row in top_folders().splitlines() if row.endswith("|  |")] == []


def test_links_between_decisions_lead_to_files() -> None:
    pages = [page.read_text("utf-8") for page in FOLDER.glob("*.md")]
    links = {link for page in pages for link in re.findall(r"\]\((\d{4}-[^)]+)\)", page)}
    assert links
    assert [link for link in sorted(links) if not (FOLDER / link).is_file()] == []

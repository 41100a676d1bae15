from __future__ import annotations

import re
import tomllib

from tests.docs.snippets import ROOT

PAGES = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")}


def test_each_page_shows_its_package() -> None:
    """`make site` fills in the names; tests/architecture/test_exports.py compares the packages."""
    assert all(text.endswith(f"\n::: {package}\n") for package, text in PAGES.items())


def test_extras_are_named_as_they_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(re.findall(r"Extra `([\w]+)`", " ".join(PAGES.values())))
    assert named <= project["optional-dependencies"].keys()

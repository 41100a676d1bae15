from __future__ import annotations

import re
import tomllib

from tests.docs.snippets import ROOT

PAGES = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")}


def test_every_public_package_has_its_page() -> None:
    """Those whose path has no underscore, and that list names; `make site` fills in the names."""
    listed = {
        ".".join(file.parent.relative_to(folder).parts)
        for folder in (ROOT / "adapters", ROOT / "domain")
        for file in folder.rglob("__init__.py")
        if "/_" not in file.parent.relative_to(folder).as_posix()
        and re.search(r'^__all__ = \[\n    "', file.read_text("utf-8"), re.MULTILINE)
    }
    assert listed <= PAGES.keys()
    assert all(text.endswith(f"\n::: {package}\n") for package, text in PAGES.items())


def test_extras_are_named_as_they_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(re.findall(r"Extra `([\w]+)`", " ".join(PAGES.values())))
    assert named <= project["optional-dependencies"].keys()

from __future__ import annotations

import re
import tomllib

from tests.docs.api_page import PAGE, PATHS, ROOT, page


def test_the_page_is_what_the_sources_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with `python -m tests.docs.api_page`"


def test_the_page_has_every_public_package() -> None:
    """Those whose path has no underscore, and that list names."""
    listed = {
        ".".join(file.parent.relative_to(folder).parts)
        for folder in (ROOT / "adapters", ROOT / "domain")
        for file in folder.rglob("__init__.py")
        if "/_" not in file.parent.relative_to(folder).as_posix()
        and re.search(r'^__all__ = \[\n    "', file.read_text("utf-8"), re.MULTILINE)
    }
    assert listed <= PATHS.keys()


def test_extras_are_named_as_they_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(re.findall(r"Extra `([\w]+)`", " ".join(PATHS.values())))
    assert named <= project["optional-dependencies"].keys()

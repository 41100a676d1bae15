"""The generated parts of ARCHITECTURE.md and of the list of decisions.

``python -m tests.architecture.document`` writes them; ``test_document.py`` compares them. A generated part
stands between ``<!-- name -->`` and ``<!-- /name -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.architecture.decisions import FOLDER, index
from tests.architecture.folders import adapters_picture, core_picture, top_folders
from tests.architecture.phases import answers, diagram
from tests.architecture.source import ROOT

ARCHITECTURE: Final = ROOT / "ARCHITECTURE.md"


def _picture(make: Callable[[], str]) -> Callable[[], str]:
    return lambda: f"```mermaid\n{make()}\n```"


PAGES: Final[Mapping[Path, Mapping[str, Callable[[], str]]]] = {
    ARCHITECTURE: {
        "phases": _picture(diagram),
        "effects": answers,
        "core": _picture(core_picture),
        "adapters": _picture(adapters_picture),
        "folders": top_folders,
    },
    FOLDER / "README.md": {"decisions": index},
}
"""Each page with its generated parts by name."""


def generated(page: Path) -> str:
    """The text of a page, its generated parts as they should be.

    :raises ValueError: if the page does not have each part exactly once
    """
    text = page.read_text("utf-8")
    for name, make in PAGES[page].items():
        part = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)", re.DOTALL)
        if len(part.findall(text)) != 1:
            raise ValueError(f"{page.name} needs <!-- {name} --> and <!-- /{name} -->, once each")
        # a function, since a text could hold what looks like a group
        text = part.sub(lambda _, make=make: make(), text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    for one in PAGES:
        one.write_text(generated(one), "utf-8")
        sys.stdout.write(f"{one.relative_to(ROOT)}\n")

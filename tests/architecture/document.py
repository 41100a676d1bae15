"""The generated parts of ARCHITECTURE.md, of the list of decisions and of docs/.

``python -m tests.architecture.document`` writes them; ``test_document.py`` compares them. A generated part
stands between ``<!-- name -->`` and ``<!-- /name -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.architecture.decisions import FOLDER, index
from tests.architecture.folders import adapters_picture, core_picture, top_folders
from tests.architecture.phases import answers, diagram
from tests.architecture.source import ROOT
from tests.docs import codes_tables, evals_tables, forms_table, log_table

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
DOCS = ROOT / "docs"
SCENARIOS = DOCS / "evals" / "scenarios.md"


def _picture(make: Callable[[], str]) -> Callable[[], str]:
    return lambda: f"```mermaid\n{make()}\n```"


PAGES: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    ARCHITECTURE: {
        "phases": _picture(diagram),
        "effects": answers,
        "core": _picture(core_picture),
        "adapters": _picture(adapters_picture),
        "folders": top_folders,
    },
    FOLDER / "README.md": {"decisions": index},
    DOCS / "codes.md": codes_tables.TABLES,
    DOCS / "wire-forms.md": {"fields": forms_table.tables},
    DOCS / "observe.md": {"logs": log_table.table},
    DOCS / "plan-keys.md": {"keys": evals_tables.keys},
    DOCS / "case-study.md": {"variables": evals_tables.variables},
    SCENARIOS: {"scenarios": evals_tables.scenarios},
}
"""Each page with its generated parts by name."""


def generated(page: Path, parts: Mapping[str, Callable[[], str]] | None = None) -> str:
    """The text of a page, its generated parts as they should be.

    :param parts: those of ``PAGES``, if nothing else is given

    :raises ValueError: if the page does not have each part exactly once
    """
    text = page.read_text("utf-8")
    for name, make in (parts or PAGES[page]).items():
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

"""The decisions in docs/decisions, one file each, and their index."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source import ROOT

FOLDER = ROOT / "docs" / "decisions"
# The file of a decision that is superseded goes, so each is accepted.
HEAD = re.compile(r"# (\d{4})\. (.+)\n\nStatus: (accepted)\n\nDate: \d{4}-\d{2}-\d{2}\n")


def decisions() -> dict[Path, tuple[str, str, str]]:
    """Each decision's number, title and status, by its file.

    :raises ValueError: if a head or a part is missing, or the numbers disagree
    """
    found = dict[Path, tuple[str, str, str]]()
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        text = path.read_text("utf-8")
        head = HEAD.match(text)
        if head is None:
            raise ValueError(f"{path.name}: begin with '# NNNN. Title', 'Status: ...' and 'Date: ...'")
        if missing := [part for part in ("Context", "Choice", "Cost") if f"**{part}.**" not in text]:
            raise ValueError(f"{path.name}: has no part {', '.join(missing)}")
        number, title, status = head.groups()
        if not path.name.startswith(f"{number}-"):
            raise ValueError(f"{path.name}: its title has the number {number}")
        if number in {other for other, *_ in found.values()}:
            raise ValueError(f"{path.name}: there is another decision {number}")
        found[path] = (number, title, status)
    return found


def index() -> str:
    """All decisions as a Markdown table."""
    rows = ["| | decision | status |", "|---|---|---|"]
    for path, (number, title, status) in decisions().items():
        rows.append(f"| {number} | [{title}]({path.name}) | {status} |")
    return "\n".join(rows)

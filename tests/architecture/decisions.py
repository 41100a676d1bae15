"""The decisions in docs/decisions, one file each, and their index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.architecture.source import ROOT

__all__ = ["FOLDER", "Decision", "decisions", "index"]

FOLDER: Final = ROOT / "docs" / "decisions"

_HEAD: Final = re.compile(
    r"# (?P<number>\d{4})\. (?P<title>.+)\n\n"
    r"Status: (?P<status>accepted)\n\n"  # the file of one that is superseded goes
    r"Date: (?P<date>\d{4}-\d{2}-\d{2})\n"
)
_PARTS: Final = ("Context", "Choice", "Cost")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision."""

    path: Path
    number: str
    title: str
    status: str

    @classmethod
    def read(cls, path: Path) -> Decision:
        """Read a decision.

        :raises ValueError: if the head or a part is missing, or the numbers disagree
        """
        text = path.read_text("utf-8")
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(f"{path.name}: begin with '# NNNN. Title', 'Status: ...' and 'Date: ...'")
        missing = [part for part in _PARTS if f"**{part}.**" not in text]
        if missing:
            raise ValueError(f"{path.name}: has no part {', '.join(missing)}")
        if not path.name.startswith(f"{head['number']}-"):
            raise ValueError(f"{path.name}: its title has the number {head['number']}")
        return cls(path, head["number"], head["title"], head["status"])


def decisions() -> Iterator[Decision]:
    """All decisions, by number."""
    for path in sorted(FOLDER.glob("*.md")):
        if path.name != "README.md":
            yield Decision.read(path)


def index() -> str:
    """All decisions as a Markdown table."""
    rows = ["| | decision | status |", "|---|---|---|"]
    rows += [f"| {one.number} | [{one.title}]({one.path.name}) | {one.status} |" for one in decisions()]
    return "\n".join(rows)

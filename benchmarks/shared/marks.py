"""What a program writes into a page that people write: a part between two marks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Marks"]


@dataclass(frozen=True, slots=True)
class Marks:
    """Two comments of Markdown, on lines of their own."""

    begin: str
    end: str

    def between(self, text: str) -> str | None:
        """What stands between them now, if they are there."""
        _, _, rest = text.partition(f"{self.begin}\n")
        part, end, _ = rest.partition(self.end)
        return part if end else None

    def put(self, path: Path, made: str) -> None:
        """Write it between them, where a page has them."""
        text = path.read_text("utf-8")
        part = self.between(text)
        if part is not None:
            old, new = (f"{self.begin}\n{each}{self.end}" for each in (part, made))
            path.write_text(text.replace(old, new, 1), "utf-8")

"""A row of a table: what one peer made of all shapes in one setup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.conformance.judge import Verdict
from benchmarks.conformance.peer import Peer

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One peer in the table."""

    peer: Peer
    version: str
    date: str
    """The day on which it was put through the shapes."""
    verdicts: Mapping[str, str]
    """The verdict and why, by shape; what is missing does not apply, or was not run."""
    refused: int
    """In how many runs the provider refused a request for its history."""

    def count(self, verdict: Verdict) -> int:
        """How many shapes came to that."""
        return sum(found.partition(":")[0] == verdict for found in self.verdicts.values())

    @property
    def right(self) -> frozenset[str]:
        """The shapes that it got right."""
        return frozenset(shape for shape, found in self.verdicts.items() if _verdict(found) == "right")


def _verdict(found: str) -> str:
    return found.partition(":")[0]

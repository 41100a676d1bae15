"""The contestants: which loops are measured, and what they run in."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.conformance.peer import PEERS
from benchmarks.shared.environment import Environment

__all__ = ["CONTESTANTS", "HERE", "Colour", "Contestant", "Kind", "load_contestants"]

HERE = Path(__file__).parent

Kind = Literal["toolreel", "floor", "sdk", "framework"]
Colour = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One loop that is measured."""

    id: str
    name: str
    kind: Kind
    module: str
    package: str
    """The distribution whose version is in the table."""
    one: Colour
    """Whether runs one after another are async."""
    many: Colour | None = None
    """Whether runs at once are async, or threads; ``None`` if they are not measured."""
    peer: str | None = None
    """The peer of the conformance suite in whose environment it runs."""
    end: str = "text"
    """How its runs end: by a text, or by a call of that tool."""

    @property
    def environment(self) -> Environment:
        """What it runs in."""
        shared = {peer.id: peer.environment for peer in PEERS}
        return shared[self.peer] if self.peer else Environment(None)

    def version(self) -> str:
        """The version that is measured."""
        return self.environment.version(self.package)


def load_contestants(path: Path = HERE / "contestants.toml") -> tuple[Contestant, ...]:
    """All contestants, in the order of the table."""
    entries = tomllib.loads(path.read_text("utf-8"))
    return tuple(Contestant(id=identity, **entry) for identity, entry in entries.items())


CONTESTANTS = load_contestants()

"""What was measured, as it is in ``results.json``: each sample of each contestant, nothing worked out."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.contestant import HERE, Kind

__all__ = ["RESULTS", "Imported", "Machine", "Measured", "Results", "Sample"]

RESULTS = HERE / "results.json"


@dataclass(frozen=True, slots=True)
class Sample:
    """What one job cost."""

    runs: int
    turns: int
    """Requests, over all runs."""
    cut: int
    """Runs that were ended by the limit of time."""
    failed: int
    cpu: float
    """Seconds of the process, user and system."""
    wall: float
    """Seconds."""
    peak: int
    """Bytes of memory that the process has had at most, so far."""
    more: int
    """How much of that the job added."""
    server: float
    """Seconds of CPU that the server took meanwhile."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What it took to import a contestant."""

    cpu: float
    wall: float
    peak: int


@dataclass(slots=True)
class Measured:
    """All samples of one contestant, in the order of the rounds."""

    name: str
    kind: Kind
    version: str
    imported: list[Imported] = field(default_factory=list)
    one: dict[int, list[Sample]] = field(default_factory=dict)
    """Runs one after another, by their number of turns."""
    many: dict[int, list[Sample]] = field(default_factory=dict)
    """Runs of ten turns at once, by how many."""
    broken: str = ""
    """What happened, if not everything could be measured."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the figures depend on, as far as it may be told."""

    cpu: str
    cores: int
    system: str
    python: str

    @classmethod
    def here(cls) -> Machine:
        """The one at hand."""
        model = platform.processor() or platform.machine()
        about = Path("/proc/cpuinfo")
        if about.exists() and (named := re.search(r"model name\s*:\s*(.+)", about.read_text("utf-8"))):
            model = named[1]
        return cls(model, os.cpu_count() or 1, platform.system(), platform.python_version())


@dataclass(frozen=True, slots=True)
class Results:
    """A whole run of the benchmark."""

    date: str
    machine: Machine
    limit: float
    """Seconds of CPU after which runs one after another are ended."""
    limit_at_once: float
    """The same for runs at once."""
    contestants: Mapping[str, Measured]
    missing: Mapping[str, str]
    """Names of contestants that could not be measured, and why."""

    def save(self, path: Path = RESULTS) -> None:
        """Write it down, a line a sample."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        path.write_text(
            re.sub(r"\{[^{}]*\}", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n", "utf-8"
        )

    @classmethod
    def load(cls, path: Path = RESULTS) -> Results:
        """Read it back."""
        tree = json.loads(path.read_text("utf-8"))
        contestants = {identity: _measured(entry) for identity, entry in tree.pop("contestants").items()}
        return cls(machine=Machine(**tree.pop("machine")), contestants=contestants, **tree)


def _measured(entry: dict[str, Any]) -> Measured:
    imported = [Imported(**each) for each in entry.pop("imported")]
    one, many = (_samples(entry.pop(key)) for key in ("one", "many"))
    return Measured(imported=imported, one=one, many=many, **entry)


def _samples(tree: Mapping[str, list[dict[str, Any]]]) -> dict[int, list[Sample]]:
    return {int(key): [Sample(**each) for each in samples] for key, samples in tree.items()}

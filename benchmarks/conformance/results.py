"""Results: one line of JSON a run, kept next to the environments, so that nothing is run twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conformance.judge import Verdict
from benchmarks.conformance.peer import Peer
from benchmarks.conformance.setup import Setup
from benchmarks.shared.environment import CACHE

__all__ = ["Result", "results_of", "results_path"]


@dataclass(frozen=True, slots=True)
class Result:
    """One run, judged."""

    shape: str
    key: str
    """What the result depends on: shape, driver, packages."""
    verdict: Verdict
    why: str
    refused: bool
    """Whether a request was refused for its history."""
    seconds: float
    date: str
    """The day on which it was made."""


def results_path(peer: Peer, setup: Setup = "direct") -> Path:
    """Where the results of a peer are kept."""
    return CACHE / f"{peer.id}{'' if setup == 'direct' else f'-{setup}'}.jsonl"


def results_of(peer: Peer, setup: Setup = "direct") -> dict[str, Result]:
    """The results that are kept for a peer, by shape; the last of each counts."""
    path = results_path(peer, setup)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {result.shape: result for result in results}

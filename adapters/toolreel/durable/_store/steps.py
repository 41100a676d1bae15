"""The steps of DBOS that hold a run: reads what the segments of a run have stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from dbos import DBOSClient

from toolreel.durable._store.claims import Segment
from toolreel_core._jsontext import Json


@dataclass(frozen=True, slots=True)
class Written:
    """What one step stores: lines of the journal, and how much of the inbox the run has heard."""

    lines: tuple[str, ...]
    heard: int
    problem: str = ""
    """What went wrong in this program, if anything; then nothing was recorded."""

    def tree(self) -> dict[str, Json]:
        """As JSON."""
        tree: dict[str, Json] = {"heard": self.heard, "lines": list(self.lines)}
        return {**tree, "problem": self.problem} if self.problem else tree

    @classmethod
    def of(cls, tree: object) -> Written:
        """From JSON."""
        stored = cast("Mapping[str, object]", tree)
        lines = cast("Sequence[str]", stored["lines"])
        return cls(tuple(lines), int(str(stored["heard"])), str(stored.get("problem", "")))


def stored_steps(client: DBOSClient, segments: Iterable[Segment]) -> list[Written]:
    """What the steps of these segments have stored, in order."""
    return [written for segment in segments for written in _stored(client, segment)]


def done_in_order(client: DBOSClient, workflow_id: str) -> list[tuple[int, str]]:
    """The numbers and names of a segment's steps, up to the first one that is missing."""
    steps = client.list_workflow_steps(workflow_id, load_output=False)
    found = [(step["function_id"], step["function_name"]) for step in steps]
    return [item for _, item in takewhile(lambda each: each[1][0] == each[0], enumerate(found, 1))]


def _stored(client: DBOSClient, segment: Segment) -> Iterator[Written]:
    for step in client.list_workflow_steps(segment.workflow_id):
        if segment.steps is None or step["function_id"] in segment.steps:
            yield Written.of(step["output"])

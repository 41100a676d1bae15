"""The steps of DBOS that hold a run: reads what the segments of a run have stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from dbos import DBOSClient

from toolreel.durable._book import Written
from toolreel.durable._claims import Segment


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

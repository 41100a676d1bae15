from __future__ import annotations

import re
from pathlib import Path

import httpx

from tests.samples import complaint
from tests.servers.chat_server import (
    FAR_SIDES,
    LIMIT,
    STALL,
    Answer,
    FarSide,
    asking,
    nobody_listens,
    serving,
)
from toolreel._driver import Endpoint
from toolreel._replay import TapedEndpoint
from toolreel.cassette import CassetteTransport, Recording, use_cassette
from toolreel.http import HttpEndpoint
from toolreel_core._errors import ReplayMismatch


def recorded(path: Path, url: str, patience: float = 5.0) -> None:
    with use_cassette(path, "record") as session:
        transport = session.transport(httpx.HTTPTransport())
        timeout = httpx.Timeout(5, read=patience)
        with HttpEndpoint(url, transport=transport, timeout=timeout, stall_timeout=STALL) as endpoint:
            endpoint.send(asking())


def told(endpoint: Endpoint) -> object:
    """What comes of a request: an event, or what was raised."""
    try:
        return endpoint.send(asking(ref=7))
    except ReplayMismatch as error:
        return str(error)


def ignore(_: object) -> None:
    """Listen, and forget."""


def test_each_far_side_is_the_event_that_it_is_through_httpx(tmp_path: Path) -> None:
    kept = 0
    for number, far_side in enumerate(FAR_SIDES.values()):
        path = tmp_path / f"{number}.yaml"
        with serving(far_side.answer) as server:
            recorded(path, server.url, 0.05 if far_side.answer.delay else 5)
        if path.exists():  # what the client itself gave up stays in the journal
            kept += 1
            through = CassetteTransport(Recording.load(path))
            with HttpEndpoint(server.url, transport=through, max_response_bytes=LIMIT) as endpoint:
                expected = told(endpoint)
            for listener in (None, ignore):  # who is told of each piece has it taken in piece by piece
                taped = TapedEndpoint(Recording.load(path), max_response_bytes=LIMIT, on_delta=listener)
                assert told(taped) == expected
    assert kept > 20


def test_a_server_that_was_not_there_is_not_there_again(tmp_path: Path) -> None:
    with nobody_listens() as url:
        recorded(tmp_path / "a.yaml", url)
    far_side = FarSide(Answer(), "connect", "^ConnectError: ")
    event = TapedEndpoint(Recording.load(tmp_path / "a.yaml")).send(asking())
    assert event == far_side.failed(1, event)


def test_a_request_that_was_not_recorded_is_a_mismatch(tmp_path: Path) -> None:
    with serving(Answer(b"{}")) as server:
        recorded(tmp_path / "a.yaml", server.url)
    endpoint = TapedEndpoint(Recording.load(tmp_path / "a.yaml"))
    assert re.search("a.yaml", complaint(ReplayMismatch, lambda: endpoint.send(asking("something else"))))

"""Recorded runs as streams: the events that were shown, and what follows the record piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.servers.chat_server import Answer, replying, serving
from tests.servers.chat_server import streaming as pieces
from toolreel import LoopConfig, Plan, Ports, PythonTools, astream, stream
from toolreel._replay import TapedEndpoint
from toolreel.cassette import use_cassette
from toolreel.http import HttpEndpoint
from toolreel.journals import AsyncRehearsal, MemoryJournal, Rehearsal, parse_journal
from toolreel.stream_events import StreamEvent
from toolreel.testing import Lost, ScriptedEndpoint, calling, saying, streaming


def stock(part: str) -> int:
    """How many of a part there are."""
    return len(part)


TOOLS = PythonTools([stock])
ASKS = calling(("stock", {"part": "pin"}))


def plan(**config: Any) -> Plan:  # noqa: ANN401 - settings
    config = {"stream": "always", **config}
    return Plan.of(model="m", messages="How many?", tools=TOOLS.surface, config=LoopConfig.of(config))


SCRIPTS: list[Any] = [
    [ASKS, streaming("Three ", "pins.")],
    [Lost("connect", "down"), ASKS, saying("Three.")],
    [streaming("<think>So</think>Three ", "pi", finish=""), streaming("Three.")],
]


def recorded(script: Any, journal: MemoryJournal, wanted: Plan) -> list[StreamEvent]:  # noqa: ANN401 - a scripta script
    return list(stream(wanted, Ports(ScriptedEndpoint(script), TOOLS), journal=journal))


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("config", [{}, {"stream": "final"}, {"stream": "never"}])
def test_a_rehearsal_shows_what_the_run_showed(script: Any, config: dict[str, Any]) -> None:  # noqa: ANN401 - a scripta script
    wanted = plan(**config)
    journal, again, awaited = (MemoryJournal(wanted) for _ in range(3))
    shown = recorded(script, journal, wanted)
    tape = parse_journal(journal.text)
    assert list(stream(wanted, Rehearsal(tape), journal=again)) == shown

    async def listed() -> list[StreamEvent]:
        return [event async for event in astream(wanted, AsyncRehearsal(tape), journal=awaited)]

    assert anyio.run(listed) == shown
    assert journal.text == again.text == awaited.text


def test_a_cassette_shows_it_too(tmp_path: Path) -> None:
    wanted, shown = plan(), list[StreamEvent]()
    journal = MemoryJournal(wanted)
    answers: list[Answer] = [replying(ASKS), pieces(streaming("Three ", "pins."))]
    with serving(*answers) as server, use_cassette(tmp_path / "tape.yaml", "record") as session:
        endpoint = HttpEndpoint(server.url, transport=session.transport(httpx.HTTPTransport()))
        with endpoint:
            shown += stream(wanted, Ports(endpoint, TOOLS), journal=journal)
    with use_cassette(tmp_path / "tape.yaml") as session:
        rehearsal = Rehearsal(parse_journal(journal.text), endpoint=TapedEndpoint(session), tools=TOOLS)
        assert list(stream(wanted, rehearsal)) == shown

"""Recorded runs for pages: journals that real runs have written, with all that a page has to show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.evals.provider import HOSTILE
from toolreel._driver import Always, InstantClock, Ports, run, speak
from toolreel._journal import FileJournal
from toolreel.testing import Line, Lost, ScriptedEndpoint, calling, saying, streaming
from toolreel.tools import PythonTools, Tool, ToolError, ToolLike
from toolreel_core._conversation import Blob, Image, Said
from toolreel_core._plan import Plan
from toolreel_core._settings import LoopConfig, Provider

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000040000000408020000002693092900000017"
    "49444154789c63ccb8f28001069818900023230300330201d9b5c3ee490000000049454e44ae426082"
)
"""A picture of four by four pixels."""
TEXT = HOSTILE.replace("\ud800", "")
"""Without the half of a pair, which no request can have."""
SECOND = "And as one sentence?"


def chart(month: str) -> Image:
    """Draw the sales of a month."""
    del month
    return Image.from_bytes(PNG, "image/png")


def book(seat: int) -> str:
    """Book a seat."""
    if seat > 4:
        raise ToolError(f"seat {seat} does not exist; there are 1 to 4", "NO_SUCH_SEAT")
    return f"seat {seat} is booked"


TOOLS: tuple[ToolLike, ...] = (chart, Tool.of(book, needs_approval=True))


def made(
    path: Path,
    plan: Plan,
    script: Iterable[Line],
    *said: Said,
    tools: Iterable[ToolLike] = (),
) -> Path:
    """The journal of a run of these replies, and of what the user says after it."""
    ports = Ports(ScriptedEndpoint(script), PythonTools(tools), Always(), InstantClock())
    with FileJournal(path, plan, known_secrets={}) as journal:
        ended = run(plan, ports, journal=journal)
        for each in said:
            ended = speak(ended, each, ports, journal=journal)
    return path


def rich(folder: Path) -> Path:
    """A run with pictures, reasoning, a retry, a refused call, a failed tool and a second exchange."""
    plan = Plan.of(
        model="m-1",
        messages=[
            {"role": "system", "content": "You book seats."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Book the seat that this picture shows."},
                    {"type": "image_url", "image_url": {"url": Blob.of(PNG).data_url}},
                ],
            },
        ],
        tools=PythonTools(TOOLS).surface,
        config=LoopConfig(max_tries=2),
        provider=Provider(tool_turn_content="null"),
    )
    thinking = {"role": "assistant", "content": "Seat 3 is booked.", "reasoning_content": "Three are taken."}
    script: list[Line] = [
        Lost("status", "HTTP 503: overloaded", 503),
        calling(("chart", {"month": "May"})),
        calling(("book", {"seat": "three"})),
        calling(("book", {"seat": 9})),
        calling(("book", {"seat": 3})),
        {"choices": [{"index": 0, "message": thinking, "finish_reason": "stop"}]},
        streaming("Seat 3 ", "is yours."),
    ]
    return made(folder / "rich.journal.jsonl", plan, script, SECOND, tools=TOOLS)


def hostile(folder: Path) -> Path:
    """A run in which everything that a page shows is an attack, and a result is a megabyte."""

    def echo(text: str) -> str:
        """Say it again."""
        return text * 5_000

    plan = Plan.of(model=TEXT, messages=TEXT, tools=PythonTools([echo]).surface)
    script = [calling(("echo", {"text": TEXT})), calling((TEXT, {TEXT: TEXT})), saying(TEXT)]
    return made(folder / "hostile.journal.jsonl", plan, script, tools=[echo])


def long(folder: Path, turns: int) -> Path:
    """A run of many turns, each with a call, of which one fails."""

    def look(page: int) -> str:
        """Look at a page."""
        if page == turns - 7:
            raise ToolError("the page is torn", "TORN")
        return f"page {page}: " + " ".join(f"word{page * 31 % 97 + at}" for at in range(60))

    config = LoopConfig(max_turns=turns + 1)
    plan = Plan.of(model="m", messages="Read.", tools=PythonTools([look]).surface, config=config)
    script: list[Line] = [*(calling(("look", {"page": page})) for page in range(turns - 1)), saying("Read.")]
    return made(folder / "long.journal.jsonl", plan, script, tools=[look])

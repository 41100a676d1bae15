"""Long texts made of one piece again and again: reading them takes bounded time and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping
from time import process_time
from typing import Final

from tests.fuzz.draw import Draw
from toolreel_core._jsontext import canonical
from toolreel_core._replies import Stream, as_chat, normalize_reply, read_arguments
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, text_calls
from toolreel_core._tools import ToolDefinition, ToolSurface

Reader = Callable[[str], object]

_SIZE: Final = 32 * 1024
"""Bytes of a long text."""
_SECONDS: Final = 0.5
"""What reading it may take of the processor, in the best of some tries."""
_TRIES: Final = 3
_MEMORY: Final = 16 * 1024 * 1024
"""Bytes that reading it may take at once."""
_TOOLS: Final = ToolSurface((ToolDefinition.of("ping"), ToolDefinition.of("add")))
_CONFIG: Final = LoopConfig(text_dialects=DIALECTS, argument_repairs="lenient")


def _of_content(text: str) -> object:
    return _of_body(canonical({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))


def _of_body(text: str) -> object:
    return normalize_reply(text, tools=_TOOLS, config=_CONFIG)


def _of_arguments(text: str) -> object:
    return read_arguments(text, max_depth=64, repairs="lenient")


def _of_pieces(text: str) -> object:
    stream = Stream()
    for place in range(0, len(text), 64):
        stream, _ = stream.feed(text[place : place + 64])
    return stream.whole()


def _of_text(finish: str) -> Reader:
    return lambda text: text_calls(text, tools=["ping", "add"], dialects=DIALECTS, finish=finish)


READERS: Final[Mapping[str, Reader]] = {
    "text": _of_text("stop"),
    "cut text": _of_text("length"),
    "content": _of_content,
    "body": _of_body,
    "stream": as_chat,
    "pieces": _of_pieces,
    "arguments": _of_arguments,
}
"""All that reads what a model or a server wrote."""


def check(data: bytes, *, size: int = _SIZE, seconds: float = _SECONDS) -> None:
    """What holds for a long text, with something else before and behind."""
    draw = Draw(data)
    name = draw.one_of(tuple(READERS))
    before, behind = draw.text(60), draw.text(60)
    piece = draw.rest()[:400] or "{"
    text = before + piece * (size // len(piece.encode("utf-8", "surrogatepass"))) + behind
    read = READERS[name]
    taken = min(_seconds(read, text, seconds))
    assert taken < seconds, f"{name}: {taken:.1f} s for {piece!r} again and again"
    needed = _memory(read, text)
    assert needed < _MEMORY, f"{name}: {needed >> 20} MB for {piece!r} again and again"


def _seconds(read: Reader, text: str, enough: float) -> list[float]:
    """What each try took, until one is quick enough."""
    taken: list[float] = []
    while not taken or (taken[-1] >= enough and len(taken) < _TRIES):
        begun = process_time()
        read(text)
        taken.append(process_time() - begun)
    return taken


def _memory(read: Reader, text: str) -> int:
    tracemalloc.start()
    try:
        read(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

"""Whole replies: any body is read, and a call that could run is whole and has a name of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

from tests.fuzz.claims import claim_arguments, claim_text, claim_warnings, twice
from tests.fuzz.draw import Draw
from tests.fuzz.trees import body
from toolreel_core._jsontext import ArgumentRepairs, canonical, read_json
from toolreel_core._replies import PROBLEM_WORDS, FinishReason, Reply, as_chat, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, MARKED
from toolreel_core._tools import ToolDefinition, ToolSurface

_TOOLS = ToolSurface((ToolDefinition.of("ping"), ToolDefinition.of("add")))
_REPAIRS: tuple[ArgumentRepairs, ...] = ("safe", "strict", "lenient")
_CONFIGS = tuple(
    LoopConfig(argument_repairs=repairs, text_dialects=dialects, dialects_in_reasoning=bool(dialects))
    for repairs in _REPAIRS
    for dialects in ((), MARKED, DIALECTS)
)


_Read = Callable[[Any], Reply]


def check(data: bytes) -> None:
    """What holds for any text, for any tree, and for a body that was cut."""
    draw = Draw(data)
    config = draw.one_of(_CONFIGS)

    draw.one_of((_check_text, _check_text, _check_tree, _check_cut))(
        draw, partial(normalize_reply, tools=_TOOLS, config=config)
    )


def _check_text(draw: Draw, heard: _Read) -> None:
    text = draw.rest()
    raw = text.encode("utf-8", "surrogateescape")
    _claim(twice(lambda: heard(text)), text)
    _claim(twice(lambda: heard(raw)), raw)
    read = as_chat(text)
    claim_warnings(read.codes)
    _claim(heard(read.body), read.body)


def _check_tree(draw: Draw, heard: _Read) -> None:
    tree = body(draw)
    got = heard(tree)
    _claim(got, tree)
    if isinstance(tree, str):
        return
    text = canonical(tree)
    assert heard(text) == got, "a body means something else as text"
    if text.isascii():
        assert heard(text.encode()) == got, "a body means something else as bytes"


def _check_cut(draw: Draw, heard: _Read) -> None:
    place = draw.number(1 << 16)
    text = canonical({"choices": [], "body": body(draw)})
    got = heard(text[: place % len(text)])
    assert got.problem, "a body that was cut was read"
    assert (got.calls, got.problem.code) == ((), "INVALID_BODY"), "a part of a body was read"


def _claim(reply: Reply, given: object) -> None:
    """What holds for a reply, whatever it was read from."""
    where = f"in the reply to {given!r}"
    for call in reply.calls:
        assert call.name.strip(), f"a call without a name {where}"
        claim_arguments(call.arguments, depth=64)
        read_json(call.carry).unwrap()
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == len(ids), f"two calls with one id {where}"
    assert reply.finish in get_args(FinishReason)
    assert reply.problem is None or reply.problem.code in PROBLEM_WORDS
    assert reply.finish != "error" or reply.problem, f"an error without a problem {where}"
    assert reply.finish != "length" or reply.problem, f"a cut reply without a problem {where}"
    if not reply.calls and not reply.content:
        assert reply.problem, f"nothing at all, without a problem {where}"
    claim_warnings(reply.warnings)
    assert canonical(read_json(reply.carry).unwrap()) == reply.carry
    for text in (reply.content, reply.reasoning, *(call.original for call in reply.calls)):
        claim_text(text)

"""Normalise a chat-completions response: any body in, a :class:`Reply` out, never an exception.

This is the one place where the shape drift of providers is absorbed; the loop sees only
``Reply``. Every repair has a code in :mod:`toolreel_core._replies.warning_codes`. Sources of the
shapes: openai/codex#13114, vllm-project/vllm#32587, ollama/ollama#14656.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from returns.result import Result

from toolreel_core._jsontext import Json, damaged, either, read, read_tolerant
from toolreel_core._replies.calls.in_text import Said, WrittenCalls
from toolreel_core._replies.calls.tool_call import CallReader
from toolreel_core._replies.classification import Heard, finish_of, judged
from toolreel_core._replies.content import content_of, visible
from toolreel_core._replies.message_location import FoundMessage, as_documented, find_message
from toolreel_core._replies.provider_errors import Problem, html_page
from toolreel_core._replies.provider_fields import of_message, reasoning_in
from toolreel_core._replies.reply import Reply, served_in, usage_in
from toolreel_core._replies.streaming.sse import FIELDS
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import Made, has_think_tags, never_made, without_end_markers
from toolreel_core._tools import ToolSurface

_BLANK: Final = "\ufeff \t\r\n"
"""Ignored before a body: a byte-order mark, and white space that keeps a connection alive."""


_UNREAD: Final = frozenset(
    {
        "TEXT_CALL_SUSPECTED",
        "TEXT_CALL_MALFORMED",
        "TEXT_CALL_TRUNCATED",
        "TEXT_CALL_BUILTIN",
        "TEXT_CALL_QUOTED",
    }
)
"""Codes of a text that is or may be a call, and is left as it was written."""
_STREAM: Final = "a stream of server-sent events, which is to be put together first"


def normalize_reply(
    body: bytes | Json,
    *,
    tools: ToolSurface,
    config: LoopConfig,
    turn: int = 1,
    earlier: Sequence[str] = (),
    made: Made = never_made,
) -> Reply:
    """Read a response body of any shape into a :class:`Reply`.

    >>> reply = normalize_reply(b"<html>", tools=ToolSurface(), config=LoopConfig())
    >>> reply.problem.code
    'INVALID_BODY'

    :param body: the response body as bytes or text, or the value parsed from it
    :param tools: the tools that exist, used to match polluted names and to find calls in text
    :param turn: the turn of the run, part of the ids generated for calls without one
    :param earlier: tool results and user messages of the run; a call written as text that stands there
        word by word is a quotation
    :param made: the calls that have succeeded; a text that reports one in words is no call
    """
    text = _text(body)
    if isinstance(text, Problem):
        return Reply(finish="error", problem=text)
    reading = _Reading(tools, config, turn, earlier, made)
    return either(
        _parsed(text)
        .map(lambda tree: _of_tree(tree, reading))
        .alt(lambda problem: Reply(finish="error", problem=problem))
    )


def _of_tree(tree: _Tree, reading: _Reading) -> Reply:
    found = find_message(tree.value)
    found = as_documented(found) if reading.config.argument_repairs == "strict" else found
    if found.problem:
        return _failed(found, found.problem, tree.codes)
    return _read(found, tree.codes, reading)


class _Reading(NamedTuple):
    """The inputs of reading one reply."""

    tools: ToolSurface
    config: LoopConfig
    turn: int
    earlier: Sequence[str]
    made: Made


@dataclass(frozen=True, slots=True)
class _Tree:
    """A parsed body."""

    value: Json
    codes: tuple[WarningCode, ...] = ()


def _text(body: bytes | Json) -> str | Problem:
    """The text of a body; a parsed value is encoded first, so that the same rules apply to it.

    Encoding as ASCII joins a surrogate pair again whose halves came in two frames of a stream.
    """
    if isinstance(body, bytes):
        return body.decode("utf-8", "replace").lstrip(_BLANK)
    if isinstance(body, str):
        return body.lstrip(_BLANK)
    try:
        return json.dumps(body)
    except (ValueError, RecursionError) as error:
        return Problem("INVALID_BODY", str(error))


def _parsed(text: str) -> Result[_Tree, Problem]:
    codes: tuple[WarningCode, ...] = ("LONE_SURROGATE",) if damaged(text) else ()
    return (
        read(text)
        .map(lambda value: _Tree(value, codes))
        .lash(
            lambda why: (
                read_tolerant(text)
                .map(lambda value: _Tree(value, (*codes, "NON_FINITE_NUMBER")))
                .alt(lambda _: _STREAM if text.startswith(FIELDS) else why)
            )
        )
        # HTML from a proxy, or a connection that broke: transient, so the same request may work.
        .alt(lambda why: Problem("INVALID_BODY", _named(text) or why, passing=True))
    )


def _named(text: str) -> str:
    """What a body is instead of JSON, where that says more than the place of the first error."""
    if not text:
        return "the body is empty"
    page = html_page(text)
    return page and f"the body is {page}"


def _failed(found: FoundMessage, problem: Problem, codes: tuple[WarningCode, ...]) -> Reply:
    """A reply that the provider aborted, with the text until then; none of its calls may run."""
    return Reply(
        content=content_of(found.message.get("content")).text,
        reasoning=reasoning_in(found.message),
        finish="content_filter" if problem.code == "CONTENT_FILTER" else "error",
        problem=problem,
        warnings=(*codes, *found.codes),
        usage=usage_in(found.body),
        served=served_in(found.body),
    )


def _read(found: FoundMessage, codes: tuple[WarningCode, ...], reading: _Reading) -> Reply:
    message, choice = found.message, found.choice
    content = content_of(message.get("content"))
    outside = [place.get("tool_calls") for place in (choice, found.body) if place is not message]
    known, config, turn = reading.tools.known, reading.config, reading.turn
    reader = CallReader(known, turn, config.max_argument_depth, config.argument_repairs)
    structured = reader.read(message, outside=outside, parts=content.calls)
    reasoning = reasoning_in(message) or content.reasoning
    # Text is searched only if there are no structured calls: otherwise a call that the model talks about
    # would run as well.
    if structured.calls:
        said = Said(content.text, reasoning, structured.calls)
    else:
        written = WrittenCalls(
            known,
            config.dialects(offered=bool(known)),
            turn,
            reading.tools.schemas,
            reading.earlier,
            reading.made,
            config.dialects_in_reasoning,
        )
        said = written.among(content.text, reasoning, finish=finish_of(choice.get("finish_reason")))
        said = said if config.argument_repairs == "strict" else _without_end_markers(said)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) and refusal.strip() else content.refusal
    verdict = judged(Heard(said.calls, said.content, refusal, structured.oddities), choice)
    thinking: tuple[WarningCode, ...] = ("THINK_TAGS_IN_CONTENT",) if has_think_tags(said.content) else ()
    odd = (*codes, *found.codes, *content.warnings, *structured.warnings, *said.codes, *thinking)
    return Reply(
        verdict.calls,
        said.content,
        said.reasoning,
        verdict.finish,
        verdict.problem,
        tuple(dict.fromkeys((*odd, *verdict.codes))),
        usage_in(found.body),
        served_in(found.body),
        of_message(message, content.parts),
    )


def _without_end_markers(said: Said) -> Said:
    """A text without calls, minus what is left at its end of a template's markup or a call's."""
    if said.calls or not _UNREAD.isdisjoint(said.codes):
        return said
    content = without_end_markers(said.content)
    if content == said.content:
        return said
    return replace(said, content=visible(content), codes=(*said.codes, "END_MARKER_REMOVED"))

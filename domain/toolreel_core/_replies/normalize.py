"""Normalise a chat-completions response: any body in, a :class:`Reply` out, never an exception.

This is the one place where the shape drift of providers is absorbed; the loop sees only
``Reply``. Every repair has a code in :mod:`toolreel_core._replies.warning_codes`. Sources of the
shapes: openai/codex#13114, vllm-project/vllm#32587, ollama/ollama#14656.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from pyrsistent import pmap
from returns.result import Result

from toolreel_core._jsontext import Json, damaged, either, parse, read, read_tolerant
from toolreel_core._replies.arguments import ArgumentError
from toolreel_core._replies.classification import Finish, Heard, finish_of, judged
from toolreel_core._replies.content import content_of, visible
from toolreel_core._replies.message_location import FoundMessage, as_documented, find_message
from toolreel_core._replies.provider_errors import Problem
from toolreel_core._replies.provider_fields import of_message, reasoning_in
from toolreel_core._replies.reply import Reply, served_in, usage_in
from toolreel_core._replies.sse import FIELDS
from toolreel_core._replies.tool_calls import CallReader, ToolCall
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import (
    MARKED,
    Made,
    Unread,
    has_think_tags,
    is_plain,
    looks_like_a_call,
    never_made,
    without_end_markers,
)
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel_core._text_calls import Rejection, TextCall

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
        .alt(lambda why: Problem("INVALID_BODY", why, passing=True))
    )


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


_MARKED: Final = frozenset(MARKED)
_MOST_TOLD: Final = 8
"""How many calls that could not be read are told beside those that could."""
_NOT_RUN: Final = "it was written as text and could not be read, so it was not run"

_NO_SCHEMAS: Final[Mapping[str, Json]] = pmap()


@dataclass(frozen=True, slots=True)
class Said:
    """Content, reasoning and calls of a message after calls were separated from text."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    codes: tuple[WarningCode, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """Finds calls in text; its fields say which and how."""

    known: Collection[str]
    """The names of the tools that exist."""
    dialects: Sequence[str] = ()
    """The enabled dialects."""
    turn: int = 1
    schemas: Mapping[str, Json] = _NO_SCHEMAS
    """JSON Schema of each tool's arguments, which gives untyped text its types."""
    earlier: Sequence[str] = ()
    """Tool results and user messages: a call that they contain verbatim is a quotation, not a call."""
    made: Made = never_made
    """The calls that have succeeded: a text that reports them is no call."""
    in_reasoning: bool = False
    """Whether to search the reasoning too if the content is empty (opencode#6883)."""

    def among(self, content: str, reasoning: str, *, finish: Finish) -> Said:
        """Separate the calls from the text of a message without structured calls.

        >>> WrittenCalls({"ping"}).among("<function=ping>", "", finish="stop").codes
        ('TEXT_CALL_SUSPECTED',)
        """
        # Decoders take longer to import than most programs take to start, and few answers have any markup.
        unmarked = _MARKED.issuperset(self.dialects) and is_plain(content)
        if self.dialects and content and not unmarked:
            return self._read(content, reasoning, finish)
        if self.dialects and self.in_reasoning and reasoning and not content:
            thought = self._read(reasoning, "", finish)
            if thought.calls:
                return replace(thought, content="", reasoning=thought.content or thought.reasoning)
        return Said(content, reasoning, codes=tuple(self._suspicions(content, reasoning)))

    def _read(self, content: str, reasoning: str, finish: Finish) -> Said:
        from toolreel_core._text_calls import text_calls  # noqa: PLC0415 - only needed if a dialect is enabled

        found = text_calls(
            content,
            tools=self.known,
            dialects=self.dialects,
            finish=finish,
            schemas=self.schemas,
            earlier=self.earlier,
            made=self.made,
        )
        codes: list[WarningCode] = [_warning_of(why) for why in found.rejected]
        text, thought = visible(found.content), reasoning or found.reasoning
        unread = found.unread
        made = _among(found.calls, self.made)
        if found.calls and text and looks_like_a_call(text, self.known, self.schemas, made):
            codes.append("TEXT_CALL_SUSPECTED")
            unread = (*unread, Unread("malformed", text))
        if calls := self._numbered(found.calls, unread):
            return Said(text, thought, calls, (*codes, "TEXT_CALL_READ"))
        return Said(text, thought, codes=tuple(codes or self._suspicions(text, thought)))

    def _numbered(self, calls: Sequence[TextCall], unread: Sequence[Unread]) -> tuple[ToolCall, ...]:
        """The calls with the model's own ids, or with ids made of turn and position.

        Behind them those that could not be read: the model has to know which of its calls did not run.
        """
        if not calls:
            return ()
        read = tuple(
            ToolCall(
                call.id or f"call_{self.turn}_{place}",
                call.name,
                call.arguments,
                call.original,
                f"text:{call.dialect}",
            )
            for place, call in enumerate(calls)
        )
        told = enumerate(unread[:_MOST_TOLD], len(read))
        return (*read, *(self._unread(f"call_{self.turn}_{place}", call) for place, call in told))

    def _unread(self, identity: str, call: Unread) -> ToolCall:
        from toolreel_core._text_calls import name_in  # noqa: PLC0415 - as above

        error = ArgumentError("ARGUMENTS_INVALID_JSON", _NOT_RUN)
        return ToolCall(identity, name_in(call.text, self.known), error, call.text, "text:unread")

    def _suspicions(self, content: str, reasoning: str) -> Iterator[WarningCode]:
        if looks_like_a_call(content, self.known, self.schemas, self.made):
            yield "TEXT_CALL_SUSPECTED"
        if looks_like_a_call(reasoning, self.known, self.schemas):
            yield "TEXT_CALL_IN_REASONING"


def _among(found: Sequence[TextCall], made: Made) -> Made:
    """The calls that were made, and those of the same text."""
    calls = [(call.name, parse(call.arguments)) for call in found]
    return lambda name, given: (name, given) in calls or made(name, given)


def _warning_of(why: Rejection) -> WarningCode:
    match why:
        case "mentioned":
            return "TEXT_CALL_SUSPECTED"
        case "malformed":
            return "TEXT_CALL_MALFORMED"
        case "truncated":
            return "TEXT_CALL_TRUNCATED"
        case "too_large":
            return "TEXT_CALL_TOO_LARGE"
        case "quotation":
            return "TEXT_CALL_QUOTED"
        case "fabricated_result":
            return "TEXT_CALL_WITH_RESULT"
        case "builtin_recipient":
            return "TEXT_CALL_BUILTIN"
        case _:
            assert_never(why)

"""Normalise a chat-completions response: any body in, a :class:`Reply` out, never an exception.

This is the one place where the shape drift of providers is absorbed; the loop sees only
``Reply``. Every repair has a code in :mod:`toolreel_core._replies.reply`. Sources of the
shapes: openai/codex#13114, vllm-project/vllm#32587, ollama/ollama#14656.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from toolreel_core._jsontext import Json, damaged, either, parse, read, read_tolerant
from toolreel_core._replies.arguments import ArgumentError
from toolreel_core._replies.classification import Finish, Problem, classify, finish_of, html_page
from toolreel_core._replies.reply import (
    FoundMessage,
    Reply,
    content_of,
    empty_if_blank,
    find_message,
    served_in,
    usage_in,
    without_undocumented,
)
from toolreel_core._replies.tool_calls import ToolCall, calls_in, of_message, reasoning_in
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import MARKED, has_think_tags, is_plain
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel_core._text_calls import Made, Rejection, TextCall

BLANK: Final = "\ufeff \t\r\n"
"""Ignored before a body: a byte-order mark, and white space that keeps a connection alive."""

FIELDS: Final = ("data:", "event:", "id:", "retry:", ":")
"""Prefixes of a stream's first line; a body with any other prefix is not a stream."""

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


def is_stream(body: str) -> bool:
    """Whether a body is a stream of server-sent events."""
    return body.lstrip(BLANK).startswith(FIELDS)


def normalize_reply(
    body: bytes | Json,
    *,
    tools: ToolSurface,
    config: LoopConfig,
    turn: int = 1,
    earlier: Iterable[str] = (),
    made: Made | None = None,
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
    parsed = _parse_body(body)
    if isinstance(parsed, Problem):
        return Reply(finish="error", problem=parsed)
    tree, codes = parsed
    found = find_message(tree)
    if config.argument_repairs == "strict":
        found = without_undocumented(found)
    if found.problem is None:
        return _reply_of_message(found, codes, _Reading(tools, config, turn, earlier, made))
    # The provider aborted the reply: it has the text until then, and none of its calls may run.
    return Reply(
        content=content_of(found.message.get("content")).text,
        reasoning=reasoning_in(found.message),
        finish="content_filter" if found.problem.code == "CONTENT_FILTER" else "error",
        problem=found.problem,
        warnings=(*codes, *found.codes),
        usage=usage_in(found.body),
        served=served_in(found.body),
    )


class _Reading(NamedTuple):
    """The inputs of reading one reply."""

    tools: ToolSurface
    config: LoopConfig
    turn: int
    earlier: Iterable[str]
    made: Made | None


_Parsed: TypeAlias = "tuple[Json, tuple[WarningCode, ...]]"


def _parse_body(body: bytes | Json) -> _Parsed | Problem:
    """The value of a body; a parsed value is encoded first, so that the same rules apply to it.

    Encoding as ASCII joins a surrogate pair again whose halves came in two frames of a stream.
    """
    if isinstance(body, bytes | str):
        text = (body if isinstance(body, str) else body.decode("utf-8", "replace")).lstrip(BLANK)
    else:
        try:
            text = json.dumps(body)
        except (ValueError, RecursionError) as error:
            return Problem("INVALID_BODY", str(error))
    codes: tuple[WarningCode, ...] = ("LONE_SURROGATE",) if damaged(text) else ()
    strict = either(read(text).map(lambda tree: (tree, codes)))
    if not isinstance(strict, str):
        return strict
    odd: tuple[WarningCode, ...] = (*codes, "NON_FINITE_NUMBER")
    tolerant = either(read_tolerant(text).map(lambda tree: (tree, odd)))
    if not isinstance(tolerant, str):
        return tolerant
    # HTML from a proxy, or a connection that broke: transient, so the same request may work.
    why = _STREAM if text.startswith(FIELDS) else strict
    if page := html_page(text):
        why = f"the body is {page}"
    return Problem("INVALID_BODY", why if text else "the body is empty", passing=True)


def _reply_of_message(found: FoundMessage, codes: tuple[WarningCode, ...], reading: _Reading) -> Reply:
    message, choice = found.message, found.choice
    content = content_of(message.get("content"))
    structured = calls_in(
        message,
        outside=[place.get("tool_calls") for place in (choice, found.body) if place is not message],
        parts=content.calls,
        known=reading.tools.known,
        turn=reading.turn,
        max_depth=reading.config.max_argument_depth,
        repairs=reading.config.argument_repairs,
    )
    reasoning = reasoning_in(message) or content.reasoning
    # Text is searched only if there are no structured calls: otherwise a call that the model talks about
    # would run as well.
    if structured.calls:
        said = _Said(content.text, reasoning, structured.calls)
    else:
        said = _separate_calls(content.text, reasoning, finish_of(choice.get("finish_reason")), reading)
        said = said if reading.config.argument_repairs == "strict" else _without_end_markers(said)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) and refusal.strip() else content.refusal
    verdict = classify(
        choice, calls=said.calls, content=said.content, refusal=refusal, warnings=structured.warnings
    )
    odd = (*codes, *found.codes, *content.warnings, *structured.warnings, *said.codes)
    if said.content and has_think_tags(said.content):
        odd = (*odd, "THINK_TAGS_IN_CONTENT")
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


class _Said(NamedTuple):
    """Content, reasoning and calls of a message after calls were separated from text."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    codes: tuple[WarningCode, ...] = ()


def _without_end_markers(said: _Said) -> _Said:
    """A text without calls, minus what is left at its end of a template's markup or a call's."""
    ends_in_markup = said.content.rstrip().endswith((">", "]"))
    if said.calls or not ends_in_markup or not _UNREAD.isdisjoint(said.codes):
        return said
    # Decoders take longer to import than most programs take to start, and few answers have any markup.
    from toolreel_core._text_calls import without_end_markers  # noqa: PLC0415 - as below

    content = without_end_markers(said.content)
    if content == said.content:
        return said
    return said._replace(content=empty_if_blank(content), codes=(*said.codes, "END_MARKER_REMOVED"))


_MARKED: Final = frozenset(MARKED)
_MOST_TOLD: Final = 8
"""How many calls that could not be read are told beside those that could."""
_NOT_RUN: Final = "it was written as text and could not be read, so it was not run"

_CODES: Final[Mapping[Rejection, WarningCode]] = {
    "mentioned": "TEXT_CALL_SUSPECTED",
    "malformed": "TEXT_CALL_MALFORMED",
    "truncated": "TEXT_CALL_TRUNCATED",
    "too_large": "TEXT_CALL_TOO_LARGE",
    "quotation": "TEXT_CALL_QUOTED",
    "fabricated_result": "TEXT_CALL_WITH_RESULT",
    "builtin_recipient": "TEXT_CALL_BUILTIN",
}


def _separate_calls(content: str, reasoning: str, finish: Finish, reading: _Reading) -> _Said:
    """The text of a message without structured calls, separated from the calls written in it."""
    dialects = reading.config.dialects(offered=bool(reading.tools.known))
    if dialects and content and not (_MARKED.issuperset(dialects) and is_plain(content)):
        return _calls_in_text(content, reasoning, finish, dialects, reading)
    if dialects and reading.config.dialects_in_reasoning and reasoning and not content:
        # Some models write their calls at the end of their reasoning (opencode#6883).
        thought = _calls_in_text(reasoning, "", finish, dialects, reading)
        if thought.calls:
            return thought._replace(content="", reasoning=thought.content or thought.reasoning)
    return _Said(content, reasoning, codes=_suspected_calls(content, reasoning, reading))


def _calls_in_text(
    content: str, reasoning: str, finish: Finish, dialects: Sequence[str], reading: _Reading
) -> _Said:
    from toolreel_core._text_calls import text_calls  # noqa: PLC0415 - see above

    known, schemas, made = reading.tools.known, reading.tools.schemas, reading.made
    found = text_calls(
        content,
        tools=known,
        dialects=dialects,
        finish=finish,
        schemas=schemas,
        earlier=reading.earlier,
        made=made,
    )
    codes: list[WarningCode] = [_CODES[why] for why in found.rejected]
    text, thought, unread = empty_if_blank(found.content), reasoning or found.reasoning, found.unread
    if not found.calls:
        return _Said(text, thought, codes=tuple(codes) or _suspected_calls(text, thought, reading))
    calls = [(call.name, parse(call.arguments)) for call in found.calls]

    def reported(name: str, given: Mapping[str, Json]) -> bool:
        return (name, given) in calls or (made is not None and made(name, given))

    if text and _looks_like_a_call(text, reading, reported):
        codes.append("TEXT_CALL_SUSPECTED")
        unread = (*unread, text)
    return _Said(text, thought, _with_call_ids(found.calls, unread, reading), (*codes, "TEXT_CALL_READ"))


def _with_call_ids(
    calls: Sequence[TextCall], unread: Sequence[str], reading: _Reading
) -> tuple[ToolCall, ...]:
    """The calls with the model's own ids, or with ids made of turn and position.

    Behind them those that could not be read: the model has to know which of its calls did not run.
    """
    from toolreel_core._text_calls import name_in  # noqa: PLC0415 - as above

    error = ArgumentError("ARGUMENTS_INVALID_JSON", _NOT_RUN)
    numbered = [
        ToolCall(call.id, call.name, call.arguments, call.original, f"text:{call.dialect}") for call in calls
    ]
    numbered += [
        ToolCall("", name_in(text, reading.tools.known), error, text, "text:unread")
        for text in unread[:_MOST_TOLD]
    ]
    return tuple(
        call if call.id else replace(call, id=f"call_{reading.turn}_{place}")
        for place, call in enumerate(numbered)
    )


def _suspected_calls(content: str, reasoning: str, reading: _Reading) -> tuple[WarningCode, ...]:
    suspects: Mapping[WarningCode, tuple[str, Made | None]] = {
        "TEXT_CALL_SUSPECTED": (content, reading.made),
        "TEXT_CALL_IN_REASONING": (reasoning, None),
    }
    return tuple(
        code
        for code, (text, made) in suspects.items()
        if not is_plain(text) and _looks_like_a_call(text, reading, made)
    )


def _looks_like_a_call(text: str, reading: _Reading, made: Made | None) -> bool:
    from toolreel_core._text_calls import looks_like_a_call  # noqa: PLC0415 - as above

    return looks_like_a_call(text, reading.tools.known, reading.tools.schemas, made)

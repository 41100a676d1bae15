"""Normalise a chat-completions response: any body in, a :class:`Reply` out, never an exception.

This is the one place where the shape drift of providers is absorbed; the loop sees only
``Reply``. Every repair has a code in :mod:`toolreel_core._replies.warning_codes`. Sources of the
shapes: openai/codex#13114, vllm-project/vllm#32587, ollama/ollama#14656.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from returns.result import Success

from toolreel_core._jsontext import Json, has_lone_surrogate, parse, read_json, read_json_with_non_finite
from toolreel_core._replies.arguments import ArgumentError, is_truncated_json
from toolreel_core._replies.classification import (
    MALFORMED,
    OVERFLOW,
    REFUSED,
    FinishReason,
    Problem,
    ProblemCode,
    finish_reason_of_word,
    html_page_description,
    normalized_word,
)
from toolreel_core._replies.reply import (
    FoundMessage,
    Reply,
    content_of,
    empty_if_blank,
    find_message,
    read_reply_metadata,
    reject_undocumented_place,
    usage_in,
)
from toolreel_core._replies.tool_calls import (
    ToolCall,
    message_fields_to_send_back,
    reasoning_in,
    structured_calls_in_message,
)
from toolreel_core._replies.warning_codes import WarningCode, WarningCodes
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import MARKED, has_think_tags, is_free_of_markup
from toolreel_core._tools import ToolSurface

if TYPE_CHECKING:
    from toolreel_core._text_calls import Made, Rejection, TextCall

BODY_BLANKS = "\ufeff \t\r\n"
"""Ignored before a body: a byte-order mark, and white space that keeps a connection alive."""

FIELDS = ("data:", "event:", "id:", "retry:", ":")
"""Prefixes of a stream's first line; a body with any other prefix is not a stream."""

_UNREAD = frozenset(
    {
        "TEXT_CALL_SUSPECTED",
        "TEXT_CALL_MALFORMED",
        "TEXT_CALL_TRUNCATED",
        "TEXT_CALL_BUILTIN",
        "TEXT_CALL_QUOTED",
    }
)
"""Codes of a text that is or may be a call, and is left as it was written."""
_STREAM = "a stream of server-sent events, which is to be put together first"


def is_stream(body: str) -> bool:
    """Whether a body is a stream of server-sent events."""
    return body.lstrip(BODY_BLANKS).startswith(FIELDS)


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
    :param made: the calls that have succeeded; a text that reports one in words is not a call
    """
    parsed = _parse_body(body)
    if isinstance(parsed, Problem):
        return Reply(finish="error", problem=parsed)
    tree, codes = parsed
    found = find_message(tree)
    if config.argument_repairs == "strict":
        found = reject_undocumented_place(found)
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
        served=read_reply_metadata(found.body),
    )


class _Reading(NamedTuple):
    tools: ToolSurface
    config: LoopConfig
    turn: int
    earlier: Iterable[str]
    made: Made | None


_Parsed: TypeAlias = "tuple[Json, WarningCodes]"


def _parse_body(body: bytes | Json) -> _Parsed | Problem:
    """The value of a body; a value is encoded first, in ASCII, which joins surrogates of two frames again."""
    if isinstance(body, bytes | str):
        text = (body if isinstance(body, str) else body.decode("utf-8", "replace")).lstrip(BODY_BLANKS)
    else:
        try:
            text = json.dumps(body)
        except (ValueError, RecursionError) as error:
            return Problem("INVALID_BODY", str(error))
    codes: WarningCodes = ("LONE_SURROGATE",) if has_lone_surrogate(text) else ()
    strict = read_json(text)
    if isinstance(strict, Success):
        return strict.unwrap(), codes
    tolerant = read_json_with_non_finite(text)
    if isinstance(tolerant, Success):
        return tolerant.unwrap(), (*codes, "NON_FINITE_NUMBER")
    # HTML from a proxy, or a connection that broke: transient, so the same request may work.
    why = _STREAM if text.startswith(FIELDS) else strict.failure()
    if page := html_page_description(text):
        why = f"the body is {page}"
    return Problem("INVALID_BODY", why if text else "the body is empty", passing=True)


def _reply_of_message(found: FoundMessage, codes: WarningCodes, reading: _Reading) -> Reply:
    message, choice = found.message, found.choice
    content = content_of(message.get("content"))
    calls, noticed = structured_calls_in_message(
        message,
        # The body may be the message itself, whose calls are then in their documented place.
        outside=[place.get("tool_calls") for place in (choice, found.body) if place is not message],
        parts=content.calls,
        known=reading.tools.known,
        turn=reading.turn,
        config=reading.config,
    )
    reply = Reply(calls, content.text, reasoning_in(message) or content.reasoning)
    # Text is searched only if there are no structured calls: otherwise a call that the model talks about
    # would run as well.
    if not calls:
        reply = _separate_text_calls(reply, finish_reason_of_word(choice.get("finish_reason")), reading)
        reply = reply if reading.config.argument_repairs == "strict" else _without_end_markers(reply)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) and refusal.strip() else content.refusal
    odd = (*codes, *found.codes, *content.warnings, *noticed, *reply.warnings)
    if reply.content and has_think_tags(reply.content):
        odd = (*odd, "THINK_TAGS_IN_CONTENT")
    verdict = apply_finish_reason(choice, reply, refusal, noticed)
    return replace(
        verdict,
        warnings=tuple(dict.fromkeys((*odd, *verdict.warnings))),
        usage=usage_in(found.body),
        served=read_reply_metadata(found.body),
        carry=message_fields_to_send_back(message, content.parts),
    )


_BROKE_OFF = Problem("PROVIDER_ERROR", "the provider broke off")


def apply_finish_reason(
    choice: Mapping[str, Json], reply: Reply, refusal: str = "", noticed: Collection[WarningCode] = ()
) -> Reply:
    """What the model said, by the finish reason of its choice, with the calls that may still run."""

    def verdict(problem: Problem | None, calls: tuple[ToolCall, ...] = (), codes: WarningCodes = ()) -> Reply:
        return replace(reply, calls=calls, finish=finish, problem=problem, warnings=codes)

    # The order matters: an error or a filter wins over calls, because what came before it may be incomplete
    # (Gemini marks a call as malformed that is in the reply: NousResearch/hermes-agent#83886).
    calls, content = reply.calls, reply.content
    word, native = (normalized_word(choice.get(key)) for key in ("finish_reason", "native_finish_reason"))
    # OpenRouter maps the provider's finish reason to one of OpenAI's and keeps it as native_finish_reason.
    malformed, overflow = MALFORMED in word or MALFORMED in native, OVERFLOW in (word, native)
    if finish_reason_of_word(word) == "unknown" and finish_reason_of_word(native) != "unknown":
        word = native
    finish = finish_reason_of_word(word)
    if malformed:
        finish = "error"
        return verdict(Problem("MALFORMED_FUNCTION_CALL", content))
    if finish == "error":
        return verdict(_BROKE_OFF)
    if word == REFUSED:
        return verdict(Problem("REFUSAL", refusal or content))
    if finish == "content_filter":
        return verdict(Problem("CONTENT_FILTER", content))
    codes: WarningCodes = ("FINISH_UNKNOWN",) if finish == "unknown" else ()
    if refusal:
        return verdict(Problem("REFUSAL", refusal), codes=codes)
    if finish == "length":
        return verdict(Problem("CONTEXT_OVERFLOW" if overflow else "TRUNCATED"), _mark_cut_calls(calls))
    # In a complete reply the calls decide, not the finish reason: OpenAI itself documents calls that come
    # with ``stop``, and many servers send them so (opencode#20719, mlx-vlm#1014).
    if calls:
        # A server that saw only text is right to say stop: no warning for calls that we read from text.
        mismatch = finish != "tool_calls" and not calls[0].from_text
        finish = "tool_calls"
        return verdict(None, calls, (*codes, "FINISH_MISMATCH") if mismatch else codes)
    if finish == "tool_calls" or not content:
        unusable: Sequence[ProblemCode] = ("CALL_WITHOUT_NAME", "UNSUPPORTED_CALL_TYPE")
        for code in unusable:
            if code in noticed:
                return verdict(Problem(code), codes=codes)
    # "tool_calls" without a call is an empty turn (vllm#53255, mastra#14187): no results will come.
    if finish == "tool_calls":
        finish = "stop"
        codes = (*codes, "FINISH_MISMATCH")
    return verdict(None if content else Problem("EMPTY_RESPONSE"), codes=codes)


def _mark_cut_calls(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls of a truncated reply, whose error is truncation if their text stops in the middle."""
    # The model is told the cause, instead of searching for a syntax error that it did not make.
    marked = list(calls)
    for place, call in enumerate(calls):
        if isinstance(error := call.arguments, ArgumentError):
            text: Json = call.original
            if error.code == "ARGUMENTS_NOT_OBJECT":
                # A server may encode the truncated text as a JSON string, which is then complete in itself.
                text = read_json(call.original).value_or(None)
            if isinstance(text, str) and is_truncated_json(text):
                cut = ArgumentError("ARGUMENTS_TRUNCATED", error.detail)
                marked[place] = replace(call, arguments=cut)
    # The last may have been cut off before its arguments began.
    if marked and not marked[-1].original.strip():
        missing = ArgumentError("ARGUMENTS_TRUNCATED", "there are none yet")
        marked[-1] = replace(marked[-1], arguments=missing)
    return tuple(marked)


def _without_end_markers(said: Reply) -> Reply:
    """A text without calls, minus what is left at its end of a template's markup or a call's."""
    ends_in_markup = said.content.rstrip().endswith((">", "]"))
    if said.calls or not ends_in_markup or not _UNREAD.isdisjoint(said.warnings):
        return said
    # Decoders take longer to import than most programs take to start, and few answers have any markup.
    from toolreel_core._text_calls import without_end_markers  # noqa: PLC0415 - see above

    content = without_end_markers(said.content)
    if content == said.content:
        return said
    return replace(said, content=empty_if_blank(content), warnings=(*said.warnings, "END_MARKER_REMOVED"))


_MARKED = frozenset(MARKED)
_MOST_TOLD = 8
"""Maximum number of unreadable calls that get a failed result, next to the calls that could be read."""
_NOT_RUN = "it was written as text and could not be read, so it was not run"

_CODES: Mapping[Rejection, WarningCode] = {
    "mentioned": "TEXT_CALL_SUSPECTED",
    "malformed": "TEXT_CALL_MALFORMED",
    "truncated": "TEXT_CALL_TRUNCATED",
    "too_large": "TEXT_CALL_TOO_LARGE",
    "quotation": "TEXT_CALL_QUOTED",
    "fabricated_result": "TEXT_CALL_WITH_RESULT",
    "builtin_recipient": "TEXT_CALL_BUILTIN",
}


def _separate_text_calls(said: Reply, finish: FinishReason, reading: _Reading) -> Reply:
    """A message without structured calls, whose text is separated from the calls written in it."""
    content, reasoning = said.content, said.reasoning
    dialects = reading.config.dialects(offered=bool(reading.tools.known))
    if dialects and content and not (_MARKED.issuperset(dialects) and is_free_of_markup(content)):
        return _reply_with_text_calls(content, reasoning, finish, dialects, reading)
    if dialects and reading.config.dialects_in_reasoning and reasoning and not content:
        # Some models write their calls at the end of their reasoning (opencode#6883).
        thought = _reply_with_text_calls(reasoning, "", finish, dialects, reading)
        if thought.calls:
            return replace(thought, content="", reasoning=thought.content or thought.reasoning)
    return replace(said, warnings=_suspected_call_warnings(content, reasoning, reading))


def _reply_with_text_calls(
    content: str, reasoning: str, finish: FinishReason, dialects: Sequence[str], reading: _Reading
) -> Reply:
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
        warnings = tuple(codes) or _suspected_call_warnings(text, thought, reading)
        return Reply(content=text, reasoning=thought, warnings=warnings)
    calls = [(call.name, parse(call.arguments)) for call in found.calls]

    def reported(name: str, given: Mapping[str, Json]) -> bool:
        return (name, given) in calls or (made is not None and made(name, given))

    if text and _looks_like_a_call(text, reading, reported):
        codes.append("TEXT_CALL_SUSPECTED")
        unread = (*unread, text)
    called = _with_call_ids(found.calls, unread, reading)
    return Reply(called, text, thought, warnings=(*codes, "TEXT_CALL_READ"))


def _with_call_ids(
    calls: Sequence[TextCall], unread: Sequence[str], reading: _Reading
) -> tuple[ToolCall, ...]:
    """The calls with their ids or made ones, and those that could not be read: the model has to know."""
    from toolreel_core._text_calls import tool_name_in_text  # noqa: PLC0415 - as above

    error = ArgumentError("ARGUMENTS_INVALID_JSON", _NOT_RUN)
    numbered = [
        ToolCall(call.id, call.name, call.arguments, call.original, f"text:{call.dialect}") for call in calls
    ]
    numbered += [
        ToolCall("", tool_name_in_text(text, reading.tools.known), error, text, "text:unread")
        for text in unread[:_MOST_TOLD]
    ]
    return tuple(
        call if call.id else replace(call, id=f"call_{reading.turn}_{place}")
        for place, call in enumerate(numbered)
    )


def _suspected_call_warnings(content: str, reasoning: str, reading: _Reading) -> WarningCodes:
    suspects: Mapping[WarningCode, tuple[str, Made | None]] = {
        "TEXT_CALL_SUSPECTED": (content, reading.made),
        "TEXT_CALL_IN_REASONING": (reasoning, None),
    }
    return tuple(
        code
        for code, (text, made) in suspects.items()
        if not is_free_of_markup(text) and _looks_like_a_call(text, reading, made)
    )


def _looks_like_a_call(text: str, reading: _Reading, made: Made | None) -> bool:
    from toolreel_core._text_calls import looks_like_a_call  # noqa: PLC0415 - as above

    return looks_like_a_call(text, reading.tools.known, reading.tools.schemas, made)

"""Faults: what can be wrong with a tool call or its result, as errors for the model to read.

A fault is a value: it becomes a failed :class:`~toolreel_core._tools.result_envelope.Envelope`. Its text says
what to do next, since that is the one thing that decides whether the retry works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from toolreel_core._jsontext import JsonText, canonical
from toolreel_core._schema import Violation
from toolreel_core._tools.names import shown

FaultCode: TypeAlias = Literal[
    "TOOL_NOT_FOUND",
    "TOOL_NOT_ALLOWED",
    "TOOL_NOT_IMPLEMENTED",
    "ARGUMENTS_JSON_PARSE_ERROR",
    "ARGUMENTS_NOT_OBJECT",
    "ARGUMENTS_TRUNCATED",
    "ARGUMENTS_TOO_LARGE",
    "ARGUMENTS_TOO_DEEP",
    "ARGUMENTS_SCHEMA_ERROR",
    "TOOL_OUTPUT_TOO_LARGE",
    "TOOL_OUTPUT_NOT_JSON",
    "TOOL_DENIED",
    "TOOL_CANCELLED",
    "OUTPUT_TOO_EARLY",
]
"""Faults that the loop or the caller of a tool host finds. A tool adds its own
(``ARGUMENT_ERROR``, ``TOOL_TIMEOUT``, ``INTERNAL_ERROR``) in the envelope that it returns."""

_NOTHING = canonical({})


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call failed, for the model to read."""

    code: FaultCode
    message: str
    """One or two sentences; the last one says what to do next."""
    data: JsonText = _NOTHING
    """A JSON object with the figures, such as sizes and limits."""


def tool_not_found(name: str, known: Sequence[str]) -> Fault:
    """No tool has that name: the nearest one is named, never guessed and run."""
    name = shown(name)
    if not known:
        return Fault("TOOL_NOT_FOUND", f"There is no tool {name!r}: this run has no tools. Answer in text.")
    close = get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else "Call one of these."
    return Fault("TOOL_NOT_FOUND", f"There is no tool {name!r}. Available: {', '.join(known)}. {hint}")


def tool_not_allowed(name: str, allowed: Sequence[str]) -> Fault:
    """There is such a tool, but this run may not call it."""
    if not allowed:
        rest = "This run may call no tools. Answer in text."
    else:
        rest = f"You may call: {', '.join(allowed)}. Call one of these, or answer in text."
    return Fault("TOOL_NOT_ALLOWED", f"{shown(name)} was not run: it is not allowed here. {rest}")


def tool_changed(name: str) -> Fault:
    """The tool's definition at its source differs from the one that was accepted."""
    return Fault(
        "TOOL_NOT_ALLOWED",
        f"{name} was not run: its definition is no longer the one that was accepted. "
        "Do not call it again: use another tool, or answer in text.",
    )


def tool_not_allowed_as_text(name: str) -> Fault:
    """The call was read from text, and such calls may only run what changes nothing."""
    return Fault(
        "TOOL_NOT_ALLOWED",
        f"{name} was not run: the call was written as text, and a call in text may only use read-only tools. "
        "If you mean it, make a tool call of it; otherwise go on without it.",
    )


def tool_not_implemented(name: str) -> Fault:
    """The tool may be called, but no host implements it."""
    return Fault(
        "TOOL_NOT_IMPLEMENTED",
        f"{name} was not run: nothing here can run it. "
        "Do not call it again: use another tool, or answer in text.",
    )


def arguments_not_json(name: str, why: str) -> Fault:
    """The arguments cannot be parsed."""
    return Fault(
        "ARGUMENTS_JSON_PARSE_ERROR",
        f"The arguments of {name} are not valid JSON: {why}. Call {name} again with one JSON object.",
    )


def arguments_not_object(name: str, why: str) -> Fault:
    """The arguments are JSON, but a list or a scalar."""
    return Fault(
        "ARGUMENTS_NOT_OBJECT",
        f"The arguments of {name} must be a JSON object, got {why}. Call {name} again with an object.",
    )


def arguments_truncated(name: str, cap: int | None = None) -> Fault:
    """The reply was cut at the token limit, so nothing in it can be trusted to be whole."""
    limit = "the output token limit" if cap is None else f"the limit of {cap} output tokens"
    return Fault(
        "ARGUMENTS_TRUNCATED",
        f"Your reply was cut at {limit}, so {name} was not run. "
        f"Call {name} again with shorter arguments, or do the work in several smaller calls.",
    )


def arguments_too_large(name: str, size: int, limit: int) -> Fault:
    """The arguments are over the byte limit."""
    return Fault(
        "ARGUMENTS_TOO_LARGE",
        f"The arguments of {name} have {size} bytes; the limit is {limit}. "
        f"Call {name} again with at most {limit} bytes.",
        canonical({"bytes": size, "limit": limit}),
    )


def arguments_too_deep(name: str, limit: int) -> Fault:
    """The arguments nest too deeply."""
    return Fault(
        "ARGUMENTS_TOO_DEEP",
        f"The arguments of {name} nest deeper than {limit} levels. Call {name} again with flatter arguments.",
        canonical({"limit": limit}),
    )


def arguments_violate_schema(name: str, violations: Sequence[Violation]) -> Fault:
    """The arguments do not fit the tool's schema; the message names each expected and actual value."""
    return Fault(
        "ARGUMENTS_SCHEMA_ERROR",
        f"{'; '.join(str(violation) for violation in violations)}. "
        f"Call {name} again with the corrected arguments.",
    )


def arguments_in_envelope(name: str, found: str) -> Fault:
    """The arguments look like a whole call, and the schema allows both readings."""
    return Fault(
        "ARGUMENTS_SCHEMA_ERROR",
        f"The arguments of {name} are {found}. It is not certain what was meant, so {name} was not run. "
        f"Call {name} again with the parameters themselves, in nothing else.",
    )


def output_too_large(name: str, size: int, limit: int) -> Fault:
    """The tool returned more than the model may see."""
    return Fault(
        "TOOL_OUTPUT_TOO_LARGE",
        f"The output of {name} has {size} bytes; the limit is {limit}. Ask {name} for less.",
        canonical({"bytes": size, "limit": limit}),
    )


def parts_too_large(name: str, size: int, limit: int) -> Fault:
    """The tool returned more images, audio or files than the model may get."""
    return Fault(
        "TOOL_OUTPUT_TOO_LARGE",
        f"{name} ran, but the images, audio and files in its result have {size} bytes; the limit is {limit}. "
        f"Ask {name} for smaller ones or fewer.",
        canonical({"bytes": size, "limit": limit}),
    )


def output_not_json(name: str, why: str) -> Fault:
    """The tool's host returned something that is not JSON."""
    return Fault(
        "TOOL_OUTPUT_NOT_JSON",
        f"{name} ran, but its output cannot be shown: {why}. Go on without it.",
    )


def result_unknown(name: str) -> Fault:
    """The history has a call without a result."""
    return Fault("TOOL_CANCELLED", f"What came of this call of {name} is not known. It may have had effects.")


def call_denied(name: str, reason: str) -> Fault:
    """The call was denied approval."""
    why = f": {reason}" if reason else ""
    return Fault("TOOL_DENIED", f"{name} was not run, it was not approved{why}. Go on without it.")


def call_abandoned(name: str) -> Fault:
    """The run ended before the call's turn came."""
    return Fault("TOOL_CANCELLED", f"The run ended before {shown(name)} was started. Nothing was done.")


def call_cancelled(name: str) -> Fault:
    """The run was cancelled while the call was under way."""
    return Fault("TOOL_CANCELLED", f"The run was cancelled before {name} returned. It may have had effects.")


def output_not_alone(name: str) -> Fault:
    """The final answer came in one reply with calls of tools, so the model had not seen their results."""
    return Fault(
        "OUTPUT_TOO_EARLY",
        f"{name} was not taken: it came with calls of other tools, whose results you had not seen. "
        f"Call {name} alone once you have them.",
    )


def output_too_early(name: str, why: str) -> Fault:
    """The final answer came before a tool was called that the run requires."""
    return Fault("OUTPUT_TOO_EARLY", f"{why} Then call {name}.")

"""Tool calls written as text: read in the enabled dialects, otherwise only reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, assert_never

from pyrsistent import pmap

from toolreel_core._jsontext import Json, parse
from toolreel_core._replies.calls.arguments import ArgumentError
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.classification import Finish
from toolreel_core._replies.content import visible
from toolreel_core._replies.warning_codes import WarningCode
from toolreel_core._text_calls import MARKED, Made, Unread, is_plain, looks_like_a_call, never_made

if TYPE_CHECKING:
    from toolreel_core._text_calls import Rejection, TextCall

_MARKED: Final = frozenset(MARKED)
_MOST_TOLD: Final = 8
"""How many calls that could not be read are told beside those that could."""
_UNREAD: Final = "it was written as text and could not be read, so it was not run"

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

        error = ArgumentError("ARGUMENTS_INVALID_JSON", _UNREAD)
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

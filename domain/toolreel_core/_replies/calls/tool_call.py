"""Tool calls of a reply, normalised, and the reader of all calls of a message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import NOTHING, ArgumentRepairs, Json, JsonText
from toolreel_core._replies.calls.arguments import Arguments, read_arguments
from toolreel_core._replies.calls.bundles import unbundled
from toolreel_core._replies.calls.call_ids import identified
from toolreel_core._replies.calls.call_location import CallEntry, Oddity, entries_in
from toolreel_core._replies.calls.call_names import meant_name
from toolreel_core._replies.warning_codes import WarningCode


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call requested by the model."""

    id: str
    """The provider's id, or ``call_<turn>_<number>`` if it sent none; unique in its message."""
    name: str
    arguments: Arguments
    original: str
    """The arguments as the model wrote them."""
    provenance: str = "structured"
    """Where it was found: ``structured``, ``legacy`` or ``text:<dialect>``."""
    carry: JsonText = NOTHING
    """Opaque fields to send back unchanged: an object to merge deeply into the call's entry."""

    @property
    def from_text(self) -> bool:
        """Whether it was read from text, which anything that the model has read may have injected."""
        return self.provenance.startswith("text:")


@dataclass(frozen=True, slots=True)
class CallsRead:
    """The calls of one message, in order."""

    calls: tuple[ToolCall, ...] = ()
    warnings: tuple[WarningCode, ...] = ()
    """Codes of repairs and of skipped entries."""
    oddities: tuple[Oddity, ...] = ()
    """Why entries that were intended as calls are not calls."""


_NO_CALLS: Final = CallsRead()


@dataclass(frozen=True, slots=True)
class CallReader:
    """Reads the calls of a message."""

    known: Collection[str]
    """The names of the tools that exist."""
    turn: int
    """The turn of the run, part of the ids generated for calls without one."""
    max_depth: int
    repairs: ArgumentRepairs = "safe"
    """With ``strict``, only calls in the documented place and with exact names count."""

    def read(
        self, message: Mapping[str, Json], *, outside: Iterable[Json] = (), parts: Sequence[Json] = ()
    ) -> CallsRead:
        """The structured calls of an assistant message.

        >>> message = {"function_call": {"name": "ping", "arguments": ""}}
        >>> CallReader({"ping"}, turn=2, max_depth=64).read(message).calls[0].id
        'call_2_0'
        """
        found = entries_in(message, outside=outside, parts=parts)
        if not found.entries and not found.codes:
            return _NO_CALLS
        entries = [single for entry in found.entries for single in self._singles(entry)]
        ids = identified((entry.id for entry in entries), turn=self.turn)
        codes: list[WarningCode] = [*found.codes, *(code for entry in entries for code in entry.codes)]
        calls: list[ToolCall] = []
        for entry, (identity, id_codes) in zip(entries, ids, strict=True):
            call, call_codes = self._call(entry, identity)
            calls.append(call)
            codes += (*id_codes, *call_codes)
        return CallsRead(tuple(calls), tuple(dict.fromkeys(codes)), found.oddities)

    def _singles(self, entry: CallEntry) -> tuple[CallEntry, ...]:
        """The calls of an entry; with ``strict``, none if the entry is not as documented."""
        if self.repairs == "strict":
            return () if entry.codes else (entry,)
        return unbundled(entry, self.known, max_depth=self.max_depth, repairs=self.repairs)

    def _call(self, entry: CallEntry, identity: str) -> tuple[ToolCall, Iterable[WarningCode]]:
        name, codes = meant_name(entry.name, self.known, exact=self.repairs == "strict")
        read = read_arguments(entry.arguments, max_depth=self.max_depth, repairs=self.repairs)
        call = ToolCall(identity, name, read.value, read.original, entry.provenance, entry.carry)
        return call, (*codes, *read.warnings)

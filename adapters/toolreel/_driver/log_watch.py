"""Logs what a run decides: each note, by the logger of its concern.

What of a note may be shown anywhere are names, counts and codes, never what a user or a model said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, TypeAlias, get_args

from toolreel._driver.outcome_words import failure_in_words
from toolreel._driver.ports import server_address_of_performer
from toolreel._driver.watch import Begun, Watch
from toolreel._internal import Concern, LogLevel, is_log_enabled, log
from toolreel_core._protocol import (
    AskApproval,
    Cancelled,
    Completed,
    Effect,
    Note,
    RunTool,
    SendRequest,
    type_name,
)
from toolreel_core._protocol import notes as n

if TYPE_CHECKING:
    from toolreel._driver.ports import Wanted
    from toolreel_core._protocol import Event, State, Step

Field: TypeAlias = str | int | float | bool | tuple[str, ...]

CONTENT = frozenset({"sample", "samples", "message", "error", "labels", "text"})
"""Fields of notes that quote a message, an argument, an answer or an error."""


def note_name(note: Note) -> str:
    return type_name(type(note))


def note_fields_without_content(note: Note) -> dict[str, Field]:
    """The fields of a note without content; those that are ``None`` are left out."""
    shown = [each.name for each in fields(note) if each.name not in CONTENT]
    return {name: value for name in shown if (value := getattr(note, name)) is not None}


_LOGGED: Mapping[tuple[Concern, LogLevel], tuple[type[n.Note], ...]] = {
    ("loop", "debug"): (
        n.PresetsApplied,
        n.QuirkApplied,
        n.OutputCalled,
        n.UserMessageKept,
        n.UserMessagesAdded,
        n.ExchangeBegan,
    ),
    ("tools", "warning"): (
        n.SchemaReduced,
        n.CallAbandoned,
    ),
    ("http", "debug"): (
        n.SummaryRequested,
        n.UpstreamPinned,
        n.RequestSent,
        n.ReplyRead,
    ),
    ("loop", "warning"): (
        n.SummaryRejected,
        n.CallsIgnored,
    ),
    ("http", "warning"): (
        n.RequestAbandoned,
        n.ToolsDropped,
        n.EndpointChanged,
        n.EndpointPinned,
    ),
    ("http", "info"): (
        n.RequestLost,
        n.RetryPlanned,
    ),
    ("tools", "debug"): (
        n.CallStarted,
        n.CallEnded,
    ),
    ("tools", "info"): (n.PartsLeftOut,),
}
LEVELS: Mapping[type[n.Note], tuple[Concern, LogLevel]] = {
    **dict.fromkeys(get_args(Note), ("loop", "info")),
    **{kind: place for place, kinds in _LOGGED.items() for kind in kinds},
}


def logged_field_name(kind: type[n.Note], field: str) -> str:
    """A field's name in its log record, where ``names`` are of tools; those of presets are renamed."""
    return "presets" if kind is n.PresetsApplied and field == "names" else field


class LogWatch(Watch):
    def __init__(self, begun: Begun) -> None:
        self._run: dict[str, object] = {"run": begun.run, "replayed": begun.replays or None}
        self._performer, self._secrets = begun.performer, begun.secrets
        log("loop", "debug", "run_began", {**self._run, "model": begun.first.state.plan.model})
        self._log_notes(None, begun.first)

    def stepped(self, effect: Wanted | None, _event: Event, after: Step) -> None:
        self._log_notes(None if effect is None else effect.ref, after)

    def ended(self, state: State, error: BaseException | None) -> None:
        """Log an end without an outcome: a run that rests, was stopped or broke."""
        values = {**self._run, "turn": state.tally.turns}
        if isinstance(error, Exception):  # its caller gets the exception, and decides what it means
            log("loop", "info", "run_broke", {**values, "error": type(error).__qualname__})
        elif error is not None:
            log("loop", "info", "run_stopped", values)
        elif state.outcome is None:
            log("loop", "info", "run_rests", values)

    def _log_notes(self, answered: int | None, step: Step) -> None:
        for note in step.notes:
            kind = type(note)
            concern, level = LEVELS[kind]
            words = ""
            if isinstance(note, n.RunSettled) and (words := self._failure_in_words(step.state)):
                level = "warning"
            if is_log_enabled(concern, level):
                values = {
                    logged_field_name(kind, name): value
                    for name, value in note_fields_without_content(note).items()
                }
                ref = _ref_of_announced_effect(note, step.effects) or answered
                log(concern, level, note_name(note), {**self._run, "ref": ref, **values}, words)

    def _failure_in_words(self, state: State) -> str:
        outcome = state.outcome
        if outcome is None or isinstance(outcome, Completed | Cancelled):
            return ""
        server = server_address_of_performer(self._performer, state.endpoint_name)
        text = failure_in_words(outcome, server, quoting=False)
        for name, secret in self._secrets.items():  # an endpoint of the user's own may quote one
            text = text.replace(secret, f"[{name}]")
        return text


def _ref_of_announced_effect(note: n.Note, wanted: Iterable[Effect]) -> int | None:
    """The ref of the effect that a note announces; other notes are about the one that was answered."""
    for effect in wanted:
        match note, effect:
            case ((n.RequestSent() | n.SummaryRequested()), SendRequest()):
                return effect.ref
            case ((n.CallStarted() | n.ApprovalAsked()), (RunTool() | AskApproval())):
                if effect.call_id == note.call_id:
                    return effect.ref
            case _:
                continue
    return None

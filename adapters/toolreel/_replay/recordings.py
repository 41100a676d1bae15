"""Recordings on disk: their files, and the requests in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from toolreel._driver import Lap, Resting, Wanted
from toolreel._internal import AdapterError, CassetteError, JournalError
from toolreel._journal import FileJournal, Recorded, ReopenedJournal, companion, read_journal, recording_files
from toolreel._replay.journal_performer import came_whole, exchange_of
from toolreel._replay.trace import Trace, retrace
from toolreel_core._client_requests import ClientRequest, Refusal, client_request
from toolreel_core._conversation import message_in, part_in, shown_parts
from toolreel_core._errors import ConfigError, ReplayMismatch, ToolreelError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, items_of, read
from toolreel_core._loop import NO_REPLIES
from toolreel_core._plan import Plan, Preset
from toolreel_core._protocol import CancelRequested, Event, ReplyRead, SendRequest
from toolreel_core._settings import WireForm
from toolreel_core._tools import ToolDefinition

if TYPE_CHECKING:
    from toolreel.cassette import Mode, Session


# The files of a live run: a cassette and its journal.


Keeping: TypeAlias = Literal["new", "overwrite", "record", "extend"]
"""When a recording is saved. ``new`` and ``overwrite`` save every run; ``new`` fails if there are files of a
run that got a reply.
``record`` and ``extend`` save a run that completes or waits, and otherwise leave the files unchanged;
``extend`` replays the existing recording first."""


_Journal = TypeVar("_Journal", bound="FileJournal | ReopenedJournal")


class _Files(Generic[_Journal]):
    """A cassette and its journal."""

    keeps_times: Final = True

    def __init__(self, cassette: Path, secrets: Mapping[str, str], journal: _Journal) -> None:
        self._path = cassette
        self._secrets = secrets
        self.journal: _Journal = journal
        self.refused: AdapterError | None = None
        """Why the recording cannot be written."""
        self.left: Path | None = None
        """The ``.part`` that was left, if the recording could not be written."""

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        """Write an event with its times; returns it as it was written.

        :raises AdapterError: if it cannot be written; :attr:`refused` then has the error
        """
        try:
            return self.journal.record(effect, event, lap)
        except AdapterError as error:
            self.refused = error
            raise


class RecordedFiles(_Files[FileJournal]):
    """A cassette and its journal, of which both are written or neither.

    If an event cannot be written, the run ends there and existing files stay unchanged. Results of tools that
    were recorded are kept in the journal's ``.part``, from which the run can be resumed.

    :raises AdapterError: if the files exist already, or cannot be written
    """

    def __init__(
        self,
        path: Path,
        plan: Plan,
        secrets: Mapping[str, str],
        keeping: Keeping = "new",
        *,
        durable: bool = False,
    ) -> None:
        if keeping == "new":
            check_free(path)
        self.before = _without_cancellation(path) if keeping == "extend" else None
        """The recorded run that is extended."""
        self.tape = _open_session(path, "extend" if self.before else "record")
        replaces = keeping != "new" or companion(path).exists()
        journal = FileJournal(
            companion(path), plan, known_secrets=secrets, overwrite=replaces, durable=durable
        )
        super().__init__(path, secrets, journal)

    def close(self, *, keep: bool, ended: bool) -> tuple[Path, ...]:
        """Save both files and return their paths, or discard both.

        A run that was stopped before its first reply has a journal but no cassette.

        :param keep: whether to save them
        :param ended: whether the run has ended; if not, results of tools are not deleted
        """
        if keep and not self.refused:
            try:
                self.tape.save(self._secrets)
                self.journal.close()
            except AdapterError as error:
                self.refused = error
        if self.refused or not keep:
            if self.journal.holds_results and (self.refused or not ended):
                self.left = self.journal.leave()
            else:
                self.journal.discard()
            return ()
        if not self.tape.total:
            self._path.unlink(missing_ok=True)
            return (self.journal.path,)
        return (self._path, self.journal.path)


class ResumedFiles(_Files[ReopenedJournal]):
    """The files of a run that is resumed.

    The journal is continued, and so is the cassette of a run that waited, because it has all exchanges.
    A killed run never wrote its cassette, and missing exchanges cannot be reconstructed: its journal is then
    the only record. An existing cassette belongs to another run and is renamed to ``<name>.yaml.old``.

    :raises AdapterError: as :class:`~toolreel._journal.file.ReopenedJournal` does
    :raises toolreel.ReplayMismatch: if replaying the journal requests different effects
    """

    def __init__(self, cassette: Path, secrets: Mapping[str, str], *, durable: bool) -> None:
        journal = ReopenedJournal(companion(cassette), known_secrets=secrets, durable=durable)
        super().__init__(cassette, secrets, journal)
        try:
            self.trace = retrace(self.journal.recorded)
        except ReplayMismatch:
            self.journal.close()
            raise
        self.tape = _continue_session(cassette, self.trace)

    def close(self) -> tuple[Path, ...]:
        """Close the files, and return their paths; none if an event could not be written.

        :raises AdapterError: if the cassette cannot be written; the journal is complete nevertheless
        """
        if self.refused:
            self.left = self.journal.leave()
            return ()
        self.journal.close()
        if self.tape:
            self.tape.save(self._secrets)
            return (self._path, self.journal.path)
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.old"))
        return (self.journal.path,)


def check_free(cassette: Path) -> None:
    """Check that there is no recording yet, or one of a run that never got a reply.

    :raises CassetteError: if there is one
    """
    for existing in (cassette, companion(cassette)):
        if existing.exists() and not _never_answered(companion(cassette)):
            raise CassetteError(
                f"{existing} exists already: record under another name, or replace it with --overwrite "
                "(overwrite=True)"
            )


def _never_answered(journal: Path) -> bool:
    """Whether a run ended without any reply of a model: a wrong key, URL or model left it."""
    try:
        run = retrace(read_journal(journal)).run
    except ToolreelError:  # there is none, or none that can be read
        return False
    problems = [note.problem for note in run.notes if isinstance(note, ReplyRead)]
    return not isinstance(run.outcome, Resting) and all(problem in NO_REPLIES for problem in problems)


def _without_cancellation(path: Path) -> Recorded | None:
    """The recorded run without its cancellation; ``None`` if there is no recording.

    :raises AdapterError: if the cassette or the journal is missing, or cannot be read
    """
    if path.exists():
        recorded = read_journal(recording_files(path)[1])
        kept = takewhile(lambda record: not isinstance(record.event, CancelRequested), recorded.records)
        return replace(recorded, records=tuple(kept))
    if companion(path).exists():
        raise CassetteError(f"{path}: there is only a journal, which cannot be extended: use toolreel fork")
    return None


def _open_session(path: Path, mode: Mode) -> Session:
    # Imported late: a run without a recording needs none of it.
    from toolreel.cassette import Session

    return Session.of(path, mode)


def _continue_session(path: Path, trace: Trace) -> Session | None:
    """A session after the recorded exchanges, if the cassette holds exactly those of the journal."""
    if not path.exists():
        return None
    try:
        session = _open_session(path, "extend")
        for traced in trace.events:
            effect = traced.effect
            if isinstance(effect, SendRequest):
                exchange = exchange_of(effect)
                if came_whole(traced.record.event) or session.breaks(*exchange):
                    session.play(*exchange)
        session.finish()
    except (CassetteError, ReplayMismatch):
        return None
    return session


# Messages in requests of other clients: converted to messages of a plan, or to one plain form.
#
# Clients write the same conversation in many ways: different key orders, ``null`` or an empty text next to
# calls, texts as lists of parts, tool results with or without an envelope. The plain form is the same for all
# of them, so conversations are compared in it.


_MESSAGE: Final = ("role", "content", "tool_calls", "tool_call_id")
"""What is read of a message: clients send further keys, which have no meaning for a run."""


def plain_message(entry: Tree, place: str) -> Tree:
    """A message in plain form: role, text, and calls or the result of one, without ids.

    :raises ConfigError: if it cannot be read

    >>> plain_message({"role": "assistant", "content": None, "refusal": None}, "it")
    {'role': 'assistant', 'content': ''}
    """
    text = _text_of_entry(entry, place)
    match entry:
        case {"role": "tool" | "function"}:
            return {"role": "tool", "content": _parse_value(output_in(text))}
        case {"role": "developer"}:
            return {"role": "system", "content": text}
        case {"role": str() as role}:
            calls = [*_calls_of_entry(entry)]
            return {"role": role, "content": text, **({"calls": calls} if calls else {})}
        case _:
            raise ConfigError(f"{place}: a message without a role: {canonical(entry)[:100]}")


def output_in(content: str) -> str:
    """The output of a tool in the content of its message; our envelope is removed.

    >>> output_in('{"ok":true,"tool_name":"add","data":{"value":3},"warnings":[],"errors":[]}')
    '3'
    >>> output_in("It is sunny.")
    '"It is sunny."'
    """
    tree = _parse_value(content)
    match tree:
        case {"ok": True, "tool_name": _, "data": {"value": value, **further}, "errors": []} if not further:
            return canonical(value)
        case {"ok": True, "tool_name": _, "data": data, "errors": []}:
            return canonical(data)
        case {"ok": False, "tool_name": _, "data": data, "errors": errors}:
            return canonical({"ok": False, "data": data, "errors": errors})
        case _:
            return canonical(tree)


def _parse_value(text: str) -> Json:
    return read(text).value_or(text)


def _text_of_entry(entry: Tree, place: str) -> str:
    content = entry.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence):
        raise ConfigError(f"{place}: expected a text, found {canonical(content)[:100]}")
    texts = []
    for part in content:
        match part:
            case {"text": str() as text}:
                texts.append(text)
            case _:
                texts.append(shown_parts([part_in(part, place)]))
    return "".join(texts)


def _calls_of_entry(entry: Tree) -> Iterator[Json]:
    """The name and the arguments of each call."""
    for call in items_of(entry, "tool_calls"):
        match call:
            case {"function": {"name": str() as name, "arguments": str() as text}}:
                yield {"name": name, "arguments": _parse_value(text)}
            case _:
                continue


_OWNED: Final = ("model", "messages", "tools", "stream", "stream_options")
_NO_PRESET: Final = Preset()


def plan_in(
    body: bytes,
    place: str,
    *,
    form: WireForm = "chat_completions",
    preset: Preset = _NO_PRESET,
    settings: Mapping[str, Any],
) -> Plan:
    """The plan of a run that begins with this request: its model, messages, tools and options.

    :param form: in which the request is
    :param settings: loop and provider settings, which a request does not contain
    :raises JournalError: if no run can begin with it; names the place
    """
    tree = chat_tree(body, place, form)
    spoken = {} if form == "chat_completions" else {"wire_form": form}
    options = {key: value for key, value in tree.items() if key not in _OWNED}
    try:
        messages = [
            message_in(
                {key: each for key, each in as_tree(entry).items() if key in _MESSAGE}, f"messages[{n}]"
            )
            for n, entry in enumerate(items_of(tree, "messages"))
        ]
        return preset.plan(
            model=str(tree.get("model") or "unknown"),
            messages=messages,
            tools=tuple([_tool_definition(entry) for entry in items_of(tree, "tools")]),
            options=options,
            settings={**spoken, **settings},
        )
    except ToolreelError as error:
        raise JournalError(f"{place}: {error}") from error


def chat_tree(body: bytes, place: str, form: WireForm = "chat_completions") -> Tree:
    """The body of a request, as chat completions have it.

    :raises JournalError: if it is not one
    """
    found = read(body.decode(errors="replace")).value_or(None)
    tree = found if isinstance(found, Mapping) else {}
    if form != "chat_completions":
        asked = client_request(body, form)
        tree = {} if isinstance(asked, Refusal) else asked.tree
        if isinstance(asked, ClientRequest) and any(loss.code == "stored_response" for loss in asked.losses):
            raise JournalError(
                f"{place}: goes on with a response that the server has stored, so the tape lacks the "
                "conversation; record with the whole input instead of previous_response_id"
            )
    if items_of(tree, "messages"):
        return tree
    raise JournalError(f"{place}: not the body of a {form.replace('_', '-')} request")


def _tool_definition(entry: Json) -> ToolDefinition:
    match entry:
        case {"function": {"name": str() as name, **further}}:
            words, parameters = further.get("description"), further.get("parameters")
            about = words if isinstance(words, str) else ""
            return ToolDefinition.of(name, about, parameters if isinstance(parameters, Mapping) else None)
        case _:
            raise ConfigError(f"not a function that a model may call: {canonical(entry)[:100]}")

"""The journal: the complete, portable record of a run, as JSON lines.

The first line is a header with version, digest and plan; each other line is an event:
``{"n", "kind", "fp", "event"}``. ``kind`` and ``fp`` are the kind and the fingerprint of the effect that it
answers. ``took`` may follow: how long that took, which is not part of the run. Request bodies are
not stored: the reducer computes them again, and the fingerprint proves that they are the same. Images, audio
and files are in lines of their own, ``{"blob", "base64"}``, each once and before the first event that has
it (those of the plan follow the header); other lines have their digest. A journal that was closed ends with
a seal (:class:`Sealing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel._driver import Lap, Wanted
from toolreel._internal import CassetteError, JournalError, check_format_version
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import Json, as_tree, canonical, digest, read_json, value_or_failure
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ANSWERS,
    CODEC_VERSION,
    MENTION,
    Event,
    ToolReturned,
    blob_lines,
    check_blob,
    decode_event,
    decode_plan,
    event_line,
    header_line,
    restore_blobs,
    type_name,
)

Reason: TypeAlias = Literal["secret", "unwritten"]

WITHHELD_CODE = "RESULT_WITHHELD"
"""The code of the error, if the call failed; it begins the warning, if the call succeeded."""

_EXPLAINED: dict[Reason, str] = {
    "secret": "The tool ran, but its result holds a secret, so it is not shown. "
    "The result of the same call would be withheld again: go on without it.",
    "unwritten": "The tool ran, but its result could not be saved and is lost. "
    "Do not repeat the call unless running it twice does no harm.",
}


def withhold_result(event: ToolReturned, reason: Reason) -> ToolReturned:
    """The event without its result; it still says whether the call succeeded.

    The run goes on with what is recorded, so that a replay and a resumed run see what the model saw. The call
    is never made again only to get its result.

    >>> print(withhold_result(ToolReturned(2, '{"key":"sk-…"}'), "secret").output[:61])
    {"ok":true,"data":{"withheld":"secret"},"warnings":["RESULT_W
    """
    data: Json = {"withheld": reason}
    text = _EXPLAINED[reason]
    match read_json(event.output).value_or(None):
        case {"ok": False}:
            tree: Json = {"ok": False, "data": data, "errors": [{"code": WITHHELD_CODE, "message": text}]}
        case _:
            tree = {"ok": True, "data": data, "warnings": [f"{WITHHELD_CODE}: {text}"]}
    return replace(event, output=canonical(tree), parts=())


def is_withheld_result(event: Event) -> bool:
    return isinstance(event, ToolReturned) and any(
        withhold_result(event, reason) == event for reason in _EXPLAINED
    )


_BLOB = b'{"blob":'
"""What a line with a blob begins with."""


class Sealing:
    """The seal of a journal that is being written: its last line, ``{"digest", "end"}``.

    It has the SHA-256 of all bytes before it and the number of events, so a file that was changed afterwards
    is not read as another run. The journal of a killed run has none.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._lines = 0

    def add_lines(self, lines: bytes) -> None:
        self._digest.update(lines)
        blobs = lines.count(b"\n" + _BLOB) + lines.startswith(_BLOB)
        self._lines += lines.count(b"\n") - blobs

    @property
    def final_seal_line(self) -> bytes:
        return (canonical({"digest": self._digest.hexdigest(), "end": self._lines - 1}) + "\n").encode()


def seal_text(text: str) -> bytes:
    """The content of a file for the text of a whole journal.

    >>> seal_text("{}" + chr(10)).splitlines()[-1]
    b'{"digest":"ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356","end":0}'
    """
    content, seal = text.encode(), Sealing()
    seal.add_lines(content)
    return content + seal.final_seal_line


def remove_seal(text: str, source: str) -> str:
    before, end, last = text.removesuffix("\n").rpartition("\n")
    tree = read_json(last).value_or(None)
    if not text.endswith("\n") or not isinstance(tree, Mapping) or set(tree) != {"digest", "end"}:
        return text
    before += end
    if seal_text(before) != text.encode():
        raise JournalError(
            f"{source}, line {before.count(chr(10)) + 1}: the lines before this seal are not those that were "
            "recorded; restore the file or record it again (if the change is meant, delete this line)"
        )
    return before


_TOOK = "took"


@dataclass(frozen=True, slots=True)
class JournalRecord:
    n: int
    """Counted from 1."""
    kind: str
    """Kind of the effect that it answers, or of the event if it answers none."""
    fp: str | None
    event: Event
    line: int = field(default=0, compare=False, repr=False)
    lap: Lap | None = field(default=None, compare=False)
    """How long that took, if the line says so."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A journal that was read from a file or a text."""

    plan: Plan
    records: tuple[JournalRecord, ...]
    text: str = field(repr=False)
    """The content of the file without its seal and its times: two records of the same run have the same."""
    source: str
    """Where it was read from, for messages."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, for :func:`toolreel.fold`."""
        return tuple(record.event for record in self.records)

    @property
    def digest(self) -> str:
        """SHA-256 of the journal's text: two runs with the same digest are the same run."""
        return digest(self.text)


RunSource: TypeAlias = Recorded | Path | str
"""A recorded run: a journal that was read, or the path of a journal or a cassette."""


class MemoryJournal:
    """A journal in memory; ``text`` is what a file would contain before its seal, without times."""

    def __init__(self, plan: Plan) -> None:
        self._blobs = blob_lines(plan)
        self.events = 0
        self.lines = [header_line(plan), *self._blobs.values()]

    def record(self, effect: Wanted | None, event: Event, lap: Lap | None = None) -> Event:
        """Record an event and the effect that it answers."""
        blobs = blob_lines(event, self._blobs)
        self._blobs |= blobs
        self.events += 1
        self.lines += [*blobs.values(), timed_event_line(self.events, effect, event, lap)]
        return event

    @property
    def text(self) -> str:
        """The journal as the content of a file, without a seal and times."""
        return "".join(line + "\n" for line in self.lines)


def part_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def read_journal(path: Path | str) -> Recorded:
    """Read a journal from a file.

    :raises JournalError: if it is missing or invalid; names the line and says what to do
    """
    path = Path(path)
    try:
        return parse_journal(path.read_bytes().decode("utf-8"), str(path))
    except FileNotFoundError:
        remedy, part = "record one with `toolreel run --record`", part_path(path)
        if part.exists():
            remedy = f"but there is {part.name}, of a run that did not end: go on with `toolreel resume`"
        raise JournalError(f"{path}: there is no such journal; {remedy}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise JournalError(f"{path}: not a readable journal: {error}") from None


def cassette_path(name: Path | str) -> Path:
    """The cassette of a recording with this name; a ``ConfigError`` if it names no file."""
    path = Path(f"{name}".removesuffix(".yaml") + ".yaml")
    if not path.name.removesuffix(".yaml").strip("."):
        raise ConfigError(
            f"record: {str(name)!r} names no file; expected a path such as cassettes/notes/local--qwen"
        )
    return path


def journal_path(cassette: Path, number: int = 1) -> Path:
    """The journal of a recording's first run, of its second, and so on; names of recordings have no plus."""
    end = f"+{number}" if number > 1 else ""
    return cassette.with_name(f"{cassette.name.removesuffix('.yaml')}{end}.journal.jsonl")


def journal_paths_of_cassette(cassette: Path) -> list[Path]:
    """The journals that a recording has: of the runs of a test, or of a client that has begun again."""
    return [*takewhile(Path.exists, (journal_path(cassette, number) for number in count(1)))]


def recording_files(path: Path) -> tuple[Path | None, Path]:
    """The cassette (if there is one) and the journal for a path; an error says which of them is missing."""
    if path.name.endswith(".jsonl"):
        return None, path
    cassette = path if path.suffix == ".yaml" else path.parent / f"{path.name}.yaml"  # of "." as well
    journal = journal_path(cassette)
    if cassette.exists() and journal.exists():
        return cassette, journal
    if cassette.exists():
        raise JournalError(
            f"{cassette}: its journal {journal.name} is missing; `toolreel cassettes journal {cassette}` "
            "makes one"
        )
    # Or the part of a journal that a killed run leaves, which read_journal names.
    if journal.exists() or part_path(journal).exists():
        return None, journal
    raise CassetteError(
        f"{path}: there is no such recording, a cassette <name>.yaml or a journal <name>.journal.jsonl; make "
        "one with `toolreel run --record`"
    )


def load_recorded_run(source: RunSource) -> Recorded:
    return source if isinstance(source, Recorded) else read_journal(recording_files(Path(source))[1])


def parse_journal(text: str, source: str = "journal") -> Recorded:
    """Read a journal from its text.

    :raises JournalError: if it is missing or invalid; names the line and says what to do
    """
    if not text.strip():
        raise JournalError(f"{source}: the journal is empty; record it again")
    text = text.rstrip(" ")  # the room after the last line of a run that is in progress
    if not text.endswith("\n"):
        raise JournalError(
            f"{source}: the last line is cut; go on with the run (toolreel resume), or record it again"
        )
    text = remove_seal(text, source)
    lines = text.split("\n")[:-1]  # not splitlines, which also splits at U+2028 and others, unescaped in JSON
    place = f"{source}, line 1"
    header = _parse_line(lines[0], place)
    if "toolreel_journal" not in header:
        raise JournalError(f"{place}: not the header of a journal; record one with `toolreel run --record`")
    # Before the other lines, which another version may write in another form.
    check_format_version(
        header["toolreel_journal"], CODEC_VERSION, f"{place}: a journal", "record it again", JournalError
    )
    try:
        return _parse_journal_lines(header, lines, source)
    except CodecError as error:
        raise JournalError(str(error)) from None


def _parse_journal_lines(header: Mapping[str, Json], lines: Sequence[str], source: str) -> Recorded:
    trees: dict[int, Mapping[str, Json]] = {}
    blobs: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        place = f"{source}, line {number}"
        match tree := _parse_line(line, place):
            case {"blob": str() as digest, "base64": base64} if len(tree) == 2:
                blobs[digest] = check_blob(digest, base64, place)
            case _:
                trees[number] = tree
    whole, untimed = {1: header, **trees}, [*lines]
    if blobs or any(MENTION in line for line in lines):
        for number, tree in whole.items():
            whole[number] = as_tree(restore_blobs(tree, blobs, f"{source}, line {number}"))
    plan = _read_plan(whole.pop(1), f"{source}, line 1")
    records = [_read_record(tree, n, number, source) for n, (number, tree) in enumerate(whole.items(), 1)]
    for number, tree in trees.items():
        if _TOOK in tree:
            untimed[number - 1] = canonical({key: item for key, item in tree.items() if key != _TOOK})
    return Recorded(plan, tuple(records), "".join(f"{line}\n" for line in untimed), source)


def timed_event_line(n: int, effect: Wanted | None, event: Event, lap: Lap | None = None) -> str:
    line = event_line(n, effect, event)
    if lap is None or lap.ms is None:
        return line
    took = canonical({name: ms for name, ms in lap._asdict().items() if ms is not None})
    return f'{line[:-1]},"{_TOOK}":{took}}}'


def _parse_line(line: str, place: str) -> Mapping[str, Json]:
    tree = value_or_failure(read_json(line))
    if not isinstance(tree, Mapping):
        raise JournalError(
            f"{place}: not a line of a journal: {tree if isinstance(tree, str) else 'no object'}"
        )
    return tree


def _read_plan(header: Mapping[str, Json], place: str) -> Plan:
    try:
        plan = decode_plan(header.get("plan"))
    except CodecError as error:
        raise JournalError(f"{place}: {error}") from None
    if plan.digest != header.get("digest"):
        raise JournalError(f"{place}: the plan does not fit its digest; it was edited, record it again")
    return plan


def _read_effect_times(took: Json, place: str) -> Lap | None:
    match took:
        case None:
            return None
        case {"ms": int() as ms, "passed_ms": int() as passed_ms, **more}:
            first_ms = more.pop("first_ms", None)
            if not more and isinstance(first_ms, int | None):
                return Lap(ms, passed_ms, first_ms)
        case _:
            pass
    raise JournalError(f"{place}: took has to say ms and passed_ms, and may say first_ms")


def _read_record(tree: Mapping[str, Json], n: int, line: int, source: str) -> JournalRecord:
    place = f"{source}, line {line}"
    match tree:
        case {"n": int() as number, "kind": str() as kind, "fp": (str() | None) as fp, "event": event} if (
            len(tree) - (_TOOK in tree) == 4
        ):
            if number != n:
                raise JournalError(
                    f"{place}: record {number} stands where {n} is expected; a line is missing"
                )
        case _:
            raise JournalError(f"{place}: expected the keys n, kind, fp and event")
    try:
        record = JournalRecord(
            n, kind, fp, decode_event(event), line, _read_effect_times(tree.get(_TOOK), place)
        )
    except CodecError as error:
        raise JournalError(f"{place}: {error}") from None
    answers = next((each for effect, each in ANSWERS.items() if type_name(effect) == kind), ())
    # An answer that nobody had asked for has no fingerprint, and stands under its own kind.
    if not (isinstance(record.event, answers) if fp is not None else kind == type_name(type(record.event))):
        raise JournalError(
            f"{place}: a {type_name(type(record.event))} stands under the kind {kind!r}; record it again"
        )
    return record

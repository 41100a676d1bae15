"""Check recordings: whether they are safe, readable, used, recent, and consistent."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from toolreel._internal import CassetteError, VaryError
from toolreel._journal import Recorded, read_journal
from toolreel._replay import BEHIND_PROXY, Rehearsal, TapedEndpoint, check_recovered
from toolreel._secrets import leaks, leaks_at, line_texts
from toolreel.cassette import Exchange, Recording, StoredResponse, leaks_in_exchanges, read_cassette
from toolreel.cassette import _serializer as cassette_format
from toolreel.testing._reel_journal import ReelJournal
from toolreel_core._errors import ReplayMismatch, ToolreelError
from toolreel_core._protocol import VERSION

_JOURNAL: Final = ".journal.jsonl"
_HOMES: Final = frozenset({"cassettes", "reels"})
_SKIPPED: Final = re.compile(r"\..*|__pycache__|node_modules|site-packages|venv")
"""Folders in which no recordings are looked for."""
_REMAINS: Final = re.compile(r".*\.journal\.jsonl\.part|\..*\.yaml\.[0-9a-f]{12}\.tmp")
"""Files that a killed process leaves while it writes."""
_TRIAL: Final = b'{"record":'
"""How each line of an evaluation's journal begins; the first line of a run's journal is a header."""
_HEAD: Final = re.compile(rb"^\W?(?:toolreel|interactions|version):", re.MULTILINE)
"""The first keys of a cassette, ours or of vcrpy; a byte order mark may stand before them."""


@dataclass(frozen=True, slots=True)
class Group:
    """A cassette with the journals of its runs, or journals alone."""

    cassette: Path
    """The path of the cassette, which may not exist."""
    has_cassette: bool
    journals: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The existing files."""
        return (*([self.cassette] * self.has_cassette), *self.journals)


@dataclass(frozen=True, slots=True)
class Found:
    """The files below some paths."""

    groups: tuple[Group, ...]
    evaluations: tuple[Path, ...]
    """Journals of evaluations, which have a line a trial instead of a line an event."""
    remains: tuple[Path, ...]
    """Unfinished files of runs that were killed."""


def found_in(*paths: Path) -> Found:
    """The recordings in these folders and files.

    In a folder, a YAML file counts if it is under ``cassettes`` or ``reels``, begins like a cassette, or has
    a journal.

    :raises CassetteError: if there is no such path, or nothing in it
    """
    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise CassetteError(f"{path}: there is no such file or folder")
        if path.is_file():
            files[path] = None
        for here, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
            files |= dict.fromkeys(Path(here, name) for name in sorted(names))
    cassettes = {path for path in files if path.suffix == ".yaml" and (path in paths or _is_recording(path))}
    journals: dict[Path, list[Path]] = {}
    named = sorted(path for path in files if path.name.endswith(_JOURNAL))
    evaluations = tuple(path for path in named if _first_bytes(path).startswith(_TRIAL))
    for path in (path for path in named if path not in evaluations):
        journals.setdefault(_cassette_of(path), []).append(path)
    for path in cassettes:
        journals.setdefault(path, [])
    groups = (Group(path, path.exists(), tuple(found)) for path, found in sorted(journals.items()))
    remains = tuple(sorted(path for path in files if _REMAINS.fullmatch(path.name)))
    found = Found(tuple(groups), evaluations, remains)
    if found == Found((), (), ()):
        raise CassetteError(f"{', '.join(map(str, paths))}: no recordings there")
    return found


def _is_recording(path: Path) -> bool:
    if not _HOMES.isdisjoint(path.absolute().parent.parts):
        return True
    return len(_HEAD.findall(_first_bytes(path))) > 1 or path.with_name(path.stem + _JOURNAL).exists()


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _cassette_of(journal: Path) -> Path:
    """The cassette of a journal; the journals of further runs of a test end in ``+2``, ``+3``, …."""
    stem = re.sub(r"\+[0-9]+$", "", journal.name.removesuffix(_JOURNAL))
    return journal.with_name(f"{stem}.yaml")


def names_in(path: Path) -> frozenset[str]:
    """What the Python files below a path name, or one file does; files with syntax errors are skipped.

    Their strings, without the suffixes of recordings; what strings that are paths end in; and their tests, as
    ``MODULE/TEST``.
    """
    names: set[str] = set()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.removesuffix(_JOURNAL).removesuffix(".yaml")
                names |= {text, *("/".join(text.rsplit("/", 2)[-count:]) for count in (1, 2))}
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(f"{file.stem}/{node.name}")
    return frozenset(names)


def _is_named(cassette: Path, names: frozenset[str], *, alone: bool) -> bool:
    """Whether a test names a recording.

    It does with a string that is its path without the suffix or ends in it, its folder, or its own name if
    no other recording has it; or if the pytest plugin named the recording after it, in the folder of its
    module (``reels/test_agent/test_status.yaml``).
    """
    folder, stem = cassette.parent.name, cassette.stem
    *_, test = stem.partition("-")[0].split(".")
    known = {folder, f"{folder}/{stem}", f"{folder}/{test}"} | ({stem} if alone else set())
    return not known.isdisjoint(names)


Kind: TypeAlias = Literal[
    "leak", "unreadable", "version", "drift", "rule", "orphan", "old", "alone", "unplayed", "remains"
]

NOTES: Final[frozenset[Kind]] = frozenset({"alone", "unplayed", "remains"})
"""Findings that may be intended, such as the journal of a fork, which has no cassette."""

_CREATED: Final = re.compile(rb'"created(?:_at)?"\s*:\s*([1-9][0-9]{9})(?![0-9])')
"""The time of a reply, in seconds."""
_CASSETTE_VERSION: Final = re.compile(r"^toolreel: *([0-9]+) *$", re.MULTILINE)
"""The version of our format at the head of a cassette."""
_JOURNAL_VERSION: Final = re.compile(r'\{"toolreel_journal": ?([0-9]+)')
"""The version of our format at the head of a journal."""
_STOCK: Final = re.compile(r"^- request:|^interactions:", re.MULTILINE)
"""A line that only stock cassettes of vcrpy have."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding."""

    path: Path
    kind: Kind
    text: str
    """The finding and its place in the file; never a secret itself."""


@dataclass(frozen=True, slots=True)
class CheckedRecording:
    """A recording that was checked."""

    cassette: Path | None
    journals: tuple[Path, ...]
    interactions: int
    recorded: datetime | None
    """The time of its oldest reply, if a reply has one."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    recordings: tuple[CheckedRecording, ...]
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that cannot be intended."""
        return tuple(finding for finding in self.findings if finding.kind not in NOTES)


def check(
    *paths: Path,
    now: datetime,
    tests: Sequence[Path] = (),
    max_age: timedelta | None = None,
    known: Mapping[str, str] | None = None,
) -> Checked:
    """Check all recordings below some paths; a problem in one does not stop the check of the others.

    :param tests: folders with the tests that must name each recording; recordings under ``reels`` are
        always searched in the tests next to that folder
    :param max_age: maximum age of a recording; one without a time is never too old
    :param known: secret values by name
    :raises CassetteError: if there is nothing to check
    """
    found = found_in(*paths)
    checker = _Checker(known or {})
    checked = [checker.check(group) for group in found.groups]
    findings = [*checker.findings]
    for one, group in zip(checked, found.groups, strict=True):
        if max_age and one.recorded and now - one.recorded > max_age:
            days = (now - one.recorded).days
            text = f"recorded on {one.recorded:%Y-%m-%d}, {days} days ago: record it again"
            findings.append(Finding(group.files[0], "old", text))
    for path in found.evaluations:
        findings += [Finding(path, "leak", text) for text in checker.leaks_in(path)]
    for path in found.remains:
        findings += [Finding(path, "leak", text) for text in checker.leaks_in(path)]
        findings.append(Finding(path, "remains", "left by a run that was killed: remove it"))
    findings += _unused_recordings(found.groups, tests)
    return Checked(tuple(checked), tuple(sorted(findings, key=lambda finding: finding.path)))


@dataclass(slots=True)
class _Checker:
    """Checks one recording after the other, and collects the findings."""

    known: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def check(self, group: Group) -> CheckedRecording:
        """Check one recording."""
        exchanges = self._check_cassette(group.cassette) if group.has_cassette else []
        if exchanges:
            self._check_rules(group.cassette)
        journals = [read for path in group.journals if (read := self._check_journal(path))]
        readable = exchanges is not None and len(journals) == len(group.journals)
        if journals and readable:
            self._rehearse(group, journals)
        if group.has_cassette and not group.journals:
            self._add_finding(
                group.cassette, "alone", "has no journal: a session of another client, or half of one"
            )
        elif not group.has_cassette:
            self._add_finding(
                group.journals[0],
                "alone",
                "has no cassette: a run recorded without one, a fork, or half of a recording",
            )
        return CheckedRecording(
            group.cassette if group.has_cassette else None,
            group.journals,
            len(exchanges or ()),
            _oldest_reply(exchanges or ()),
        )

    def leaks_in(self, path: Path) -> Iterator[str]:
        """The leaks in a file, scanned as plain text."""
        for leak in leaks(_raw_text(path), self.known):
            yield f"line {leak.line}: {leak.kind}"

    def _add_finding(self, path: Path, kind: Kind, text: str) -> None:
        self.findings.append(Finding(path, kind, text))

    def _check_cassette(self, path: Path) -> list[Exchange] | None:
        """The exchanges of a cassette; ``None`` if it cannot be read."""
        text = _raw_text(path)
        exchanges = None
        try:
            _, exchanges = read_cassette(path)
        except ToolreelError as error:
            version = _CASSETTE_VERSION.search(text)
            kind: Kind = "unreadable"
            why = _without_file_name(path, str(error))
            if version and int(version[1]) != cassette_format.VERSION:
                kind = "version"
            elif not version and _STOCK.search(text):
                kind = "version"
                why = f"a cassette of stock vcrpy: toolreel cassettes import {path} NEW.yaml"
            self._add_finding(path, kind, why)
        leaking = leaks_in_exchanges(exchanges or (), self.known)
        found = [f"{exchange.name}: {place}: {leak.kind}" for exchange, place, leak in leaking]
        for leak in found or self.leaks_in(path):  # comments and unreadable files are scanned as text
            self._add_finding(path, "leak", leak)
        return exchanges

    def _check_rules(self, path: Path) -> None:
        """Look for rules in a cassette that fit none of its requests."""
        try:
            tape = Recording.load(path)
        except VaryError as error:
            self._add_finding(path, "rule", _without_file_name(path, str(error)))
            return
        for rule, count in tape.rules.fits_in(exchange.body for exchange in tape.exchanges).items():
            if not count:
                self._add_finding(path, "rule", f"{rule.text}: fits no request: correct or remove it")

    def _check_journal(self, path: Path) -> Recorded | None:
        text = _raw_text(path)
        for number, line in enumerate(text.split("\n"), 1):
            for place, leak in leaks_at(line_texts(line), self.known):
                self._add_finding(path, "leak", f"line {number}: {place}: {leak.kind}")
        try:
            return read_journal(path)
        except ToolreelError as error:
            version = _JOURNAL_VERSION.match(text)
            kind: Kind = "version" if version and int(version[1]) != VERSION else "unreadable"
            self._add_finding(path, kind, _without_file_name(path, str(error)))
        return None

    def _rehearse(self, group: Group, journals: Sequence[Recorded]) -> None:
        """Run each plan again, and compare its requests with the cassette and its events with the journal."""
        try:
            tape = Recording.load(group.cassette) if group.has_cassette else None
        except VaryError:
            return  # a finding already
        of_other_client = tape and any(BEHIND_PROXY in recorded.plan.presets for recorded in journals)
        if of_other_client:
            steps = [(group.cassette, partial(check_recovered, group.cassette))]
        else:
            pairs = zip(group.journals, journals, strict=True)
            steps = [(path, partial(_replay_run, path, recorded, tape)) for path, recorded in pairs]
        for path, replay in steps:
            try:
                replay()
            except ReplayMismatch as drift:
                self._add_finding(path, "drift", _without_file_name(path, str(drift)))
                return
            except ToolreelError as error:
                self._add_finding(path, "drift", f"cannot be replayed here: {error}")
                return
        if tape and tape.unplayed and not of_other_client:
            numbers = ", ".join(str(index + 1) for index in tape.unplayed)
            why = f"no journal asks for interaction {numbers}: another client's, or left over"
            self._add_finding(group.cassette, "unplayed", why)


def _replay_run(path: Path, recorded: Recorded, tape: Recording | None) -> None:
    journal = ReelJournal(recorded.plan, path, recorded)
    rehearsal = Rehearsal(recorded, endpoint=TapedEndpoint(tape) if tape else None, tape=tape)
    rehearsal.play(recorded.plan, journal=journal)
    rehearsal.finish()
    journal.check()


def _without_file_name(path: Path, message: str) -> str:
    """A message without the name of the file, which has its own column."""
    return message.removeprefix(str(path)).lstrip(":, ")


def _raw_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _oldest_reply(exchanges: Iterable[Exchange]) -> datetime | None:
    """The time of the oldest reply, in UTC; a cassette has no other date."""
    bodies = (one.answer.body for one in exchanges if isinstance(one.answer, StoredResponse))
    times = [int(found[1]) for body in bodies if (found := _CREATED.search(body))]
    return datetime.fromtimestamp(min(times), UTC) if times else None


def _unused_recordings(groups: Sequence[Group], tests: Sequence[Path]) -> Iterator[Finding]:
    """The recordings that no test names, in the given folders or next to the recording."""
    by_places: dict[tuple[Path, ...], list[Group]] = {}
    for group in groups:
        # The tests of a pytest recording are in the folder that contains "reels".
        beside = [folder.parent for folder in group.cassette.parents if folder.name == "reels"][:1]
        if places := tuple(dict.fromkeys((*tests, *beside))):
            by_places.setdefault(places, []).append(group)
    for places, those in by_places.items():
        names = frozenset[str]().union(*map(names_in, places))
        shared = Counter(group.cassette.stem for group in those)
        for group in those:
            if not _is_named(group.cassette, names, alone=shared[group.cassette.stem] == 1):
                where = " or ".join(map(str, places))
                yield Finding(group.files[0], "orphan", f"no test in {where} names it: remove it")

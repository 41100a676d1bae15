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
from toolreel.cassette import Exchange, Recording, leaks_in_exchanges
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


def _files_below(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise CassetteError(f"{path}: there is no such file or folder")
        if path.is_file():
            yield path
        for here, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
            yield from (Path(here, name) for name in sorted(names))


def _recordings_among(files: Sequence[Path], named: Sequence[Path]) -> dict[Path, list[Path]]:
    """The path of each cassette, which may not exist, with the journals of its runs.

    Not named itself, a YAML file counts if it is under ``cassettes`` or ``reels``, begins like a cassette, or
    has a journal.
    """
    found: dict[Path, list[Path]] = {}
    for path in files:
        if path.suffix == ".yaml" and (path in named or _is_recording(path)):
            found.setdefault(path, [])
        elif path.name.endswith(_JOURNAL) and not _is_evaluation(path):
            # The journals of further runs of a test end in ``+2``, ``+3``, ….
            stem = re.sub(r"\+[0-9]+$", "", path.name.removesuffix(_JOURNAL))
            found.setdefault(path.with_name(f"{stem}.yaml"), []).append(path)
    return dict(sorted(found.items()))


def _is_evaluation(path: Path) -> bool:
    return path.name.endswith(_JOURNAL) and _first_bytes(path).startswith(_TRIAL)


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


def _is_named(path: Path, names: frozenset[str], *, alone: bool) -> bool:
    """Whether a test names a recording.

    It does with a string that is its path without the suffix or ends in it, its folder, or its own name if
    no other recording has it; or if the pytest plugin named the recording after it, in the folder of its
    module (``reels/test_agent/test_status.yaml``).
    """
    folder, stem = path.parent.name, _stem(path)
    *_, test = stem.partition("-")[0].split(".")
    known = {folder, f"{folder}/{stem}", f"{folder}/{test}"} | ({stem} if alone else set())
    return not known.isdisjoint(names)


Kind: TypeAlias = Literal["leak", "unreadable", "version", "drift", "rule", "orphan", "old"]

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

    @property
    def files(self) -> tuple[Path, ...]:
        """Its files, the cassette first."""
        return (*([self.cassette] if self.cassette else []), *self.journals)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    recordings: tuple[CheckedRecording, ...]
    findings: tuple[Finding, ...]


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
    files = [*dict.fromkeys(_files_below(paths))]
    groups = _recordings_among(files, paths)
    evaluations = [*filter(_is_evaluation, files)]
    remains = [path for path in files if _REMAINS.fullmatch(path.name)]
    if not (groups or evaluations or remains):
        raise CassetteError(f"{', '.join(map(str, paths))}: no recordings there")
    checker = _Checker(known or {})
    checked = [checker.check(cassette, journals) for cassette, journals in groups.items()]
    for one in checked:
        if max_age and one.recorded and now - one.recorded > max_age:
            days = (now - one.recorded).days
            text = f"recorded on {one.recorded:%Y-%m-%d}, {days} days ago: record it again"
            checker.add(one.files[0], "old", text)
    for path in (*evaluations, *remains):
        checker.add_leaks(path)
    findings = [*checker.findings, *_unused_recordings(checked, tests)]
    return Checked(tuple(checked), tuple(sorted(findings, key=lambda finding: finding.path)))


@dataclass(slots=True)
class _Checker:
    """Checks one recording after the other, and collects the findings."""

    known: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def check(self, cassette: Path, journals: Sequence[Path]) -> CheckedRecording:
        """Check one recording, of which the cassette may be missing."""
        has_cassette = cassette.exists()
        tape = self._check_cassette(cassette) if has_cassette else None
        recorded = [(path, read) for path in journals if (read := self._check_journal(path))]
        if recorded and len(recorded) == len(journals) and (tape or not has_cassette):
            self._rehearse(recorded, tape)
        exchanges = tape.exchanges if tape else ()
        return CheckedRecording(
            cassette if has_cassette else None, tuple(journals), len(exchanges), _oldest_reply(exchanges)
        )

    def add(self, path: Path, kind: Kind, text: str) -> None:
        """Add a finding; its text does not begin with the name of the file, which has its own column."""
        self.findings.append(Finding(path, kind, text.removeprefix(str(path)).lstrip(":, ")))

    def add_leaks(self, path: Path) -> None:
        """Add the leaks in a file, scanned as plain text."""
        for leak in leaks(_raw_text(path), self.known):
            self.add(path, "leak", f"line {leak.line}: {leak.kind}")

    def _check_cassette(self, path: Path) -> Recording | None:
        """The recording in a cassette; ``None`` if it cannot be read."""
        try:
            tape = Recording.load(path)
        except ToolreelError as error:
            self.add_leaks(path)
            text = _raw_text(path)
            version = _CASSETTE_VERSION.search(text)
            if not version and _STOCK.search(text):
                why = f"a cassette of stock vcrpy: toolreel cassettes import {path} NEW.yaml"
                self.add(path, "version", why)
            elif version and int(version[1]) != cassette_format.VERSION:
                self.add(path, "version", str(error))
            else:
                self.add(path, "rule" if isinstance(error, VaryError) else "unreadable", str(error))
            return None
        found = [*leaks_in_exchanges(tape.exchanges, self.known)]
        for exchange, place, leak in found:
            self.add(path, "leak", f"{exchange.name}: {place}: {leak.kind}")
        if not found:  # comments are scanned as text
            self.add_leaks(path)
        for rule, count in tape.rules.fits_in(one.body for one in tape.exchanges).items():
            if not count:
                self.add(path, "rule", f"{rule.text}: fits no request: correct or remove it")
        return tape

    def _check_journal(self, path: Path) -> Recorded | None:
        text = _raw_text(path)
        for number, line in enumerate(text.split("\n"), 1):
            for place, leak in leaks_at(line_texts(line), self.known):
                self.add(path, "leak", f"line {number}: {place}: {leak.kind}")
        try:
            return read_journal(path)
        except ToolreelError as error:
            version = _JOURNAL_VERSION.match(text)
            kind: Kind = "version" if version and int(version[1]) != VERSION else "unreadable"
            self.add(path, kind, str(error))
        return None

    def _rehearse(self, journals: Sequence[tuple[Path, Recorded]], tape: Recording | None) -> None:
        """Run each plan again, and compare its requests with the cassette and its events with the journal."""
        if tape and any(BEHIND_PROXY in recorded.plan.presets for _, recorded in journals):
            steps = [(tape.path, partial(check_recovered, tape.path))]
        else:
            steps = [(path, partial(_replay_run, path, recorded, tape)) for path, recorded in journals]
        for path, replay in steps:
            try:
                replay()
            except ReplayMismatch as drift:
                self.add(path, "drift", str(drift))
                return
            except ToolreelError as error:
                self.add(path, "drift", f"cannot be replayed here: {error}")
                return


def _replay_run(path: Path, recorded: Recorded, tape: Recording | None) -> None:
    journal = ReelJournal(recorded.plan, path, recorded)
    rehearsal = Rehearsal(recorded, endpoint=TapedEndpoint(tape) if tape else None, tape=tape)
    rehearsal.play(recorded.plan, journal=journal)
    rehearsal.finish()
    journal.check()


def _raw_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _oldest_reply(exchanges: Iterable[Exchange]) -> datetime | None:
    """The time of the oldest reply, in UTC; a cassette has no other date."""
    bodies = (one.answer.body for one in exchanges)
    times = [int(found[1]) for body in bodies if (found := _CREATED.search(body))]
    return datetime.fromtimestamp(min(times), UTC) if times else None


def _unused_recordings(recordings: Sequence[CheckedRecording], tests: Sequence[Path]) -> Iterator[Finding]:
    """The recordings that no test names, in the given folders or next to the recording."""
    by_places: dict[tuple[Path, ...], list[Path]] = {}
    for one in recordings:
        # The tests of a pytest recording are in the folder that contains "reels".
        beside = [folder.parent for folder in one.files[0].parents if folder.name == "reels"][:1]
        if places := tuple(dict.fromkeys((*tests, *beside))):
            by_places.setdefault(places, []).append(one.files[0])
    for places, those in by_places.items():
        names = frozenset[str]().union(*map(names_in, places))
        shared = Counter(map(_stem, those))
        for path in those:
            if not _is_named(path, names, alone=shared[_stem(path)] == 1):
                where = " or ".join(map(str, places))
                yield Finding(path, "orphan", f"no test in {where} names it: remove it")


def _stem(path: Path) -> str:
    return path.name.removesuffix(_JOURNAL).removesuffix(".yaml")

"""Check recordings: whether they are safe, readable, used, recent, and consistent."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from toolreel._internal import PYPROJECT, CassetteError, ProjectSettings, VaryError
from toolreel._journal import Recorded, read_journal
from toolreel._replay import BEHIND_PROXY, Rehearsal, TapedEndpoint, check_recovered_journals
from toolreel._secrets import leaks, leaks_with_places, texts_in_journal_line
from toolreel.cassette import Session, Vary, leaks_in_exchanges, request_counts_by_rule, vary_rule_of
from toolreel.testing._reel_files import ReelJournal
from toolreel_core._errors import ReplayMismatch, ToolreelError

_JOURNAL = ".journal.jsonl"
_HOMES = frozenset({"cassettes", "reels"})
_SKIPPED = re.compile(r"\..*|__pycache__|node_modules|site-packages|venv")
"""Folders in which no recordings are looked for."""
_TRIAL = '{"record":'
"""How each line of an evaluation's journal begins; the first line of a run's journal is a header."""
_HEAD = re.compile(r"^\W?(?:toolreel|interactions|version):", re.MULTILINE)
"""The first keys of a cassette, ours or of vcrpy; a byte order mark may stand before them."""
_CREATED = re.compile(rb'"created(?:_at)?"\s*:\s*([1-9][0-9]{9})(?![0-9])')
"""The time of a reply in seconds, which has ten digits since 2001; milliseconds have more."""
_OURS = re.compile(r"^toolreel:", re.MULTILINE)
"""A line that only our cassettes have."""
_STOCK = re.compile(r"^- request:|^interactions:", re.MULTILINE)
"""A line that only stock cassettes of vcrpy have."""
# Whatever stands between two quotes, which are not told apart as beginnings and ends.
_STRING = re.compile(r"""(?<=["'])[^"'\n]+(?=["'])""")
_FUNCTION = re.compile(r"def (\w+)\(")

FindingKind: TypeAlias = Literal["leak", "unreadable", "version", "drift", "rule", "orphan", "old"]


@dataclass(frozen=True, slots=True)
class RecordingFinding:
    path: Path
    kind: FindingKind
    text: str
    """The finding and its place in the file; never a secret itself."""


@dataclass(frozen=True, slots=True)
class CheckedRecording:
    cassette: Path | None
    journals: tuple[Path, ...]
    interactions: int
    recorded: datetime | None
    """The time of its oldest reply, if a reply has one."""


@dataclass(frozen=True, slots=True)
class Checked:
    recordings: tuple[CheckedRecording, ...]
    findings: tuple[RecordingFinding, ...]


def check(
    *paths: Path,
    now: datetime,
    tests: Sequence[Path] = (),
    max_age: timedelta | None = None,
    known: Mapping[str, str] | None = None,
    project: ProjectSettings | None = None,
) -> Checked:
    """Check all recordings below some paths; a problem in one does not stop the check of the others.

    :param tests: folders with the tests that must name each recording; recordings under ``reels`` are
        always searched in the tests next to that folder
    :param max_age: maximum age of a recording; one without a time is never too old
    :param known: secret values by name
    :param project: its rules about what may vary have to fit a request of a recording
    :raises CassetteError: if there is nothing to check
    """
    rules = project_vary_rules(project) if project else ()
    checker = _Checker(known or {}, rules, {*rules})
    groups: dict[Path, list[Path]] = {}
    evaluations = False
    for path in dict.fromkeys(_files_below(paths)):
        if path.suffix == ".yaml" and (path in paths or _is_recording(path)):
            groups.setdefault(path, [])
        elif path.name.endswith(_JOURNAL) and _raw_text(path, 4096).startswith(_TRIAL):
            evaluations = True
            checker.add_leaks(path)
        elif path.name.endswith(_JOURNAL):
            # The journals of further runs of a test end in ``+2``, ``+3``, ….
            stem = re.sub(r"\+[0-9]+$", "", _stem(path))
            groups.setdefault(path.with_name(f"{stem}.yaml"), []).append(path)
    if not (groups or evaluations):
        raise CassetteError(f"{', '.join(map(str, paths))}: no recordings there")
    checked = [checker.check(cassette, journals) for cassette, journals in sorted(groups.items())]
    files = {one.cassette or one.journals[0]: one for one in checked}
    for path, one in files.items():
        if max_age and one.recorded and now - one.recorded > max_age:
            days = (now - one.recorded).days
            checker.add(path, "old", f"recorded on {one.recorded:%Y-%m-%d}, {days} days ago: record it again")
    for rule in checker.unused:
        text = f"{rule.text}: fits no request of these recordings: correct or remove it"
        checker.add(Path(PYPROJECT), "rule", text)
    checker.find_orphans([*files], tests)
    return Checked(tuple(checked), tuple(sorted(checker.findings, key=lambda finding: finding.path)))


def project_vary_rules(project: ProjectSettings) -> tuple[Vary, ...]:
    entries = enumerate(project.values.get("vary", ()))
    return tuple(vary_rule_of(entry, f"{project.path}: tool.toolreel.vary[{n}]") for n, entry in entries)


def _files_below(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise CassetteError(f"{path}: there is no such file or folder")
        if path.is_file():
            yield path
            continue
        for here, folders, names in os.walk(path, onerror=_refuse_folder):
            folders[:] = sorted(name for name in folders if not _SKIPPED.fullmatch(name))
            yield from (Path(here, name) for name in sorted(names))


def _refuse_folder(error: OSError) -> None:
    raise CassetteError(f"{error.filename}: cannot be read: {error.strerror}")


def _is_recording(path: Path) -> bool:
    # One that may not be read is reported as unreadable.
    if not _HOMES.isdisjoint(path.absolute().parent.parts) or not os.access(path, os.R_OK):
        return True
    # A large file of another kind need not be read: these keys are at the beginning.
    return len(_HEAD.findall(_raw_text(path, 4096))) > 1 or path.with_name(path.stem + _JOURNAL).exists()


def _raw_text(path: Path, size: int = -1) -> str:
    try:
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


def _stem(path: Path) -> str:
    return path.name.removesuffix(_JOURNAL).removesuffix(".yaml")


@dataclass(slots=True)
class _Checker:
    known: Mapping[str, str]
    rules: Sequence[Vary]
    """Those of the project."""
    unused: set[Vary]
    """Those of them that have fitted no request yet."""
    findings: list[RecordingFinding] = field(default_factory=list)

    def check(self, cassette: Path, journals: Sequence[Path]) -> CheckedRecording:
        is_there = cassette.exists()
        tape = self._check_cassette(cassette) if is_there else None
        recorded = [(path, read) for path in journals if (read := self._check_journal(path))]
        if len(recorded) == len(journals) and (tape or not is_there):
            self._check_replay(recorded, tape)
        exchanges = tape.exchanges if tape else []
        times = [int(found[1]) for one in exchanges if (found := _CREATED.search(one.answer.body))]
        oldest = datetime.fromtimestamp(min(times), UTC) if times else None
        return CheckedRecording(cassette if is_there else None, tuple(journals), len(exchanges), oldest)

    def add(self, path: Path, kind: FindingKind, text: str) -> None:
        self.findings.append(RecordingFinding(path, kind, text.removeprefix(str(path)).lstrip(":, ")))

    def add_leaks(self, path: Path) -> None:
        for leak in leaks(_raw_text(path), self.known):
            self.add(path, "leak", f"line {leak.line}: {leak.kind}")

    def _add_unreadable(self, path: Path, error: ToolreelError) -> None:
        is_other = "this toolreel reads version" in str(error)  # as check_format_version says it
        self.add(path, "version" if is_other else "unreadable", str(error))

    def _check_cassette(self, path: Path) -> Session | None:
        try:
            tape = Session(path, shared=self.rules)
        except ToolreelError as error:
            self.add_leaks(path)
            text = _raw_text(path)
            if isinstance(error, VaryError):
                self.add(path, "rule", str(error))
            elif _STOCK.search(text) and not _OURS.search(text):
                why = f"a cassette of stock vcrpy: toolreel cassettes import {path} NEW.yaml"
                self.add(path, "version", why)
            else:
                self._add_unreadable(path, error)
            return None
        found = [*leaks_in_exchanges(tape.exchanges, self.known)]
        for exchange, place, leak in found:
            self.add(path, "leak", f"{exchange.name}: {place}: {leak.kind}")
        if not found:  # comments are scanned as text
            self.add_leaks(path)
        for rule, count in request_counts_by_rule(tape.rules, (one.body for one in tape.exchanges)).items():
            if count:
                self.unused.discard(rule)
            elif rule not in self.rules:
                self.add(path, "rule", f"{rule.text}: fits no request: correct or remove it")
        return tape

    def _check_journal(self, path: Path) -> Recorded | None:
        for number, line in enumerate(_raw_text(path).split("\n"), 1):
            for place, leak in leaks_with_places(texts_in_journal_line(line), self.known):
                self.add(path, "leak", f"line {number}: {place}: {leak.kind}")
        try:
            return read_journal(path)
        except ToolreelError as error:
            self._add_unreadable(path, error)
        return None

    def _check_replay(self, journals: Sequence[tuple[Path, Recorded]], tape: Session | None) -> None:
        """Run each plan again, and compare its requests with the cassette and its events with the journal."""
        path = tape.path if tape else Path()
        try:
            if tape and any(BEHIND_PROXY in recorded.plan.presets for _, recorded in journals):
                check_recovered_journals(path)  # they are made of it, all at once
                return
            for path, recorded in journals:
                journal = ReelJournal(recorded.plan, path, recorded)
                rehearsal = Rehearsal(recorded, endpoint=TapedEndpoint(tape) if tape else None, tape=tape)
                rehearsal.play(recorded.plan, journal=journal)
                journal.check()
        except ToolreelError as error:
            is_drift = isinstance(error, ReplayMismatch)
            self.add(path, "drift", str(error) if is_drift else f"cannot be replayed here: {error}")

    def find_orphans(self, recordings: Sequence[Path], tests: Sequence[Path]) -> None:
        """A test names a recording by a string that is its path without the suffix or ends in it.

        Or by its folder, by its own name if no other has it, or because the plugin named it after the test,
        in the folder of its module (``reels/test_agent/test_status.yaml``).
        """
        names = cache(_names_in_python_files)
        shared = Counter(map(_stem, recordings))
        for path in recordings:
            # The tests of a pytest recording are in the folder that contains "reels".
            beside = [folder.parent for folder in path.parents if folder.name == "reels"][:1]
            places = [*dict.fromkeys((*tests, *beside))]
            folder, stem = path.parent.name, _stem(path)
            test = stem.partition("-")[0].rpartition(".")[2]
            known = {folder, f"{folder}/{stem}", f"{folder}/{test}", *([stem] if shared[stem] == 1 else ())}
            if places and all(known.isdisjoint(names(place)) for place in places):
                where = " or ".join(map(str, places))
                self.add(path, "orphan", f"no test in {where} names it: remove it")


def _names_in_python_files(path: Path) -> set[str]:
    """What the Python files below a path name, or one file does.

    Their strings without the suffixes of recordings, with what paths end in, and tests as ``MODULE/TEST``.
    """
    names = set[str]()
    for file in path.rglob("*.py") if path.is_dir() else [path]:
        text = _raw_text(file)
        for string in _STRING.findall(text):
            name = string.removesuffix(_JOURNAL).removesuffix(".yaml")
            names |= {name, *("/".join(name.rsplit("/", 2)[-count:]) for count in (1, 2))}
        names |= {f"{file.stem}/{name}" for name in _FUNCTION.findall(text)}
    return names

"""What a pytest session says about rules: how often each was used, and which of them were not.

Each test that passes says in its report which rules it had, how many of its requests each fits, and which
recording it played; reports reach the main process from workers of xdist too. A rule that the test itself
gave was checked by then. One that tests share (from ``pyproject.toml``, or the marker of a class or module)
has to fit a request of one of them. If it fits none, that is an error, unless it fits a recording that was
not played: if you run one test, you hear nothing about the rules of others.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from toolreel._internal import (
    PYPROJECT,
    AdapterError,
    VaryError,
    counted,
    read_file,
    read_toml,
    settings_in,
)
from toolreel.cassette import Recording, Vary, put_through, rule_of, stored


def project_rules(root: Path) -> tuple[Vary, ...]:
    """The rules in the ``pyproject.toml`` of a folder; none without that file.

    ::

        [[tool.toolreel.vary]]
        pattern = "Now: [0-9-]{10} [0-9:]{5}"
        becomes = "Now: <time>"

    :raises VaryError: if a rule cannot be used; names the place
    """
    path = root / PYPROJECT
    return _read_rules(path, path.stat().st_mtime_ns) if path.is_file() else ()


@lru_cache(maxsize=8)
def _read_rules(path: Path, _changed: int) -> tuple[Vary, ...]:
    settings = read_toml(str(path), read_file(path, VaryError, "is gone"), settings_in, VaryError)
    entries = enumerate(settings.get("vary", ()))
    return tuple(rule_of(entry, f"{path}: tool.toolreel.vary[{n}]") for n, entry in entries)


RULES: Final = "reel_rules"
"""The user property of a test's report that has its rules."""

_FOLDER: Final = "reels"


class GivenRule(NamedTuple):
    """A rule, and who gave it."""

    source: str
    """``pyproject.toml``, the id of a class or module, the id of a test, or the path of a recording."""
    shared: bool
    """Whether it is for more tests than one."""
    rule: Vary

    @property
    def text(self) -> str:
        """The rule in a line of a report."""
        return f"{self.source}: {self.rule.text}"


def told(recording: Path, fits: Iterable[tuple[GivenRule, int]]) -> str:
    """The value of :data:`RULES` for a test that passed."""
    rules = [[given.source, given.shared, stored(given.rule), count] for given, count in fits]
    return json.dumps({"recording": os.fspath(recording), "rules": rules})


@dataclass(slots=True)
class RuleReport:
    """The rules of all tests of a session."""

    _requests: Counter[GivenRule] = field(default_factory=Counter[GivenRule])
    _tests: Counter[GivenRule] = field(default_factory=Counter[GivenRule])
    _played: set[Path] = field(default_factory=set[Path])

    def add(self, value: str) -> None:
        """Take in what a test told."""
        tree = json.loads(value)
        self._played.add(Path(tree["recording"]))
        for source, shared, rule, count in tree["rules"]:
            given = GivenRule(source, shared, rule_of(rule))
            self._requests[given] += count
            self._tests[given] += count > 0

    @property
    def used(self) -> Sequence[str]:
        """A line for each rule that was used."""
        return [
            f"{given.text}: {counted(count, 'request')} in {counted(self._tests[given], 'test')}"
            for given, count in sorted(self._requests.items(), key=lambda one: one[0].text)
            if count
        ]

    def unused(self, folders: Iterable[Path]) -> Sequence[str]:
        """A line for each shared rule that fits nothing.

        :param folders: where recordings are that may not have been played
        """
        left = [given for given, count in self._requests.items() if given.shared and not count]
        if not left:
            return []
        fitting = set[Vary]()
        for path in (path for folder in folders for path in folder.rglob("*.yaml")):
            try:
                exchanges = [] if path in self._played else Recording.load(path).exchanges
            except AdapterError:
                continue
            for given, exchange in product(left, exchanges):
                try:
                    fits = bool(put_through(exchange.body, [given.rule]).used)
                except AdapterError:  # it fits so much that it would leave nothing to compare
                    fits = True
                fitting |= {given.rule} if fits else set()
        return [
            f"{given.text}: fits no request of any recording: correct or remove it"
            for given in sorted(left, key=lambda one: one.text)
            if given.rule not in fitting
        ]


def reel_folders(root: Path, skipped: Sequence[str]) -> Iterator[Path]:
    """The folders of recordings next to tests.

    :param skipped: patterns of folders that pytest does not enter
    """
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if not any(fnmatchcase(name, one) for one in skipped)]
        if _FOLDER in names:
            names.remove(_FOLDER)
            yield Path(folder) / _FOLDER

"""What a pytest session says about rules: how often each was used, and which of them were not.

Each test that passes says in its report which rules it had and how many of its requests each fits; reports
reach the main process from workers of xdist too. A rule that the test itself gave was checked by then. One of
``pyproject.toml`` has to fit a request of one of the tests, or of a recording that they did not play: if you
run one test, you hear nothing about the rules of others.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from toolreel._internal import (
    PYPROJECT,
    AdapterError,
    counted,
)
from toolreel.cassette import Recording, Vary, put_through, rule_of, stored

RULES: Final = "reel_rules"
"""The user property of a test's report that has its rules."""

_FOLDER: Final = "reels"


class GivenRule(NamedTuple):
    """A rule, and who gave it."""

    source: str
    """``pyproject.toml``, the id of a test, or the path of a recording."""
    rule: Vary

    @property
    def text(self) -> str:
        """The rule in a line of a report."""
        return f"{self.source}: {self.rule.text}"


def rules_property(fits: Iterable[tuple[GivenRule, int]]) -> str:
    """The value of :data:`RULES` for a test that passed."""
    return json.dumps([[given.source, stored(given.rule), count] for given, count in fits])


@dataclass(slots=True)
class RuleReport:
    """The rules of all tests of a session."""

    _requests: Counter[GivenRule] = field(default_factory=Counter[GivenRule])
    _tests: Counter[GivenRule] = field(default_factory=Counter[GivenRule])

    def add(self, value: str) -> None:
        """Take in the rules of a test."""
        for source, rule, count in json.loads(value):
            given = GivenRule(source, rule_of(rule))
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
        """A line for each rule of the project that fits nothing.

        :param folders: where recordings are that may not have been played
        """
        left = {given for given, count in self._requests.items() if given.source == PYPROJECT and not count}
        for path in (path for folder in folders for path in folder.rglob("*.yaml") if left):
            with suppress(AdapterError):
                left -= {
                    given
                    for given, exchange in product(left, Recording.load(path).exchanges)
                    if put_through(exchange.body, [given.rule]).used
                }
        return sorted(
            f"{given.text}: fits no request of any recording: correct or remove it" for given in left
        )


def reel_folders(root: Path, skipped: Sequence[str]) -> Iterator[Path]:
    """The folders of recordings next to tests.

    :param skipped: patterns of folders that pytest does not enter
    """
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if not any(fnmatchcase(name, one) for one in skipped)]
        if _FOLDER in names:
            names.remove(_FOLDER)
            yield Path(folder) / _FOLDER

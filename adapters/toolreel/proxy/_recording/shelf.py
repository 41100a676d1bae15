"""Recorded exchanges of a folder of cassettes, found by what is asked.

Many sessions are replayed from one folder, in any order and as often as they are repeated: of equal requests,
the recorded answers are given in turn, and after the last the first again.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from toolreel.cassette import (
    RERECORD,
    Break,
    Exchange,
    Recording,
    StoredResponse,
    Vary,
    canonical_body,
    difference,
    drift,
    endpoint,
    put_through,
)
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import as_tree, read

Answer: TypeAlias = StoredResponse | Break

_COMPARED: Final = 2_000
"""Recorded requests among which the nearest is searched."""


class Shelf:
    """The recorded exchanges.

    :param folder: with cassettes, which are read at once
    :raises CassetteError: if one cannot be read
    """

    def __init__(self, folder: Path) -> None:
        self._folder: Final = folder
        self._answers: Final[dict[tuple[str, bytes], list[tuple[Path, Answer]]]] = {}
        self._turn: Final[dict[tuple[str, bytes], int]] = {}
        self._ruled: Final[dict[tuple[Vary, ...], dict[tuple[str, bytes], list[tuple[Path, Answer]]]]] = {}
        self._asked: Final[list[tuple[Path, Exchange]]] = []
        for path in sorted(folder.glob("*.yaml")):
            recording = Recording.load(path)
            for exchange in recording.exchanges:
                self.add(path, exchange, tuple(recording.rules.all))

    def __len__(self) -> int:
        return len(self._asked)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked."""
        bodies = (as_tree(read(each.body.decode("utf-8", "replace")).value_or("")) for _, each in self._asked)
        names = (body.get("model") for body in bodies)
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    def add(self, path: Path, exchange: Exchange, rules: tuple[Vary, ...] = ()) -> None:
        """Put an exchange on the shelf."""
        answers = self._ruled.setdefault(rules, {}) if rules else self._answers
        key = _key(exchange.url, exchange.body, rules)
        answers.setdefault(key, []).append((path, exchange.answer))
        self._asked.append((path, exchange))

    def find(self, url: str, body: bytes) -> tuple[Path, Answer] | None:
        """The next recorded answer to a request, and the cassette that it is from."""
        for rules, answers in (((), self._answers), *self._ruled.items()):
            key = _key(url, body, rules)
            if found := answers.get(key):
                turn = self._turn.get(key, 0)
                self._turn[key] = turn + 1
                return found[turn % len(found)]
        return None

    def mismatch(self, url: str, body: bytes) -> ReplayMismatch:
        """Why a request has no answer, with its difference from the nearest one."""
        asked, name = canonical_body(body), endpoint(url)
        text = f"POST {name} is in no recording of {self._folder}"
        near = min(
            [each for each in self._asked if endpoint(each[1].url) == name][:_COMPARED],
            key=lambda each: difference(canonical_body(each[1].body), asked),
            default=None,
        )
        if near is None:
            return ReplayMismatch(
                f"{text}, which has none of that kind. Record it with --record {self._folder}."
            )
        path, exchange = near
        lines = drift(canonical_body(exchange.body), asked)
        return ReplayMismatch(f"{text}; the nearest is {exchange.name} of {path}:\n{lines}\n{RERECORD}.")


def _key(url: str, body: bytes, rules: Sequence[Vary]) -> tuple[str, bytes]:
    compared = put_through(body, rules).body if rules else canonical_body(body)
    return endpoint(url), sha256(compared).digest()

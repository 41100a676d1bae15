"""Shards: the parts of an evaluation that several machines run without knowing of each other.

Each cell's trials are dealt out in turn, from a place that the names of the cell determine. So the parts of a
cell differ by one run at most, cells of one trial spread over all shards, and a run stays in its shard
whatever models, scenarios or trials are added to the plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext.digest import chain
from toolreel_core.evals._plan.cells import Cell

_FORM: Final = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
"""A shard, such as 1/3."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal parts of an evaluation.

    >>> Shard.of("2/3")
    Shard(number=2, of_all=3)
    """

    number: int
    """From 1 on."""
    of_all: int
    """How many shards there are."""

    @classmethod
    def of(cls, text: str) -> Shard:
        """A shard as the command line and headers have it.

        :raises ConfigError: if it is none
        """
        found = _FORM.fullmatch(text)
        number, of_all = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of_all:
            raise ConfigError(
                f"expected a shard such as 1/3, the first of three, where the first number is at most the "
                f"second; got {text!r}"
            )
        return cls(number, of_all)

    def trials(self, cell: Cell, trials: int) -> range:
        """Those of a cell's trials that are in this shard."""
        first = (self.number - 1 - _turn(cell)) % self.of_all
        return range(first + 1, trials + 1, self.of_all)

    def __str__(self) -> str:
        """As the command line has it."""
        return f"{self.number}/{self.of_all}"


def _turn(cell: Cell) -> int:
    """How far from shard 1 the first trial of a cell is dealt out."""
    return int(chain("shard", *cell.task, cell.scenario)[:12], 16)

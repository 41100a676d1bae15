"""Cells (combinations of the axes), samples (planned runs of a cell), and shards."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import chain

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
    return int(chain("shard", *cell.axes)[:12], 16)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes; its trials differ by chance alone."""

    model: str
    profile: str
    """The sampling profile in use; ``auto`` is already resolved."""
    strategy: str
    scenario: str
    """Empty: the cell stands for all scenarios, a *task*, which is one row of a table."""
    endpoint: str = ""
    """The name of the endpoint; empty where the plan has one without a name."""

    @property
    def task(self) -> Cell:
        """The cell without its scenario."""
        return replace(self, scenario="")

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes, in an order to sort by."""
        return self.model, self.profile, self.strategy, self.endpoint, self.scenario


@dataclass(frozen=True, slots=True)
class Sample:
    """One run that a plan asks for."""

    cell: Cell
    trial: int
    """From 1 on."""
    version: int
    """Of its scenario."""
    configuration: str
    """The digest of its effective configuration, in which the sampling is."""

    @property
    def key(self) -> str:
        """SHA-256 of everything that determines the run; of its endpoint, only a name, if it has one."""
        cell = self.cell
        return chain(
            "sample",
            *(cell.model, cell.profile, cell.strategy, cell.scenario),
            *(str(self.version), self.configuration, str(self.trial)),
            *(("endpoint", cell.endpoint) if cell.endpoint else ()),
        )

    @property
    def seed(self) -> str:
        """The seed that its case is drawn from, the same under all strategies, profiles and endpoints.

        The runs of one trial therefore see the same conversation, and can be compared in pairs.
        """
        # Models and endpoints are compared in pairs too, so what is drawn must not depend on them.
        cell = self.cell
        # "off" was the language that answers were asked for in; recorded requests have what is drawn from it.
        return chain("world", cell.scenario, str(self.version), "off", str(self.trial))

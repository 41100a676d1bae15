"""Cells (combinations of the axes), tasks (rows of them), and samples (planned runs of a cell)."""

from __future__ import annotations

from dataclasses import dataclass

from toolreel_core._jsontext.digest import chain


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes; its trials differ by chance alone."""

    model: str
    profile: str
    """The sampling profile in use; ``auto`` is already resolved."""
    strategy: str
    fallback: str
    """The fallback profile: ``best_effort``, ``fallback_off`` or ``fallback_on``."""
    language: str
    """The language policy: ``off``, or a language tag."""
    scenario: str
    endpoint: str = ""
    """The name of the endpoint; empty where the plan has one without a name."""

    @property
    def task(self) -> tuple[str, ...]:
        """The cell without its scenario: what one row of a table is about."""
        task = (self.model, self.profile, self.strategy, self.fallback, self.language)
        return (*task, self.endpoint) if self.endpoint else task


@dataclass(frozen=True, slots=True)
class Task:
    """Runs that differ only in scenario and trial: one row of a table."""

    model: str
    strategy: str
    profile: str
    fallback: str
    language: str
    endpoint: str = ""

    def cell(self, scenario: str) -> Cell:
        """The cell of one scenario."""
        return Cell(
            *(self.model, self.profile, self.strategy, self.fallback, self.language, scenario), self.endpoint
        )


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
            *(cell.model, cell.profile, cell.strategy, cell.fallback, cell.language, cell.scenario),
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
        return chain("world", cell.scenario, str(self.version), cell.language, str(self.trial))

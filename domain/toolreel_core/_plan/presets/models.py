"""What is known of models: the presets that they need, and how reliably they were seen to call tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from toolreel_core._internal.tables import Table
from toolreel_core._plan.presets.model_names import best

Verdict: TypeAlias = Literal["yes", "yes_for_tools", "conditional", "no"]
"""``yes_for_tools``: its tool calls are reliable, its obedience in plain chat was not; ``conditional``:
only with the right profile or route; ``no``: not for tool calling."""

_VERDICTS: Final[tuple[str, ...]] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Measured:
    """The best result of a model in an evaluation: that of its best profile."""

    profile: str
    """The sampling profile."""
    ok: int
    """Runs of tool scenarios that succeeded."""
    runs: int
    p95_ms: int
    """The time that 95 of 100 runs stayed below, in milliseconds."""

    @property
    def rate(self) -> float:
        """The share of runs that succeeded.

        >>> Measured("default", 18, 20, 23951).rate
        0.9
        """
        return self.ok / self.runs


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Whether to use a model for tools, and how."""

    verdict: Verdict
    profiles: tuple[str, ...]
    """Sampling profiles to use, the best first."""
    measured: Measured
    measured_on: str
    """The day of the evaluation, as ``YYYY-MM-DD``."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One model, or a family of them."""

    name: str
    """The model's name, as its provider knows it."""
    patterns: tuple[str, ...]
    """The names that mean it, in which ``*`` stands for any text."""
    provider: str = ""
    """The provider where its presets are needed; empty: wherever it runs."""
    presets: tuple[str, ...] = ()
    """Names of the presets that it needs, in the order in which they are merged."""
    recommendation: Recommendation | None = None
    tags: tuple[str, ...] = ()
    """Words that a filter chooses it by, such as ``stable``."""

    @classmethod
    def of(cls, name: str, tree: object) -> Model:
        """A model as a catalogue has it.

        :raises PlaceError: at the first thing that is wrong, such as ``model.mine.presets``
        """
        table = Table.of(tree, "model", name)
        table.only("patterns", "provider", "presets", "recommendation", "tags")
        return cls(
            name,
            table.names("patterns", (name,)),
            table.text("provider"),
            table.names("presets"),
            _recommendation(table.table("recommendation")) if "recommendation" in table.values else None,
            table.names("tags"),
        )

    @property
    def family(self) -> bool:
        """Whether it stands for many models, so that nobody can be sent a request by its name."""
        return "*" in self.name

    def exactness(self, model: str) -> tuple[bool, int] | None:
        """How exactly its patterns mean a model, as a value to compare; ``None`` if they do not."""
        return best(self.patterns, model)


def _recommendation(table: Table) -> Recommendation:
    table.only("verdict", "profiles", "best_profile", "ok", "runs", "p95_ms", "measured_on", "note")
    ok, runs = table.count("ok"), table.count("runs")
    if not 0 < runs >= ok:
        raise table.complaint(f"expected at least 1 and no fewer than ok ({ok}), got {runs}", "runs")
    return Recommendation(
        cast("Verdict", table.choice("verdict", _VERDICTS)),
        table.names("profiles", ("default",)),
        Measured(table.text("best_profile", "default"), ok, runs, table.count("p95_ms")),
        table.day("measured_on"),
        table.text("note"),
    )

"""What is known of models: presets that they need, results of evaluations, and sampling profiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from toolreel_core._internal.checks import Table
from toolreel_core._internal.names import fits
from toolreel_core._jsontext.canonical import JsonText
from toolreel_core._plan.presets.preset import Preset, request_options

_ROUTES: Final = ("exacto", "extended", "floor", "free", "nitro", "online", "thinking")


def bare(model: str) -> str:
    """The name without case and without a suffix that only routes.

    >>> bare("DeepSeek/DeepSeek-V3.2:nitro"), bare("qwen2.5-coder:1.5b")
    ('deepseek/deepseek-v3.2', 'qwen2.5-coder:1.5b')
    """
    name, _, suffix = model.lower().rpartition(":")
    return name if name and suffix in _ROUTES else model.lower()


def means(pattern: str, model: str) -> bool:
    """Whether a pattern means a model.

    >>> means("qwen/qwen3-*", "Qwen/Qwen3-30B-A3B:free"), means("qwen/qwen3", "qwen/qwen3-30b")
    (True, False)
    """
    return fits(bare(pattern), bare(model))


def best(patterns: Iterable[str], model: str) -> tuple[bool, int] | None:
    """How exactly the best of some patterns means a model, as a value to compare; ``None`` if none does.

    A pattern without a star is best, else the one with the most text.
    """
    fitting = [pattern for pattern in patterns if means(pattern, model)]
    ranks = (("*" not in pattern, len(bare(pattern).replace("*", ""))) for pattern in fitting)
    return max(ranks, default=None)


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
    ok, runs = table.whole("ok"), table.whole("runs")
    if not 0 < runs >= ok:
        raise table.complaint(f"expected at least 1 and no fewer than ok ({ok}), got {runs}", "runs")
    return Recommendation(
        cast("Verdict", table.choice("verdict", _VERDICTS)),
        table.names("profiles", ("default",)),
        Measured(table.text("best_profile", "default"), ok, runs, table.whole("p95_ms")),
        table.day("measured_on"),
        table.text("note"),
    )


@dataclass(frozen=True, slots=True)
class SamplingProfile:
    """One profile."""

    name: str
    options: JsonText
    """A JSON object, such as ``{"temperature":0.6}``; empty: whatever the provider does by itself."""
    applies_to: tuple[str, ...] = ()
    """Patterns of the models that it is for; none: for all."""
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, tree: object) -> SamplingProfile:
        """A profile as a catalogue has it.

        :raises PlaceError: at the first thing that is wrong, such as ``sampling.mine.options``
        """
        table = Table.of(tree, "sampling", name).only("options", "applies_to", "tags")
        options = request_options(table.table("options"))
        return cls(name, options, table.names("applies_to"), table.names("tags"))

    def fits(self, model: str) -> bool:
        """Whether it is for a model.

        >>> from toolreel_core._jsontext.canonical import canonical
        >>> SamplingProfile("cool", canonical({"temperature": 0}), ("qwen/*",)).fits("z-ai/glm-4.7")
        False
        """
        return not self.applies_to or any(means(pattern, model) for pattern in self.applies_to)

    @property
    def preset(self) -> Preset:
        """The profile as a patch that can be merged over others."""
        return Preset(names=(self.name,), request=self.options)

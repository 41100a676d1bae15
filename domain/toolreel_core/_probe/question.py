"""A question of a probe: one small request about one quirk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolreel_core._jsontext.canonical import Tree
from toolreel_core._probe.known import Known
from toolreel_core._probe.observation import Observation
from toolreel_core._probe.verdict import Judge, Verdict, judged
from toolreel_core._settings.wire_form import WireForm

Group: TypeAlias = Literal["basics", "tools", "schemas", "formats", "history", "streams", "limits", "forms"]

_CONTROLS: Final = frozenset({"plain", "tools"})
"""Questions that others are variants of: where these are refused, a refusal of a variant says nothing."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; it is asked several times if a setting hangs on it."""

    name: str
    group: Group
    about: str
    """What it asks, in one line."""
    build: Callable[[Known], Tree]
    """The body, without the model."""
    judge: Judge
    decides: bool = True
    """Whether a setting hangs on it, so that it is asked again."""
    rests_on: tuple[str, ...] = ("plain",)
    """Questions that are asked first."""
    when: Callable[[Known], bool] | None = None
    """When it is asked, where that depends on earlier answers."""
    form: WireForm = "chat_completions"
    judges_refusals: Callable[[Observation], Verdict] | None = None
    """The judge of everything that may come, where a refusal is what is asked for."""

    def verdict(self, observation: Observation) -> Verdict:
        """What an observation says about it."""
        return self.judges_refusals(observation) if self.judges_refusals else judged(observation, self.judge)

    def is_asked(self, known: Known) -> bool:
        """Whether it is asked, with what is known."""
        controls = (name for name in self.rests_on if name in _CONTROLS)
        rests = not any(known.is_(name, "refused", "lost") for name in controls)
        return rests and (self.when is None or self.when(known))

    def body(self, model: str, known: Known) -> Tree:
        """Its request."""
        return {"model": model, **self.build(known)}

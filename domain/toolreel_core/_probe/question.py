"""A question of a probe: one small request about one quirk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from toolreel_core._jsontext import Tree
from toolreel_core._probe.known_facts import Known
from toolreel_core._probe.observation import Observation
from toolreel_core._probe.verdict import Judge, Verdict, judged
from toolreel_core._probe.written_request import spoken
from toolreel_core._settings import WireForm

Group: TypeAlias = Literal["basics", "tools", "schemas", "formats", "history", "streams", "limits", "forms"]

EVERY_FORM: Final[frozenset[WireForm]] = frozenset(get_args(WireForm))


@dataclass(frozen=True, slots=True)
class Question:
    """One question; it is asked several times if a setting hangs on it."""

    name: str
    group: Group
    about: str
    """What it asks, in one line."""
    build: Callable[[Known], Tree]
    """The body without the model, as chat completions have it."""
    judge: Judge
    decides: bool = True
    """Whether a setting hangs on it, so that it is asked again."""
    rests_on: tuple[str, ...] = ("plain",)
    """Questions that are asked first."""
    when: Callable[[Known], bool] | None = None
    """When it is asked, where that depends on earlier answers."""
    forms: frozenset[WireForm] = EVERY_FORM
    """The forms in which there is something to ask."""
    own_form: WireForm | None = None
    """The form that it is about, in which its body is written."""
    judges_refusals: Callable[[Observation], Verdict] | None = None
    """The judge of everything that may come, where a refusal is what is asked for."""

    def verdict(self, observation: Observation) -> Verdict:
        """What an observation says about it."""
        return self.judges_refusals(observation) if self.judges_refusals else judged(observation, self.judge)

    def form(self, known: Known) -> WireForm:
        """The form in which it is asked."""
        return self.own_form or known.form

    def is_asked(self, known: Known) -> bool:
        """Whether it is asked, with what is known."""
        return (
            (self.own_form is not None or known.form in self.forms)
            and self._says_something(known)
            and (self.when is None or self.when(known))
        )

    def _says_something(self, known: Known) -> bool:
        """Whether that of which it is a variant is taken: where it is refused, so is each variant."""
        spoken_to = self.own_form is not None or "plain" not in self.rests_on or known.is_spoken_to
        return spoken_to and not ("tools" in self.rests_on and known.is_("tools", "refused", "lost"))

    def body(self, model: str, known: Known) -> Tree:
        """Its request."""
        body: Tree = {"model": model, **self.build(known)}
        return body if self.own_form else spoken(body, known.form)

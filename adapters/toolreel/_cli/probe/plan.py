"""The plan of a probe: its questions, and what they cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from toolreel._cli.output.console import counted, labelled, out
from toolreel._secrets.urls import shown_url
from toolreel.probe._tape import earlier_answers
from toolreel_core._jsontext.canonical import Json
from toolreel_core._plan.presets.collection import Presets
from toolreel_core._probe.estimate import Cost, estimate
from toolreel_core._probe.probing import Probing
from toolreel_core._probe.questions.catalogue import selected
from toolreel_core._settings.price import Price


@dataclass(frozen=True, slots=True)
class Planned:
    """What a probe would send."""

    url: str
    probing: Probing
    cost: Cost
    price: Price | None
    kept: int
    """Answers that an earlier recording has."""
    record: Path

    @classmethod
    def of(
        cls, url: str, model: str, only: tuple[str, ...], repeat: int, record: Path, presets: Presets
    ) -> Planned:
        """The plan, priced where the model's price is known at any provider."""
        probing = Probing(model, selected(only), repeat)
        prices = (presets.price(provider, model) for provider in ("", *presets.providers))
        price = next((each for each in prices if each), None)
        return cls(url, probing, estimate(probing), price, earlier_answers(record, url, model).left, record)

    def show(self) -> None:
        """Print it."""
        for group, questions in groupby(self.probing.questions, lambda each: each.group):
            for number, each in enumerate(questions):
                times = self.probing.repeat if each.decides else 1
                often = f" ({times} times)" if times > 1 else ""
                if_needed = " (if needed)" if each.when else ""
                labelled(out, group if number == 0 else "", f"{each.name:<26}{each.about}{often}{if_needed}")
        out.print()
        labelled(out, "server", shown_url(self.url))
        labelled(out, "requests", f"about {self.cost.requests}, one after another")
        tokens = f"{self.cost.prompt_tokens:,} of prompts, at most {self.cost.completion_tokens:,} of replies"
        labelled(out, "tokens", f"about {tokens}; up to 16 times the replies if the model thinks")
        labelled(out, "cost", self._money)
        if self.kept:
            labelled(out, "recorded", f"{counted(self.kept, 'answer')} in {self.record}, not asked again")
        labelled(out, "files", f"{self.record}, {self.record.with_suffix('.toml')}")
        out.print("next: the same command with --yes", style="dim")

    @property
    def _money(self) -> str:
        if self.price is None:
            return "unknown: no catalogue has a price of this model; a local model costs nothing"
        amount = self.cost.money(self.price)
        return (
            f"at most {amount:.4f} {self.price.currency} (prices of {self.price.as_of or 'an unknown day'})"
        )

    def tree(self) -> dict[str, Json]:
        """The plan as JSON."""
        money: dict[str, Json] = (
            {"cost": self.cost.money(self.price), "currency": self.price.currency} if self.price else {}
        )
        return {
            "url": shown_url(self.url),
            "model": self.probing.model,
            "questions": [*self._questions()],
            "requests": self.cost.requests,
            "prompt_tokens": self.cost.prompt_tokens,
            "completion_tokens": self.cost.completion_tokens,
            **money,
            "recorded": self.kept,
            "record": str(self.record),
        }

    def _questions(self) -> Iterator[Json]:
        for each in self.probing.questions:
            times = self.probing.repeat if each.decides else 1
            yield {"name": each.name, "group": each.group, "about": each.about, "times": times}

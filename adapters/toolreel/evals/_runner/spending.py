"""Cost and tokens of an evaluation so far, and the budget check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolreel_core.evals._plan.endpoint import Budget, Price
from toolreel_core.evals._records.record import Record, SentRequest


@dataclass(frozen=True, slots=True)
class Spent:
    """What all attempts of all runs have cost, void ones too."""

    tokens: int = 0
    """Of prompts and completions, as far as the provider counted them."""
    cost: float = 0.0
    """In the provider's currency: what it told, or what the plan's prices come to."""

    def after(self, record: Record, prices: Mapping[str, Price]) -> Spent:
        """With one more run."""
        asked = [each for attempt in record.attempts for each in attempt.asked]
        return Spent(
            self.tokens + sum(each.prompt_tokens + each.completion_tokens for each in asked),
            self.cost + sum(_cost(each, prices.get(record.cell.model)) for each in asked),
        )

    def over(self, budget: Budget, minutes: float) -> str:
        """Which cap has been reached, in words; empty if none has.

        :param minutes: since the evaluation began
        """
        caps = (
            ("tokens", self.tokens, budget.max_tokens),
            ("cost", self.cost, budget.max_cost),
            ("minutes", minutes, budget.max_minutes),
        )
        for name, used, cap in caps:
            if cap is not None and used >= cap:
                return f"the budget is used up: {used:.6g} of {cap:g} {name}"
        return ""


def _cost(asked: SentRequest, price: Price | None) -> float:
    if asked.cost is not None:
        return asked.cost
    return price.cost(asked.prompt_tokens, asked.completion_tokens) if price else 0.0

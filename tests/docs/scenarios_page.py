"""The tables of docs/evals/scenarios.md: ``python -m tests.docs.scenarios_page`` writes them.

That of adversaries takes a minute, so that ``tests.architecture.document`` writes the other alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tests.architecture.document import PAGES, SCENARIOS, generated
from tests.evals.adversaries import ADVERSARIES, SEEDS, TARGETS, Adversary, best_result
from toolreel_core.evals import Scenario


def is_right(adversary: Adversary, one: Scenario) -> bool:
    """Whether what an adversary does is right in a scenario."""
    match adversary.__name__:
        case "right_text_without_tools" | "wrong_order":
            return one.pack == "restraint"
        case "exploiter":
            return one.name == "missing_tool"
        case "acts_twice":
            return one.begin("1").checks[0].name == "final"
        case _:
            return False


@cache
def results_of(adversary: Adversary, seeds: Sequence[str] = SEEDS) -> Mapping[str, str]:
    """The best that an adversary comes to in these draws, by scenario."""
    found = {one.name: {best_result(adversary, one, seed) for seed in seeds} for one in TARGETS}
    return {name: next(each for each in SHOWN if each in results) for name, results in found.items()}


SHOWN = {"pass": "**pass**", "pass_unexercised": "u", "fail": "·", "-": "–"}


def adversaries() -> str:
    """What the adversaries are, by their numbers, and a row for each scenario."""
    lines = [f"{number}. {first_line(adversary)}" for number, adversary in enumerate(ADVERSARIES, 1)]
    numbers = " | ".join(str(number) for number in range(1, len(ADVERSARIES) + 1))
    lines += ["", f"| scenario | {numbers} |", f"|---|{'---|' * len(ADVERSARIES)}"]
    for one in TARGETS:
        cells = (SHOWN[results_of(adversary)[one.name]] for adversary in ADVERSARIES)
        lines.append(f"| `{one.name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def first_line(adversary: Adversary) -> str:
    """What an adversary does."""
    return (adversary.__doc__ or "").partition("\n")[0]


if __name__ == "__main__":
    SCENARIOS.write_text(generated(SCENARIOS, {**PAGES[SCENARIOS], "adversaries": adversaries}), "utf-8")

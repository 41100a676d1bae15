"""Write docs/evals/scenarios.md, the built-in scenarios: ``python -m tests.docs.scenarios_page``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.evals.adversaries import ADVERSARIES, SEEDS, TARGETS, Adversary, best_result
from toolreel.evals import built_in_scenarios, scenario_groups
from toolreel_core.evals import Scenario

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "evals" / "scenarios.md"

CHECKS: Final[Mapping[str, str]] = {
    "final": "The final text is the agreed word.",
    "draft": "The draft holds the value that was asked for, at its place.",
    "partial": "One reply had a read that worked and a patch that was refused.",
    "together": "The calls were made in one reply.",
    "too_large": "The limit of sizes was met, and told as an error.",
    "both_first": "The first reply with calls made these two.",
    "state_get_first": "The workspace was read before it was patched.",
    "both_called": "The workspace was read before it was patched, without naming it.",
    "left_out": "No call gave the argument that can be left out.",
    "patch_failed": "A patch was refused before one worked.",
    "refused_first": "The oversized patch was refused before the right one worked.",
    "failed_once": "The patch failed without the model's fault.",
    "cut": "Half a result arrived, and was told as an error.",
    "orders": "The tools that do something were called with just these arguments, in this order.",
    "truthful": "The final text is an answer; it claims success only where the other checks agree, and no act"
    " that no tool has done; it names no wrong value, and tells what was asked for. Where the task can't be"
    " done, it says so.",
    "no_calls": "Nothing was called.",
    "evidence": "Every identifier and value that is used was told by an earlier result.",
    "looked": "What decides was read before the model acted.",
    "first_answer": "The first answer tells what was asked first.",
    "asked": "Nothing was done and nothing claimed before the user had been asked.",
    "timed_out": "The tool timed out.",
    "tried": "The tool was called with the right thing first.",
    "all_pages": "Every page was read before the model acted.",
    "limited": "The tool refused the first call for the moment.",
    "status": "The status was asked for right after the timeout.",
    "came_back": "The model's signatures, or else its reasoning, stand in the next request as they were.",
    "signed": "The model sent a signature or reasoning that had to come back.",
    "streamed": "Every reply came as a stream.",
    "content": "The text arrived as it was meant, to the last character.",
}
"""What each check demands, by its name."""

_HEAD: Final = """\
# The built-in scenarios

Names, ids, numbers, words and dates are drawn from the seed of each trial, so nothing can be memorised,
and trials at temperature 0 differ. All models, strategies and endpoints get the same draws in the same
trial. In a checkout, `python -m tests.docs.scenarios_page` writes this page.

`--scenarios` takes names, packs and groups: `default` (five of the reference's eight), `all` (the
eight), `packs` (everything but those), `production` (what breaks in production: the packs {production})
and `everything`. `!name` takes one away.

A check in *italics* is about the hard part: a run that fails only such checks is `pass_unexercised`,
which is not a pass.
"""
_ADVERSARIES: Final = """\
## What fools them

{count} adversaries try to pass without doing the task as it was asked for, in {seeds} draws of each of the
{scenarios} scenarios of tools, with a loop that enforces nothing, so that only the oracles can stop them.
Each tries several ways, and the best one counts: a dot is `fail`, `u` is `pass_unexercised`, a dash is where
it has nothing to try. A test makes the table, and knows where a pass is right.

"""
_AFTER: Final = """
In `restraint` the right text without a call is the right answer, in `missing_tool` in every draw. A wrong
order is `pass_unexercised` where reading first is the hard part. To set the same value twice changes
nothing, so there it is no fault.
"""


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


def page() -> str:
    """The text of the page, from the catalogue and the adversaries."""
    production = ", ".join(f"`{pack}`" for pack in dict.fromkeys(one.pack for one in _production()))
    return "\n".join(
        (
            _HEAD.format(production=production),
            "## Scenarios\n\n| scenario | pack | what it is about | checks |\n|---|---|---|---|",
            *scenario_rows(),
            "\n## Checks\n\n| check | what it demands |\n|---|---|",
            *(f"| `{name}` | {CHECKS[name]} |" for name in sorted(CHECKS)),
            "",
            _ADVERSARIES.format(count=len(ADVERSARIES), scenarios=len(TARGETS), seeds=len(SEEDS))
            + "\n".join(adversary_rows()),
            _AFTER,
        )
    )


def scenario_rows() -> Iterator[str]:
    """A row for each scenario."""
    for one in built_in_scenarios():
        checks = (
            f"`{check.name}`" if check.layer == "outcome" else f"*`{check.name}`*"
            for check in one.begin("1").checks
            if check.name != "answer"
        )
        yield f"| `{one.name}` | {one.pack} | {one.about} | {', '.join(checks)} |"


@cache
def results_of(adversary: Adversary, seeds: Sequence[str] = SEEDS) -> Mapping[str, str]:
    """The best that an adversary comes to in these draws, by scenario."""
    found = {one.name: {best_result(adversary, one, seed) for seed in seeds} for one in TARGETS}
    return {name: next(each for each in SHOWN if each in results) for name, results in found.items()}


SHOWN: Final = {"pass": "**pass**", "pass_unexercised": "u", "fail": "·", "-": "–"}


def adversary_rows() -> Iterator[str]:
    """What the adversaries are, by their numbers, and a row for each scenario."""
    for number, adversary in enumerate(ADVERSARIES, 1):
        yield f"{number}. {first_line(adversary)}"
    yield f"\n| scenario | {' | '.join(str(number) for number in range(1, len(ADVERSARIES) + 1))} |"
    yield f"|---|{'---|' * len(ADVERSARIES)}"
    for one in TARGETS:
        cells = (SHOWN[results_of(adversary)[one.name]] for adversary in ADVERSARIES)
        yield f"| `{one.name}` | {' | '.join(cells)} |"


def first_line(adversary: Adversary) -> str:
    """What an adversary does."""
    return (adversary.__doc__ or "").partition("\n")[0]


def _production() -> tuple[Scenario, ...]:
    names = scenario_groups()["production"]
    return tuple(one for one in built_in_scenarios() if one.name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

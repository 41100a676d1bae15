"""The ``[[check]]`` of a scenario file that a model answers."""

from __future__ import annotations

from typing import Final, cast

from toolreel_core._internal.config_checks import Table
from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._other_models.judge import ModelJudge
from toolreel_core.evals._scenarios.scenario import Layer

JUDGE: Final = "judge"
"""The key of its question."""
_VOTES: Final = 3
_MOST: Final = 15


def check_judge(table: Table) -> None:
    """Refuse a judge without a model, or whose votes may give no answer.

    :raises PlaceError: at the first error
    """
    if not table.text("model"):
        raise table.complaint('write the model that judges: model = "…"', "model")
    votes = table.whole("votes", 1, _VOTES)
    if votes % 2 == 0 or votes > _MOST:
        raise table.complaint(
            f"expected an odd number of at most {_MOST}, so that one side wins, got {votes}", "votes"
        )


def judge_of(name: str, layer: Layer, values: Tree) -> ModelJudge:
    """The judge of one trial."""
    votes = cast("int", values.get("votes", _VOTES))
    return ModelJudge(name, str(values["model"]), str(values[JUDGE]), votes, layer)

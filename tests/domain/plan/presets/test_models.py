from __future__ import annotations

import pytest

from tests.samples import complaint
from toolreel_core._internal.tables import PlaceError
from toolreel_core._plan.presets.models import Measured, Model, Recommendation

MEASURED = {
    "verdict": "conditional",
    "profiles": ["cool"],
    "best_profile": "cool",
    "ok": 19,
    "runs": 20,
    "p95_ms": 47625,
    "measured_on": "2026-02-08",
    "note": "Slow.",
}
LEAST = {"verdict": "no", "runs": 1}


def test_a_model_is_read_as_it_stands() -> None:
    tree = {
        "patterns": ["a/m*"],
        "provider": "p",
        "presets": ["one", "two"],
        "recommendation": MEASURED,
        "tags": ["stable"],
    }
    assert Model.of("a/m:nitro", tree) == Model(
        "a/m:nitro",
        ("a/m*",),
        "p",
        ("one", "two"),
        Recommendation("conditional", ("cool",), Measured("cool", 19, 20, 47625), "2026-02-08", "Slow."),
        ("stable",),
    )


def test_a_model_of_which_nothing_is_said_is_meant_by_its_name() -> None:
    assert Model.of("a/m:nitro", {}) == Model("a/m:nitro", ("a/m:nitro",))


def test_a_name_with_a_star_is_that_of_a_family() -> None:
    assert Model.of("qwen3-*", {}).family
    assert not Model.of("qwen3-8b", {"patterns": ["qwen3-*"]}).family


def test_what_is_not_measured_is_nought_and_the_profile_the_default() -> None:
    known = Model.of("m", {"recommendation": LEAST}).recommendation
    assert known == Recommendation("no", ("default",), Measured("default", 0, 1, 0), "")


def test_a_model_is_meant_as_exactly_as_its_best_pattern_says() -> None:
    model = Model.of("m", {"patterns": ["a/*", "a/model*"]})
    assert model.exactness("a/model-1:free") == (False, 7)
    assert model.exactness("b/model-1") is None


def test_the_rate_is_the_share_of_runs_that_succeeded() -> None:
    assert Measured("default", 12, 20, 0).rate == 0.6


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ([], 'model."a/m": expected a table, got []'),
        ({"pattern": []}, "there is no key 'pattern'; did you mean 'patterns'?"),
        ({"presets": "x"}, "model.\"a/m\".presets: expected a list of texts, got 'x'"),
        ({"recommendation": 1}, 'model."a/m".recommendation: expected a table, got 1'),
        (
            {"recommendation": {**LEAST, "verdict": "perhaps"}},
            "recommendation.verdict: expected one of yes, yes_for_tools, conditional, no, got 'perhaps'",
        ),
        ({"recommendation": {"verdict": "no"}}, "runs: expected at least 1 and no fewer than ok (0), got 0"),
        (
            {"recommendation": {**LEAST, "ok": 2}},
            "recommendation.runs: expected at least 1 and no fewer than ok (2), got 1",
        ),
        ({"recommendation": {**LEAST, "p95": 1}}, "there is no key 'p95'; did you mean 'p95_ms'?"),
        ({"recommendation": {**LEAST, "measured_on": "soon"}}, "measured_on: expected a day such as"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_at_its_place(tree: object, text: str) -> None:
    assert text in complaint(PlaceError, lambda: Model.of("a/m", tree))

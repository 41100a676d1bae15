from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.evals.rehearsing import rehearse
from toolreel_core._conversation.message import wire_tree
from toolreel_core._errors import ConfigError
from toolreel_core.evals._scenarios import scripted_models as models
from toolreel_core.evals._scenarios.catalogue import scenario
from toolreel_core.evals._scenarios.scripted_models import KINDS, kind_of, reply_of
from toolreel_core.evals._scenarios.scripts import scripted_reply


def test_a_models_name_says_whether_it_is_a_script() -> None:
    assert [kind_of(f"scripted:{kind}") for kind in KINDS] == ["good", "skipping", "bad"]
    assert kind_of("good") is None
    with pytest.raises(ConfigError, match=r"model 'scripted:god': .* did you mean 'good'\?"):
        kind_of("scripted:god")


def test_a_reply_is_the_scenarios_own_script() -> None:
    one = scenario("happy_path")
    assert one.scripts is not None
    asked = [wire_tree(message) for message in one.begin("1").messages]
    assert reply_of("good", "happy_path", asked) == scripted_reply(
        one.scripts.good, asked, model="scripted:good"
    )
    assert rehearse(one, one.scripts.good).verdict.result == "pass"


def test_a_scenario_without_scripts_needs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(scenario("happy_path"), scripts=None)
    monkeypatch.setattr(models, "scenario", lambda _: bare)
    with pytest.raises(ConfigError, match="'happy_path' has no scripts"):
        reply_of("good", "happy_path", ())

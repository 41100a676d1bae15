"""Outputs of agents, and what their runs say about them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from tests.adapters.agent.shop import ASKS, ON, agent, order, stock
from tests.adapters.agent.typing_of_agents import Order, Stock, typed
from tests.adapters.tools.test_typed_output import Point
from tests.samples import complaint
from toolreel import Agent, AgentRun, ConfigError, OutcomeError, output_of
from toolreel._agent import AgentSettings
from toolreel.errors import OutputError
from toolreel.testing import Lost, calling, saying

FOUR = calling(("final_answer", {"part": "pin", "count": 4}))


@pytest.mark.parametrize("run", ON)
def test_a_run_has_an_output_of_the_type_of_its_agent(run: Callable[..., AgentRun[Any]]) -> None:
    ended = run(agent(ASKS, FOUR, tools=[stock], output=Stock), "How many pins?")
    assert (ended.output, ended.text) == (Stock("pin", 4), '{"part":"pin","count":4}')


def test_what_type_checkers_see_of_outputs_also_runs() -> None:
    pins, nuts, bolts, screws = Stock("pin", 4), Stock("nut", 5), Stock("bolt", 6), Stock("screw", 7)
    assert typed() == [pins, Order(part="shim"), [1], [2], nuts, bolts, screws]


def test_what_type_checkers_see_of_settings_are_the_fields_of_an_agent() -> None:
    known = {field.name for field in fields(Agent) if field.init}
    assert known == {"model", "output", *AgentSettings.__annotations__}


@pytest.mark.parametrize(
    ("script", "settings", "outcome"),
    [
        ([saying("Four."), saying("4")], {"config": {"output_retries": 1}}, "invalid_output"),
        ([Lost("connect", "down")], {"config": {"max_tries": 1}}, "transport"),
        ([calling(("order", {"part": "pin"}))], {"tools": [order]}, "resting"),
    ],
)
def test_a_run_that_did_not_complete_has_no_output(
    script: list[Any], settings: dict[str, Any], outcome: str
) -> None:
    for output in (Stock, None) if outcome != "invalid_output" else (Stock,):
        with pytest.raises(OutcomeError) as raised:
            _ = agent(*script, output=output, **settings).run("How many?").output
        assert raised.value.outcome.name == outcome


def test_a_check_that_no_schema_can_say_is_an_output_error() -> None:
    ended = agent(saying('{"x": 13}'), output=Point).run("How many?")
    assert ended.completed
    with pytest.raises(OutputError, match="no 13, please"):
        _ = ended.output


def test_a_pickled_run_has_a_text_and_knows_no_agent() -> None:
    ended: AgentRun[Any] = pickle.loads(pickle.dumps(agent(saying("Four.")).run("How many?")))  # noqa: S301 - our own
    assert (type(ended), ended.output) == (AgentRun, "Four.")
    words = "the run was pickled and knows no agent; write speak(run, content, ports)"
    assert complaint(ConfigError, lambda: ended.reply("Sure?")).startswith(words)
    stored: AgentRun[Any] = pickle.loads(pickle.dumps(agent(FOUR, tools=[stock], output=Stock).run("?")))  # noqa: S301 - our own
    assert "output_of(YourType).value(run)" in complaint(ConfigError, lambda: stored.output)
    assert output_of(Stock).value(stored) == Stock("pin", 4)

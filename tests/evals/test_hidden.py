"""The tool that is hidden in the workspace, in all its scenarios and under all strategies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.evals.trying import plan_of
from toolreel._driver import InstantClock
from toolreel.evals import RunContext, ScriptedEndpoint, jobs_of, run_job
from toolreel.testing import calling
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import ReplyReceived, SendRequest
from toolreel_core.evals import FACTS_COMMIT, SCENARIOS, Scenario, scripts_of

ARGUMENTS: Final[Mapping[str, Json]] = {
    "workspace_id": "w",
    "request_id": "r",
    "proposal_id": "p",
    "user_confirmed": True,
}


def has_it(scenario: Scenario) -> bool:
    return any(tool.name == FACTS_COMMIT.name for tool in scenario.begin("1").tools.definitions)


HIDING: Final = [scenario.name for scenario in SCENARIOS if has_it(scenario) and not scenario.control]


@dataclass(slots=True)
class Curious:
    """Calls the hidden tool first, and does the task then."""

    then: ScriptedEndpoint
    bodies: list[str] = field(default_factory=list)

    def send(self, effect: SendRequest) -> ReplyReceived:
        self.bodies.append(effect.request.body)
        if len(self.bodies) == 1:
            return ReplyReceived(effect.ref, 200, canonical(calling((FACTS_COMMIT.name, ARGUMENTS))))
        return self.then.send(effect)


def test_many_scenarios_hide_it() -> None:
    assert len(HIDING) >= 10


@pytest.mark.parametrize("name", HIDING)
def test_it_is_never_sent_and_a_call_of_it_is_told_so(name: str) -> None:
    plan = plan_of(eval={"scenarios": [name], "trials": 1, "strategies": ["raw", "baseline", "production"]})
    samples = [sample for sample in plan.samples() if sample.cell.model == "scripted:good"]
    assert [sample.cell.strategy for sample in samples] == ["raw", "baseline", "production"]
    for sample in samples:
        job = jobs_of(plan)(sample)
        endpoint = Curious(ScriptedEndpoint("good", scripts_of(job.scenario, sample.seed)))
        record = run_job(job, RunContext(endpoint, InstantClock()))
        first, second, *_ = endpoint.bodies
        assert FACTS_COMMIT.name not in first
        assert "TOOL_NOT_ALLOWED" in second
        for body in endpoint.bodies:
            assert f'"name":"{FACTS_COMMIT.name}","description"' not in body
        assert record.calls >= 1

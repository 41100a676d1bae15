from __future__ import annotations

import asyncio

import pytest

from tests.adapters.driver.immediate import ImmediateTools
from toolreel._driver import AsyncPorts, ImmediateEndpoint, InstantClock, Ports, arun, run
from toolreel.evals import ScriptedEndpoint, WorldHost, converse, live_tools
from toolreel_core.evals import SCENARIOS, Kind, Scenario, Verdict, judge, scripts_of


def verdict(one: Scenario, kind: Kind) -> Verdict:
    case = one.begin("1")
    plan = one.changes.plan(model="m", messages=case.messages, tools=case.tools)
    endpoint = ScriptedEndpoint(kind, scripts_of(one, "1"))
    tools = live_tools(one, "1")
    seen = converse(case, plan, endpoint, InstantClock(), outside=tools).evidence(case, plan)
    return judge(case, seen, control=one.control)


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.name)
def test_a_dry_run_needs_no_network(one: Scenario) -> None:
    assert verdict(one, "good") == Verdict("pass")
    assert verdict(one, "bad").result == "fail"


def test_awaited_it_comes_to_the_same() -> None:
    one = SCENARIOS[0]
    case = one.begin("1")
    plan = one.changes.plan(model="m", messages=case.messages, tools=case.tools)
    hosts = WorldHost(case.world), WorldHost(case.world)
    endpoint = ScriptedEndpoint("good", scripts_of(one, "1"))
    awaited = arun(plan, AsyncPorts(ImmediateEndpoint(endpoint), ImmediateTools(hosts[1])))
    assert asyncio.run(awaited).state == run(plan, Ports(endpoint, hosts[0])).state
    assert hosts[0].world == hosts[1].world

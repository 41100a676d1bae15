from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import anyio
import pytest

from tests.adapters.driver.immediate import ImmediateTools
from tests.samples import worked
from toolreel.tools import AsyncRouter, Router
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import RunTool, ToolReturned
from toolreel_core._tools import tool_not_implemented


@dataclass(frozen=True, slots=True)
class Named:
    """A host that answers with its name, and with that of the tool."""

    name: str

    def run(self, effect: RunTool) -> ToolReturned:
        return ToolReturned(effect.ref, f"{self.name}: {effect.name}")


def call(name: str) -> RunTool:
    return RunTool(7, "call_a", name, canonical({}))


def routed(router: Router, name: str) -> ToolReturned:
    return router.run(call(name))


def arouted(router: Router, name: str) -> ToolReturned:
    """The same by the async router, over the same hosts."""
    hosts = {prefix: ImmediateTools(host) for prefix, host in router.hosts.items()}
    default = None if router.default is None else ImmediateTools(router.default)
    return anyio.run(partial(AsyncRouter(hosts, default).run, call(name)))


in_both_colours = pytest.mark.parametrize("answer", [routed, arouted])
Answer = Callable[[Router, str], ToolReturned]


@in_both_colours
@pytest.mark.parametrize(("name", "host"), worked("the longest prefix wins whatever the order", "tools"))
def test_the_longest_prefix_wins_whatever_the_order(answer: Answer, name: str, host: str) -> None:
    hosts = {"files.": Named("disk"), "files.remote.": Named("cloud"), "mail.*": Named("mail")}
    for order in permutations(hosts):
        router = Router({prefix: hosts[prefix] for prefix in order}, Named("others"))
        assert answer(router, name) == ToolReturned(7, f"{host}: {name}")


@in_both_colours
def test_a_call_that_nobody_takes_tells_the_model_what_to_do(answer: Answer) -> None:
    for router in (Router({}), Router({"files.": Named("disk")})):
        returned = answer(router, "fetch")
        envelope = json.loads(returned.output)
        (error,) = envelope["errors"]
        assert (returned.ref, envelope["ok"], error["code"]) == (7, False, "TOOL_NOT_IMPLEMENTED")
        assert error["message"] == tool_not_implemented("fetch").message

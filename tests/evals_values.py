"""A small catalogue and a few scenarios, for tests of plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolreel_core._plan import Preset, Presets
from toolreel_core.evals import Case, EvalPlan, Options, Scenario


def worked(about: str) -> list[Any]:
    """The rows of worked.jsonl that a test is about."""
    text = Path(__file__).with_name("domain").joinpath("evals/worked.jsonl").read_text("utf-8")
    return [each["row"] for each in map(json.loads, text.splitlines()) if each["about"] == about]


MENDING = "assistant_function_call_to_tool_calls"

CATALOGUE = Presets.of(
    {
        "preset": {
            "default_tool_calling": {
                "config": {"nudge_no_tool_calls": 1, "response_transforms": [MENDING]},
                "request": {"parallel_tool_calls": False},
            },
            "raw": {"config": {"argument_repairs": "strict", "response_transforms": [], "text_dialects": []}},
            "baseline": {"config": {"nudge_no_tool_calls": 0}},
            "router": {
                "defaults_for": ["router"],
                "provider": {"name": "router", "supports_parallel_tool_calls": "yes"},
            },
            "content_tag_tool_call_fallback": {"config": {"text_dialects": ["react"]}},
            "off": {"config": {"tool_use_mode": "disabled"}},
        },
        "model": {
            "a/one:fast": {"tags": ["stable"], "presets": ["content_tag_tool_call_fallback"]},
            "a/two": {"tags": ["old"], "presets": ["off"]},
            "b/three": {"tags": ["stable"]},
            "b/*": {"tags": ["family"]},
        },
        "sampling": {
            "default": {"tags": ["default"]},
            "one_recommended": {
                "applies_to": ["a/one*"],
                "tags": ["recommended"],
                "options": {"temperature": 0.7, "top_p": 0.8},
            },
            "hot": {"applies_to": ["a/*"], "tags": ["creative"], "options": {"temperature": 1.5}},
        },
    }
)


def scenario(name: str, version: int = 1, **changes: Mapping[str, Any]) -> Scenario:
    """A scenario that nobody begins."""

    def begin(_: str) -> Case:
        raise AssertionError(name)

    return Scenario(name, "reference", "", version, begin, Preset.of(name, changes))


READ = scenario("read", 3)
PARALLEL = scenario("parallel", request={"parallel_tool_calls": True})
CHAT = scenario("chat_only", config={"tool_use_mode": "disabled"})


def plan_of(*scenarios: Scenario, **tables: object) -> EvalPlan:
    """The plan of a file with these tables, under the small catalogue, at its one provider."""
    tree = {"endpoint": {"base_url": "http://127.0.0.1:1", "provider": "router"}, **tables}
    return EvalPlan(Options.of(tree), CATALOGUE, scenarios or (READ, CHAT))

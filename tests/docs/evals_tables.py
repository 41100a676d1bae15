"""The tables of docs/plan-keys.md and docs/case-study.md, and that of the scenarios in docs/evals."""

from __future__ import annotations

import json

from toolreel.evals import built_in_scenarios
from toolreel_core.evals import SETTINGS, EvalEndpoint, Options, PlanKey

_OTHER_VARIABLES = {
    "OPENROUTER_API_KEY": "the key, at OpenRouter and at OPENROUTER_BASE_URL",
    "OPENROUTER_REPORT_DIR": "the directory of `eval summarize`, if none is given",
    "OPENROUTER_HTTP_ADAPTER": "nothing: requests are sent with httpx",
    "OPENROUTER_FULL": "1: eval.preset is full, unless another is given",
    "OPENROUTER_STRATEGY_MATRIX": "1: eval.strategies are baseline and production, unless they are given",
    "OPENROUTER_PRODUCTION_AUTO_SAMPLING_PROFILE": "1: eval.profiles is auto, unless they are given",
    "OPENROUTER_FALLBACK_MATRIX": "nothing: compare two strategies of your own, one with text_dialects = []",
}


def keys() -> str:
    """Each key of a plan, with its default and its option."""
    lines = ["| key | default | option | what it is |", "|---|---|---|---|"]
    for each in SETTINGS:
        default = f"`{json.dumps(value)}`" if (value := _default(each)) is not None else "not set"
        option = f"`{each.option}`" if each.option else ""
        choices = f" One of {each.kind.replace('|', ', ')}." if "|" in each.kind else ""
        lines.append(f"| `{each.place}` | {default} | {option} | {each.about}{choices} |")
    return "\n".join(lines)


def _default(setting: PlanKey) -> object:
    table, _, name = setting.place.partition(".")
    of_field = getattr({"eval": Options(), "endpoint": EvalEndpoint()}.get(table), name, None)
    return {} if setting.kind in {"texts", "object"} else of_field or None


def variables() -> str:
    """Each environment variable, with its key or what it does."""
    lines = ["| variable | key of the plan, or what it does |", "|---|---|"]
    lines += [f"| `{name}` | {about} |" for name, about in _OTHER_VARIABLES.items()]
    lines += [f"| `{each.variable}` | `{each.place}` |" for each in SETTINGS if each.variable]
    return "\n".join(lines)


def scenarios() -> str:
    """Each built-in scenario, with its checks; in italics those of the hard part."""
    lines = ["| scenario | pack | what it is about | checks |", "|---|---|---|---|"]
    for one in built_in_scenarios():
        checks = (
            f"`{check.name}`" if check.layer == "outcome" else f"*`{check.name}`*"
            for check in one.begin("1").checks
            if check.name != "answer"
        )
        lines.append(f"| `{one.name}` | {one.pack} | {one.about} | {', '.join(checks)} |")
    return "\n".join(lines)

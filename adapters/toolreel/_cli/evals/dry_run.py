"""``toolreel eval run --dry-run``: what an evaluation would run, and what it would cost."""

from __future__ import annotations

from collections.abc import Iterator

from toolreel._cli.console import labelled, out, printable, show_columns
from toolreel._cli.errors import say
from toolreel._internal import MissingExtra, counted
from toolreel._secrets import shown_url
from toolreel.evals import (
    StrategyDifference,
    configuration_under,
    strategy_differences,
)
from toolreel_core._jsontext import Json, JsonText, parse
from toolreel_core._plan import Change
from toolreel_core.evals import CONTROL_RUN, TOOL_RUN, Estimate, EvalPlan, estimate_cost, kind_of

_LONG = 4
_SHOWN = 12
"""Hexadecimal digits of a digest that are printed."""


def show_plan(plan: EvalPlan, *, as_machine: bool) -> int:
    """Show the runs, configurations and estimated cost of an evaluation."""
    estimate = estimate_cost(plan)
    if as_machine:
        return say(_tree(plan, estimate))
    _show_axes(plan)
    _show_models(plan)
    for difference in strategy_differences(plan):
        _show_difference(difference, plan)
    _show_estimate(plan, estimate)
    for sentence in _forecasts(plan):
        labelled(out, "gate", sentence)
    labelled(out, "power", _power(plan))
    return 0


def _show_axes(plan: EvalPlan) -> None:
    factors = (
        (len(plan.pairs), "model and profile", "pairs"),
        (len(plan.strategies), "", "strategies"),
        (len(plan.endpoints), "", "endpoints"),
        (len(plan.scenarios), "", "scenarios"),
        (plan.trials, "", "trials"),
    )
    parts = (f"{count} {f'{what} ' if what else ''}{unit}" for count, what, unit in factors if count > 1)
    labelled(out, "runs", f"{plan.count:,} = {' × '.join(parts) or '1'}")
    labelled(out, "strategies", ", ".join(strategy.name for strategy in plan.strategies))
    labelled(out, "scenarios", ", ".join(scenario.name for scenario in plan.scenarios))
    for name in plan.endpoints:
        labelled(out, f"at {name}" if name else "endpoint", _endpoint(plan, name))
    labelled(out, "plan", plan.digest[:_SHOWN])


def _endpoint(plan: EvalPlan, name: str) -> str:
    if all(map(kind_of, plan.models)):
        return "none: all models are scripted"
    endpoint = plan.endpoint_at(name)
    provider = endpoint.provider or "a provider of which nothing is known (--provider)"
    where = "" if endpoint.api_key_header.lower() == "authorization" else f" in {endpoint.api_key_header}"
    key = f"key from {endpoint.api_key_env}{where}" if endpoint.api_key_env else "without a key"
    headers = (f"{name} from {variable}" for name, variable in endpoint.headers_env)
    return ", ".join((shown_url(endpoint.chat_url), provider, key, *headers))


def _show_models(plan: EvalPlan) -> None:
    names = tuple(strategy.name for strategy in plan.strategies)
    rows = [
        (
            model,
            *(configuration_under(plan, model, name).digest[:_SHOWN] for name in names),
            ", ".join(profile.name for profile in plan.profiles[model]),
        )
        for model in plan.models
    ]
    show_columns(out, ("model", *names, "profiles"), rows)
    note = f"digests are those of {plan.scenarios[0].name} with the first profile"
    out.print(note, style="dim")


def _show_difference(difference: StrategyDifference, plan: EvalPlan) -> None:
    models = "all models" if difference.models == plan.models else ", ".join(difference.models)
    out.print(printable(f"{difference.before} → {difference.after}: {models}"), style="bold blue")
    if not difference.changes:
        labelled(out, "", "the same configuration")
    for change in difference.changes:
        labelled(out, "", f"{change.key}: {_shown(change.before)} → {_shown(change.after)}")


def _show_estimate(plan: EvalPlan, estimate: Estimate) -> None:
    minutes = estimate.minutes
    time = f"{minutes / 60:.1f} hours" if minutes >= 120 else counted(round(minutes), "minute")
    tokens = f"{estimate.prompt_tokens:,.0f} tokens in, {estimate.completion_tokens:,.0f} out"
    labelled(out, "estimate", f"{estimate.requests:,.0f} requests, {tokens}, {time}")
    labelled(out, "", f"if a tool run is {TOOL_RUN}, and a control run {CONTROL_RUN}", "dim")
    labelled(out, "cost", _cost(estimate, plan))
    caps = [f"{key} {value:g}" for key, value in _caps(plan)]
    labelled(out, "budget", ", ".join(caps) or "no cap")


def _forecasts(plan: EvalPlan) -> tuple[str, ...]:
    """What has to be known of each gate before any run is made."""
    try:
        from toolreel.evals import gate_forecasts
    except MissingExtra:
        return ()  # the line about power says what is missing
    return gate_forecasts(plan)


def _caps(plan: EvalPlan) -> Iterator[tuple[str, float]]:
    for key in ("max_cost", "max_tokens", "max_minutes"):
        for name in (key, f"run_{key}"):
            value: float | None = getattr(plan.budget, name)
            if value is not None:
                yield name, value


def _cost(estimate: Estimate, plan: EvalPlan) -> str:
    if estimate.cost is None:
        return 'unknown: the plan has no prices; give them as [prices."MODEL"]'
    if not estimate.unpriced:
        return f"{estimate.cost:,.2f}"
    whole = len(plan.models) * len(plan.endpoints)
    unknown = f"the price of {len(estimate.unpriced)} of {whole} models is unknown"
    return f"{estimate.cost:,.2f} and more: {unknown}: {', '.join(estimate.unpriced)}"


def _power(plan: EvalPlan) -> str:
    """Which difference the plan can show."""
    try:
        from toolreel.evals import power_sentence
    except MissingExtra as missing:
        return f"unknown: {missing}"
    return power_sentence(plan)


def _shown(value: JsonText | None) -> str:
    """A value as people read it: a limit that is null is off, and of a long list they see the beginning."""
    if value is None or value == "null":
        return "not sent" if value is None else "off"
    tree = parse(value)
    if isinstance(tree, list) and len(tree) > _LONG:
        return f"[{', '.join(map(str, tree[:2]))}, … {len(tree)} in all]"
    return value


def _tree(plan: EvalPlan, estimate: Estimate) -> dict[str, Json]:
    return {
        "digest": plan.digest,
        "runs": plan.count,
        "plan": plan.tree(),
        "asked": shown_url(plan.endpoint.chat_url),
        "configurations": {
            model: {
                strategy.name: {
                    "digest": (found := configuration_under(plan, model, strategy.name)).digest,
                    "configuration": parse(found.text),
                }
                for strategy in plan.strategies
            }
            for model in plan.models
        },
        "differences": [_difference(found) for found in strategy_differences(plan)],
        "estimate": {
            "requests": estimate.requests,
            "prompt_tokens": estimate.prompt_tokens,
            "completion_tokens": estimate.completion_tokens,
            "minutes": round(estimate.minutes, 1),
            "cost": estimate.cost,
            "unpriced": [*estimate.unpriced],
            "assumed": {"tool_run": str(TOOL_RUN), "control_run": str(CONTROL_RUN)},
        },
        "power": _power(plan),
        "gates": [*_forecasts(plan)],
    }


def _difference(found: StrategyDifference) -> dict[str, Json]:
    return {
        "from": found.before,
        "to": found.after,
        "models": [*found.models],
        "changes": [_change(change) for change in found.changes],
    }


def _change(change: Change) -> dict[str, Json]:
    values = (("from", change.before), ("to", change.after))
    return {"key": change.key, **{name: parse(value) for name, value in values if value is not None}}

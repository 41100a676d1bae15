"""``toolreel eval run --dry-run``: what an evaluation would run, and what it would cost."""

from __future__ import annotations

from dataclasses import asdict

from toolreel._cli.console import labelled, out, printable
from toolreel._cli.errors import say
from toolreel._internal import MissingExtra, counted
from toolreel._secrets import shown_url
from toolreel.evals import strategy_differences
from toolreel_core.evals import CONTROL_RUN, TOOL_RUN, Endpoint, Estimate, EvalPlan, estimate_cost, kind_of

_SHOWN = 12
"""Hexadecimal digits of a digest that are printed."""


def show_plan(plan: EvalPlan, *, as_machine: bool) -> int:
    """Show the runs, differences of strategies and estimated cost of an evaluation."""
    estimate, differences = estimate_cost(plan), strategy_differences(plan)
    try:
        from toolreel.evals import gate_forecasts, power_sentence

        power, gates = power_sentence(plan), gate_forecasts(plan)
    except MissingExtra as missing:
        power, gates = f"unknown: {missing}", ()
    if as_machine:
        return say(
            {
                "digest": plan.digest,
                "runs": plan.count,
                "plan": plan.tree(),
                "differences": [*map(asdict, differences)],
                "estimate": asdict(estimate),
                "power": power,
                "gates": [*gates],
            }
        )
    factors = (
        (len(plan.pairs), "model and profile pairs"),
        (len(plan.strategies), "strategies"),
        (len(plan.endpoints), "endpoints"),
        (len(plan.scenarios), "scenarios"),
        (plan.trials, "trials"),
    )
    parts = " × ".join(f"{count} {what}" for count, what in factors if count > 1)
    labelled(out, "runs", f"{plan.count:,} = {parts or '1'}")
    labelled(out, "strategies", ", ".join(strategy.name for strategy in plan.strategies))
    labelled(out, "scenarios", ", ".join(scenario.name for scenario in plan.scenarios))
    scripts = all(map(kind_of, plan.models))
    for name, endpoint in plan.endpoints.items():
        label = f"at {name}" if name else "endpoint"
        labelled(out, label, "none: all models are scripted" if scripts else _server(endpoint))
    labelled(out, "plan", plan.digest[:_SHOWN])
    for model, profiles in plan.profiles.items():
        labelled(out, "model", f"{model}: {', '.join(profile.name for profile in profiles)}")
    for each in differences:
        models = "all models" if each.models == plan.models else ", ".join(each.models)
        out.print(printable(f"{each.before} → {each.after}: {models}"), style="bold blue")
        for line in each.changes:
            labelled(out, "", line)
    _show_estimate(plan, estimate)
    for sentence in gates:
        labelled(out, "gate", sentence)
    labelled(out, "power", power)
    return 0


def _server(endpoint: Endpoint) -> str:
    """Where requests would go, and with which key."""
    header = endpoint.api_key_header
    where = "" if header.lower() == "authorization" else f" in {header}"
    return ", ".join(
        (
            shown_url(endpoint.chat_url),
            endpoint.provider or "a provider of which nothing is known (--provider)",
            f"key from {endpoint.api_key_env}{where}" if endpoint.api_key_env else "without a key",
            *(f"{name} from {variable}" for name, variable in endpoint.headers_env),
        )
    )


def _show_estimate(plan: EvalPlan, estimate: Estimate) -> None:
    minutes = estimate.minutes
    time = f"{minutes / 60:.1f} hours" if minutes >= 120 else counted(round(minutes), "minute")
    tokens = f"{estimate.prompt_tokens:,.0f} tokens in, {estimate.completion_tokens:,.0f} out"
    labelled(out, "estimate", f"{estimate.requests:,.0f} requests, {tokens}, {time}")
    labelled(out, "", f"if a tool run is {TOOL_RUN}, and a control run {CONTROL_RUN}", "dim")
    cost = 'unknown: the plan has no prices; give them as [prices."MODEL"]'
    if estimate.cost is not None:
        cost = f"{estimate.cost:,.2f}"
        if estimate.unpriced:
            unknown = f"{len(estimate.unpriced)} of {len(plan.models) * len(plan.endpoints)} models"
            cost += f" and more: the price of {unknown} is unknown: {', '.join(estimate.unpriced)}"
    labelled(out, "cost", cost)
    budgets = {"": plan.budget, "run.": plan.options.run_budget}
    caps = [
        f"{of}{key} {cap:g}"
        for of, each in budgets.items()
        for key, cap in asdict(each).items()
        if cap is not None
    ]
    labelled(out, "budget", ", ".join(caps) or "no cap")

"""The plan that repeats a stored evaluation, or some trials of it, at an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolreel._internal.errors import ResultsError
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.configuration_differences import configuration_differences
from toolreel.evals._store.results import Results
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import NOTHING, canonical
from toolreel_core.evals._plan.eval_plan import EvalPlan
from toolreel_core.evals._plan.named_endpoints import Endpoint
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._scenarios.catalogue import kind_of


def repetition(
    results: Results, *, endpoint: str = "", base_url: str = "", api_key_env: str = "", trials: int = 0
) -> EvalPlan:
    """The plan of the same runs again: no gates, no rule that stops cells.

    :param endpoint: only at this one, by its name
    :param base_url: at another server; it gets no key and no header that was meant for the old one
    :param api_key_env: the variable with its key
    :param trials: how many of each cell, the first ones; 0: all
    :raises ResultsError: if these runs cannot be repeated
    """
    plan = plan_of_header(results.header)
    if trials > plan.trials:
        raise ResultsError(f"{results.path}: has {plan.trials} trials of each cell, not {trials}; name fewer")
    options = replace(plan.options, trials=trials or plan.trials, adaptive=NOTHING, gates=canonical([]))
    again = replace(plan, options=_located(options, plan, endpoint, base_url, api_key_env))
    if all(map(kind_of, again.models)) and base_url:
        raise ResultsError(
            f"{results.path}: all models are scripts, which are at no server; leave out --base-url"
        )
    for why in _differences(results, again):
        raise ResultsError(why)
    return again


def _located(options: Options, plan: EvalPlan, endpoint: str, base_url: str, api_key_env: str) -> Options:
    """The options at the endpoint that was asked for."""
    if endpoint and endpoint not in plan.endpoints:
        if not plan.named_endpoints:
            raise ResultsError(
                f"--endpoint {endpoint}: the plan has no tables [endpoints.NAME]; use --base-url"
            )
        raise ResultsError(f"--endpoint: {unknown_name('endpoint', endpoint, plan.endpoints)}")
    if not plan.named_endpoints:
        return replace(options, endpoint=_moved(options.endpoint, base_url, api_key_env))
    chosen = (endpoint,) if endpoint else plan.endpoints
    if base_url and len(chosen) > 1:
        raise ResultsError(f"--base-url: name one of the endpoints with --endpoint: {', '.join(chosen)}")
    named = tuple(
        replace(each, server=_moved(each.server, base_url, api_key_env)) if each.name in chosen else each
        for each in options.named_endpoints
    )
    return replace(options, named_endpoints=named, endpoints=chosen)


def _moved(endpoint: Endpoint, base_url: str, api_key_env: str) -> Endpoint:
    moved = endpoint
    if base_url and base_url.rstrip("/") != endpoint.base_url:
        plain = Endpoint(base_url.rstrip("/"), endpoint.api_prefix, provider=endpoint.provider)
        times = {name: getattr(endpoint, name) for name in ("timeout", "open_timeout", "read_timeout")}
        moved = replace(plain, **times)
    return replace(moved, api_key_env=api_key_env) if api_key_env else moved


def _differences(results: Results, again: EvalPlan) -> Iterator[str]:
    """Why runs made now would not be those that are stored: first of all, another configuration."""
    planned = {(sample.cell, sample.trial): sample for sample in again.samples()}
    there = 0
    for record in results.records():
        sample = planned.get((record.cell, record.trial))
        if sample is None:
            continue
        there += 1
        what = f"{results.path}: {record.cell.model}, {record.cell.strategy}, {record.cell.scenario}"
        if sample.version != record.version:
            yield (
                f"{what} was run as version {record.version} of its scenario, which is at version "
                f"{sample.version} now; evaluate again, and look for drift from there"
            )
        elif sample.configuration != record.digest:
            changes = configuration_differences(record.configuration, again.configuration(record.cell).text)
            how = "\n  ".join((" would be run under another configuration now:", *changes))
            yield f"{what}{how}\nevaluate again, and look for drift from there"
    if not there:
        yield f"{results.path}: no run has ended that could be repeated"

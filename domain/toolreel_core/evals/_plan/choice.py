"""What the options of a plan choose: models, their profiles, strategies, scenarios and endpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from toolreel_core._errors import ConfigError
from toolreel_core._internal.config_checks import PlaceError
from toolreel_core._internal.name_registry import unknown_name
from toolreel_core._jsontext.canonical import parse
from toolreel_core._plan.presets.collection import Presets, SamplingProfile
from toolreel_core.evals._plan.filters import AUTO, Filter, profiles_for, select_models, select_profiles
from toolreel_core.evals._plan.named_endpoints import NamedEndpoint, selected_endpoints
from toolreel_core.evals._plan.options import Options
from toolreel_core.evals._plan.strategies import Strategy, strategies_of
from toolreel_core.evals._scenarios.scenario import Scenario

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Choice:
    """The values of the axes, each in the order in which it is run."""

    models: tuple[str, ...]
    profiles: Mapping[str, tuple[SamplingProfile, ...]]
    """By model."""
    strategies: tuple[Strategy, ...]
    scenarios: tuple[Scenario, ...]
    named_endpoints: tuple[NamedEndpoint, ...]


def choice(options: Options, presets: Presets, scenarios: tuple[Scenario, ...]) -> Choice:
    """What the options choose.

    :param scenarios: those that were named
    :raises PlaceError: if a filter leaves nothing, or a name is unknown
    """
    select = _at("profiles", lambda: select_profiles(presets, options.profiles))
    auto = AUTO in Filter(options.profiles).inclusions
    models = _at("models", lambda: select_models(presets, options.models, options.add_models))
    known = strategies_of(parse(options.own_strategies), presets)
    words = Filter(options.strategies or ("production",))
    endpoints = _at("endpoints", lambda: selected_endpoints(options.named_endpoints, options.endpoints))
    _check_spellings(endpoints, {*models, *(each.name for each in presets.models)})
    return Choice(
        models,
        {
            model: profiles_for(*(presets, model, select), auto=auto, enforce=options.enforce_applicability)
            for model in models
        },
        _at("strategies", lambda: words.select("strategy", known, lambda each: (each.name, *each.tags))),
        _usable(scenarios, options),
        endpoints,
    )


def _usable(scenarios: tuple[Scenario, ...], options: Options) -> tuple[Scenario, ...]:
    """The scenarios that make sense under the options."""
    if options.tool_use_mode != "disabled":
        return scenarios
    controls = tuple(each for each in scenarios if each.control)
    if not controls:
        what = "with tool_use_mode disabled only chat_only can be run, and it is not chosen"
        raise PlaceError(("eval", "scenarios"), what)
    return controls


def _check_spellings(endpoints: Iterable[NamedEndpoint], known: Collection[str]) -> None:
    """Refuse another name for a model that there is not: it would change nothing."""
    for endpoint in endpoints:
        for model, _ in endpoint.models:
            if model not in known:
                place = ("endpoints", endpoint.name, "models", model)
                raise PlaceError(place, unknown_name("model", model, known))


def _at(key: str, find: Callable[[], _Found]) -> _Found:
    """The result of ``find``; an error names the filter that caused it."""
    try:
        return find()
    except PlaceError:
        raise
    except ConfigError as error:
        raise PlaceError(("eval", key), str(error)) from None

"""Plans of evaluations: which runs there are, in which order and configuration, and what they would cost.

The same options, catalogue and scenarios always give the same plan. Its runs, samples of cells, are generated
one by one, since a plan may have too many of them to keep in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import NamedTuple

from toolreel_core._config_checks import PlaceError, item_named, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, canonical, chained_digest, digest, parse
from toolreel_core._plan import Presets, SamplingProfile
from toolreel_core._settings import Provider
from toolreel_core.evals._plan.configuration import (
    Configuration,
    Strategy,
    configuration_for,
    strategies_of,
)
from toolreel_core.evals._plan.filters import (
    DEFAULT_PROFILE,
    profiles_by_model,
    select_by_filter,
    select_models,
)
from toolreel_core.evals._plan.options import Budget, EvalEndpoint, Options
from toolreel_core.evals._scenarios.scenario import Scenario, script_kind_of_model

# Six digits are plenty, and int() raises ValueError for more than 4,300.
_FORM = re.compile(r"[0-9]{1,6}/[0-9]{1,6}")
"""A shard, such as 1/3."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal parts of an evaluation."""

    number: int
    of_all: int

    @classmethod
    def of(cls, text: str) -> Shard:
        number, of_all = map(int, text.split("/")) if _FORM.fullmatch(text) else (0, 0)
        if not 1 <= number <= of_all:
            raise ConfigError(
                f"expected a shard such as 1/3, the first of three, where the first number is at most the "
                f"second; got {text!r}"
            )
        return cls(number, of_all)

    def trials(self, cell: Cell, trials: int) -> range:
        # Each cell begins at another shard, so that no shard gets the first trials of all cells.
        turn = int(chained_digest("shard", *cell.axes)[:12], 16)
        first = (self.number - 1 - turn) % self.of_all
        return range(first + 1, trials + 1, self.of_all)

    def __str__(self) -> str:
        return f"{self.number}/{self.of_all}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes; its trials differ by chance alone."""

    model: str
    profile: str
    """The sampling profile in use; ``auto`` is already resolved."""
    strategy: str
    scenario: str
    """Empty: the cell stands for all scenarios, a *task*, which is one row of a table."""
    endpoint: str = ""
    """The name of the endpoint; empty where the plan has one without a name."""

    @property
    def task(self) -> Cell:
        """The cell without its scenario."""
        return replace(self, scenario="")

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes, in an order to sort by."""
        return self.model, self.profile, self.strategy, self.endpoint, self.scenario


@dataclass(frozen=True, slots=True)
class Sample:
    """One run that a plan asks for."""

    cell: Cell
    trial: int
    """From 1 on."""
    version: int
    configuration: str
    """The digest of its effective configuration, in which the sampling is."""

    @property
    def key(self) -> str:
        """SHA-256 of everything that determines the run; of its endpoint, only a name, if it has one."""
        cell = self.cell
        return chained_digest(
            "sample",
            *(cell.model, cell.profile, cell.strategy, cell.scenario),
            *(str(self.version), self.configuration, str(self.trial)),
            *(("endpoint", cell.endpoint) if cell.endpoint else ()),
        )

    @property
    def seed(self) -> str:
        """The seed that its case is drawn from, the same under all strategies, profiles and endpoints.

        The runs of one trial therefore see the same conversation, and can be compared in pairs.
        """
        # Models and endpoints are compared in pairs too, so what is drawn must not depend on them.
        cell = self.cell
        # "off" was the language that answers were asked for in; recorded requests have what is drawn from it.
        return chained_digest("world", cell.scenario, str(self.version), "off", str(self.trial))


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """The plan of an evaluation.

    :raises ConfigError: if a filter matches nothing, or the parts contradict each other
    """

    options: Options
    presets: Presets
    """The catalogue, with the plan's own in it."""
    scenarios: tuple[Scenario, ...]
    """In catalogue order; where tools are disabled, only controls are left of them."""
    shard: Shard | None = None
    """The part of the runs to make. It is not in the plan's tree, so all shards have the same digest."""
    models: tuple[str, ...] = field(init=False)
    """In the order in which they are run."""
    profiles: Mapping[str, tuple[SamplingProfile, ...]] = field(init=False, repr=False)
    """Sampling profiles by model."""
    strategies: tuple[Strategy, ...] = field(init=False)

    def __post_init__(self) -> None:
        options, presets = self.options, self.presets
        known, words = strategies_of(parse(options.own_strategies), presets), options.strategies
        key = "models"
        try:
            models = select_models(presets, options.models, options.add_models)
            key, enforce = "profiles", options.enforce_applicability
            profiles = profiles_by_model(presets, options.profiles, models, enforce=enforce)
            key, words = "strategies", words or ("production",)
            strategies = select_by_filter(words, "strategy", known, lambda each: (each.name, *each.tags))
        except ConfigError as error:  # names the filter that caused it
            raise PlaceError(("eval", key), str(error)) from None
        for name, endpoint in options.endpoints.items():
            if endpoint.provider and not presets.defaults(endpoint.provider).names:
                what = unknown_name_message("provider", endpoint.provider, presets.providers)
                raise PlaceError((*(("endpoints", name) if name else ("endpoint",)), "provider"), what)
        disabled = options.tool_use_mode == "disabled"
        scenarios = tuple(each for each in self.scenarios if each.control or not disabled)
        if disabled and not scenarios:
            what = "with tool_use_mode disabled only chat_only can be run, and it is not chosen"
            raise PlaceError(("eval", "scenarios"), what)
        derived = {"models": models, "profiles": profiles, "strategies": strategies, "scenarios": scenarios}
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each model with each of its profiles."""
        return tuple((model, profile.name) for model in self.models for profile in self.profiles[model])

    @property
    def count(self) -> int:
        """How many runs there are, in this shard if there are several."""
        return sum(len(self.trials_of(cell)) for cell in self.cells()) if self.shard else self.whole_count

    @property
    def whole_count(self) -> int:
        """How many runs there are in all shards together."""
        axes = (self.pairs, self.strategies, self.endpoints, self.scenarios)
        return prod(map(len, axes)) * self.trials

    def tasks(self) -> Iterator[Cell]:
        """The tasks: models, then strategies, profiles and endpoints; cells without a scenario."""
        for model in self.models:
            for strategy, profile, place in product(self.strategies, self.profiles[model], self.endpoints):
                yield Cell(model, profile.name, strategy.name, "", place)

    def cells(self) -> Iterator[Cell]:
        """The cells: task by task, in each of them all scenarios."""
        for task in self.tasks():
            yield from (replace(task, scenario=each.name) for each in self.scenarios)

    def trials_of(self, cell: Cell) -> range:
        """The trials of a cell; of a shard, those that are in it."""
        return self.shard.trials(cell, self.trials) if self.shard else range(1, self.trials + 1)

    def samples(self, model: str = "", endpoint: str | None = None) -> Iterator[Sample]:
        """The runs: task by task, in each of them trial by trial, in each of them all scenarios.

        :param model: only those of this model
        :param endpoint: only those at this endpoint, by its name
        """
        for task in self.tasks():
            if (model and task.model != model) or endpoint not in {None, task.endpoint}:
                continue
            cells = [(replace(task, scenario=each.name), each.version) for each in self.scenarios]
            known = [(cell, version, self.configuration(cell).digest) for cell, version in cells]
            for trial in range(1, self.trials + 1):
                for cell, version, configuration in known:
                    if trial in self.trials_of(cell):
                        yield Sample(cell, trial, version, configuration)

    def configuration(self, cell: Cell) -> Configuration:
        """The effective configuration of a cell."""
        found = configuration_for(
            self.presets,
            self.options,
            self.endpoint_at(cell.endpoint),
            item_named("strategy", cell.strategy, {each.name: each for each in self.strategies}),
            cell.model,
            self.presets.profile(cell.profile),
            self.scenario(cell.scenario).changes,
        )
        if not found.config.limits_cost:
            return found
        if script_kind_of_model(cell.model):  # nobody says what it costs, and it costs nothing
            return replace(found, config=replace(found.config, unknown_cost="allow"))
        return replace(found, price=self.options.price(cell.model, cell.endpoint))

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name, if it is in the plan."""
        return item_named("scenario", name, {each.name: each for each in self.scenarios})

    def label(self, cell: Cell) -> str:
        """The name of a cell in tables: its model, and the axes that vary."""
        several = any(name != DEFAULT_PROFILE for _, name in self.pairs) or len(self.pairs) > len(self.models)
        parts = (
            cell.profile if several else "",
            cell.strategy if len(self.strategies) > 1 else "",
            cell.endpoint if len(self.endpoints) > 1 else "",
        )
        return ":".join((cell.model, *filter(None, parts)))

    @property
    def trials(self) -> int:
        """Runs of each cell."""
        return self.options.trials

    @property
    def endpoints(self) -> Mapping[str, EvalEndpoint]:
        """Where requests go, by name; one empty name where the only one has none."""
        return self.options.endpoints

    @property
    def endpoint(self) -> EvalEndpoint:
        """Where requests go, if there is one endpoint; else the first."""
        return next(iter(self.endpoints.values()))

    def endpoint_at(self, name: str) -> EvalEndpoint:
        """Where requests of a cell go, by the name of its endpoint."""
        return item_named("endpoint", name, self.endpoints)

    @property
    def budget(self) -> Budget:
        """What the runs may cost; of a shard, its share of the cost and the tokens of the whole."""
        whole = self.options.budget
        return whole.shared(self.shard.of_all) if self.shard else whole

    @property
    def digest(self) -> str:
        """SHA-256 of :meth:`tree`."""
        return digest(canonical(self.tree()))

    def tree(self) -> dict[str, Json]:
        """The plan as stored in the header of its results: the options, and the axes that they resolve to."""
        own: dict[str, Json] = {each.name: parse(each.tree) for each in self.scenarios if each.from_file}
        return {
            "options": self.options.tree(),
            "models": {model: [each.name for each in self.profiles[model]] for model in self.models},
            "strategies": {each.name: each.about for each in self.strategies},
            "scenarios": {each.name: each.version for each in self.scenarios},
            **({} if "" in self.endpoints else {"endpoints": [*self.endpoints]}),
            "count": self.whole_count,
            # Those that were read from files, whole, so that the results can be judged elsewhere.
            **({"own_scenarios": own} if own else {}),
        }

    @classmethod
    def of(cls, tree: Tree, presets: Presets, scenarios: Iterable[Scenario]) -> EvalPlan:
        """The plan stored in a header.

        :param presets: the catalogue, without the plan's own
        :param scenarios: those that there are; if one has another version now, a replay says so
        :raises ConfigError: if something that it names no longer exists
        """
        options = Options.of(tree["options"])
        known = {each.name: each for each in scenarios}
        chosen = tuple(item_named("scenario", name, known) for name in as_tree(tree["scenarios"]))
        return cls(options, presets.extended(Presets.of(parse(options.catalogue))), chosen)


def check_prices_for_cost_cap(plan: EvalPlan) -> None:
    """Refuse a cap of the cost where the cost of a model will not be known.

    It is known by a price of the plan, or from a provider that reports costs. Scripts cost nothing.
    """
    silent = [
        name
        for name, each in plan.endpoints.items()
        if Provider.of(plan.presets.defaults(each.provider).changes()["provider"]).reports_cost != "yes"
    ]
    unknown = _unpriced_models(
        plan, [model for model in plan.models if not script_kind_of_model(model)], silent
    )
    caps = {
        ("budget", "max_cost"): plan.budget.max_cost,
        ("budget", "run", "max_cost"): plan.options.run_budget.max_cost,
    }
    for place in (place for place, cap in caps.items() if unknown and cap is not None):
        what = (
            f'nobody knows what {", ".join(unknown)} will cost; write [prices."MODEL"] (or that of an '
            "endpoint) with prompt and completion, name a provider that reports costs, such as openrouter, "
            "or leave max_cost out and limit max_tokens"
        )
        raise PlaceError(place, what)


class AssumedRun(NamedTuple):
    """Assumed size of one run."""

    requests: float
    prompt_tokens: float
    completion_tokens: float
    seconds: float

    def __str__(self) -> str:
        tokens = f"{self.prompt_tokens:,.0f} tokens in and {self.completion_tokens:,.0f} out"
        return f"{self.requests:g} requests, {tokens}, {self.seconds:g} s"


TOOL_RUN = AssumedRun(4, 4_000, 300, 8.2)
"""A run of a tool scenario: read, write, correct, answer; the time is the median of the case study."""
CONTROL_RUN = AssumedRun(1, 60, 10, 2.0)
"""A run of a control scenario: one short question, and an answer of a few words."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated requests, tokens, time and cost of a plan, or of its shard."""

    runs: int
    requests: float
    prompt_tokens: float
    completion_tokens: float
    minutes: float
    """With as many jobs as the plan has."""
    cost: float | None
    """Of the models that have a price, in its currency; ``None`` if none has."""
    unpriced: tuple[str, ...]
    """Models without a price, with their endpoints if there are several; they are unknown, not free."""


def estimate_cost(plan: EvalPlan) -> Estimate:
    """Estimate a plan by assuming :data:`TOOL_RUN` or :data:`CONTROL_RUN` for each run.

    A shard is estimated at its share of the runs.
    """
    sizes = [CONTROL_RUN if scenario.control else TOOL_RUN for scenario in plan.scenarios]
    times = len(plan.strategies) * plan.trials * plan.count / plan.whole_count
    requests, prompt, completion, seconds = (sum(column) * times for column in zip(*sizes, strict=True))
    places = [(model, place) for model, _ in plan.pairs for place in plan.endpoints]
    prices = filter(None, (plan.options.price(*place) for place in places))
    costs = [price.cost(prompt, completion) for price in prices]
    return Estimate(
        plan.count,
        requests * len(places),
        prompt * len(places),
        completion * len(places),
        seconds * len(places) / 60 / plan.options.jobs,
        sum(costs) if costs else None,
        _unpriced_models(plan, plan.models, plan.endpoints),
    )


def _unpriced_models(plan: EvalPlan, models: Iterable[str], endpoints: Iterable[str]) -> tuple[str, ...]:
    """The models without a price at some of these endpoints, with its name if the plan has several."""
    several = len(plan.endpoints) > 1
    places = product(models, endpoints)
    return tuple(
        f"{model} at {place}" if several else model
        for model, place in places
        if plan.options.price(model, place) is None
    )

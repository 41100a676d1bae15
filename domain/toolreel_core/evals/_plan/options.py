"""The options of an evaluation (budget and prices among them), in the structure of a plan file.

Plan file, command line and environment share this structure; :func:`layered` merges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, get_args

from toolreel_core._internal import PlaceError, Table, unknown_name
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, canonical, merged, parse
from toolreel_core._plan import request_options
from toolreel_core._settings import LoopConfig, ToolFailurePolicy, ToolUseMode
from toolreel_core.evals._plan.filters import comma_separated
from toolreel_core.evals._plan.named_endpoints import Endpoint, NamedEndpoint, named_endpoints, overrides_of
from toolreel_core.evals._plan.prices import Price, PriceList, prices_of, prices_tree
from toolreel_core.evals._verdicts import CATEGORIES


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limits; ``None`` for no limit. Runs that hit one are void, not failed."""

    max_cost: float | None = None
    """Of the whole plan, in the provider's currency."""
    max_tokens: float | None = None
    max_minutes: float | None = None
    """From the first request on."""
    run_max_cost: float | None = None
    """Of one run, like the next two. These are limits of its loop, so they are part of its configuration."""
    run_max_tokens: float | None = None
    run_max_minutes: float | None = None

    def shared(self, shards: int) -> Budget:
        """The budget of one of several shards; they run at the same time, so each has all of the minutes."""
        cost, tokens = (cap and cap / shards for cap in (self.max_cost, self.max_tokens))
        return replace(self, max_cost=cost, max_tokens=tokens)

    @classmethod
    def of(cls, table: Table) -> Budget:
        """A budget as a plan's table has it, the caps of one run in its table ``run``.

        :raises PlaceError: at the first thing that is wrong
        """
        keys = ("max_cost", "max_tokens", "max_minutes")
        table.only(*keys, "run")
        run = table.table("run").only(*keys)
        for key in keys:
            if run.amount(key) == 0:
                raise run.complaint("expected more than 0; leave it out for no cap", key)
        return cls(*map(table.amount, keys), *map(run.amount, keys))

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        caps = {key: value for key, value in asdict(self).items() if value is not None}
        run = {key.removeprefix("run_"): value for key, value in caps.items() if key.startswith("run_")}
        return {**{key: value for key, value in caps.items() if not key.startswith("run_")}, "run": run}


_PROFILES: Final = ("default", "recommended", "conversation", "creative", "tool_calling")
_STRATEGIES: Final = ("raw", "baseline", "production")

SIZES: Final[Mapping[str, Tree]] = {
    "smoke": {"scenarios": ["smoke"], "trials": 1},
    "typical": {"scenarios": ["typical"], "trials": 5, "strategies": [*_STRATEGIES]},
    "extreme": {"models": ["all"], "scenarios": ["extreme"], "trials": 10, "strategies": [*_STRATEGIES]},
    "full": {
        "models": ["all"],
        "profiles": [*_PROFILES],
        "scenarios": ["all"],
        "trials": 10,
        "strategies": [*_STRATEGIES],
    },
}
"""Presets of a whole evaluation: each fills in the options that are not given."""

_MODES: Final[Mapping[str, ToolUseMode]] = {
    **{mode: mode for mode in get_args(ToolUseMode)},
    **dict.fromkeys(("required", "must"), "enforced"),
    **dict.fromkeys(("preferred", "optional"), "relaxed"),
    **dict.fromkeys(("off", "none", "0", "false"), "disabled"),
}
_OF_SERVER: Final = ("api_prefix", "api_key_env", "api_key_header", "provider", "headers", "headers_env")
"""Settings that must not be sent to another server."""
_TABLES: Final = (
    *("eval", "endpoint", "endpoints", "loop", "sampling", "request_overrides", "budget", "prices"),
    *("gate", "strategy", "catalogue"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """All options, each with its default."""

    preset: str = ""
    """The preset that filled in options; empty for none."""
    models: tuple[str, ...] | None = None
    """A filter of the catalogue's models, of which an empty one leaves all; ``None``: nobody gave one, so
    those that are tagged ``stable``, or only what is added."""
    add_models: tuple[str, ...] = ()
    """Models by their exact names, known to the catalogue or not."""
    profiles: tuple[str, ...] = ("default",)
    """A filter of the sampling profiles; ``auto`` is, for each model, the first that is recommended."""
    strategies: tuple[str, ...] = ("production",)
    scenarios: tuple[str, ...] = ("default",)
    """Names and groups."""
    endpoints: tuple[str, ...] = ()
    """A filter of the endpoints with names; none: all of them."""
    enforce_applicability: bool = True
    """Whether a profile is run only with models that it is for."""
    content_tag_fallback: bool = False
    """Whether calls are read from text under every strategy but ``raw``."""
    trials: int = 1
    jobs: int = 1
    """Runs at the same time."""
    verbosity: int = 1
    """0: quiet, 1: events, 2: details."""
    tool_use_mode: ToolUseMode = "enforced"
    tool_failure_policy: ToolFailurePolicy = "fatal"
    fallback_retries: int = 0
    """Above 0, a run in relaxed mode goes on without tools when the server refuses them."""
    fix_empty_final: bool = True
    tool_allowlist: tuple[str, ...] = ()
    """Tools that may be called; none: all that a scenario exposes."""
    empty_response_retries: int = 1
    """Retries of a run that ended with an empty text."""
    void_retries: int = 2
    """Retries of a run that the provider failed."""
    accept_void: tuple[str, ...] = ()
    """Categories of void runs that count as ended, such as ``transport.forbidden``."""
    min_coverage: float = 0.9
    """The least share of the runs that have to say something: with fewer, gates are undecided, and void runs
    that are accepted leave the evaluation incomplete."""
    seeds: bool = False
    """Whether each trial sends a seed of its own."""
    endpoint: Endpoint = field(default_factory=Endpoint)
    """The one without a name, where there are no others."""
    named_endpoints: tuple[NamedEndpoint, ...] = ()
    budget: Budget = field(default_factory=Budget)
    prices: tuple[tuple[str, Price], ...] = ()
    loop: JsonText = NOTHING
    """Further settings of the loop, whatever the strategy; a JSON object."""
    sampling: JsonText = NOTHING
    """Options that go over those of every sampling profile; a JSON object."""
    request_overrides: JsonText = NOTHING
    """What is merged into every body; a JSON object."""
    gates: JsonText = field(default=canonical([]))
    """The gates as they stand; a JSON array."""
    own_strategies: JsonText = NOTHING
    catalogue: JsonText = NOTHING
    """Presets, models and sampling profiles of the plan's own."""

    @classmethod
    def of(cls, tree: object) -> Options:
        """Options as a plan file has them.

        >>> Options.of({"eval": {"models": "all, !minimax", "trials": 5}}).models
        ('all', '!minimax')

        :raises PlaceError: at the first thing that is wrong, such as ``eval.trials``
        """
        table = Table.of(tree).only(*_TABLES)
        axes = table.table("eval")
        size = _size(axes)
        filled = Table(axes.place, {**SIZES.get(size, {}), **axes.values})
        return cls(
            preset=size,
            endpoint=Endpoint.of(table.table("endpoint")),
            named_endpoints=named_endpoints(table.values),
            budget=Budget.of(table.table("budget")),
            prices=prices_of(table.table("prices")),
            loop=table.table("loop").checked(LoopConfig.of).json(),
            sampling=request_options(table.table("sampling")),
            request_overrides=overrides_of(table.table("request_overrides")),
            gates=canonical([parse(Table.of(gate, "gate").json()) for gate in _list(table, "gate")]),
            own_strategies=table.table("strategy").json(),
            catalogue=table.table("catalogue").json(),
            **_axes(filled),
        )

    @property
    def price_list(self) -> PriceList:
        """The prices, those of endpoints too."""
        there = {each.name: dict(each.prices) for each in self.named_endpoints if each.prices}
        return PriceList(dict(self.prices), there)

    def tree(self) -> dict[str, Json]:
        """All options in the structure of a plan file."""
        return {
            "eval": {
                key: [*value] if isinstance(value, tuple) else value
                for key in ("preset", *_KEYS)
                if (value := getattr(self, key)) is not None and (key, value) not in _OMITTED
            },
            **self._where(),
            "loop": parse(self.loop),
            "sampling": parse(self.sampling),
            "request_overrides": parse(self.request_overrides),
            "budget": self.budget.tree(),
            "prices": prices_tree(self.prices),
            "gate": parse(self.gates),
            "strategy": parse(self.own_strategies),
            "catalogue": parse(self.catalogue),
        }

    def _where(self) -> dict[str, Json]:
        """Where requests go: the endpoints with names, or else the one without."""
        named: dict[str, Json] = {each.name: each.tree() for each in self.named_endpoints}
        return {"endpoints": named} if named else {"endpoint": self.endpoint.tree()}


def layered(layers: Iterable[Tree]) -> Tree:
    """Merge several layers; later ones override earlier ones.

    A layer that names another server starts a new endpoint, so that no key and no header is sent to it. One
    with several endpoints takes the place of a single one.

    >>> layered([{"eval": {"trials": 2, "jobs": 4}}, {"eval": {"trials": 5}}])
    {'eval': {'trials': 5, 'jobs': 4}}
    """
    whole: Tree = {}
    for layer in layers:
        endpoint, given = whole.get("endpoint"), layer.get("endpoint")
        if isinstance(endpoint, Mapping) and isinstance(given, Mapping) and "base_url" in given:
            kept = {key: value for key, value in endpoint.items() if key not in _OF_SERVER}
            whole = {**whole, "endpoint": kept}
        if layer.get("endpoints"):
            whole = {key: value for key, value in whole.items() if key != "endpoint"}
        whole = merged(whole, layer)
    return whole


VOIDS: Final = tuple(name for name, one in CATEGORIES.items() if one.result == "void")
"""The categories of void runs that can be accepted."""
_WORDS: Final = (
    *("models", "add_models", "profiles", "strategies", "scenarios", "tool_allowlist"),
    *("accept_void", "endpoints"),
)
_SWITCHES: Final = (*("enforce_applicability", "content_tag_fallback", "fix_empty_final", "seeds"),)
_COUNTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("trials", "jobs"), 1),
    **dict.fromkeys(("verbosity", "fallback_retries", "empty_response_retries", "void_retries"), 0),
}
"""Options that are counts, and the least value of each."""
_KEYS: Final = (*_WORDS, *_SWITCHES, *_COUNTS, "tool_use_mode", "tool_failure_policy", "min_coverage")
_OMITTED: Final[tuple[tuple[str, object], ...]] = (
    *(("accept_void", ()), ("min_coverage", 0.9)),
    ("endpoints", ()),
)
"""Options that are not stored at their defaults."""


def _axes(table: Table) -> dict[str, Any]:
    """The values of the table ``eval`` that are given."""
    table.only("preset", *_KEYS)
    given: dict[str, Any] = {
        **{key: _words(table, key) for key in _WORDS if key in table.values},
        **{key: table.switch(key, default=False) for key in _SWITCHES if key in table.values},
        **{key: table.whole(key, least, least) for key, least in _COUNTS.items() if key in table.values},
    }
    for word in given.get("accept_void", ()):
        if word not in VOIDS:
            counts = f"{word!r} is no void run, so that it counts; there are: {', '.join(VOIDS)}"
            what = counts if word in CATEGORIES else unknown_name("void category", word, VOIDS)
            raise table.complaint(what, "accept_void")
    share = table.amount("min_coverage", 0.9)
    if share is None or not share <= 1:
        raise table.complaint(f"expected a number from 0 to 1, got {share!r}", "min_coverage")
    given["min_coverage"] = share
    if "tool_use_mode" in table.values:
        mode = table.text("tool_use_mode").strip().lower()
        if mode not in _MODES:
            raise table.complaint(unknown_name("mode", mode, _MODES), "tool_use_mode")
        given["tool_use_mode"] = _MODES[mode]
    if "tool_failure_policy" in table.values:
        given["tool_failure_policy"] = table.choice("tool_failure_policy", get_args(ToolFailurePolicy))
    return given


def _size(table: Table) -> str:
    size = table.text("preset").strip().lower()
    size = "full" if size == "all" else size
    if size and size not in SIZES:
        raise table.complaint(unknown_name("preset", size, SIZES), "preset")
    return size


def _words(table: Table, key: str) -> tuple[str, ...]:
    """A list of texts, or a text with commas."""
    value = table.values[key]
    return comma_separated(value) if isinstance(value, str) else table.names(key)


def _list(table: Table, key: str) -> list[object]:
    value = table.values.get(key, [])
    if not isinstance(value, list):
        raise PlaceError((key,), f"expected tables [[{key}]], got {value!r}")
    return value

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
from toolreel_core._settings import LoopConfig, Price, ToolFailurePolicy, ToolUseMode
from toolreel_core.evals._plan.named_endpoints import (
    Endpoint,
    NamedEndpoint,
    named_endpoints,
    overrides_of,
    prices_of,
    prices_tree,
)
from toolreel_core.evals._plan.settings import SETTINGS
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
    """All options, each with its default; :data:`~toolreel_core.evals.SETTINGS` says what they mean."""

    preset: str = ""
    models: tuple[str, ...] | None = None
    """Of an empty filter, all; ``None``: those that are tagged ``stable``, or only what is added."""
    add_models: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ("default",)
    strategies: tuple[str, ...] = ("production",)
    scenarios: tuple[str, ...] = ("default",)
    endpoints: tuple[str, ...] = ()
    """Of those with names; none: all of them."""
    enforce_applicability: bool = True
    content_tag_fallback: bool = False
    trials: int = 1
    jobs: int = 1
    verbosity: int = 1
    tool_use_mode: ToolUseMode = "enforced"
    tool_failure_policy: ToolFailurePolicy = "fatal"
    fallback_retries: int = 0
    fix_empty_final: bool = True
    tool_allowlist: tuple[str, ...] = ()
    """None: all that a scenario exposes."""
    empty_response_retries: int = 1
    void_retries: int = 2
    accept_void: tuple[str, ...] = ()
    min_coverage: float = 0.9
    """Void runs that are accepted leave an evaluation with less incomplete."""
    seeds: bool = False
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
        gates = table.values.get("gate", [])
        if not isinstance(gates, list):
            raise PlaceError(("gate",), f"expected tables [[gate]], got {gates!r}")
        return cls(
            endpoint=Endpoint.of(table.table("endpoint")),
            named_endpoints=named_endpoints(table.values),
            budget=Budget.of(table.table("budget")),
            prices=prices_of(table.table("prices")),
            loop=table.table("loop").checked(LoopConfig.of).json(),
            sampling=request_options(table.table("sampling")),
            request_overrides=overrides_of(table.table("request_overrides")),
            gates=canonical([parse(Table.of(gate, "gate").json()) for gate in gates]),
            own_strategies=table.table("strategy").json(),
            catalogue=table.table("catalogue").json(),
            **_axes(table.table("eval")),
        )

    def price(self, model: str, endpoint: str = "") -> Price | None:
        """What a model costs at an endpoint, for a million tokens; ``None`` if nobody knows."""
        there = (each.prices for each in self.named_endpoints if each.name == endpoint)
        return {**dict(self.prices), **dict(next(there, ()))}.get(model)

    def tree(self) -> dict[str, Json]:
        """All options in the structure of a plan file."""
        named: dict[str, Json] = {each.name: each.tree() for each in self.named_endpoints}
        return {
            "eval": {
                key: [*value] if isinstance(value, tuple) else value
                for key in _STORED
                if (value := getattr(self, key)) is not None and (key, value) not in _OMITTED
            },
            **({"endpoints": named} if named else {"endpoint": self.endpoint.tree()}),
            "loop": parse(self.loop),
            "sampling": parse(self.sampling),
            "request_overrides": parse(self.request_overrides),
            "budget": self.budget.tree(),
            "prices": prices_tree(self.prices),
            "gate": parse(self.gates),
            "strategy": parse(self.own_strategies),
            "catalogue": parse(self.catalogue),
        }


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


_EVAL: Final = {each.path[1]: each for each in SETTINGS if each.path[0] == "eval"}
_KIND_ORDER: Final = {"words": 1, "names": 1, "switch": 2, "count": 3, "text": 4, "number": 5}
_STORED: Final = sorted(_EVAL, key=lambda key: key != "preset" and _KIND_ORDER[_EVAL[key].kind])
"""In the order in which they are stored: the digest of a plan depends on it."""
_OMITTED: Final[tuple[tuple[str, object], ...]] = (
    *(("accept_void", ()), ("min_coverage", 0.9)),
    ("endpoints", ()),
)
"""Options that are not stored at their defaults, since older plans do not have them."""


def _axes(table: Table) -> dict[str, Any]:
    """The values of the table ``eval``, in which a preset fills in what is not given."""
    size = table.only(*_EVAL).text("preset").strip().lower()
    size = "full" if size == "all" else size
    if size and size not in SIZES:
        raise table.complaint(unknown_name("preset", size, SIZES), "preset")
    filled = Table(table.place, {**SIZES.get(size, {}), **table.values, "preset": size})
    given = {key: setting.value(filled) for key, setting in _EVAL.items() if key in filled.values}
    voids = [name for name, one in CATEGORIES.items() if one.result == "void"]
    for word in given.get("accept_void", ()):
        if word not in voids:
            counts = f"{word!r} is no void run, so that it counts; there are: {', '.join(voids)}"
            what = counts if word in CATEGORIES else unknown_name("void category", word, voids)
            raise table.complaint(what, "accept_void")
    if (share := given.get("min_coverage", 1)) > 1:
        raise table.complaint(f"expected a number from 0 to 1, got {share:g}", "min_coverage")
    if "tool_use_mode" in given:
        mode = given["tool_use_mode"].strip().lower()
        if mode not in _MODES:
            raise table.complaint(unknown_name("mode", mode, _MODES), "tool_use_mode")
        given["tool_use_mode"] = _MODES[mode]
    return given

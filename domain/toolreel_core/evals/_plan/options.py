"""The options of an evaluation, in the structure of a plan file, and the endpoints among them.

The same model can be at several providers: each run is made at each of ``[endpoints.NAME]``, else at the one
of ``[endpoint]``, which has no name. Plan file, command line and environment share this structure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from toolreel_core._config_checks import Natural, Table, unknown_name_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, merged, parse
from toolreel_core._plan import checked_request_options, read_overrides
from toolreel_core._settings import (
    API_PREFIX,
    LoopConfig,
    Price,
    ToolFailurePolicy,
    ToolUseMode,
    api_prefix_error_text,
    chat_url,
)
from toolreel_core.evals._plan.filters import split_comma_separated
from toolreel_core.evals._plan.keys import SETTINGS, parse_switch, settings_in_section
from toolreel_core.evals._scenarios.forms import checked_value
from toolreel_core.evals._verdicts import CATEGORIES

_OPENROUTER = "https://openrouter.ai/api"
# Subdomains too, but not `openrouter.ai.example.com`: the key must not go to another host.
_HOST = re.compile(r"https?://(?:[^/]*\.)?openrouter\.ai(?:[:/]|$)", re.IGNORECASE)
_CREDENTIAL = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
"""Words in the names of headers whose values are secrets: a plan names variables for these."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""The name of an endpoint, which is also a part of file names."""


@dataclass(frozen=True, slots=True)
class EvalEndpoint:
    """The server that requests go to. It is not part of a run's key."""

    base_url: str = _OPENROUTER
    api_prefix: str = API_PREFIX
    api_key_env: str = ""
    """The variable that holds the key."""
    api_key_header: str = "Authorization"
    provider: str = ""
    """Whose presets apply."""
    timeout: float = 120.0
    """Seconds; 0: no limit, as of the next two."""
    open_timeout: float = 10.0
    read_timeout: float | None = None
    headers: tuple[tuple[str, str], ...] = ()
    headers_env: tuple[tuple[str, str], ...] = ()
    """Headers, each with the variable that holds its value."""
    models: tuple[tuple[str, str], ...] = ()
    """Models that have another name there."""
    request_overrides: JsonText = NOTHING
    prices: tuple[tuple[str, Price], ...] = ()

    @classmethod
    def of(cls, table: Table, name: str = "") -> EvalEndpoint:
        """An endpoint as a plan's table has it.

        At OpenRouter, provider and key are known; anywhere else they have to be named, so that no key goes
        to a server that it is not for.

        :param name: empty for the one without a name
        :raises PlaceError: at the first thing that is wrong
        """
        if name and not _NAME.fullmatch(name):
            raise table.error_at("a name of an endpoint has letters, digits, '_', '-' and '.', at most 64")
        if name and "base_url" not in table.values:
            raise table.error_at("is missing; write the URL of the server", "base_url")
        base_url = table.text("base_url", _OPENROUTER).strip()
        if not re.match(r"https?://[^/@\s]+(?:/|$)", base_url):
            what = "expected http:// or https:// and a host, without user and password"
            shown = re.sub(r"//[^/@]*@", "//", base_url.partition("?")[0])  # either may hold a secret
            raise table.error_at(f"{what}, got {shown!r}", "base_url")
        without = "leave credentials out; api_key_env names the key's variable, headers_env those of headers"
        if any(_CREDENTIAL.search(name) for name in re.findall(r"[?&]([^=&]*)=", base_url)):
            raise table.error_at(without, "base_url")
        known = {"api_key_env": "OPENROUTER_API_KEY", "provider": "openrouter"}
        found = Table(table.place, {**(known if _HOST.match(base_url) else {}), **table.values}).build(
            cls,
            base_url=base_url.rstrip("/"),
            request_overrides=read_overrides(table.table("request_overrides")),
            prices=read_prices(table.table("prices")),
        )
        for header in filter(_CREDENTIAL.search, dict(found.headers)):
            raise table.error_at(without, "headers", header)
        if fault := api_prefix_error_text(found.api_prefix):
            raise table.error_at(fault, "api_prefix")
        return replace(found, read_timeout=found.read_timeout or found.timeout)

    @property
    def chat_url(self) -> str:
        """The URL that requests go to."""
        return chat_url(self.base_url, self.api_prefix)

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        texts = {name: dict(getattr(self, name)) for name in ("headers", "headers_env", "models")}
        overrides, prices = parse(self.request_overrides), prices_tree(self.prices)
        return {**asdict(self), **texts, "request_overrides": overrides, "prices": prices}


def read_prices(table: Table) -> tuple[tuple[str, Price], ...]:
    prices = {model: checked_value(table, model, "price") for model in table.values}
    return tuple((model, Price(each["prompt"], each["completion"])) for model, each in prices.items())


def prices_tree(prices: Iterable[tuple[str, Price]]) -> dict[str, Json]:
    return {model: {"prompt": price.input, "completion": price.output} for model, price in prices}


@dataclass(frozen=True, slots=True)
class Budget:
    """Spending limits; ``None`` for no limit. Runs that hit one are void, not failed."""

    max_cost: float | None = None
    """In the provider's currency."""
    max_tokens: float | None = None
    max_minutes: float | None = None

    def shared(self, shards: int) -> Budget:
        """The budget of one of several shards; they run at the same time, so each has all of the minutes."""
        cost, tokens = (cap and cap / shards for cap in (self.max_cost, self.max_tokens))
        return replace(self, max_cost=cost, max_tokens=tokens)

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        return {name: value for name, value in asdict(self).items() if value is not None}


SIZES = cast(
    "Mapping[str, Tree]",
    parse(
        JsonText("""{
"smoke": {"scenarios": ["smoke"], "trials": 1},
"typical": {"scenarios": ["typical"], "trials": 5, "strategies": ["raw", "baseline", "production"]},
"extreme": {"models": ["all"], "scenarios": ["extreme"], "trials": 10,
  "strategies": ["raw", "baseline", "production"]},
"full": {"models": ["all"], "scenarios": ["all"], "trials": 10,
  "profiles": ["default", "recommended", "conversation", "creative", "tool_calling"],
  "strategies": ["raw", "baseline", "production"]}
}""")
    ),
)
"""Presets of a whole evaluation: each fills in the options that are not given."""


@dataclass(frozen=True, slots=True)
class Options:
    """All options: first the keys of ``[eval]``, which docs/plan-keys.md explains, then its other tables."""

    preset: str = ""
    # Of an empty filter, all; None: those that are tagged `stable`, or only what is added.
    models: tuple[str, ...] | None = None
    add_models: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ("default",)
    strategies: tuple[str, ...] = ("production",)
    scenarios: tuple[str, ...] = ("default",)
    trials: int = 1
    jobs: int = 1
    verbosity: Natural = 1
    enforce_applicability: bool = True
    tool_use_mode: ToolUseMode = "enforced"
    tool_failure_policy: ToolFailurePolicy = "fatal"
    fallback_retries: Natural = 0
    content_tag_fallback: bool = False
    fix_empty_final: bool = True
    tool_allowlist: tuple[str, ...] = ()
    empty_response_retries: Natural = 1
    void_retries: Natural = 2
    accept_void: tuple[str, ...] = ()
    min_coverage: float = 0.9
    seeds: bool = False
    endpoints: Mapping[str, EvalEndpoint] = field(default_factory=lambda: {"": EvalEndpoint()})
    """By name; an empty one where there is just ``[endpoint]``."""
    budget: Budget = field(default_factory=Budget)
    run_budget: Budget = field(default_factory=Budget)
    """Of one run: limits of its loop, which are part of its configuration."""
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
        """Options as a plan file has them."""
        table = Table.of(tree).only(*_TABLES)
        gates = checked_value(table, "gate", "tables", [])
        single, named = table.table("endpoint"), table.table("endpoints").tables()
        if named and single.values:
            what = "the plan has tables [endpoints.NAME], each of which says where it is; leave this out"
            raise single.error_at(what, next(iter(single.values)))
        budget = table.table("budget")
        run = budget.table("run")
        for cap in (cap for cap, most in run.values.items() if most == 0):
            raise run.error_at("expected more than 0; leave it out for no cap", cap)
        tables = {
            "endpoints": {name: EvalEndpoint.of(each, name) for name, each in named or (("", single),)},
            "budget": budget.without("run").build(Budget),
            "run_budget": run.build(Budget),
            "prices": read_prices(table.table("prices")),
            "loop": table.table("loop").check_values(LoopConfig.of).json(),
            "sampling": checked_request_options(table.table("sampling")),
            "request_overrides": read_overrides(table.table("request_overrides")),
            "gates": canonical([parse(Table.of(gate, "gate").json()) for gate in gates]),
            "own_strategies": table.table("strategy").json(),
            "catalogue": table.table("catalogue").json(),
        }
        given = _eval_table_with_preset_values(table.table("eval"))
        options = given.build(cls, tables)
        voids = [name for name, one in CATEGORIES.items() if one.result == "void"]
        for word in options.accept_void:
            if word not in voids:
                raise given.error_at(unknown_name_message("void category", word, voids), "accept_void")
        if options.min_coverage > 1:
            what = f"expected a number from 0 to 1, got {options.min_coverage:g}"
            raise given.error_at(what, "min_coverage")
        return options

    def price(self, model: str, endpoint: str = "") -> Price | None:
        """What a model costs at an endpoint, for a million tokens; ``None`` if nobody knows."""
        there = self.endpoints[endpoint].prices if endpoint in self.endpoints else ()
        return {**dict(self.prices), **dict(there)}.get(model)

    def tree(self) -> dict[str, Json]:
        """All options in the structure of a plan file."""
        named: dict[str, Json] = {name: each.tree() for name, each in self.endpoints.items()}
        given = {name: getattr(self, name) for name in _EVAL}
        return {
            "eval": {name: value for name, value in given.items() if value is not None},
            **({"endpoint": named[""]} if "" in named else {"endpoints": named}),
            "loop": parse(self.loop),
            "sampling": parse(self.sampling),
            "request_overrides": parse(self.request_overrides),
            "budget": {**self.budget.tree(), "run": self.run_budget.tree()},
            "prices": prices_tree(self.prices),
            "gate": parse(self.gates),
            "strategy": parse(self.own_strategies),
            "catalogue": parse(self.catalogue),
        }


_EVAL = settings_in_section("eval")
_TABLES = (
    *("eval", "endpoint", "endpoints", "loop", "sampling", "request_overrides", "budget", "prices"),
    *("gate", "strategy", "catalogue"),
)


def _eval_table_with_preset_values(table: Table) -> Table:
    """The table ``eval``, in which a preset fills in what is not given, and a text with commas is a list."""
    size = table.text("preset").strip().lower()
    size = "full" if size == "all" else size
    if size and size not in SIZES:
        raise table.error_at(unknown_name_message("preset", size, SIZES), "preset")
    words = {
        name: split_comma_separated(text)
        for name, text in table.values.items()
        if isinstance(text, str) and name in _EVAL and _EVAL[name].kind in {"words", "tools"}
    }
    return Table(table.place, {**SIZES.get(size, {}), **table.values, **words, "preset": size})


_OF_SERVER = ("api_prefix", "api_key_env", "api_key_header", "provider", "headers", "headers_env")
"""Settings that must not be sent to another server."""


def merge_layers(layers: Iterable[Tree]) -> Tree:
    """Merge several layers; later ones override earlier ones.

    A layer that names another server starts a new endpoint, so that no key and no header is sent to it. One
    with several endpoints takes the place of a single one.

    >>> merge_layers([{"eval": {"trials": 2, "jobs": 4}}, {"eval": {"trials": 5}}])
    {'eval': {'trials': 5, 'jobs': 4}}
    """
    whole: Tree = {}
    for layer in layers:
        endpoint = as_tree(whole.get("endpoint"))
        if endpoint and "base_url" in as_tree(layer.get("endpoint")):
            kept = {name: value for name, value in endpoint.items() if name not in _OF_SERVER}
            whole = {**whole, "endpoint": kept}
        if layer.get("endpoints"):
            whole = {name: value for name, value in whole.items() if name != "endpoint"}
        whole = merged(whole, layer)
    return whole


_SWITCHES: Mapping[str, Tree] = {
    "OPENROUTER_FULL": {"preset": "full"},
    "OPENROUTER_STRATEGY_MATRIX": {"strategies": ["baseline", "production"]},
    "OPENROUTER_PRODUCTION_AUTO_SAMPLING_PROFILE": {"profiles": ["auto"]},
}
_BLANK = tuple(f"OPENROUTER_{name}" for name in ("API_PREFIX", "MODEL_FILTER", "SAMPLING_PROFILE_FILTER"))
"""Variables of which an empty value counts: it removes the prefix, or a filter."""


def environment_options(environ: Mapping[str, str]) -> Tree:
    """The options set in the environment, the lowest layer, in the structure of a plan file."""

    def value_of(name: str, reader: Callable[[str], Json]) -> Json:
        text = environ.get(name)
        if text is None or not (text.strip() or name in _BLANK):
            return None
        try:
            return reader(text.strip())
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None

    tree: Tree = {}
    for setting in SETTINGS:
        if (value := value_of(setting.variable, setting.parse_variable)) is not None:
            tree = merged(tree, setting.tree(value))
    for name, axes in _SWITCHES.items():
        if value_of(name, parse_switch):
            # The variable of a single axis overrides a switch.
            tree = {**tree, "eval": {**axes, **as_tree(tree.get("eval"))}}
    if environ.get("OPENROUTER_BASE_URL", "").strip():
        # What the user means to be at this server: OpenRouter, with its key.
        name = "OPENROUTER_API_KEY"
        held: Tree = {"api_key_env": name} if environ.get(name, "").strip() else {}
        tree = merged(tree, {"endpoint": {"provider": "openrouter", **held}})
    return tree

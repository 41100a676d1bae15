"""Keys of a plan: one table that the reader of plan files, the command line and the environment share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, read_json
from toolreel_core.evals._plan.filters import split_comma_separated

_TABLE = """
eval.preset text --preset OPENROUTER_EVAL_PRESET
    Defaults for options that you leave out: smoke, typical, extreme, full.
eval.models words --models OPENROUTER_MODEL_FILTER
    Which models of the catalogue: names, vendors, tags such as `stable`, patterns with *; !WORD excludes.
eval.add_models words --model
    A model by its exact name, in the catalogue or not; repeatable. Without --models, only these run.
eval.profiles words --profiles OPENROUTER_SAMPLING_PROFILE_FILTER
    Which sampling profiles: names, tags, patterns; `auto` is the recommended one of each model.
eval.strategies words --strategies OPENROUTER_STRATEGY_FILTER
    Which strategies: raw, baseline, production, or your own.
eval.scenarios words --scenarios OPENROUTER_SCENARIOS
    Which scenarios: names, groups such as production, and files of your own (FILE.toml).
eval.trials positive --trials OPENROUTER_TRIALS
    Runs of each cell.
eval.jobs positive --jobs OPENROUTER_JOBS
    Maximum number of concurrent runs.
eval.verbosity count --verbosity VERBOSE
    Of `eval run`: 0 prints nothing but errors, 1 progress, 2 a line for each run.
eval.enforce_applicability switch --enforce-applicability OPENROUTER_SAMPLING_PROFILE_ENFORCE_APPLICABILITY
    Skip sampling profiles that do not apply to a model.
eval.tool_use_mode relaxed|enforced|disabled OPENROUTER_TOOL_USE_MODE
    Whether a tool has to be called, may be, or none is sent.
eval.tool_failure_policy fatal|tolerated OPENROUTER_TOOL_FAILURE_POLICY
    Whether failed tool calls fail the run.
eval.fallback_retries count OPENROUTER_TOOL_CALLING_FALLBACK_RETRY_COUNT
    Above 0: in relaxed mode, go on without tools if the server refuses them.
eval.content_tag_fallback switch --content-tag-fallback OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK
    Read calls from text under every strategy but raw.
eval.fix_empty_final switch OPENROUTER_FIX_EMPTY_FINAL
    Ask again when the final text is empty.
eval.tool_allowlist tools --tool-allowlist OPENROUTER_TOOL_ALLOWLIST
    Tools that may be called; none: all that a scenario exposes.
eval.empty_response_retries count --empty-response-retries OPENROUTER_EMPTY_RESPONSE_RETRY_COUNT
    Retries after an empty response.
eval.void_retries count --void-retries
    Retries after the provider failed.
eval.accept_void words --accept-void
    Void runs of this category (such as transport.forbidden) count as ended, and are not repeated.
eval.min_coverage number --min-coverage
    Minimum share of runs that say something, 0.9 by default: with fewer, gates are undecided.
eval.seeds switch --seeds
    Send a different seed with each trial.
endpoint.base_url text --base-url OPENROUTER_BASE_URL
    An OpenAI-compatible server.
endpoint.api_prefix text --api-prefix OPENROUTER_API_PREFIX
    Appended to a URL without a version; empty for none.
endpoint.api_key_env text --api-key-env
    The variable that holds the API key; of OpenRouter, OPENROUTER_API_KEY.
endpoint.api_key_header text --api-key-header
    Header that carries the key, such as api-key; in any but Authorization it goes without Bearer.
endpoint.provider text --provider
    The provider whose presets apply; openrouter at OpenRouter.
endpoint.timeout seconds --timeout OPENROUTER_CLIENT_TIMEOUT
    Seconds for a whole exchange; 0: no limit.
endpoint.open_timeout seconds --open-timeout OPENROUTER_OPEN_TIMEOUT
    Seconds until the connection is open.
endpoint.read_timeout seconds --read-timeout OPENROUTER_READ_TIMEOUT
    Seconds until the next bytes arrive; as many as timeout, if you leave it out.
endpoint.headers texts
    Further headers of each request, never a credential.
endpoint.headers_env texts
    Further headers, each with the variable that holds its value (--header).
endpoint.models texts
    Models that have another name there.
endpoint.request_overrides object
    Merged into each request that goes there, over the plan's: a route, a quantisation.
endpoint.prices object
    What models cost there, over the plan's: `prices."MODEL"`.
sampling object OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON
    Options that override every profile (--set).
endpoint.headers.HTTP-Referer text OPENROUTER_HTTP_REFERER
    OpenRouter: the address of your site.
endpoint.headers.X-Title text OPENROUTER_X_TITLE
    OpenRouter: the name of your site.
sampling.temperature number OPENROUTER_TEMPERATURE
    Overrides every profile.
sampling.top_p number OPENROUTER_TOP_P
    The same.
sampling.top_k count OPENROUTER_TOP_K
    The same.
sampling.min_p number OPENROUTER_MIN_P
    The same.
request_overrides.route text OPENROUTER_ROUTE
    OpenRouter: the route.
request_overrides.transforms transforms OPENROUTER_TRANSFORMS
    OpenRouter: none, or a list.
request_overrides.provider.only words OPENROUTER_PROVIDER_ONLY
    OpenRouter: only these providers.
request_overrides.provider.order words OPENROUTER_PROVIDER_ORDER
    OpenRouter: providers in this order.
request_overrides.provider.ignore words OPENROUTER_PROVIDER_IGNORE
    OpenRouter: none of these providers.
request_overrides object OPENROUTER_REQUEST_OVERRIDES_JSON
    Merged into every request body.
budget.max_cost number --max-cost
    Maximum cost of all runs.
budget.max_tokens number --max-total-tokens
    Maximum tokens of all runs.
budget.max_minutes number --max-minutes
    Maximum minutes for all runs.
budget.run.max_cost number
    The same of one run, which is void above it.
budget.run.max_tokens number
    The same of one run, which is void above it.
budget.run.max_minutes number
    The same of one run, which is void above it.
loop object
    Settings of the loop, such as max_turns, whatever the strategy (--set).
"""
"""Place, kind, option and variable of each key, and below what it is.

Kinds: ``words``: a list, or a text with commas; ``seconds``: a number, where 0 means no limit; ``texts``: a
table of texts; ``object``: any table; words with ``|`` between them: one of these."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanKey:
    """One key of a plan, and where else its value can be given."""

    place: str
    """Such as ``eval.trials``."""
    kind: str
    about: str
    """For ``--help`` and the documentation."""
    option: str = ""
    """Of the command line; empty if it has none."""
    variable: str = ""
    """Of the environment, one of the reference harness; empty if there is none."""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.place.split("."))

    def tree(self, value: Json) -> Tree:
        for name in reversed(self.path):
            value = {name: value}
        return as_tree(value)

    def parse_variable(self, text: str) -> Json:
        """The value that a variable of the environment has.

        Parsed strictly: an invalid value never falls back to the default.

        :raises ConfigError: if it is not of its kind
        """
        return _READERS.get(self.kind, str)(text)


def _read_settings() -> Iterator[PlanKey]:
    # An entry begins at the margin; its meaning is indented below it.
    for entry in re.split(r"\n(?=\S)", _TABLE.strip()):
        head, about = entry.split("\n", 1)
        place, kind, *names = head.split()
        option = "".join(name for name in names if name.startswith("--"))
        variable = "".join(name for name in names if name != option)
        yield PlanKey(place, kind, about.strip(), option, variable)


SETTINGS = tuple(_read_settings())
"""Every key of a plan, but for tables with names of your own (``prices``, ``endpoints``, ``strategy``,
``gate``, ``catalogue``). Later ones override earlier ones where both have a variable."""


def settings_in_section(*section: str) -> dict[str, PlanKey]:
    return {each.path[-1]: each for each in SETTINGS if each.path[:-1] == section}


_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


def parse_switch(text: str) -> bool:
    if text.lower() not in (*_ON, *_OFF):
        raise ConfigError(f"expected 1 or 0, got {text!r}")
    return text.lower() in _ON


def _parse_number(text: str, kind: Callable[[str], float] = float) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(
            f"expected {'a number' if kind is float else 'a whole number'}, got {text!r}"
        ) from None


def _parse_object(text: str) -> Tree:
    tree = read_json(text).value_or(None)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"expected a JSON object, got {text!r}")
    return tree


def _parse_tools(text: str) -> Json:
    words = split_comma_separated(text)
    return [] if {"all", "full", "*"} & {*words} else [*words]


def _parse_transforms(text: str) -> Json:
    if text.lower() == "auto":
        return None
    return [] if text.lower() in {"none", *_OFF} else [*split_comma_separated(text)]


_READERS: Mapping[str, Callable[[str], Json]] = {
    "words": lambda text: [*split_comma_separated(text)],
    "tools": _parse_tools,
    "transforms": _parse_transforms,
    "switch": parse_switch,
    "count": lambda text: _parse_number(text, int),
    "positive": lambda text: _parse_number(text, int),
    "number": _parse_number,
    "seconds": lambda text: max(0.0, _parse_number(text)),  # 0 or less means no limit
    "object": _parse_object,
}

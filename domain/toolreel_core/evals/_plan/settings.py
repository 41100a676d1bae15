"""Every key of a plan in one table: its default, its option, its environment variable, and what it means.

The reader of plan files, the command line, the environment and the documentation all read this table. The
environment variables are those of the reference harness, and the lowest layer of options. Each is parsed
strictly: an invalid value is an error, it never falls back to the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias, get_args

from toolreel_core._errors import ConfigError
from toolreel_core._internal import Table, unknown_name
from toolreel_core._jsontext import Json, Tree, as_tree, merged, read
from toolreel_core._settings import ToolFailurePolicy
from toolreel_core.evals._plan.filters import comma_separated

SettingKind: TypeAlias = Literal["words", "names", "switch", "count", "number", "seconds", "text", "object"]
"""``words``: a list, or a text with commas; ``names``: a list of exact names; ``seconds``: a number, where 0
means no limit; ``object``: a whole table."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One key of a plan, and where else its value can be given."""

    place: str
    """Such as ``eval.trials``."""
    kind: SettingKind
    default: Json
    """``None``: nothing is set."""
    about: str
    """For ``--help`` and the documentation."""
    option: str = ""
    """Of the command line; empty if it has none."""
    variable: str = ""
    """Of the environment; empty if there is none."""
    least: int = 0
    """Of a count."""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    """The only values, if they are a few words."""

    @property
    def path(self) -> tuple[str, ...]:
        """The place, key by key."""
        return tuple(self.place.split("."))

    def placed(self, value: Json) -> Tree:
        """A plan that has this value, and nothing else."""
        for key in reversed(self.path):
            value = {key: value}
        return as_tree(value)

    def value(self, table: Table) -> Any:  # noqa: ANN401 - of its kind
        """The value that a plan's table has, checked.

        :raises PlaceError: if it is not of its kind
        """
        key = self.path[-1]
        match self.kind:
            case "words" | "names" if isinstance(text := table.values[key], str):
                return comma_separated(text)
            case "words" | "names":
                return table.names(key)
            case "switch":
                return table.switch(key, default=False)
            case "count":
                return table.whole(key, self.least, self.least)
            case "number" | "seconds":
                return table.amount(key)
            case _ if self.choices:
                return table.choice(key, self.choices)
            case _:
                return table.text(key)


SETTINGS: Final = (
    Setting(
        *("eval.preset", "text", ""),
        "Defaults for options that you leave out: smoke, typical, extreme, full.",
        *("--preset", "OPENROUTER_EVAL_PRESET"),
        metavar="NAME",
    ),
    Setting(
        *("eval.models", "words", None),
        "Which models of the catalogue: names, vendors, tags such as `stable`, patterns with *; "
        "!WORD excludes.",
        *("--models", "OPENROUTER_MODEL_FILTER"),
    ),
    Setting(
        *("eval.add_models", "names", []),
        "A model by its exact name, in the catalogue or not; repeatable. Without --models, only these run.",
        "--model",
        metavar="NAME",
    ),
    Setting(
        *("eval.profiles", "words", ["default"]),
        "Which sampling profiles: names, tags, patterns; `auto` is the recommended one of each model.",
        *("--profiles", "OPENROUTER_SAMPLING_PROFILE_FILTER"),
    ),
    Setting(
        *("eval.strategies", "words", ["production"]),
        "Which strategies: raw, baseline, production, or your own.",
        *("--strategies", "OPENROUTER_STRATEGY_FILTER"),
    ),
    Setting(
        *("eval.scenarios", "words", ["default"]),
        "Which scenarios: names, groups such as production, and files of your own (FILE.toml).",
        *("--scenarios", "OPENROUTER_SCENARIOS"),
    ),
    Setting("eval.trials", "count", 1, "Runs of each cell.", "--trials", "OPENROUTER_TRIALS", 1),
    Setting("eval.jobs", "count", 1, "Maximum number of concurrent runs.", "--jobs", "OPENROUTER_JOBS", 1),
    Setting(
        *("eval.verbosity", "count", 1),
        "Of `eval run`: 0 prints nothing but errors, 1 progress, 2 a line for each run.",
        *("--verbosity", "VERBOSE"),
    ),
    Setting(
        *("eval.enforce_applicability", "switch", True),
        "Skip sampling profiles that do not apply to a model.",
        *("--enforce-applicability", "OPENROUTER_SAMPLING_PROFILE_ENFORCE_APPLICABILITY"),
    ),
    Setting(
        *("eval.tool_use_mode", "text", "enforced"),
        "enforced, relaxed or disabled.",
        *("--tool-use-mode", "OPENROUTER_TOOL_USE_MODE"),
        metavar="MODE",
    ),
    Setting(
        *("eval.tool_failure_policy", "text", "fatal"),
        "Whether failed tool calls fail the run.",
        *("--tool-failure-policy", "OPENROUTER_TOOL_FAILURE_POLICY"),
        choices=get_args(ToolFailurePolicy),
    ),
    Setting(
        *("eval.fallback_retries", "count", 0),
        "Above 0: in relaxed mode, go on without tools if the server refuses them.",
        *("--fallback-retries", "OPENROUTER_TOOL_CALLING_FALLBACK_RETRY_COUNT"),
    ),
    Setting(
        *("eval.content_tag_fallback", "switch", False),
        "Read calls from text under every strategy but raw.",
        *("--content-tag-fallback", "OPENROUTER_ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK"),
    ),
    Setting(
        *("eval.fix_empty_final", "switch", True),
        "Ask again when the final text is empty.",
        *("--fix-empty-final", "OPENROUTER_FIX_EMPTY_FINAL"),
    ),
    Setting(
        *("eval.tool_allowlist", "words", []),
        "Tools that may be called.",
        *("--tool-allowlist", "OPENROUTER_TOOL_ALLOWLIST"),
    ),
    Setting(
        *("eval.empty_response_retries", "count", 1),
        "Retries after an empty response.",
        *("--empty-response-retries", "OPENROUTER_EMPTY_RESPONSE_RETRY_COUNT"),
    ),
    Setting("eval.void_retries", "count", 2, "Retries after the provider failed.", "--void-retries"),
    Setting(
        *("eval.accept_void", "names", []),
        "Void runs of this category (transport.forbidden for 403) count as ended: they are not repeated. "
        "Repeatable.",
        "--accept-void",
        metavar="CATEGORY",
    ),
    Setting(
        *("eval.min_coverage", "number", 0.9),
        "Minimum share of runs that say something, 0.9 by default: with fewer, gates are undecided.",
        "--min-coverage",
    ),
    Setting("eval.seeds", "switch", False, "Send a different seed with each trial.", "--seeds"),
    Setting(
        *("eval.endpoints", "words", []),
        "Which of the plan's [endpoints.NAME]: names, patterns.",
        "--endpoints",
    ),
    Setting(
        *("endpoint.base_url", "text", "https://openrouter.ai/api"),
        "An OpenAI-compatible server.",
        *("--base-url", "OPENROUTER_BASE_URL"),
        metavar="URL",
    ),
    Setting(
        *("endpoint.api_prefix", "text", "/v1"),
        "Appended to a URL without a version; empty for none.",
        *("--api-prefix", "OPENROUTER_API_PREFIX"),
        metavar="PATH",
    ),
    Setting(
        *("endpoint.api_key_env", "text", None),
        "The variable that holds the API key; of OpenRouter, OPENROUTER_API_KEY.",
        "--api-key-env",
        metavar="VAR",
    ),
    Setting(
        *("endpoint.api_key_header", "text", "Authorization"),
        "Header that carries the key, such as api-key; in any but Authorization it goes without Bearer.",
        "--api-key-header",
        metavar="NAME",
    ),
    Setting(
        *("endpoint.provider", "text", None),
        "The provider whose presets apply; openrouter at OpenRouter.",
        "--provider",
        metavar="NAME",
    ),
    Setting(
        *("endpoint.timeout", "seconds", 120.0),
        "Seconds for a whole exchange; 0: no limit.",
        *("--timeout", "OPENROUTER_CLIENT_TIMEOUT"),
    ),
    Setting(
        *("endpoint.open_timeout", "seconds", 10.0),
        "Seconds until the connection is open.",
        *("--open-timeout", "OPENROUTER_OPEN_TIMEOUT"),
    ),
    Setting(
        *("endpoint.read_timeout", "seconds", None),
        "Seconds until the next bytes arrive; as many as timeout, if you leave it out.",
        *("--read-timeout", "OPENROUTER_READ_TIMEOUT"),
    ),
    Setting("endpoint.headers", "object", {}, "Further headers of each request, never a credential."),
    Setting(
        *("endpoint.headers.HTTP-Referer", "text", None),
        "OpenRouter: the address of your site.",
        variable="OPENROUTER_HTTP_REFERER",
    ),
    Setting(
        *("endpoint.headers.X-Title", "text", None),
        "OpenRouter: the name of your site.",
        variable="OPENROUTER_X_TITLE",
    ),
    Setting(
        *("endpoint.headers_env", "object", {}),
        "Further headers, each with the variable that holds its value (--header).",
    ),
    Setting(
        *("sampling", "object", {}),
        "Options that override every profile.",
        *("--sampling-json", "OPENROUTER_LLM_OPTIONS_DEFAULTS_JSON"),
    ),
    Setting(
        *("sampling.temperature", "number", None),
        "Overrides --sampling-json, like the next three.",
        *("--temperature", "OPENROUTER_TEMPERATURE"),
    ),
    Setting("sampling.top_p", "number", None, "The same.", "--top-p", "OPENROUTER_TOP_P"),
    Setting("sampling.top_k", "count", None, "The same.", "--top-k", "OPENROUTER_TOP_K"),
    Setting("sampling.min_p", "number", None, "The same.", "--min-p", "OPENROUTER_MIN_P"),
    Setting(
        *("request_overrides.route", "text", None),
        "OpenRouter: the route.",
        *("--route", "OPENROUTER_ROUTE"),
        metavar="NAME",
    ),
    Setting(
        *("request_overrides.transforms", "words", None),
        "OpenRouter: none, or a list.",
        *("--transforms", "OPENROUTER_TRANSFORMS"),
    ),
    *(
        Setting(
            *(f"request_overrides.provider.{key}", "words", None),
            f"OpenRouter: {what}.",
            *(f"--provider-{key}", f"OPENROUTER_PROVIDER_{key.upper()}"),
        )
        for key, what in (
            ("only", "only these providers"),
            ("order", "providers in this order"),
            ("ignore", "none of these providers"),
        )
    ),
    Setting(
        *("request_overrides", "object", {}),
        "Merged into every request body.",
        *("--request-overrides", "OPENROUTER_REQUEST_OVERRIDES_JSON"),
    ),
    Setting("budget.max_cost", "number", None, "Maximum cost of all runs.", "--max-cost"),
    Setting("budget.max_tokens", "count", None, "Maximum tokens of all runs.", "--max-total-tokens"),
    Setting("budget.max_minutes", "number", None, "Maximum minutes for all runs.", "--max-minutes"),
    *(
        Setting(f"budget.run.{key}", "number", None, f"Maximum {what} of one run, which is void above it.")
        for key, what in (("max_cost", "cost"), ("max_tokens", "tokens"), ("max_minutes", "minutes"))
    ),
    Setting("loop", "object", {}, "Settings of the loop, such as max_turns, whatever the strategy (--set)."),
)
"""Tables with names of your own (``prices``, ``endpoints``, ``strategy``, ``gate``, ``catalogue``) are not
among them. Later rows override earlier ones where both have a variable."""

OTHER_VARIABLES: Final[Mapping[str, str]] = {
    "OPENROUTER_API_KEY": "the key, at OpenRouter and at OPENROUTER_BASE_URL",
    "OPENROUTER_REPORT_DIR": "the directory of `eval summarize`, if none is given",
    "OPENROUTER_HTTP_ADAPTER": "only httpx: there is one client",
    "OPENROUTER_FULL": "1: eval.preset is full",
    "OPENROUTER_STRATEGY_MATRIX": "1: eval.strategies are baseline and production",
    "OPENROUTER_PRODUCTION_AUTO_SAMPLING_PROFILE": "1: eval.profiles is auto, unless they are given",
    "OPENROUTER_FALLBACK_MATRIX": "refused: write a strategy of your own",
}
"""Variables that are not the value of one key, with what they do."""


def environment(environ: Mapping[str, str]) -> Tree:
    """The options set in the environment, in the structure of a plan file.

    >>> environment({"OPENROUTER_TRIALS": "5", "OPENROUTER_MODEL_FILTER": ""})
    {'eval': {'models': [], 'trials': 5}}

    :raises ConfigError: if a value cannot be read; names the variable
    """
    tree: Tree = {}
    for setting in SETTINGS:
        value = _value_of(environ, setting.variable, _READERS.get(setting.variable, _BY_KIND[setting.kind]))
        if setting.kind == "object" and value is not None:  # its keys replace those of single variables
            tree = {**tree, setting.place: {**as_tree(tree.get(setting.place)), **as_tree(value)}}
        elif value is not None:
            tree = merged(tree, setting.placed(value))
    axes = as_tree(tree.get("eval"))
    full, matrix, auto, fallback = (
        _value_of(environ, f"{_PREFIX}{name}", _switch)
        for name in ("FULL", "STRATEGY_MATRIX", "PRODUCTION_AUTO_SAMPLING_PROFILE", "FALLBACK_MATRIX")
    )
    words: dict[str, Json] = {"preset": "full"} if full and "preset" not in axes else {}
    whole = str({**axes, **words}.get("preset")).lower() in {"full", "all"}
    if matrix and not whole:
        words["strategies"] = ["baseline", "production"]
    if auto and "profiles" not in axes and not whole:
        words["profiles"] = ["auto"]
    if fallback:
        raise ConfigError(
            f"{_PREFIX}FALLBACK_MATRIX: reading calls from text is no axis; write it into a strategy of your "
            "own and compare the two: [strategy.no_text] with config = { text_dialects = [] }"
        )
    _check_names(environ)
    _value_of(environ, f"{_PREFIX}HTTP_ADAPTER", _client)
    if environ.get(f"{_PREFIX}BASE_URL", "").strip():
        # What the user means to be at this server: OpenRouter, with its key.
        key = f"{_PREFIX}API_KEY"
        held: Tree = {"api_key_env": key} if environ.get(key, "").strip() else {}
        tree = merged(tree, {"endpoint": {"provider": "openrouter", **held}})
    return merged(tree, {"eval": words}) if words else tree


def _value_of(environ: Mapping[str, str], name: str, reader: Callable[[str], Json]) -> Json:
    """The value of a variable; nothing if it is not set."""
    text = environ.get(name)
    if text is None or not (text.strip() or name in _BLANK):
        return None
    try:
        return reader(text.strip())
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


_PREFIX: Final = "OPENROUTER_"
_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")
_BLANK: Final = tuple(
    f"{_PREFIX}{name}" for name in ("API_PREFIX", "MODEL_FILTER", "SAMPLING_PROFILE_FILTER")
)
"""Variables of which an empty value counts: it removes the prefix, or a filter."""
_OTHER_CLIENTS: Final = ("default", "net_http", "nethttp")
"""HTTP clients of the reference harness that do not exist here."""


def _switch(text: str) -> bool:
    if text.lower() not in (*_ON, *_OFF):
        raise ConfigError(f"expected 1 or 0, got {text!r}")
    return text.lower() in _ON


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"expected a number, got {text!r}") from None


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"expected a whole number, got {text!r}") from None


def json_object(text: str) -> Tree:
    """An object from its JSON.

    :raises ConfigError: if it is none
    """
    tree = read(text).value_or(None)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"expected a JSON object, got {text!r}")
    return tree


def _words(text: str) -> Json:
    return [*comma_separated(text)]


def _client(text: str) -> Json:
    """There is one client; a choice that would have no effect is refused."""
    word = text.lower()
    if word in _OTHER_CLIENTS:
        raise ConfigError(
            f"requests are sent with httpx, not with {word!r}; write httpx, or unset the variable"
        )
    if word != "httpx":
        raise ConfigError(unknown_name("HTTP client", word, ("httpx",)))
    return word


def _tools(text: str) -> Json:
    words = comma_separated(text)
    return [] if {"all", "full", "*"} & {*words} else [*words]


def _transforms(text: str) -> Json:
    """``auto`` leaves the transforms to OpenRouter."""
    if text.lower() == "auto":
        return None
    return [] if text.lower() in {"none", "off", "0", "false"} else _words(text)


_BY_KIND: Final[Mapping[str, Callable[[str], Json]]] = {
    "words": _words,
    "names": _words,
    "switch": _switch,
    "count": _count,
    "number": _number,
    "seconds": lambda text: max(0.0, _number(text)),  # 0 or less means no limit
    "text": str,
    "object": json_object,
}
_READERS: Final[Mapping[str, Callable[[str], Json]]] = {
    "VERBOSE": lambda text: int(_switch(text)) if text.lower() in {*_ON, *_OFF} else _count(text),
    "OPENROUTER_TOOL_ALLOWLIST": _tools,
    "OPENROUTER_TRANSFORMS": _transforms,
}
"""Of variables that have words of their own."""
_NEAR: Final = 0.8
"""How similar a name must be to one that is read to be taken for it, mistyped: 1 is equal. Other programs
have variables with this prefix too, which are none of ours."""


def _check_names(environ: Mapping[str, str]) -> None:
    """Refuse a variable whose name is nearly that of one that is read: it would have no effect.

    Further names of keys are left alone, since a plan may name any variable that holds one.
    """
    names = (*OTHER_VARIABLES, *(setting.variable for setting in SETTINGS))
    known = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
    for name in sorted(environ):
        bare = name.removeprefix(_PREFIX)
        if bare == name or bare in known or bare.startswith("API_KEY"):
            continue
        exchanged = [one for one in known if sorted(one) == sorted(bare)]  # in a short name, half of it
        if near := exchanged or get_close_matches(bare, known, 1, _NEAR):
            raise ConfigError(f"{name}: there is no such variable; did you mean '{_PREFIX}{near[0]}'?")

"""The environment variables of the reference harness, read as the lowest layer of options.

Each is parsed strictly: an invalid value is an error, it never falls back to the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Json, Tree, as_tree, merged, read
from toolreel_core.evals._plan.filters import comma_separated

_Reader: TypeAlias = Callable[[str], Json]

_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")
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


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"expected a whole number, got {text!r}") from None


def _seconds(text: str) -> float:
    """0 or less means no limit."""
    return max(0.0, _number(text))


def _object(text: str) -> Json:
    tree = read(text).value_or(None)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"expected a JSON object, got {text!r}")
    return tree


def _words(text: str) -> Json:
    return [*comma_separated(text)]


def _tools(text: str) -> Json:
    words = comma_separated(text)
    return [] if {"all", "full", "*"} & {*words} else [*words]


def _transforms(text: str) -> Json:
    """``auto`` leaves the transforms to OpenRouter."""
    if text.lower() == "auto":
        return None
    return [] if text.lower() in {"none", "off", "0", "false"} else _words(text)


def _verbosity(text: str) -> int:
    return int(_switch(text)) if text.lower() in {*_ON, *_OFF} else _whole(text)


_PREFIX: Final = "OPENROUTER_"
_BLANK: Final = tuple(
    f"{_PREFIX}{name}" for name in ("API_PREFIX", "MODEL_FILTER", "SAMPLING_PROFILE_FILTER")
)
"""Variables of which an empty value counts: it removes the prefix, or a filter."""

_OPENROUTER: Final[Mapping[str, tuple[_Reader, str]]] = {
    "BASE_URL": (str, "endpoint.base_url"),
    "API_PREFIX": (str, "endpoint.api_prefix"),
    "CLIENT_TIMEOUT": (_seconds, "endpoint.timeout"),
    "OPEN_TIMEOUT": (_seconds, "endpoint.open_timeout"),
    "READ_TIMEOUT": (_seconds, "endpoint.read_timeout"),
    "HTTP_REFERER": (str, "endpoint.headers.HTTP-Referer"),
    "X_TITLE": (str, "endpoint.headers.X-Title"),
    "TRIALS": (_whole, "eval.trials"),
    "JOBS": (_whole, "eval.jobs"),
    "MODEL_FILTER": (_words, "eval.models"),
    "SAMPLING_PROFILE_FILTER": (_words, "eval.profiles"),
    "SAMPLING_PROFILE_ENFORCE_APPLICABILITY": (_switch, "eval.enforce_applicability"),
    "STRATEGY_FILTER": (_words, "eval.strategies"),
    "SCENARIOS": (_words, "eval.scenarios"),
    "TOOL_USE_MODE": (str, "eval.tool_use_mode"),
    "TOOL_FAILURE_POLICY": (str, "eval.tool_failure_policy"),
    "TOOL_CALLING_FALLBACK_RETRY_COUNT": (_whole, "eval.fallback_retries"),
    "FIX_EMPTY_FINAL": (_switch, "eval.fix_empty_final"),
    "TOOL_ALLOWLIST": (_tools, "eval.tool_allowlist"),
    "EMPTY_RESPONSE_RETRY_COUNT": (_whole, "eval.empty_response_retries"),
    "ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK": (_switch, "eval.content_tag_fallback"),
    "LLM_OPTIONS_DEFAULTS_JSON": (_object, "sampling"),
    "TEMPERATURE": (_number, "sampling.temperature"),
    "TOP_P": (_number, "sampling.top_p"),
    "TOP_K": (_whole, "sampling.top_k"),
    "MIN_P": (_number, "sampling.min_p"),
    "ROUTE": (str, "request_overrides.route"),
    "TRANSFORMS": (_transforms, "request_overrides.transforms"),
    "PROVIDER_ONLY": (_words, "request_overrides.provider.only"),
    "PROVIDER_ORDER": (_words, "request_overrides.provider.order"),
    "PROVIDER_IGNORE": (_words, "request_overrides.provider.ignore"),
}
VARIABLES: Final[Mapping[str, tuple[_Reader, str]]] = {
    "VERBOSE": (_verbosity, "eval.verbosity"),
    **{f"{_PREFIX}{name}": variable for name, variable in _OPENROUTER.items()},
}
"""Variables whose value goes to one place in a plan; later entries override earlier ones. The remaining
variables are switches that expand to words; :func:`environment` handles them."""


def environment(environ: Mapping[str, str]) -> Tree:
    """The options set in the environment, in the structure of a plan file.

    >>> environment({"OPENROUTER_TRIALS": "5", "OPENROUTER_MODEL_FILTER": ""})
    {'eval': {'trials': 5, 'models': []}}

    :raises ConfigError: if a value cannot be read; names the variable
    """
    tree: Tree = {}
    for name, (reader, place) in VARIABLES.items():
        value = _value_of(environ, name, reader)
        if value is None:
            continue
        for key in reversed(place.split(".")):
            value = {key: value}
        tree = merged(tree, as_tree(value))
    if overrides := as_tree(_value_of(environ, f"{_PREFIX}REQUEST_OVERRIDES_JSON", _object)):
        tree = {**tree, "request_overrides": {**as_tree(tree.get("request_overrides")), **overrides}}
    words = _words_for(environ, as_tree(tree.get("eval")))
    _check_names(environ)
    _value_of(environ, f"{_PREFIX}HTTP_ADAPTER", _client)
    if environ.get(f"{_PREFIX}BASE_URL", "").strip():
        # What the user means to be at this server: OpenRouter, with its key.
        key = f"{_PREFIX}API_KEY"
        held: Tree = {"api_key_env": key} if environ.get(key, "").strip() else {}
        tree = merged(tree, {"endpoint": {"provider": "openrouter", **held}})
    return merged(tree, {"eval": words}) if words else tree


def _words_for(environ: Mapping[str, str], axes: Tree) -> Tree:
    """The options of the reference's switches that expand to words."""
    found: dict[str, Json] = {}
    full, matrix, auto, fallback = (
        _value_of(environ, f"{_PREFIX}{name}", _switch)
        for name in ("FULL", "STRATEGY_MATRIX", "PRODUCTION_AUTO_SAMPLING_PROFILE", "FALLBACK_MATRIX")
    )
    preset = environ.get(f"{_PREFIX}EVAL_PRESET", "").strip()
    if preset or full:
        found["preset"] = preset or "full"
    whole = str(found.get("preset", "")).lower() in {"full", "all"}
    if matrix and not whole:
        found["strategies"] = ["baseline", "production"]
    if auto and "profiles" not in axes and not whole:
        found["profiles"] = ["auto"]
    if fallback:
        raise ConfigError(
            f"{_PREFIX}FALLBACK_MATRIX: reading calls from text is no axis; write it into a strategy of your "
            "own and compare the two: [strategy.no_text] with config = { text_dialects = [] }"
        )
    return found


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


_SWITCHES: Final = (
    *("API_KEY", "REPORT_DIR", "HTTP_ADAPTER", "REQUEST_OVERRIDES_JSON", "EVAL_PRESET", "FULL"),
    *("STRATEGY_MATRIX", "PRODUCTION_AUTO_SAMPLING_PROFILE", "FALLBACK_MATRIX"),
)
"""Further variables that are read, here or by a command."""
_NEAR: Final = 0.8
"""How similar a name must be to one that is read to be taken for it, mistyped: 1 is equal. Other programs
have variables with this prefix too, which are none of ours."""


def _check_names(environ: Mapping[str, str]) -> None:
    """Refuse a variable whose name is nearly that of one that is read: it would have no effect.

    Further names of keys are left alone, since a plan may name any variable that holds one.
    """
    known = [*_OPENROUTER, *_SWITCHES]
    for name in sorted(environ):
        bare = name.removeprefix(_PREFIX)
        if bare == name or bare in known or bare.startswith("API_KEY"):
            continue
        exchanged = [one for one in known if sorted(one) == sorted(bare)]  # in a short name, half of it
        if near := exchanged or get_close_matches(bare, known, 1, _NEAR):
            raise ConfigError(f"{name}: there is no such variable; did you mean '{_PREFIX}{near[0]}'?")


def _value_of(environ: Mapping[str, str], name: str, reader: _Reader) -> Json:
    """The value of a variable; nothing if it is not set."""
    text = environ.get(name)
    if text is None or not (text.strip() or name in _BLANK):
        return None
    try:
        return reader(text.strip())
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None

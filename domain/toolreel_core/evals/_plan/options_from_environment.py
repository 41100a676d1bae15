"""The environment variables of the reference harness, read as the lowest layer of options.

Each is parsed strictly: an invalid value is an error, it never falls back to the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from toolreel_core._errors import ConfigError
from toolreel_core._internal import unknown_name
from toolreel_core._jsontext import Json, Tree, merged, read
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
    return [] if {"all", "full", "*"} & set(words) else [*words]


def _transforms(text: str) -> Json:
    return [] if text.lower() in {"none", "off", "0", "false"} else _words(text)


def _verbosity(text: str) -> int:
    return int(_switch(text)) if text.lower() in {*_ON, *_OFF} else _whole(text)


@dataclass(frozen=True, slots=True)
class _Variable:
    place: tuple[str, ...]
    """Where its value goes in the shape of a plan file."""
    reader: _Reader
    blank: bool = False
    """Whether an empty value counts: it removes a filter, or the prefix."""


_PREFIX: Final = "OPENROUTER_"

VARIABLES: Final[Mapping[str, _Variable]] = {
    "VERBOSE": _Variable(("eval", "verbosity"), _verbosity),
    **{
        f"{_PREFIX}{name}": variable
        for name, variable in {
            "BASE_URL": _Variable(("endpoint", "base_url"), str),
            "API_PREFIX": _Variable(("endpoint", "api_prefix"), str, blank=True),
            "CLIENT_TIMEOUT": _Variable(("endpoint", "timeout"), _seconds),
            "OPEN_TIMEOUT": _Variable(("endpoint", "open_timeout"), _seconds),
            "READ_TIMEOUT": _Variable(("endpoint", "read_timeout"), _seconds),
            "HTTP_REFERER": _Variable(("endpoint", "headers", "HTTP-Referer"), str),
            "X_TITLE": _Variable(("endpoint", "headers", "X-Title"), str),
            "TRIALS": _Variable(("eval", "trials"), _whole),
            "JOBS": _Variable(("eval", "jobs"), _whole),
            "MODEL_FILTER": _Variable(("eval", "models"), _words, blank=True),
            "SAMPLING_PROFILE_FILTER": _Variable(("eval", "profiles"), _words, blank=True),
            "SAMPLING_PROFILE_ENFORCE_APPLICABILITY": _Variable(("eval", "enforce_applicability"), _switch),
            "STRATEGY_FILTER": _Variable(("eval", "strategies"), _words),
            "SCENARIOS": _Variable(("eval", "scenarios"), _words),
            "TOOL_USE_MODE": _Variable(("eval", "tool_use_mode"), str),
            "TOOL_FAILURE_POLICY": _Variable(("eval", "tool_failure_policy"), str),
            "TOOL_CALLING_FALLBACK_RETRY_COUNT": _Variable(("eval", "fallback_retries"), _whole),
            "FIX_EMPTY_FINAL": _Variable(("eval", "fix_empty_final"), _switch),
            "TOOL_ALLOWLIST": _Variable(("eval", "tool_allowlist"), _tools),
            "EMPTY_RESPONSE_RETRY_COUNT": _Variable(("eval", "empty_response_retries"), _whole),
            "ENABLE_CONTENT_TAG_TOOL_CALL_FALLBACK": _Variable(("eval", "content_tag_fallback"), _switch),
            "LLM_OPTIONS_DEFAULTS_JSON": _Variable(("sampling",), _object),
            "TEMPERATURE": _Variable(("sampling", "temperature"), _number),
            "TOP_P": _Variable(("sampling", "top_p"), _number),
            "TOP_K": _Variable(("sampling", "top_k"), _whole),
            "MIN_P": _Variable(("sampling", "min_p"), _number),
            "ROUTE": _Variable(("request_overrides", "route"), str),
            "TRANSFORMS": _Variable(("request_overrides", "transforms"), _transforms),
            "PROVIDER_ONLY": _Variable(("request_overrides", "provider", "only"), _words),
            "PROVIDER_ORDER": _Variable(("request_overrides", "provider", "order"), _words),
            "PROVIDER_IGNORE": _Variable(("request_overrides", "provider", "ignore"), _words),
        }.items()
    },
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
    for name, variable in VARIABLES.items():
        if name == f"{_PREFIX}TRANSFORMS" and environ.get(name, "").strip().lower() == "auto":
            continue
        value = _value_of(environ, name, variable.reader)
        if value is None:
            continue
        for key in reversed(variable.place):
            value = {key: value}
        tree = merged(tree, value if isinstance(value, Mapping) else {})
    overrides = _value_of(environ, f"{_PREFIX}REQUEST_OVERRIDES_JSON", _object)
    if isinstance(overrides, Mapping):
        before = tree.get("request_overrides", {})
        tree = {**tree, "request_overrides": {**(before if isinstance(before, Mapping) else {}), **overrides}}
    axes = tree.get("eval", {})
    words = _words_for(environ, axes if isinstance(axes, Mapping) else {})
    _check_names(environ)
    _value_of(environ, f"{_PREFIX}HTTP_ADAPTER", _client)
    if environ.get(f"{_PREFIX}BASE_URL", "").strip():
        tree = merged(tree, {"endpoint": _of_gateway(environ)})
    return merged(tree, {"eval": words}) if words else tree


def _of_gateway(environ: Mapping[str, str]) -> Tree:
    """What the user means to be at the server of ``OPENROUTER_BASE_URL``: OpenRouter, with its key."""
    key = f"{_PREFIX}API_KEY"
    held: Tree = {"api_key_env": key} if environ.get(key, "").strip() else {}
    return {"provider": "openrouter", **held}


def _words_for(environ: Mapping[str, str], axes: Tree) -> Tree:
    """The options of the reference's switches that expand to words."""
    found: dict[str, Json] = {}
    preset = environ.get(f"{_PREFIX}EVAL_PRESET", "").strip()
    if preset or _on(environ, "FULL"):
        found["preset"] = preset or "full"
    full = str(found.get("preset", "")).lower() in {"full", "all"}
    if _on(environ, "STRATEGY_MATRIX") and not full:
        found["strategies"] = ["baseline", "production"]
    if _on(environ, "PRODUCTION_AUTO_SAMPLING_PROFILE") and "profiles" not in axes and not full:
        found["profiles"] = ["auto"]
    if _on(environ, "FALLBACK_MATRIX"):
        raise ConfigError(
            f"{_PREFIX}FALLBACK_MATRIX: reading calls from text is no axis; write it into a strategy of your "
            "own and compare the two: [strategy.no_text] with config = { text_dialects = [] }"
        )
    return found


def _on(environ: Mapping[str, str], name: str) -> bool:
    return _value_of(environ, f"{_PREFIX}{name}", _switch) is True


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
    known = [*(name.removeprefix(_PREFIX) for name in VARIABLES if name.startswith(_PREFIX)), *_SWITCHES]
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
    if text is None or not (text.strip() or (name in VARIABLES and VARIABLES[name].blank)):
        return None
    try:
        return reader(text.strip())
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None

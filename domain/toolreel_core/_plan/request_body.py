"""The part of a request body that follows the messages, encoded once per run in three variants.

Built from the plan's options: overrides are merged, keys that the provider does not support are dropped or
renamed, and ``response_format`` is not sent with tools. Each change is recorded by name, for notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext.canonical import Json, Tree, canonical
from toolreel_core._plan.request import RequestOptions
from toolreel_core._settings.config import LoopConfig
from toolreel_core._settings.overrides import merged, without_reserved
from toolreel_core._settings.provider import Provider, Support

IgnoredWhy: TypeAlias = Literal["reserved", "with_tools", "without_tools", "unsupported"]
"""``reserved``: not an override's to set; ``with_tools``: providers refuse it beside tools, so it goes
out only with requests that send none; ``without_tools``: they refuse it without, and the run has none;
``unsupported``: the provider does not take it."""

_TOOL_OPTIONS: Final = ("tool_choice", "parallel_tool_calls")
"""Options that providers refuse in a request without tools."""
_CAPS: Final = ("max_completion_tokens", "max_tokens")
_STREAMED: Final[Tree] = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(frozen=True, slots=True)
class Ignored:
    """A key that was asked for and is not sent."""

    key: str
    why: IgnoredWhy


@dataclass(frozen=True, slots=True)
class Bodies:
    """What follows the messages in the requests of a run."""

    with_tools: RequestOptions
    requiring: RequestOptions
    """The same, with the demand that the model calls a tool."""
    without_tools: RequestOptions
    """For a request that lets the model call no tools."""
    output_cap: int | None
    """Tokens after which the request has a reply cut, where it says so with a number above 0."""
    quirks: tuple[str, ...]
    """Names of the provider's settings that changed something."""
    ignored: tuple[Ignored, ...]


def bodies_of(
    options: Tree, overrides: Tree, tools: tuple[Json, ...], provider: Provider, config: LoopConfig
) -> Bodies:
    """The bodies of a run.

    >>> bodies_of({"top_p": 1}, {}, (), Provider(), LoopConfig()).with_tools.text
    '{"top_p":1}'

    :param tools: the entries of the ``tools`` array as they go out
    """
    allowed, reserved = without_reserved(overrides)
    requested = merged(options, allowed)
    accepted, quirks = _accepted(requested, provider)
    with_tools = {key: value for key, value in accepted.items() if key != "response_format"}
    without_tools: Tree = {key: value for key, value in accepted.items() if key not in _TOOL_OPTIONS}
    without_tools = merged(_streamed(provider), without_tools) if config.final_stream else without_tools
    sent: Tree = {"tools": tools, **with_tools} if tools else without_tools
    unfit: IgnoredWhy = "with_tools" if tools else "without_tools"
    return Bodies(
        RequestOptions(canonical(sent)),
        RequestOptions(canonical({**sent, "tool_choice": "required"} if tools else sent)),
        RequestOptions(canonical(without_tools)),
        _cap(accepted),
        quirks,
        (
            *(Ignored(key, "reserved") for key in reserved),
            *(Ignored(key, "unsupported") for key in _refused(requested, provider)),
            *(Ignored(key, unfit) for key in accepted if key not in sent),
        ),
    )


def _accepted(options: Tree, provider: Provider) -> tuple[Tree, tuple[str, ...]]:
    """The options as the provider takes them, and the names of the settings that changed them."""
    refused = _refused(options, provider)
    kept = {key: value for key, value in options.items() if key not in refused}
    renamed = {_field(key, provider): value for key, value in kept.items()}
    ruled = _with_temperature_rule(renamed, provider)
    changes = {
        "max_tokens_field": list(renamed) != list(kept),
        "temperature_rule": ruled != renamed,
    }
    return ruled, tuple(name for name, changed in changes.items() if changed)


def _refused(options: Tree, provider: Provider) -> tuple[str, ...]:
    support: Mapping[str, Support] = {
        "parallel_tool_calls": provider.supports_parallel_tool_calls,
        "response_format": provider.supports_response_format,
        "stream_options": provider.supports_stream_options,
    }
    return tuple(key for key in options if support.get(key) == "no")


def _field(key: str, provider: Provider) -> str:
    """Some ignore ``max_completion_tokens`` without a word, others refuse ``max_tokens``."""
    return provider.max_tokens_field or key if key in _CAPS else key


def _with_temperature_rule(options: Tree, provider: Provider) -> Tree:
    temperature = options.get("temperature")
    match provider.temperature_rule:
        case "free":
            return options
        case "drop":
            return {key: value for key, value in options.items() if key != "temperature"}
        case "max1":
            high = isinstance(temperature, int | float) and temperature > 1
            return {**options, "temperature": 1} if high else options
        case _:
            assert_never(provider.temperature_rule)


def _streamed(provider: Provider) -> Tree:
    return _STREAMED if provider.supports_stream_options != "no" else {"stream": True}


def _cap(options: Tree) -> int | None:
    for key in _CAPS:
        cap = options.get(key)
        # llama.cpp and LM Studio read -1 as: no limit.
        if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0:
            return cap
    return None

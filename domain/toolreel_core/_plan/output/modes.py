"""How a final answer is asked for: chosen by what is known of the provider, unless the configuration says.

Without knowledge, tools decide: a run that offers tools relies on calls anyway, so its answer is one more
call; a run without tools asks for JSON in the text, which every server can send.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, assert_never

from toolreel_core._errors import ConfigError
from toolreel_core._plan.output.spec import OutputSpec
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import ToolSurface

AskedBy: TypeAlias = Literal["native", "tool", "text"]
"""How the final answer of a run is asked for."""


def mode_of(spec: OutputSpec, tools: ToolSurface, config: LoopConfig, provider: Provider) -> AskedBy:
    """How the final answer is asked for.

    :raises ConfigError: if the configuration asks for what the provider does not take, or a tool has the
        name of the final tool
    """
    may_call = config.tool_use_mode != "disabled" and provider.supports_tools != "no"
    constrained = config.constrained_calls != "off" and may_call and bool(tools.names)
    by_call = config.output_mode == "auto" and constrained
    offers = may_call and bool(tools.names)
    mode = "tool" if by_call else _chosen(config, provider, offers=offers, may_call=may_call)
    if mode == "tool" and spec.name in tools.known:
        raise ConfigError(f"output: there is a tool {spec.name!r} already; give the output another name")
    return mode


def _chosen(config: LoopConfig, provider: Provider, *, offers: bool, may_call: bool) -> AskedBy:
    match config.output_mode:
        case "auto":
            return _by_provider(provider, offers=offers, may_call=may_call)
        case "native":
            if "no" in {provider.supports_response_format, provider.supports_json_schema}:
                raise _unfit("native", "the provider takes no json_schema as its response_format")
            if offers and provider.supports_response_format_with_tools == "no":
                raise _unfit("native", "the provider takes no response_format together with tools")
            return "native"
        case "tool":
            if not may_call:
                raise _unfit("tool", "this run sends no tools")
            return "tool"
        case "text":
            return "text"
        case _:
            assert_never(config.output_mode)


def _by_provider(provider: Provider, *, offers: bool, may_call: bool) -> AskedBy:
    native = provider.supports_json_schema == "yes" and provider.supports_response_format != "no"
    if native and (not offers or provider.supports_response_format_with_tools == "yes"):
        return "native"
    return "tool" if offers or (may_call and provider.supports_tools == "yes") else "text"


def _unfit(mode: str, why: str) -> ConfigError:
    return ConfigError(f"output_mode: {mode!r} does not work, because {why}; use 'auto' or another mode")

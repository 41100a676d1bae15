"""What an endpoint takes and wants, as data; everything unknown has the careful default.

The words are those of the quirks that users of many providers have written down; where each was
seen stands with the presets that set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolreel_core._internal.checks import changed, check_keys, check_settings
from toolreel_core._jsontext.canonical import Json

Support: TypeAlias = Literal["yes", "no", "unknown"]
"""``unknown``: sent if the plan itself asks for it, but not for a preset's sake."""

ReasoningReplay: TypeAlias = Literal["verbatim", "current_turn", "never"]
"""Which assistant messages go back with the provider's own fields: all; those since the latest user
message, as DeepSeek, Qwen and Gemini advise; none, since DeepSeek R1 refuses them."""

ReasoningRequiredOn: TypeAlias = Literal["none", "tool_turns", "all_assistant"]
SignatureChannel: TypeAlias = Literal["none", "extra_content", "reasoning_details"]
ToolTurnContent: TypeAlias = Literal["empty", "null", "omit", "space"]
IdStyle: TypeAlias = Literal["keep", "openai", "kimi", "alnum9"]
SchemaTransform: TypeAlias = Literal["none", "inline_defs", "gemini_subset", "strip_strict"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider, as far as a run has to know it.

    :raises ConfigError: if a value is none that is allowed; the text names the key
    """

    name: str = ""
    supports_tools: Support = "unknown"
    """With ``no``, tools are never sent."""
    supports_parallel_tool_calls: Support = "unknown"
    """Whether the body may say ``parallel_tool_calls``."""
    supports_required: Support = "unknown"
    """Whether the body may say ``tool_choice: required``."""
    supports_required_while_thinking: Support = "unknown"
    supports_response_format: Support = "unknown"
    supports_stream_options: Support = "unknown"
    """Whether a streamed request may ask for the usage."""
    thinking: bool = False
    """The model thinks in this run."""
    reasoning_field: str = ""
    """The field in which reasoning text goes back; empty: that in which it came."""
    reasoning_replay: ReasoningReplay = "verbatim"
    reasoning_required_on: ReasoningRequiredOn = "none"
    """The assistant messages that are refused without reasoning."""
    reasoning_placeholder: str = ""
    """What stands in where it is required and there is none."""
    signature_channel: SignatureChannel = "none"
    """Where the thought signatures of Gemini stand: in the call's ``extra_content``, which gets the
    documented placeholder where a foreign history has none, or in OpenRouter's ``reasoning_details``, of
    which Gemini's go back only if they are encrypted."""
    pin_upstream: bool = False
    """Stay with the upstream provider that gave the first reply: signatures are worth nothing elsewhere."""
    tool_turn_content: ToolTurnContent = "empty"
    """The ``content`` beside tool calls: ``""``, ``null``, absent, or a space."""
    drop_empty_assistant: bool = True
    """Leave out assistant messages with neither text nor calls."""
    assistant_after_tool: bool = False
    """Put a short assistant message between a tool result and a user message."""
    single_leading_system: bool = False
    """Join all system messages into one at the beginning."""
    tool_result_name: bool = False
    """Name the tool in its result."""
    id_style: IdStyle = "keep"
    """The form of call ids; one that has it already goes out as it is."""
    schema_transform: SchemaTransform = "none"
    """What happens to the tools' schemas on their way out."""
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    """The name of the output limit; empty: that which the plan uses."""
    temperature_rule: Literal["free", "drop", "max1"] = "free"
    """Send ``temperature`` as it is, not at all, or at most 1."""
    special_token_guard: bool = False
    """Take the power from a chat template's control tokens in tool results, as they go out."""

    def __post_init__(self) -> None:
        check_settings(self, {})

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> Provider:
        """A provider of which only this is known.

        >>> Provider.of({"id_stile": "kimi"})
        Traceback (most recent call last):
        ...
        toolreel_core.ConfigError: there is no setting 'id_stile'; did you mean 'id_style'?
        """
        check_keys(cls, changes)
        return cls(**changes)

    def changes(self) -> dict[str, Json]:
        """The settings that differ from their defaults.

        >>> Provider(id_style="kimi").changes()
        {'id_style': 'kimi'}
        """
        return changed(self)

    def requires_calls(self) -> bool:
        """Whether the provider is known to force a call when it is asked to."""
        known = self.supports_required_while_thinking if self.thinking else self.supports_required
        return known == "yes"

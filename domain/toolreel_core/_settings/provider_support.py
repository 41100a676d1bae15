"""What a provider's endpoint supports and requires; unknown settings have safe defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from toolreel_core._config_checks import Settings, check_and_convert_settings
from toolreel_core._lazy_pattern import lazy_pattern

# The forms in which servers take requests and answer, and the URL that chat requests go to.
#
# Chat completions, Responses, Messages; one function says the URL, for endpoints and evaluations alike.


WireForm: TypeAlias = Literal["chat_completions", "responses", "messages"]
"""OpenAI's chat completions, OpenAI's Responses, and Anthropic's Messages."""

RESPONSES_ITEMS = "responses_items"
MESSAGES_BLOCKS = "messages_blocks"
"""Keys of a message's extras: the items or blocks of a reply that have to go back, in the form that they
came in. A server that speaks another form gets none of them."""

KEPT_FIELDS: frozenset[str] = frozenset({RESPONSES_ITEMS, MESSAGES_BLOCKS})
KEPT_IN: Mapping[WireForm, str] = {
    "chat_completions": "",
    "responses": RESPONSES_ITEMS,
    "messages": MESSAGES_BLOCKS,
}
"""The key of each form; chat completions have none."""

PATHS: Mapping[WireForm, str] = {
    "chat_completions": "/chat/completions",
    "responses": "/responses",
    "messages": "/messages",
}
"""Where a server answers each form, behind its base URL."""


def wire_form_of_url(url: str) -> WireForm:
    """The form of the requests that go to a URL, as far as its path says."""
    path = url.partition("?")[0].rstrip("/")
    if path.endswith(PATHS["messages"]):
        return "messages"
    return "responses" if path.endswith(PATHS["responses"]) else "chat_completions"


API_PREFIX = "/v1"
"""Where most servers have their API."""

_CHAT = "/chat/completions"
_VERSION = lazy_pattern(r"v\d[\w.]*")
"""A path segment with an API version: ``v1``, ``v1beta``, ``v4``."""
_PATH = lazy_pattern(r"[\w./~%!$&'()*+,;=:@-]*", re.ASCII)
"""The characters of a URL's path (RFC 3986, 3.3)."""


def chat_url(base_url: str, api_prefix: str = API_PREFIX) -> str:
    """The base URL, the prefix unless the URL has a version already, ``/chat/completions``, and its query.

    >>> chat_url("http://127.0.0.1:8080")
    'http://127.0.0.1:8080/v1/chat/completions'
    >>> chat_url("https://example.org/v1beta/openai/")
    'https://example.org/v1beta/openai/chat/completions'
    >>> chat_url("https://x.openai.azure.com/openai/deployments/d?api-version=2024-06-01", api_prefix="")
    'https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-06-01'

    :param base_url: of a server, with ``http://`` or ``https://``; it may be complete. A fragment is dropped,
        since it is never sent
    :param api_prefix: a path; empty for none
    """
    base, _, query = base_url.strip().partition("#")[0].partition("?")
    path, prefix = base.rstrip("/"), api_prefix.strip().strip("/")
    # Behind "https:", the empty text between the slashes, and the host.
    versioned = any(map(_VERSION.fullmatch, path.split("/")[3:]))
    if not path.endswith(_CHAT):
        path = f"{path}{_CHAT}" if versioned or not prefix else f"{path}/{prefix}{_CHAT}"
    return f"{path}?{query}" if query else path


def api_prefix_error_text(api_prefix: str) -> str:
    """What is wrong with a prefix; empty if nothing."""
    return "" if _PATH.fullmatch(api_prefix.strip()) else "expected a path such as /v1, without a query"


Support: TypeAlias = Literal["yes", "no", "unknown"]
"""``unknown``: sent if the plan asks for it, but not if only a preset does."""

ReasoningReplay: TypeAlias = Literal["verbatim", "current_turn", "never"]
"""The assistant messages that are sent back with provider-specific fields: all; those since the last user
message, as DeepSeek, Qwen and Gemini advise; or none, since DeepSeek R1 rejects them."""

ReasoningRequiredOn: TypeAlias = Literal["none", "tool_turns", "all_assistant"]
SignatureChannel: TypeAlias = Literal["none", "extra_content", "reasoning_details"]
ToolTurnContent: TypeAlias = Literal["empty", "null", "omit", "space"]
IdStyle: TypeAlias = Literal["keep", "openai", "kimi", "alnum9"]
SchemaTransform: TypeAlias = Literal["none", "inline_defs", "gemini_subset", "strip_strict"]

PART_SETTINGS = ("supports_images", "supports_audio", "supports_files", "images_in_tool_results")
"""The settings that decide only what is sent of images, audio and files."""

_BY_FORM: Mapping[WireForm, Mapping[str, Any]] = {
    "chat_completions": {},
    # The input is a list of items of any kind; an output may have images and files.
    "responses": {"supports_audio": "no", "images_in_tool_results": "yes"},
    # System text is not a message; ids have letters, digits, "_" and "-"; temperature ends at 1.
    "messages": {
        "single_leading_system": True,
        "id_style": "openai",
        "supports_audio": "no",
        "images_in_tool_results": "yes",
        "temperature_rule": "max1",
    },
}
"""The settings that a form decides."""


@dataclass(frozen=True, slots=True)
class Provider(Settings):
    """The settings of one provider.

    :raises ConfigError: if a value is not allowed; the text names the key
    """

    name: str = ""
    wire_form: WireForm = "chat_completions"
    """The form of its requests and replies. Settings that another form than chat completions decides are set
    by it, unless they are given."""
    supports_tools: Support = "unknown"
    """If ``no``, tools are never sent."""
    supports_parallel_tool_calls: Support = "unknown"
    """Support for ``parallel_tool_calls`` in the body."""
    supports_required: Support = "unknown"
    """Support for ``tool_choice: required``."""
    supports_required_while_thinking: Support = "unknown"
    supports_response_format: Support = "unknown"
    supports_json_schema: Support = "unknown"
    """Whether a ``response_format`` may be a ``json_schema``, which the reply then fits."""
    supports_response_format_with_tools: Support = "unknown"
    """Whether a request with ``response_format`` may offer tools, and the model still calls them."""
    supports_stream_options: Support = "unknown"
    """Whether a streamed request may ask for usage."""
    supports_images: Support = "unknown"
    """Whether messages of the user may have images (``no``: DeepSeek, rikkahub/rikkahub#1433)."""
    supports_audio: Support = "unknown"
    """Whether messages of the user may have audio."""
    supports_files: Support = "unknown"
    """Whether messages of the user may have files, such as a PDF."""
    images_in_tool_results: Support = "unknown"
    """Whether the result of a tool may have images. Unless ``yes``, they are in the next message of the user:
    OpenAI takes text only in results (openai/openai-openapi#523), and so do most others. Audio and files
    always are."""
    reports_cost: Support = "unknown"
    """Whether replies say what they cost, in ``usage.cost``."""
    thinking: bool = False
    """Whether the model thinks in this run."""
    reasoning_field: str = ""
    """The field for reasoning text that is sent back; empty: the one it came in."""
    reasoning_replay: ReasoningReplay = "verbatim"
    reasoning_required_on: ReasoningRequiredOn = "none"
    """The assistant messages that the provider rejects without reasoning."""
    reasoning_placeholder: str = ""
    """Sent where reasoning is required and missing."""
    signature_channel: SignatureChannel = "none"
    """Where Gemini's thought signatures are: in the call's ``extra_content`` (a missing one gets the
    documented placeholder), or in OpenRouter's ``reasoning_details``, of which only encrypted ones are
    sent back."""
    pin_upstream: bool = False
    """Stay with the upstream provider of the first reply: signatures are valid nowhere else."""
    tool_turn_content: ToolTurnContent = "empty"
    """The ``content`` next to tool calls: ``""``, ``null``, absent, or a space."""
    drop_empty_assistant: bool = True
    """Drop assistant messages with neither text nor calls."""
    assistant_after_tool: bool = False
    """Insert a short assistant message between a tool result and a user message."""
    single_leading_system: bool = False
    """Join all system messages into one at the beginning."""
    tool_result_name: bool = False
    """Add the tool's name to its result."""
    id_style: IdStyle = "keep"
    """The format of call ids; an id that already has it is sent unchanged."""
    schema_transform: SchemaTransform = "none"
    """The transform of the tools' schemas."""
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    """The name of the output limit; empty: the one that the plan uses."""
    temperature_rule: Literal["free", "drop", "max1"] = "free"
    """Send ``temperature`` unchanged, not at all, or at most 1."""
    special_token_guard: bool = False
    """Neutralise the chat template's control tokens in tool results."""

    def __post_init__(self) -> None:
        check_and_convert_settings(self)
        for key, value in _BY_FORM[self.wire_form].items():
            # A value that equals the default can't be told from one that was not given.
            if getattr(self, key) == type(self).__dataclass_fields__[key].default:
                object.__setattr__(self, key, value)

    def requires_calls(self) -> bool:
        """Whether the provider is known to force a call when it is asked to."""
        known = self.supports_required_while_thinking if self.thinking else self.supports_required
        return known == "yes"

    def takes(self, kind: Literal["images", "audio", "files"]) -> bool:
        """Whether messages of the user may have parts of this kind, for all that is known."""
        return bool(getattr(self, f"supports_{kind}") != "no")

    def support(self, option: str) -> Support:
        """Support for an option of the request; ``yes`` for those that all providers take."""
        known = option in {"parallel_tool_calls", "response_format", "stream_options"}
        return cast("Support", getattr(self, f"supports_{option}")) if known else "yes"

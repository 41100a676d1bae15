"""The normalised reply: the one form that the loop works with, whatever the provider sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolreel_core._jsontext import NOTHING, Json, JsonText, tree_at
from toolreel_core._replies.classification import Finish
from toolreel_core._replies.provider_errors import Problem
from toolreel_core._replies.tool_calls import ToolCall
from toolreel_core._replies.warning_codes import WarningCode

# Beyond these a number is garbage, and it would break every sum; 2**53 - 1 is the last exact integer in JSON.
_MAX_COST: Final = 1e9
_MAX_TOKENS: Final = 2**53 - 1

_PROMPT: Final = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION: Final = ("completion_tokens", "output_tokens", "eval_count")
"""Names of each count: OpenAI's first, then those of Anthropic and Ollama."""
_REASONING_COUNTS: Final = ("reasoning_tokens",)
_AUDIO: Final = ("audio_tokens",)
# OpenAI API reference, usage of a chat completion: cached_tokens and audio_tokens in the details of the
# prompt, reasoning_tokens and audio_tokens in those of the completion. DeepSeek API docs, Context Caching:
# prompt_cache_hit_tokens in the usage itself. Anthropic API docs, Prompt caching: cache_read_input_tokens.
_CACHED: Final = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
_SERVED: Final = ("model", "provider", "system_fingerprint", "id")
_COMPLETION_DETAILS: Final = ("completion_tokens_details", "output_tokens_details")
_PROMPT_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
"""Objects inside the usage that hold the finer counts."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply as reported by the provider; a count is 0 if it reports none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """Cost reported by the provider, in its own currency; ``None`` if it reports none."""
    reasoning_tokens: int = 0
    """Completion tokens that were spent on reasoning."""
    cached_tokens: int = 0
    """Prompt tokens that came from the provider's cache."""
    prompt_audio_tokens: int = 0
    completion_audio_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """Model, provider and ids of a reply; empty if not reported."""

    model: str = ""
    """Name of the model that answered, which may differ from the one requested."""
    provider: str = ""
    """The upstream that a router used, such as OpenRouter's ``provider``."""
    fingerprint: str = ""
    """The server's configuration (``system_fingerprint``)."""
    request_id: str = ""


def usage_in(body: Mapping[str, Json]) -> Usage:
    """The usage of a reply; a value that cannot be a token count is read as 0.

    >>> usage_in({"usage": {"prompt_tokens": 11, "completion_tokens": "7"}})
    Usage(prompt_tokens=11, completion_tokens=0, cost=None, reasoning_tokens=0, cached_tokens=0, \
prompt_audio_tokens=0, completion_audio_tokens=0)
    """
    # Ollama's own API has the counts at the top level of the body.
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else body
    return Usage(
        _first_count(counts, _PROMPT),
        _first_count(counts, _COMPLETION),
        _cost_of(counts.get("cost")),
        _count_in_details(counts, _COMPLETION_DETAILS, _REASONING_COUNTS)
        or _first_count(counts, _REASONING_COUNTS),
        _count_in_details(counts, _PROMPT_DETAILS, _CACHED) or _first_count(counts, _CACHED),
        _count_in_details(counts, _PROMPT_DETAILS, _AUDIO),
        _count_in_details(counts, _COMPLETION_DETAILS, _AUDIO),
    )


def served_in(body: Mapping[str, Json]) -> Served:
    """Model, provider and ids of a reply; a failed router names its upstream in the error.

    >>> served_in({"id": "gen-1", "model": "m", "provider": "Z"})
    Served(model='m', provider='Z', fingerprint='', request_id='gen-1')
    """
    model, provider, fingerprint, name = map(body.get, _SERVED)
    failed = _text_field(tree_at(body, "error", "metadata"), "provider_name")
    return Served(
        model if isinstance(model, str) else "",
        provider if provider and isinstance(provider, str) else failed,
        fingerprint if isinstance(fingerprint, str) else "",
        name if name and isinstance(name, str) else _text_field(body, "request_id"),
    )


def _count_in_details(counts: Mapping[str, Json], places: tuple[str, ...], names: tuple[str, ...]) -> int:
    """A count from the details of the usage."""
    for place in places:
        details = counts.get(place)
        if isinstance(details, dict):
            return _first_count(details, names)
    return 0


def _first_count(counts: Mapping[str, Json], names: tuple[str, ...]) -> int:
    """The first of these counts that is positive; some servers write counts as ``12.0``."""
    for name in names:
        raw = counts.get(name)
        if type(raw) is int and 0 < raw <= _MAX_TOKENS:
            return raw
        if isinstance(raw, float) and 0 < raw <= _MAX_TOKENS and raw.is_integer():
            return int(raw)
    return 0


def _cost_of(raw: Json) -> float | None:
    if raw is None or isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return float(raw) if 0 <= raw <= _MAX_COST else None


def _text_field(fields: Mapping[str, Json], key: str) -> str:
    raw = fields.get(key)
    return raw if isinstance(raw, str) else ""


_NO_USAGE: Final = Usage()
_NOBODY: Final = Served()


@dataclass(frozen=True, slots=True)
class Reply:
    """One normalised reply of a model."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""
    """The visible text, unchanged; null and blank text become empty."""
    reasoning: str = ""
    """The reasoning text, from whichever field the provider uses."""
    finish: Finish = "unknown"
    problem: Problem | None = None
    warnings: tuple[WarningCode, ...] = ()
    """Code of every repair that was applied; nothing is repaired silently."""
    usage: Usage = _NO_USAGE
    served: Served = _NOBODY
    carry: JsonText = NOTHING
    """Opaque fields of the message (reasoning, signatures) to send back unchanged, as one JSON object."""
    paused: bool = False
    """Whether the server has paused its turn while its own tools run, and goes on when this is sent back."""

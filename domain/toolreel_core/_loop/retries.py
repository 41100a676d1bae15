"""Which failures are retryable, and how long to wait before a retry."""

from __future__ import annotations

from typing import Final, assert_never

from toolreel_core._jsontext.digest import digest
from toolreel_core._protocol.events import RequestFailed
from toolreel_core._settings.config import LoopConfig

_RETRYABLE_STATUSES: Final = frozenset({408, 429, *range(500, 600)})
_REFUSALS_AS_FAILURE: Final = (
    "tools param requires --jinja flag",  # llama.cpp: containers/ramalama#988, defilantech/LLMKube#126
    "unsupported param: tools",  # llama.cpp before it: ggml-org/llama.cpp#10920
    "unsupported tool_call_parser",  # RooCodeInc/Roo-Code#10259
)
"""Messages with which servers reject tools with status 500. A retry cannot help: the server lacks a flag."""

_REFUSALS: Final = (
    "no endpoints found that support tool use",  # OpenRouter: zed-industries/zed#36094
    "does not support tool",  # Ollama: ollama/ollama#6027, ollama/ollama#14795
    "doesn't support tool",  # Bedrock: langchain-ai/langchain-aws#447
    "does not support function call",  # DeepSeek: dnakov/anon-kode#10
    "function calling not support",  # Novita: hotovo/aider-desk#86
    "requires --enable-auto-tool-choice",  # vLLM: langchain4j/langchain4j#3475
    "requires --tool-call-parser",  # vLLM, where a call is demanded: vllm-project/vllm#55754
    "tools are not supported",
    "tools is not supported",  # OpenAI: sbintuitions/flexeval#242
    "tool use is not supported",
    "tool call is not supported",  # Alibaba: spring-ai-alibaba/website#39
    "function call is not supported",  # labring/FastGPT#4031
    "unsupported parameter: 'tools'",
    *_REFUSALS_AS_FAILURE,
)
"""Messages with which servers reject tools, in lower case, each with the thread that shows it."""

_REFUSED_OPTION: Final = "tool_choice"
"""Searched in the message only: the body of a validation error repeats the whole request, with this key."""


def retryable(failure: RequestFailed) -> bool:
    """Whether the same request may succeed later."""
    match failure.failure:
        case "connect" | "timeout" | "broken":
            return True
        case "too_large":
            return False
        case "status":
            return failure.status in _RETRYABLE_STATUSES
        case _:
            assert_never(failure.failure)


def refuses_tools(failure: RequestFailed) -> bool:
    """Whether the server rejected the request because of its tools."""
    if failure.failure != "status":
        return False
    message = failure.message.lower()
    text = f"{message}\n{failure.body.lower()}"
    if failure.status in {400, 404, 422}:
        return _REFUSED_OPTION in message or any(refusal in text for refusal in _REFUSALS)
    return failure.status == 500 and any(refusal in text for refusal in _REFUSALS_AS_FAILURE)


def delay_ms(
    config: LoopConfig, *, seed: int, ref: int, attempt: int, retry_after_ms: int | None
) -> int | None:
    """Milliseconds before the next attempt; ``None`` if Retry-After exceeds ``retry_cap_ms``.

    Exponential backoff, half of it jitter. The jitter is a hash of seed, ref and attempt instead of a random
    number, so that a replay waits equally long.

    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, retry_after_ms=None)
    803
    >>> delay_ms(LoopConfig(), seed=1, ref=1, attempt=1, retry_after_ms=5_000)
    5000

    :param attempt: the attempt that failed, counted from 1
    """
    if retry_after_ms is not None and retry_after_ms > config.retry_cap_ms:
        return None
    backoff = min(config.retry_cap_ms, config.retry_base_ms << (attempt - 1))
    fraction = int(digest(f"{seed}:{ref}:{attempt}")[:8], 16) / 0xFFFFFFFF
    return max(retry_after_ms or 0, backoff // 2 + round(backoff / 2 * fraction))

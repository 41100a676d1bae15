"""Describe an outcome in words, and what the user can do about it."""

from __future__ import annotations

from typing import Final, assert_never

from toolreel._driver import Resting
from toolreel_core._protocol import AskApproval
from toolreel_core._protocol import outcome as outcomes

_NO_CHAT: Final = ("INVALID_BODY", "NO_CHOICES", "NO_MESSAGE")
_UNKNOWN: Final = ("not found", "not exist", "unknown", "invalid", "not a valid", "no such")


def describe_outcome(  # noqa: PLR0912 - one sentence an outcome
    outcome: outcomes.Outcome | Resting, *, base_url: str = "", api_key_env: str | None = None
) -> tuple[str, str]:
    """The outcome in words, and a hint what to do, which may be empty.

    >>> describe_outcome(outcomes.MaxTurns(3))
    ('the model still called tools after 3 turns', 'raise the limit with --set max_turns=6')
    """
    match outcome:
        case Resting():
            calls = [effect.name for effect in outcome.waits_for if isinstance(effect, AskApproval)]
            what = f"approval of {', '.join(calls)}" if calls else "what it asked for"
            return f"the run has not ended: it waits for {what}", "go on with `toolreel resume`, or go_on()"
        case outcomes.Completed():
            return "the model gave a final answer", ""
        case outcomes.InvalidOutput():
            return f"the answer does not fit the output: {outcome.error}", "allow more --set output_retries=4"
        case outcomes.EmptyFinal():
            return "the model ended with neither text nor a call", "ask again, or try another model"
        case outcomes.MaxTurns():
            doubled = f"raise the limit with --set max_turns={outcome.limit * 2}"
            return f"the model still called tools after {outcome.limit} turns", doubled
        case outcomes.NoToolCalls():
            return "the model called no tool", "ask it again with --set nudge_no_tool_calls=1"
        case outcomes.ToolFailed():
            failed = ", ".join(outcome.tools) or "every tool"
            return f"tools failed: {failed}", "one success is enough with --set tool_failure_policy=tolerated"
        case outcomes.RepeatedCall():
            times = f"{outcome.times} times in a row, with the same result"
            return f"the model called {outcome.tool} {times}", ""
        case outcomes.BudgetSpent():
            return f"the budget of {outcome.kind} is used up: {outcome.used:g} of {outcome.limit:g}", ""
        case outcomes.ConversationSpent():
            spent = f"the conversation has used up its {outcome.kind}: {outcome.used:g} of {outcome.limit:g}"
            return spent, f"begin a new one, or raise --set max_conversation_{outcome.kind}=…"
        case outcomes.CostUnknown():
            unknown = f"the cost is limited to {outcome.limit:g}, and the provider reports none"
            return unknown, "give the model a price in a --catalogue, or --set unknown_cost=allow"
        case outcomes.ContextOverflow():
            room = f"about {outcome.estimate} tokens for a window of {outcome.limit}"
            return f"the conversation no longer fits: {room}", f"the largest: {'; '.join(outcome.largest)}"
        case outcomes.CapabilityRefused():
            return f"the server takes no tools: {outcome.message}", "try --set fallback_without_tools=true"
        case outcomes.Truncated():
            return "the answer was cut at the output token limit", "raise it with --set max_tokens=…"
        case outcomes.Refused():
            return f"the model refused: {outcome.reason}", ""
        case outcomes.ContentFiltered():
            return f"the provider's filter suppressed the reply: {outcome.reason}", ""
        case outcomes.InvalidReply():
            hint = "is --base-url that of an OpenAI-compatible server?" if outcome.problem in _NO_CHAT else ""
            return f"the reply could not be used ({outcome.problem}): {outcome.detail}", hint
        case outcomes.TransportFailed():
            return outcome.message, _transport(outcome, base_url, api_key_env)
        case outcomes.TransformFailed():
            return outcome.message, "correct it; `toolreel resume` continues a recorded run"
        case outcomes.Cancelled():
            return outcome.reason or "the run was cancelled", ""
        case _:
            assert_never(outcome)


def _transport(outcome: outcomes.TransportFailed, base_url: str, api_key_env: str | None) -> str:
    hints = {
        "connect": f"no server answers at {base_url}: start it, or correct --base-url",
        "timeout": "the server is too slow: raise --timeout",
        "too_large": "the server sent more than any chat completion has; is --base-url right?",
        "broken": "the connection broke before the reply was whole: try again, or correct --base-url",
    }
    if outcome.failure in hints:
        return hints[outcome.failure]
    return _refusal(outcome.status or 0, outcome.message.lower(), base_url, api_key_env)


def _refusal(status: int, message: str, base_url: str, api_key_env: str | None) -> str:
    """What to do about an HTTP status."""
    if status in {401, 403} and api_key_env:
        return f"the key in {api_key_env} was not accepted: is it the right one for {base_url}?"
    if status in {401, 403}:
        return "the server wants a key: name the variable that holds it with --api-key-env"
    model = "model" in message
    if (status == 404 and model) or (
        status in {400, 422} and model and any(word in message for word in _UNKNOWN)
    ):
        return "the server does not know the model: ask it for its names at /v1/models, then correct --model"
    if status == 404:
        return f"nothing is at {base_url}: correct --base-url"
    if status == 429:
        return "too many requests: wait, then try again"
    if 300 <= status < 400:
        return f"{base_url} sends requests elsewhere: correct --base-url"
    if status < 500:
        return "the server refused the request: see what it says, then correct the options"
    return "the server failed: try again"

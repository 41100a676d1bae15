"""Describe an outcome in words, and what the user can do about it, in a program or on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, assert_never

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop import NO_REPLIES
from toolreel_core._protocol import AskApproval, Effect
from toolreel_core._protocol import outcome as outcomes

_NO_CHAT = ("INVALID_BODY", "NO_CHOICES", "NO_MESSAGE")
_BUDGETS: Mapping[outcomes.BudgetKind, str] = {
    "tokens": "max_total_tokens",
    "cost": "max_cost",
    "time": "max_wall_ms",
    "tool_calls": "max_tool_calls",
}
"""The setting that limits each budget."""
_UNREAD_CALL = "a transform of responses can read calls that a model writes in a format of its own"
_UNKNOWN_MODEL = lazy_pattern(
    r"\b(?:unknown|no such|invalid|not a valid) model\b"
    r"|\bmodel\b.{0,120}?(?:not found|not exist|unknown|no such)|\bmodel: "
)
"""What servers say of a model that they do not have; others only mention "this model"."""


@dataclass(frozen=True, slots=True)
class Resting:
    """The run has not ended: it rests until something outside is done, such as an approval."""

    name: ClassVar[str] = "resting"
    waits_for: tuple[Effect, ...]
    """The effects that nobody has answered yet."""


class ServerAddress(NamedTuple):
    """Where a run sent its last request, for advice."""

    url: str = ""
    """The base URL, as it may be shown; empty if it is unknown."""
    key: str = ""
    """What its key was given by: the name of a variable, or ``api_key=``; empty without one."""


class OutcomeWords(NamedTuple):
    sentence: str
    hint: str
    """What to do about it; may be empty."""
    rule: str
    settings: tuple[str, ...] = ()
    """The settings of the loop that the rule reads."""


NO_SERVER = ServerAddress()
_NO_ANSWER = "a reply that the provider marks as refused or filtered is no answer"
_TABLE: Mapping[type[outcomes.Outcome], tuple[str, str, str, *tuple[str, ...]]] = {
    outcomes.Completed: (
        "the model gave a final answer",
        "",
        "a text without calls is the answer; of an enforced run, once tools were called and did not fail",
        "tool_use_mode",
        "tool_failure_policy",
    ),
    outcomes.InvalidOutput: (
        "the answer does not fit the output: {error}",
        "allow more: set output_retries=4",
        "an answer that does not fit the output is asked for again so often",
        "output_retries",
    ),
    outcomes.EmptyFinal: (
        "the model ended with neither text nor a call",
        "ask again, or try another model",
        "a reply with neither text nor a call is not an answer",
        "fix_empty_final",
    ),
    outcomes.MaxTurns: (
        "the model still called tools after {limit} turns",
        "raise the limit: set max_turns={doubled}",
        "a run has no more turns than that, and the last reply still had calls",
        "max_turns",
    ),
    outcomes.NoToolCalls: (
        "the model called no tool",
        "ask it again: set nudge_no_tool_calls=1",
        "an enforced run has to call a tool, and no reply had a call that could be read",
        "tool_use_mode",
        "nudge_no_tool_calls",
        "text_dialects",
    ),
    outcomes.ToolFailed: (
        "tools failed: {tools}",
        "let one success be enough: set tool_failure_policy=tolerated",
        "an enforced run needs every tool that it called to have worked the last time; "
        "where failures are tolerated, one call",
        "tool_use_mode",
        "tool_failure_policy",
    ),
    outcomes.RepeatedCall: (
        "the model called {tool} {times} times in a row, with the same result",
        "allow more repetitions: set repetition_stop={doubled}",
        "the same call with the same result ends the run after this many times",
        "repetition_stop",
    ),
    outcomes.BudgetSpent: (
        "the budget of {kind} is used up: {used:,.10g} of {limit:,.10g}",
        "raise the limit: set {budget}={doubled}",
        "a budget that is used up allows nothing more",
        "{budget}",
    ),
    outcomes.ConversationSpent: (
        "the conversation has used up its {kind}: {used:,.10g} of {limit:,.10g}",
        "raise the limit: set max_conversation_{kind}={doubled}; or begin a new conversation",
        "a budget of the whole conversation that is used up allows nothing more",
        "max_conversation_{kind}",
    ),
    outcomes.CostUnknown: (
        "the cost is limited to {limit:,.10g}, and the provider reports none",
        "give the model a price (price=, or a catalogue), or set unknown_cost=allow",
        "where a cost is limited, a reply of unknown cost allows no further request",
        "max_cost",
        "max_conversation_cost",
        "unknown_cost",
    ),
    outcomes.ContextOverflow: (
        "the conversation no longer fits: about {estimate} tokens for a window of {limit}",
        "the largest: {largest}",
        "a request that does not fit the window, and cannot be shortened, is not sent",
        "context_window_tokens",
        "reserved_response_tokens",
        "history_policies",
    ),
    outcomes.CapabilityRefused: (
        "the server takes no tools{because}",
        "try without them: set fallback_without_tools=true",
        "a server that takes no tools is not asked again with them",
        "fallback_without_tools",
    ),
    outcomes.Truncated: (
        "the answer was cut at the output token limit",
        "raise it: set max_tokens=…",
        "a reply that was cut at the limit of its tokens is no answer, and its calls are not run",
    ),
    outcomes.Refused: ("the model refused{because}", "", _NO_ANSWER),
    outcomes.ContentFiltered: ("the provider's filter suppressed the reply{because}", "", _NO_ANSWER),
    outcomes.InvalidReply: (
        "the reply could not be used ({problem}){because}",
        "{advice}",
        "a reply that cannot be used, or looks like a call that nobody could read, is no answer",
        "accept_suspected_calls",
        "text_dialects",
    ),
    outcomes.TransportFailed: (
        "{message}",
        "{advice}",
        "a request that failed is sent again only so often, and only if that can help",
        "max_tries",
    ),
    outcomes.TransformFailed: (
        "{message}",
        "correct it; `toolreel resume` continues a recorded run",
        "a transform that raises ends the run, since what it changes is not known",
    ),
    outcomes.Cancelled: (
        "{reason}",
        "",
        "a run that is cancelled ends at once, and its open calls get a result that says so",
    ),
}
"""For each outcome: what is said of it, what to do, the rule, and the settings that the rule reads; names in
braces are fields of the outcome, in words."""


def outcome_in_words(outcome: outcomes.Outcome | Resting, server: ServerAddress = NO_SERVER) -> OutcomeWords:
    """The outcome in words, with the rule that decided it."""
    if isinstance(outcome, Resting):
        return _resting_words(outcome)
    words: dict[str, Any] = {key: getattr(outcome, key) for key in outcome.__dataclass_fields__}
    said = next((words[key] for key in ("message", "reason", "detail") if key in words), "")
    words["because"] = f": {said}" if said.strip() else ""
    limit = words.get("limit", words.get("times", 0))
    words["doubled"] = round(2 * limit) if limit >= 1 else 2 * limit
    match outcome:
        case outcomes.ToolFailed():
            words["tools"] = ", ".join(outcome.tools) or "every tool"
        case outcomes.BudgetSpent():
            words["budget"] = _BUDGETS[outcome.kind]
        case outcomes.ContextOverflow():
            words["largest"] = "; ".join(outcome.largest)
        case outcomes.InvalidReply():
            words["advice"] = _UNREAD_CALL if outcome.problem == "MALFORMED_FUNCTION_CALL" else ""
            if outcome.problem in _NO_CHAT:
                words["advice"] = f"is {_base_url(server)} that of an OpenAI-compatible server?"
        case outcomes.TransportFailed():
            words["advice"] = _transport_advice(outcome, server)
        case outcomes.Cancelled():
            words["reason"] = outcome.reason or "the run was cancelled"
        case _:
            pass
    sentence, hint, rule, *settings = (text.format(**words) for text in _TABLE[type(outcome)])
    return OutcomeWords(sentence, hint, rule, tuple(settings))


def _resting_words(outcome: Resting) -> OutcomeWords:
    asked = [effect for effect in outcome.waits_for if isinstance(effect, AskApproval)]
    calls = ", ".join(f"{effect.name}({effect.arguments})" for effect in asked)
    on_approval = ", run.approve() or run.deny(reason)" if calls else ""
    return OutcomeWords(
        f"{calls} needs approval" if calls else "the run has not ended: it waits for what it asked for",
        f"go on with `toolreel resume`{on_approval}",
        "a run rests until the decision that it asked for is given",
    )


def describe_outcome(
    outcome: outcomes.Outcome | Resting, server: ServerAddress = NO_SERVER
) -> tuple[str, str]:
    sentence, hint, *_ = outcome_in_words(outcome, server)
    return sentence, hint


def failure_in_words(
    outcome: outcomes.Outcome | Resting, server: ServerAddress, *, quoting: bool = True
) -> str:
    """One sentence about a run without a final answer, for a program.

    :param quoting: whether it may have what the model said; no log has that
    """
    words, hint = describe_outcome(outcome, server)
    said = f": {words}" if quoting or not _quotes_the_model(outcome) else ""
    return f"the run did not complete: {outcome.name}{said}" + (f"; {hint}" if hint else "")


def _quotes_the_model(outcome: outcomes.Outcome | Resting) -> bool:
    match outcome:
        case outcomes.InvalidReply():
            return outcome.problem not in {*NO_REPLIES, "RATE_LIMITED"}
        case outcomes.InvalidOutput() | outcomes.Refused() | outcomes.ContentFiltered() | Resting():
            return True
        case _:
            return False


def _base_url(server: ServerAddress) -> str:
    return f"the base URL ({server.url})" if server.url else "the base URL"


def _transport_advice(outcome: outcomes.TransportFailed, server: ServerAddress) -> str:
    there = f" at {server.url}" if server.url else ""
    match outcome.failure:
        case "connect":
            return f"no server answers{there}: start it, or correct the base URL"
        case "timeout":
            return f"the server{there} is too slow: raise the timeout"
        case "too_large":
            return f"the server sent more than any chat completion has; is {_base_url(server)} right?"
        case "broken":
            whole = f"the connection{there and f' to {server.url}'} broke before the reply was whole"
            return f"{whole}: try again, or correct the base URL"
        case "status":
            return _http_status_advice(outcome.status or 0, outcome.message.lower(), server)
        case _:
            assert_never(outcome.failure)


def _http_status_advice(status: int, message: str, server: ServerAddress) -> str:
    the_server = f"the server at {server.url}" if server.url else "the server"
    if status == 403:
        return f"{the_server} refused access: see what it says"
    if status == 401 and server.key:
        return f"the key in {server.key} was not accepted: is it the right one for {server.url}?"
    if status == 401:  # a recording does not tell whether there was a key
        wants = "wants a key" if server.url else "did not accept the key, or wants one"
        return f"{the_server} {wants}: name the variable that holds it (api_key_env)"
    if status in {400, 404, 422} and _UNKNOWN_MODEL.search(message.replace("_", " ")):
        ask = "ask it for its names at /v1/models"
        return f"{the_server} does not know the model: {ask}, then correct the model's name"
    if status == 404:
        return f"nothing is at {server.url or 'this URL'}: correct the base URL"
    if status == 429:
        return "too many requests, or a quota that is used up: wait, or raise it with the provider"
    if 300 <= status < 400:
        return f"{the_server} sends requests elsewhere: correct the base URL"
    if status < 500:
        return f"{the_server} refused the request: see what it says, then correct the options"
    return f"{the_server} failed: try again"

"""Describe an outcome in words, and what the user can do about it, in Python or on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, NamedTuple, assert_never

from toolreel_core._jsontext import canonical
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop import NO_REPLIES
from toolreel_core._protocol import AskApproval, Effect
from toolreel_core._protocol import outcome as outcomes

_NO_CHAT: Final = ("INVALID_BODY", "NO_CHOICES", "NO_MESSAGE")
BUDGET_SETTINGS: Final[Mapping[outcomes.BudgetKind, str]] = {
    "tokens": "max_total_tokens",
    "cost": "max_cost",
    "time": "max_wall_ms",
    "tool_calls": "max_tool_calls",
}
"""The setting that limits each budget."""
_UNREAD_CALL: Final = "a transform of responses can read calls that a model writes in a format of its own"
_UNKNOWN_MODEL: Final = lazy_pattern(
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
    is_fallback: bool = False
    """Whether it is that of a fallback, whose settings stand elsewhere on the command line."""


NO_SERVER: Final = ServerAddress()


class _Names(NamedTuple):
    """What the settings of a server are called."""

    base_url: str
    give_key: str
    model: str
    timeout: str
    price: str
    go_on: str


_COMMAND: Final = _Names(
    "--base-url",
    "name the variable that holds it with --api-key-env",
    "--model",
    "--timeout",
    "give the model a price in a --catalogue",
    "go on with `toolreel resume`, or go_on()",
)
_FALLBACK: Final = _COMMAND._replace(
    base_url="base-url= in its --fallback",
    give_key="name the variable that holds it with api-key-env= in its --fallback",
    model="model= in its --fallback",
)
_PYTHON: Final = _Names(
    "base_url=",
    "give it with api_key= or api_key_env=",
    "the model's name",
    "the timeout= of HttpEndpoint",
    "write price=Price(...)",
    "write run.approve() or run.deny(reason)",
)


def describe_outcome(  # noqa: PLR0912 - one sentence an outcome
    outcome: outcomes.Outcome | Resting, server: ServerAddress = NO_SERVER, *, in_python: bool = False
) -> tuple[str, str]:
    """The outcome in words, and a hint what to do, which may be empty.

    >>> describe_outcome(outcomes.MaxTurns(3))
    ('the model still called tools after 3 turns', 'raise the limit with --set max_turns=6')
    >>> describe_outcome(outcomes.MaxTurns(3), in_python=True)[1]
    'raise the limit with config={"max_turns": 6}'

    :param in_python: whether the hint is for a program, not for the command line
    """
    names = _PYTHON if in_python else _FALLBACK if server.is_fallback else _COMMAND
    setting = partial(_setting, names)
    match outcome:
        case Resting():
            asked = [effect for effect in outcome.waits_for if isinstance(effect, AskApproval)]
            if asked and in_python:
                calls = (f"{effect.name}({effect.arguments})" for effect in asked)
                return f"{', '.join(calls)} needs approval", names.go_on
            what = (
                f"approval of {', '.join(effect.name for effect in asked)}" if asked else "what it asked for"
            )
            return f"the run has not ended: it waits for {what}", names.go_on
        case outcomes.Completed():
            return "the model gave a final answer", ""
        case outcomes.InvalidOutput():
            more = setting("output_retries", 4)
            return f"the answer does not fit the output: {outcome.error}", f"allow more {more}"
        case outcomes.EmptyFinal():
            return "the model ended with neither text nor a call", "ask again, or try another model"
        case outcomes.MaxTurns():
            doubled = setting("max_turns", outcome.limit * 2)
            return (
                f"the model still called tools after {outcome.limit} turns",
                f"raise the limit with {doubled}",
            )
        case outcomes.NoToolCalls():
            nudged = setting("nudge_no_tool_calls", 1)
            return "the model called no tool", f"ask it again with {nudged}"
        case outcomes.ToolFailed():
            tolerated = setting("tool_failure_policy", "tolerated")
            failed = ", ".join(outcome.tools) or "every tool"
            return f"tools failed: {failed}", f"one success is enough with {tolerated}"
        case outcomes.RepeatedCall():
            times = f"{outcome.times} times in a row, with the same result"
            allowed = setting("repetition_stop", 2 * outcome.times)
            return f"the model called {outcome.tool} {times}", f"allow more repetitions with {allowed}"
        case outcomes.BudgetSpent():
            spent = f"the budget of {outcome.kind} is used up: {outcome.used:,.10g} of {outcome.limit:,.10g}"
            raised = setting(BUDGET_SETTINGS[outcome.kind], _doubled(outcome.limit))
            return spent, f"raise the limit with {raised}"
        case outcomes.ConversationSpent():
            used = f"{outcome.used:,.10g} of {outcome.limit:,.10g}"
            spent = f"the conversation has used up its {outcome.kind}: {used}"
            raised = setting(f"max_conversation_{outcome.kind}", _doubled(outcome.limit))
            return spent, f"raise the limit with {raised}, or begin a new conversation"
        case outcomes.CostUnknown():
            unknown = f"the cost is limited to {outcome.limit:,.10g}, and the provider reports none"
            return unknown, f"{names.price}, or {setting('unknown_cost', 'allow')}"
        case outcomes.ContextOverflow():
            room = f"about {outcome.estimate} tokens for a window of {outcome.limit}"
            return f"the conversation no longer fits: {room}", f"the largest: {'; '.join(outcome.largest)}"
        case outcomes.CapabilityRefused():
            without = setting("fallback_without_tools", True)
            return f"the server takes no tools{_because(outcome.message)}", f"try {without}"
        case outcomes.Truncated():
            more = 'options={"max_tokens": …}' if in_python else "--set max_tokens=…"
            return "the answer was cut at the output token limit", f"raise it with {more}"
        case outcomes.Refused():
            return f"the model refused{_because(outcome.reason)}", ""
        case outcomes.ContentFiltered():
            return f"the provider's filter suppressed the reply{_because(outcome.reason)}", ""
        case outcomes.InvalidReply():
            hint = _UNREAD_CALL if outcome.problem == "MALFORMED_FUNCTION_CALL" else ""
            if outcome.problem in _NO_CHAT:
                hint = f"is {_named(names, server)} that of an OpenAI-compatible server?"
            return f"the reply could not be used ({outcome.problem}){_because(outcome.detail)}", hint
        case outcomes.TransportFailed():
            return outcome.message, _transport(outcome, server, names)
        case outcomes.TransformFailed():
            return outcome.message, "correct it; `toolreel resume` continues a recorded run"
        case outcomes.Cancelled():
            return outcome.reason or "the run was cancelled", ""
        case _:
            assert_never(outcome)


def _because(said: str) -> str:
    """What the server said, if it said anything."""
    return f": {said}" if said.strip() else ""


def failure_in_words(
    outcome: outcomes.Outcome | Resting, server: ServerAddress, *, quoting: bool = True
) -> str:
    """One sentence about a run without a final answer, for a program.

    :param quoting: whether it may have what the model said; no log has that
    """
    words, hint = describe_outcome(outcome, server, in_python=True)
    said = f": {words}" if quoting or not _quotes(outcome) else ""
    return f"the run did not complete: {outcome.name}{said}" + (f"; {hint}" if hint else "")


def _quotes(outcome: outcomes.Outcome | Resting) -> bool:
    """Whether its words have what the model said."""
    match outcome:
        case outcomes.InvalidReply():
            return outcome.problem not in {*NO_REPLIES, "RATE_LIMITED"}
        case outcomes.InvalidOutput() | outcomes.Refused() | outcomes.ContentFiltered() | Resting():
            return True
        case _:
            return False


def _setting(names: _Names, name: str, value: str | float) -> str:
    """How a setting of the loop is written."""
    if names is not _PYTHON:
        text = canonical(value).strip('"')
        return f"--set {name}={text}"
    return f'config={{"{name}": {canonical(value) if isinstance(value, str) else repr(value)}}}'


def _doubled(limit: float) -> float:
    return round(2 * limit) if limit >= 1 else 2 * limit


def _named(names: _Names, server: ServerAddress) -> str:
    """The setting with the URL of the server, and its value where that is known."""
    return f"{names.base_url} ({server.url})" if server.url else names.base_url


def _transport(outcome: outcomes.TransportFailed, server: ServerAddress, names: _Names) -> str:
    there = f" at {server.url}" if server.url else ""
    match outcome.failure:
        case "connect":
            return f"no server answers{there}: start it, or correct {names.base_url}"
        case "timeout":
            return f"the server{there} is too slow: raise {names.timeout}"
        case "too_large":
            return f"the server sent more than any chat completion has; is {_named(names, server)} right?"
        case "broken":
            whole = f"the connection{there and f' to {server.url}'} broke before the reply was whole"
            return f"{whole}: try again, or correct {names.base_url}"
        case "status":
            return _http_status_advice(outcome.status or 0, outcome.message.lower(), server, names)
        case _:
            assert_never(outcome.failure)


def _http_status_advice(status: int, message: str, server: ServerAddress, names: _Names) -> str:
    """What to do about an HTTP status."""
    the_server = f"the server at {server.url}" if server.url else "the server"
    if status == 403:
        with_key = f" with the key in {server.key}" if server.key else ""
        return f"{the_server} refused access{with_key}: see what it says"
    if status == 401 and server.key:
        return f"the key in {server.key} was not accepted: is it the right one for {server.url}?"
    if status == 401:  # a recording does not tell whether there was a key
        wants = "wants a key" if server.url else "did not accept the key, or wants one"
        return f"{the_server} {wants}: {names.give_key}"
    if status in {400, 404, 422} and _UNKNOWN_MODEL.search(message.replace("_", " ")):
        ask = "ask it for its names at /v1/models"
        return f"{the_server} does not know the model: {ask}, then correct {names.model}"
    if status == 404:
        return f"nothing is at {server.url or 'this URL'}: correct {names.base_url}"
    if status == 429 and "quota" in message:
        return "the quota is used up: wait, or raise it with the provider"
    if status == 429:
        return "too many requests: wait, then try again"
    if 300 <= status < 400:
        return f"{the_server} sends requests elsewhere: correct {names.base_url}"
    if status < 500:
        return f"{the_server} refused the request: see what it says, then correct the options"
    return f"{the_server} failed: try again"

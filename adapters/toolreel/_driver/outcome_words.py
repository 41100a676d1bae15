"""Describe an outcome in words, and what the user can do about it, in a program or on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple

from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._loop import NO_REPLIES
from toolreel_core._protocol import AskApproval, Effect
from toolreel_core._protocol import outcome as outcomes

_BUDGETS: Mapping[outcomes.BudgetKind, str] = {
    "tokens": "max_total_tokens",
    "cost": "max_cost",
    "time": "max_wall_ms",
    "tool_calls": "max_tool_calls",
}
"""The setting that limits each budget."""
# Such as "model_not_found", "qwen2.5 is not a valid model ID" and Anthropic's whole message, "model: NAME".
# The gap is bounded: one without a limit takes quadratic time in a message that repeats "model".
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


@cache
def _outcome_texts() -> Mapping[str, Mapping[str, Any]]:
    """By name of the outcome, what ``outcomes.toml`` says of it; and advice, by the problem."""
    import tomllib  # most runs complete

    return tomllib.loads((files("toolreel._driver") / "outcomes.toml").read_text("utf-8"))


def outcome_in_words(outcome: outcomes.Outcome | Resting, server: ServerAddress = NO_SERVER) -> OutcomeWords:
    """The outcome in words, with the rule that decided it."""
    words: dict[str, Any] = {key: getattr(outcome, key) for key in outcome.__dataclass_fields__}
    said = next((words[key] for key in ("message", "reason", "detail") if key in words), "")
    words["because"] = f": {said}" if said.strip() else ""
    # A budget may have been exceeded by far: its last request was larger than what was left.
    limit = max(words.get("limit", words.get("times", 0)), words.get("used", 0))
    # A cost may be a fraction, which rounding would turn into 0.
    words["doubled"] = round(2 * limit) if limit >= 1 else 2 * limit
    match outcome:
        case Resting():
            asked = [effect for effect in outcome.waits_for if isinstance(effect, AskApproval)]
            calls = ", ".join(f"{effect.name}({effect.arguments})" for effect in asked)
            words["what"] = "the run has not ended: it waits for what it asked for"
            words["on_approval"] = ""
            if calls:
                words["what"] = f"{calls} needs approval"
                words["on_approval"] = ", run.approve() or run.deny(reason)"
        case outcomes.ToolFailed():
            words["tools"] = ", ".join(outcome.tools) or "every tool"
        case outcomes.BudgetSpent():
            words["budget"] = _BUDGETS[outcome.kind]
        case outcomes.ContextOverflow():
            words["largest"] = "; ".join(outcome.largest)
        case outcomes.InvalidReply():
            words["advice"] = _advice_on_problem(outcome.problem, server)
        case outcomes.TransportFailed():
            problem = outcome.failure if outcome.failure != "status" else _status_problem(outcome, server)
            words["advice"] = _advice_on_problem(problem, server)
        case outcomes.Cancelled():
            words["reason"] = outcome.reason or "the run was cancelled"
        case _:
            pass
    row = _outcome_texts()[outcome.name]
    settings = tuple(each.format(**words) for each in row.get("settings", ()))
    return OutcomeWords(row["sentence"].format(**words), row["hint"].format(**words), row["rule"], settings)


def failure_in_words(
    outcome: outcomes.Outcome | Resting, server: ServerAddress, *, quoting: bool = True
) -> str:
    """One sentence about a run without a final answer, for a program.

    :param quoting: whether it may have what the model said; no log has that
    """
    words = outcome_in_words(outcome, server)
    said = f": {words.sentence}" if quoting or not _has_text_from_model(outcome) else ""
    return f"the run did not complete: {outcome.name}{said}" + (f"; {words.hint}" if words.hint else "")


def _has_text_from_model(outcome: outcomes.Outcome | Resting) -> bool:
    match outcome:
        case outcomes.InvalidReply():
            return outcome.problem not in {*NO_REPLIES, "RATE_LIMITED"}
        case outcomes.InvalidOutput() | outcomes.Refused() | outcomes.ContentFiltered() | Resting():
            return True
        case _:
            return False


def _advice_on_problem(problem: str, server: ServerAddress) -> str:
    url, known = server.url, str(_outcome_texts()["advice"].get(problem, ""))
    if not url:
        return known.format(at="", to="", base="", url="this URL", key=server.key)
    return known.format(at=f" at {url}", to=f" to {url}", base=f" ({url})", url=url, key=server.key)


def _status_problem(outcome: outcomes.TransportFailed, server: ServerAddress) -> str:
    # Codes such as `model_not_found` are read as words.
    status, message = outcome.status or 0, outcome.message.lower().replace("_", " ")
    if status == 401:
        if server.key:
            return "wrong_key"
        return "no_key" if server.url else "perhaps_no_key"  # a recording does not tell
    if status in {400, 404, 422} and _UNKNOWN_MODEL.search(message):
        return "unknown_model"
    if status in {403, 404, 429}:
        return f"status_{status}"
    if 300 <= status < 400:
        return "redirect"
    return "bad_request" if status < 500 else "server_error"

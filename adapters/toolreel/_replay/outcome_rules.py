"""Why a run ended as it did: the rule that decided, the settings it reads, and the event that it judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from toolreel._driver import BUDGET_SETTINGS, Resting
from toolreel._replay.trace import Trace, Traced
from toolreel_core._protocol import RunSettled
from toolreel_core._protocol import outcome as outcomes
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import short_dialects


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that ends a run."""

    words: str
    settings: tuple[str, ...] = ()
    """Names of the settings of the loop that it reads."""
    setting_advice: str = ""
    """What to do about it with one of these settings."""
    takes_hint: bool = True
    """Whether what can be said without the settings helps as well."""

    def values(self, config: LoopConfig) -> dict[str, str]:
        """These settings in a run, as Python writes them."""
        return {name: setting_shown(getattr(config, name)) for name in self.settings}

    def advice(self, hint: str) -> str:
        """What to do about the outcome.

        :param hint: what can be said without the settings
        """
        return "; ".join(filter(None, (self.setting_advice, hint if self.takes_hint else "")))


def setting_shown(value: object) -> str:
    """The value of a setting, as Python writes it; the dialects that are read by default are one word."""
    return repr(short_dialects(value) if isinstance(value, tuple) else value)


def deciding_event(trace: Trace) -> Traced | None:
    """The event upon which the outcome was decided; ``None`` if the run has not ended."""
    if isinstance(trace.run.outcome, Resting):
        return None
    settled = (each for each in reversed(trace.events) if any(isinstance(n, RunSettled) for n in each.notes))
    return next(settled, None)


_MODE: Final = "tool_use_mode"
_READ_TEXT: Final = 'read calls in text with --set text_dialects=["marked"]'


def rule_of(outcome: outcomes.Outcome | Resting, config: LoopConfig) -> Rule:  # noqa: PLR0912 - a rule an outcome
    """The rule that leads to an outcome, with what to do about it under these settings.

    >>> rule_of(outcomes.MaxTurns(3), LoopConfig(max_turns=3)).settings
    ('max_turns',)
    >>> rule_of(outcomes.EmptyFinal(), LoopConfig(fix_empty_final=False)).advice("try another model")
    'ask again for an empty answer with --set fix_empty_final=true; try another model'
    """
    reading = "" if config.text_dialects else _READ_TEXT
    match outcome:
        case Resting():
            return Rule("a run rests until the decision that it asked for is given")
        case outcomes.Completed():
            if config.tool_use_mode == "enforced":
                words = "a text without calls is the answer once tools were called and did not fail"
                return Rule(words, (_MODE, "tool_failure_policy"))
            return Rule("a text without calls is the answer", (_MODE,))
        case outcomes.InvalidOutput():
            again = f"ask again more often with --set output_retries={2 * config.output_retries or 1}"
            words = "an answer that does not fit the output is asked for again so often"
            return Rule(words, ("output_retries",), again, takes_hint=False)
        case outcomes.EmptyFinal():
            again = "ask again for an empty answer with --set fix_empty_final=true"
            words = "a reply with neither text nor a call is not an answer"
            return Rule(words, ("fix_empty_final",), "" if config.fix_empty_final else again)
        case outcomes.MaxTurns():
            words = "a run has no more turns than that, and the last reply still had calls"
            return Rule(words, ("max_turns",))
        case outcomes.NoToolCalls():
            words = "an enforced run has to call a tool, and no reply had a call that could be read"
            nudge = f"ask for a call with --set nudge_no_tool_calls={config.nudge_no_tool_calls + 1}"
            advice = "; ".join(filter(None, (reading, nudge)))
            return Rule(words, (_MODE, "nudge_no_tool_calls", "text_dialects"), advice, takes_hint=False)
        case outcomes.ToolFailed():
            reads = (_MODE, "tool_failure_policy")
            if config.tool_failure_policy == "fatal":
                words = "an enforced run needs every tool that it called to have worked the last time"
                return Rule(words, reads)
            see = "see in its turn why each call failed"
            return Rule("an enforced run needs one call that worked", reads, see, takes_hint=False)
        case outcomes.RepeatedCall():
            words = "the same call with the same result ends the run after this many times"
            return Rule(words, ("repetition_stop",))
        case outcomes.BudgetSpent():
            return Rule("a budget that is used up allows nothing more", (BUDGET_SETTINGS[outcome.kind],))
        case outcomes.ConversationSpent():
            words = "a budget of the whole conversation that is used up allows nothing more"
            return Rule(words, (f"max_conversation_{outcome.kind}",))
        case outcomes.CostUnknown():
            words = "where a cost is limited, a reply of unknown cost allows no further request"
            return Rule(words, ("max_cost", "max_conversation_cost", "unknown_cost"))
        case outcomes.ContextOverflow():
            shorten = 'shorten the history with --set history_policies=["shorten_old_tool_results"]'
            words = "a request that does not fit the window, and cannot be shortened, is not sent"
            settings = ("context_window_tokens", "reserved_response_tokens", "history_policies")
            return Rule(words, settings, "" if config.history_policies else shorten)
        case outcomes.CapabilityRefused():
            words = "a server that takes no tools is not asked again with them"
            return Rule(words, ("fallback_without_tools",), takes_hint=not config.fallback_without_tools)
        case outcomes.Truncated():
            words = "a reply that was cut at the limit of its tokens is no answer, and its calls are not run"
            return Rule(words)
        case outcomes.Refused() | outcomes.ContentFiltered():
            return Rule("a reply that the provider marks as refused or filtered is no answer")
        case outcomes.InvalidReply():
            words = "a reply that cannot be used, or looks like a call that nobody could read, is no answer"
            return Rule(words, ("accept_suspected_calls", "text_dialects"), reading)
        case outcomes.TransportFailed():
            passes = outcome.failure in {"timeout", "broken"} or outcome.status in {429, *range(500, 600)}
            again = f"try more often with --set max_tries={2 * config.max_tries}"
            words = "a request that failed is sent again only so often, and only if that can help"
            return Rule(words, ("max_tries",), again if passes else "")
        case outcomes.TransformFailed():
            return Rule("a transform that raises ends the run, since what it changes is not known")
        case outcomes.Cancelled():
            return Rule("a run that is cancelled ends at once, and its open calls get a result that says so")
        case _:
            assert_never(outcome)

"""Why a run ended as it did: the rule that decided, the settings it reads, and the event that it judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, assert_never

from toolreel._driver import BUDGET_SETTINGS, Resting
from toolreel._replay.trace import Trace, Traced
from toolreel_core._protocol import Note, RunSettled
from toolreel_core._protocol import outcome as outcomes
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import short_dialects


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that ends a run."""

    words: str
    settings: tuple[str, ...] = ()
    """Names of the settings of the loop that it reads."""

    def values(self, config: LoopConfig) -> dict[str, str]:
        """These settings in a run, as Python writes them."""
        return {name: setting_shown(getattr(config, name)) for name in self.settings}


def setting_shown(value: object) -> str:
    """The value of a setting, as Python writes it; the dialects that are read by default are one word."""
    return repr(short_dialects(value) if isinstance(value, tuple) else value)


@dataclass(frozen=True, slots=True)
class Why:
    """What decided about the outcome of a run."""

    rule: Rule
    values: Mapping[str, str]
    """The settings that the rule reads, with their values in this run as Python writes them."""
    event: Traced | None
    """The event upon which it decided; ``None`` if the run has not ended."""


def why(trace: Trace) -> Why:
    """Why a recorded run ended as it did."""
    run = trace.run
    config = run.state.plan.config
    rule = rule_of(run.outcome, config)
    decided = (
        each for each in reversed(trace.events) if any(isinstance(note, RunSettled) for note in each.notes)
    )
    ended = None if isinstance(run.outcome, Resting) else next(decided, None)
    return Why(rule, rule.values(config), ended)


_MODE: Final = "tool_use_mode"


def rule_of(outcome: outcomes.Outcome | Resting, config: LoopConfig) -> Rule:  # noqa: PLR0912 - a rule an outcome
    """The rule that leads to an outcome.

    >>> rule_of(outcomes.MaxTurns(3), LoopConfig(max_turns=3)).settings
    ('max_turns',)
    """
    match outcome:
        case Resting():
            return Rule("a run rests until the decision that it asked for is given")
        case outcomes.Completed():
            return _completed(config)
        case outcomes.InvalidOutput():
            return Rule(
                "an answer that does not fit the output is asked for again so often", ("output_retries",)
            )
        case outcomes.EmptyFinal():
            return Rule("a reply with neither text nor a call is not an answer", ("fix_empty_final",))
        case outcomes.MaxTurns():
            return Rule(
                "a run has no more turns than that, and the last reply still had calls", ("max_turns",)
            )
        case outcomes.NoToolCalls():
            settings = (_MODE, "nudge_no_tool_calls", "text_dialects")
            return Rule(
                "an enforced run has to call a tool, and no reply had a call that could be read", settings
            )
        case outcomes.ToolFailed():
            return Rule(_failed(config), (_MODE, "tool_failure_policy"))
        case outcomes.RepeatedCall():
            return Rule(
                "the same call with the same result ends the run after this many times", ("repetition_stop",)
            )
        case outcomes.BudgetSpent():
            return Rule("a budget that is used up allows nothing more", (BUDGET_SETTINGS[outcome.kind],))
        case outcomes.ConversationSpent():
            setting = f"max_conversation_{outcome.kind}"
            return Rule("a budget of the whole conversation that is used up allows nothing more", (setting,))
        case outcomes.CostUnknown():
            words = "where a cost is limited, a reply of unknown cost allows no further request"
            return Rule(words, ("max_cost", "max_conversation_cost", "unknown_cost"))
        case outcomes.ContextOverflow():
            words = "a request that does not fit the window, and cannot be shortened, is not sent"
            return Rule(words, ("context_window_tokens", "reserved_response_tokens", "history_policies"))
        case outcomes.CapabilityRefused():
            return Rule(
                "a server that takes no tools is not asked again with them", ("fallback_without_tools",)
            )
        case outcomes.Truncated():
            return Rule(
                "a reply that was cut at the limit of its tokens is no answer, and its calls are not run"
            )
        case outcomes.Refused() | outcomes.ContentFiltered():
            return Rule("a reply that the provider marks as refused or filtered is no answer")
        case outcomes.InvalidReply():
            words = "a reply that cannot be used, or looks like a call that nobody could read, is no answer"
            return Rule(words, ("accept_suspected_calls", "text_dialects"))
        case outcomes.TransportFailed():
            return Rule(
                "a request that failed is sent again only so often, and only if that can help", ("max_tries",)
            )
        case outcomes.TransformFailed():
            return Rule("a transform that raises ends the run, since what it changes is not known")
        case outcomes.Cancelled():
            return Rule("a run that is cancelled ends at once, and its open calls get a result that says so")
        case _:
            assert_never(outcome)


def advised(outcome: outcomes.Outcome | Resting, config: LoopConfig, hint: str) -> str:
    """What to do about an outcome of a run with these settings, first with one that the rule reads.

    >>> advised(outcomes.EmptyFinal(), LoopConfig(fix_empty_final=False), "try another model")
    'ask again for an empty answer with --set fix_empty_final=true; try another model'

    :param hint: what can be said without the settings
    """
    reading = "" if config.text_dialects else 'read calls in text with --set text_dialects=["marked"]'
    match outcome:
        case outcomes.InvalidOutput():
            return f"ask again more often with --set output_retries={2 * config.output_retries or 1}"
        case outcomes.EmptyFinal():
            asking = "ask again for an empty answer with --set fix_empty_final=true"
            return _joined("" if config.fix_empty_final else asking, hint)
        case outcomes.NoToolCalls():
            more = config.nudge_no_tool_calls + 1
            return _joined(reading, f"ask for a call with --set nudge_no_tool_calls={more}")
        case outcomes.ToolFailed():
            return hint if config.tool_failure_policy == "fatal" else "see in its turn why each call failed"
        case outcomes.ContextOverflow():
            shorten = 'shorten the history with --set history_policies=["shorten_old_tool_results"]'
            return _joined("" if config.history_policies else shorten, hint)
        case outcomes.CapabilityRefused():
            return "" if config.fallback_without_tools else hint
        case outcomes.InvalidReply():
            return _joined(reading, hint)
        case outcomes.TransportFailed():
            passes = outcome.failure in {"timeout", "broken"} or outcome.status in {429, *range(500, 600)}
            again = f"try more often with --set max_tries={2 * config.max_tries}"
            return _joined(again if passes else "", hint)
        case (
            Resting()
            | outcomes.Completed()
            | outcomes.MaxTurns()
            | outcomes.RepeatedCall()
            | outcomes.BudgetSpent()
            | outcomes.ConversationSpent()
            | outcomes.CostUnknown()
            | outcomes.Truncated()
            | outcomes.Refused()
            | outcomes.ContentFiltered()
            | outcomes.TransformFailed()
            | outcomes.Cancelled()
        ):
            return hint
        case _:
            assert_never(outcome)


def _joined(*sentences: str) -> str:
    return "; ".join(filter(None, sentences))


def _completed(config: LoopConfig) -> Rule:
    match config.tool_use_mode:
        case "relaxed" | "disabled":
            return Rule("a text without calls is the answer", (_MODE,))
        case "enforced":
            words = "a text without calls is the answer once tools were called and did not fail"
            return Rule(words, (_MODE, "tool_failure_policy"))
        case _:
            assert_never(config.tool_use_mode)


def _failed(config: LoopConfig) -> str:
    match config.tool_failure_policy:
        case "fatal":
            return "an enforced run needs every tool that it called to have worked the last time"
        case "tolerated":
            return "an enforced run needs one call that worked"
        case _:
            assert_never(config.tool_failure_policy)


def note_words(note: Note) -> str:
    """A note as one line: what it is, and its fields.

    >>> note_words(RunSettled("completed"))
    'RunSettled: outcome completed'
    """
    shown = (
        f"{each.name} {value}"
        for each in fields(note)
        if each.name != "turn" and (value := getattr(note, each.name)) not in {"", None, ()}
    )
    return f"{type(note).__name__}: {', '.join(shown)}".removesuffix(": ")

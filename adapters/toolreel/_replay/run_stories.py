"""A run turn by turn: how it ended, and what each turn did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import takewhile
from typing import Final

from toolreel._driver import BUDGET_SETTINGS, Resting, Run
from toolreel._replay.trace import Trace, Traced, shorten_line
from toolreel_core._conversation import (
    AssistantMessage,
    SentCall,
    ToolMessage,
    UserMessage,
    readable_content,
)
from toolreel_core._jsontext import Json, canonical, read
from toolreel_core._protocol import Completed, Level, Note, RunSettled, note_sentence, notes
from toolreel_core._protocol import outcome as outcomes
from toolreel_core._replies import UNREPAIRED
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import short_dialects

# A run turn by turn, for people: requests, replies, repairs, calls and their results.


@dataclass(frozen=True, slots=True)
class CallSummary:
    """One tool call and its result."""

    name: str
    arguments: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``; empty for a call that never ran."""
    ok: bool
    result: str
    """The tool's output, or why the call failed."""
    ms: int | None = field(default=None, compare=False)
    """How long the tool ran, if that is known."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One request, its reply, and the calls in it."""

    number: int
    messages: int = 0
    """Messages that were sent."""
    digest: str = ""
    """The request's digest."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    repairs: tuple[str, ...] = ()
    """Codes of the repairs to the reply."""
    notices: tuple[str, ...] = ()
    """Codes of what was noticed in the reply and left as it was, or skipped."""
    quirks: tuple[str, ...] = ()
    """Provider settings and transforms that changed something."""
    stripped: str = ""
    """Beginning of the text next to calls that was left out of the history."""
    approvals: tuple[str, ...] = ()
    """Names of tools for whose calls approval was asked."""
    calls: tuple[CallSummary, ...] = ()
    remarks: tuple[str, ...] = ()
    """Other decisions of the loop in this turn, in words."""
    said: tuple[str, ...] = ()
    """Beginning of each message of the user that this request is the first to send; not of the plan's."""
    answer: str = ""
    """The model's text, if an exchange of a conversation ended here and another one followed."""
    ms: int | None = field(default=None, compare=False)
    """How long the request took, with its repetitions, if that is known."""


def story(run: Run) -> tuple[TurnSummary, ...]:
    """The turns of a run, in order; a run that waits has those so far."""
    turns: dict[int, TurnSummary] = {}
    times: dict[int, list[int | None]] = {}
    number, ended = 1, ""
    for note in run.notes:
        match note:
            case notes.RunSettled():
                ended = note.outcome
                continue
            case notes.LateAnswer():
                continue
            case notes.ExchangeBegan():
                last = turns.get(note.turn - 1, TurnSummary(max(1, note.turn - 1)))
                remark = () if ended == Completed.name else (f"ended as {ended}",)
                turns[last.number] = replace(last, remarks=(*last.remarks, *remark))
                continue
            case (
                notes.PresetsApplied() | notes.OptionIgnored() | notes.SchemaReduced() | notes.TextCallsOff()
            ):
                number = 1  # noted before the first request
            case _:
                number = note.turn
        turns[number] = _with_note(turns.get(number, TurnSummary(number)), note)
    # The turns whose reply had calls that were not ignored, in order, as their messages are
    calling = dict.fromkeys(note.turn for note in run.notes if isinstance(note, _ABOUT_CALLS))
    tool_ms = {(took.turn, took.call_id): took.ms for took in run.timing.tools}
    for number, calls in zip(calling, _calls_with_results(run), strict=True):
        timed = tuple(replace(call, ms=tool_ms.get((number, id_))) for id_, call in calls)
        turns[number] = replace(turns[number], calls=timed)
    for number, answer in _answers_by_turn(run):
        turns[number] = replace(turns[number], answer=answer)
    for took in run.timing.requests:  # the time of a turn is known if that of each try is
        times.setdefault(took.turn, []).append(took.ms)
    known = {turn: sum(filter(None, ms)) for turn, ms in times.items() if None not in ms}
    return tuple(replace(turn, ms=known.get(turn.number)) for turn in turns.values())


_ABOUT_CALLS: Final = (
    notes.CallRejected,
    notes.CallSkipped,
    notes.CallStarted,
    notes.CallAbandoned,
    notes.ApprovalAsked,
    notes.OutputCalled,
)


def _with_note(turn: TurnSummary, note: notes.Note) -> TurnSummary:
    """The turn with what a note says: in a field of its own, or else as a remark."""
    match note:
        case notes.RequestSent():
            is_retry = bool(turn.digest)
            return turn if is_retry else replace(turn, messages=note.messages, digest=note.digest)
        case notes.QuirkApplied():
            return replace(turn, quirks=tuple(dict.fromkeys((*turn.quirks, note.name))))
        case notes.ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case notes.RepairApplied():
            if note.code in UNREPAIRED:
                return replace(turn, notices=(*turn.notices, note.code))
            return replace(turn, repairs=(*turn.repairs, note.code))
        case notes.ContentStripped():
            return replace(turn, stripped=note.sample)
        case notes.ApprovalAsked():
            return replace(turn, approvals=(*turn.approvals, note.name))
        case notes.UserMessagesAdded():
            return replace(turn, said=(*turn.said, *note.samples))
        case notes.CallRejected() | notes.CallEnded() | notes.CallAbandoned() | notes.OutputCalled():
            return turn  # the call is shown with its result
        case _:
            _, sentence = note_sentence(note)
            return replace(turn, remarks=(*turn.remarks, sentence)) if sentence else turn


def _answers_by_turn(run: Run) -> Iterator[tuple[int, str]]:
    """The text before each message that began an exchange, with the number of its turn."""
    began = {note.turn for note in run.notes if isinstance(note, notes.ExchangeBegan)}
    added = (note for note in run.notes if isinstance(note, notes.UserMessagesAdded))
    messages = tuple(run.state.messages.messages)
    at = len(run.state.plan.messages)
    for note in added:
        # The loop's own messages to the model are user messages, too: the text says which one is meant.
        while not (
            isinstance(message := messages[at], UserMessage)
            and readable_content(message).startswith(note.samples[0])
        ):
            at += 1
        before = messages[at - 1] if at else None
        if note.turn in began and isinstance(before, AssistantMessage) and not before.calls:
            yield note.turn - 1, before.content
        at += len(note.samples)


def _calls_with_results(run: Run) -> Iterator[tuple[tuple[str, CallSummary], ...]]:
    """The calls of each assistant message that have a result, each with its id."""
    provenance = {note.call_id: note.provenance for note in run.notes if isinstance(note, notes.CallStarted)}
    messages = tuple(run.state.messages.messages)[len(run.state.plan.opening) :]
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            results = takewhile(lambda later: isinstance(later, ToolMessage), messages[at + 1 :])
            yield tuple(
                (call.id, _call_summary(call, result, provenance.get(call.id, "")))
                for call, result in zip(message.calls, results, strict=False)
                if isinstance(result, ToolMessage)
            )


def _call_summary(call: SentCall, result: ToolMessage, provenance: str) -> CallSummary:
    match read(result.content).value_or(result.content):
        case {"ok": False, "errors": [*errors]}:
            reasons = [
                f"{error['code']}: {error['message']}"
                if isinstance(error, Mapping) and {"code", "message"} <= error.keys()
                else canonical(error)
                for error in errors
            ]
            return CallSummary(call.name, call.arguments, provenance, False, "; ".join(reasons))
        case {"ok": True, "tool_name": _, "data": data} | data:
            return CallSummary(call.name, call.arguments, provenance, True, canonical(data))


# Why a run ended as it did: the rule that decided, the settings it reads, and the event that it judged.


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that ends a run."""

    words: str
    settings: tuple[str, ...] = ()
    """Names of the settings of the loop that it reads."""
    setting_advice: str = ""
    """What to do about it with one of these settings."""

    def values(self, config: LoopConfig) -> dict[str, str]:
        """These settings in a run, as Python writes them."""
        return {name: setting_text(getattr(config, name)) for name in self.settings}

    def advice(self, hint: str) -> str:
        """What to do about the outcome.

        :param hint: what can be said without the settings
        """
        return "; ".join(filter(None, (self.setting_advice, hint)))


def setting_text(value: object) -> str:
    """The value of a setting, as Python writes it; the dialects that are read by default are one word."""
    return repr(short_dialects(value) if isinstance(value, tuple) else value)


def deciding_event(trace: Trace) -> Traced | None:
    """The event upon which the outcome was decided; ``None`` if the run has not ended."""
    if isinstance(trace.run.outcome, Resting):
        return None
    settled = (each for each in reversed(trace.events) if any(isinstance(n, RunSettled) for n in each.notes))
    return next(settled, None)


_NO_ANSWER: Final = "a reply that the provider marks as refused or filtered is no answer"
_RULES: Final[Mapping[type[outcomes.Outcome | Resting], tuple[str, *tuple[str, ...]]]] = {
    Resting: ("a run rests until the decision that it asked for is given",),
    outcomes.Completed: (
        "a text without calls is the answer; of an enforced run, once tools were called and did not fail",
        "tool_use_mode",
        "tool_failure_policy",
    ),
    outcomes.InvalidOutput: (
        "an answer that does not fit the output is asked for again so often",
        "output_retries",
    ),
    outcomes.EmptyFinal: ("a reply with neither text nor a call is not an answer", "fix_empty_final"),
    outcomes.MaxTurns: ("a run has no more turns than that, and the last reply still had calls", "max_turns"),
    outcomes.NoToolCalls: (
        "an enforced run has to call a tool, and no reply had a call that could be read",
        "tool_use_mode",
        "nudge_no_tool_calls",
        "text_dialects",
    ),
    outcomes.ToolFailed: (
        "an enforced run needs every tool that it called to have worked the last time; "
        "where failures are tolerated, one call",
        "tool_use_mode",
        "tool_failure_policy",
    ),
    outcomes.RepeatedCall: (
        "the same call with the same result ends the run after this many times",
        "repetition_stop",
    ),
    outcomes.BudgetSpent: ("a budget that is used up allows nothing more",),
    outcomes.ConversationSpent: ("a budget of the whole conversation that is used up allows nothing more",),
    outcomes.CostUnknown: (
        "where a cost is limited, a reply of unknown cost allows no further request",
        "max_cost",
        "max_conversation_cost",
        "unknown_cost",
    ),
    outcomes.ContextOverflow: (
        "a request that does not fit the window, and cannot be shortened, is not sent",
        "context_window_tokens",
        "reserved_response_tokens",
        "history_policies",
    ),
    outcomes.CapabilityRefused: (
        "a server that takes no tools is not asked again with them",
        "fallback_without_tools",
    ),
    outcomes.Truncated: (
        "a reply that was cut at the limit of its tokens is no answer, and its calls are not run",
    ),
    outcomes.Refused: (_NO_ANSWER,),
    outcomes.ContentFiltered: (_NO_ANSWER,),
    outcomes.InvalidReply: (
        "a reply that cannot be used, or looks like a call that nobody could read, is no answer",
        "accept_suspected_calls",
        "text_dialects",
    ),
    outcomes.TransportFailed: (
        "a request that failed is sent again only so often, and only if that can help",
        "max_tries",
    ),
    outcomes.TransformFailed: ("a transform that raises ends the run, since what it changes is not known",),
    outcomes.Cancelled: (
        "a run that is cancelled ends at once, and its open calls get a result that says so",
    ),
}
"""The words of each rule, and the names of the settings that it reads."""

_UNSET: Final = {
    "fix_empty_final": "ask again for an empty answer with --set fix_empty_final=true",
    "text_dialects": 'read calls in text with --set text_dialects=["marked"]',
    "history_policies": 'shorten the history with --set history_policies=["shorten_old_tool_results"]',
}
"""What to do about a rule by a setting that it reads, and that is off."""


def deciding_rule(outcome: outcomes.Outcome | Resting, config: LoopConfig) -> Rule:
    """The rule that leads to an outcome, with what to do about it under these settings.

    >>> deciding_rule(outcomes.MaxTurns(3), LoopConfig(max_turns=3)).settings
    ('max_turns',)
    >>> deciding_rule(outcomes.EmptyFinal(), LoopConfig(fix_empty_final=False)).advice("try another model")
    'ask again for an empty answer with --set fix_empty_final=true; try another model'
    """
    words, *settings = _RULES[type(outcome)]
    if isinstance(outcome, outcomes.BudgetSpent):
        settings = [BUDGET_SETTINGS[outcome.kind]]
    elif isinstance(outcome, outcomes.ConversationSpent):
        settings = [f"max_conversation_{outcome.kind}"]
    off = (_UNSET[name] for name in settings if name in _UNSET and not getattr(config, name))
    return Rule(words, tuple(settings), next(off, ""))


# The notes of a run as lines: for `explain`, for the page, and as warnings above the turns.


_LONGEST: Final = 140
"""Characters of a warning above the turns."""


def note_line(note: Note) -> str:
    """A note with all of its fields, in one line.

    >>> note_line(notes.RunSettled("completed"))
    'RunSettled: outcome completed'
    """
    shown = (
        f"{each.name} {value}"
        for each in fields(note)
        if each.name != "turn" and (value := getattr(note, each.name)) not in {"", None, ()}
    )
    return f"{type(note).__name__}: {', '.join(shown)}".removesuffix(": ")


def notes_for_page(found: Iterable[Note]) -> list[Json]:
    """The notes that are not silent, as lists of level, kind and sentence."""
    told = ((type(note).__name__, *note_sentence(note)) for note in found)
    return [[level, kind, words] for kind, level, words in told if level != "silent"]


def run_warnings(run: Run) -> list[tuple[Level, str, list[int]]]:
    """What is worth a warning above the turns, the worst first: level, sentence and turns of each."""
    found: dict[tuple[Level, str], list[int]] = {}
    for note in run.notes:
        level, words = note_sentence(note)
        if level in {"bad", "warn"}:
            turns, turn = (
                found.setdefault((level, shorten_line(words, _LONGEST)), []),
                getattr(note, "turn", 0),
            )
            if turn and turn not in turns:
                turns.append(turn)
    for words in _unused_tools(run):
        found["warn", words] = []
    ordered = sorted(found.items(), key=lambda each: each[0][0] != "bad")
    return [(level, words, turns) for (level, words), turns in ordered]


def _unused_tools(run: Run) -> Iterator[str]:
    """Tools that were offered and never called: an answer may claim what none of them has done."""
    called = {note.name for note in run.notes if isinstance(note, notes.CallStarted)}
    tools = run.state.plan.tools
    offered = [each.name for each in tools.definitions]
    unused = [name for name in offered if not called & {name, tools.inner_name(name)}]
    if unused and len(unused) == len(offered):
        yield f"no tool was run, and {'1 was' if len(offered) == 1 else f'{len(offered)} were'} offered"
    elif 0 < len(unused) <= 8:
        yield f"offered and never run: {', '.join(unused)}"

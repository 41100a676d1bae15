"""A run turn by turn: how it ended, and what each turn did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise, takewhile
from typing import Literal, TypeAlias

from toolreel._driver import OutcomeWords, Resting, Run, outcome_in_words
from toolreel._replay.trace import Trace, Traced, shorten_line
from toolreel_core._conversation import (
    AssistantMessage,
    SentCall,
    ToolMessage,
    UserMessage,
    readable_content,
)
from toolreel_core._jsontext import Json, canonical, read_json
from toolreel_core._protocol import Completed, Note, NoteLevel, RunSettled, note_sentence, notes
from toolreel_core._text_calls import abbreviated_dialect_names


@dataclass(frozen=True, slots=True)
class CallSummary:
    name: str
    arguments: str
    provenance: str
    """``structured``, ``legacy`` or ``text:<dialect>``; empty for a call that never ran."""
    ok: bool
    result: str
    """The tool's output, or why the call failed."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    number: int
    messages: int = 0
    digest: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: tuple[CallSummary, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the loop repaired, changed, noticed and decided in this turn, in words; not about its calls."""
    said: tuple[str, ...] = ()
    """Beginning of each message of the user that this request is the first to send; not of the plan's."""
    answer: str = ""
    """The model's text, if an exchange of a conversation ended here and another one followed."""

    def with_remark(self, sentence: str) -> TurnSummary:
        """The turn with one more remark, unless it has that already: each try may be followed by the same."""
        if not sentence or sentence in self.remarks:
            return self
        return replace(self, remarks=(*self.remarks, sentence))


def story(run: Run) -> tuple[TurnSummary, ...]:
    """The turns of a run, in order; a run that waits has those so far."""
    turns: dict[int, TurnSummary] = {}
    ended = ""
    for note in run.notes:
        number = getattr(note, "turn", 1)  # what has no turn is noted before the first request, or at the end
        match note:
            case notes.LateAnswer():
                pass
            case notes.RunSettled():
                ended = note.outcome
            case notes.ExchangeBegan():
                last = turns.get(number - 1, TurnSummary(max(1, number - 1)))
                turns[last.number] = last.with_remark("" if ended == Completed.name else f"ended as {ended}")
            case _:
                turns[number] = _with_note(turns.get(number, TurnSummary(number)), note)
    # The turns whose reply had calls that were not ignored, in the order of their messages.
    calling = dict.fromkeys(note.turn for note in run.notes if isinstance(note, _ABOUT_CALLS))
    for number, calls in zip(calling, _calls_with_results(run), strict=True):
        turns[number] = replace(turns[number], calls=calls)
    for number, answer in _answers_by_turn(run):
        turns[number] = replace(turns[number], answer=answer)
    return tuple(turns.values())


TurnLine: TypeAlias = Literal["user", "call", "result", "failure", "remark", "answer"]
MARKS: Mapping[TurnLine, str] = {"call": "→ ", "result": "← ", "failure": "✗ "}


def turn_lines(turn: TurnSummary) -> Iterator[tuple[TurnLine, str]]:
    for text in turn.said:
        yield "user", text
    for call in turn.calls:
        origin = "" if call.provenance in {"", "structured"} else f"   read from {call.provenance}"
        yield "call", f"{call.name}({call.arguments}){origin}"
        yield "result" if call.ok else "failure", call.result
    for text in turn.remarks:
        yield "remark", text
    if turn.answer:
        yield "answer", turn.answer


_ABOUT_CALLS = (
    notes.CallRejected,
    notes.CallSkipped,
    notes.CallStarted,
    notes.CallAbandoned,
    notes.ApprovalAsked,
    notes.OutputCalled,
)


def _with_note(turn: TurnSummary, note: notes.Note) -> TurnSummary:
    match note:
        case notes.RequestSent():
            is_retry = bool(turn.digest)
            return turn if is_retry else replace(turn, messages=note.messages, digest=note.digest)
        case notes.ReplyRead():
            return replace(turn, prompt_tokens=note.prompt_tokens, completion_tokens=note.completion_tokens)
        case notes.UserMessagesAdded():
            return replace(turn, said=(*turn.said, *note.samples))
        case notes.ApprovalAsked():
            return turn.with_remark(f"{note.name} needs approval")
        case notes.CallRejected() | notes.CallEnded() | notes.CallAbandoned() | notes.OutputCalled():
            return turn  # the call is shown with its result
        case _:
            return turn.with_remark(note_sentence(note)[1])


def _answers_by_turn(run: Run) -> Iterator[tuple[int, str]]:
    """The text before each message that began an exchange, with the number of its turn."""
    began = {note.turn for note in run.notes if isinstance(note, notes.ExchangeBegan)}
    added = (note for note in run.notes if isinstance(note, notes.UserMessagesAdded) and note.turn in began)
    following = next(added, None)
    for before, message in pairwise([*run.state.messages.messages][len(run.state.plan.messages) - 1 :]):
        # The loop's own messages to the model are user messages, too: the text says which one is meant.
        if (
            following
            and isinstance(message, UserMessage)
            and readable_content(message).startswith(following.samples[0])
        ):
            if isinstance(before, AssistantMessage) and not before.calls:
                yield following.turn - 1, before.content
            following = next(added, None)


def _calls_with_results(run: Run) -> Iterator[tuple[CallSummary, ...]]:
    provenance = {note.call_id: note.provenance for note in run.notes if isinstance(note, notes.CallStarted)}
    messages = tuple(run.state.messages.messages)[len(run.state.plan.opening) :]
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            results = takewhile(lambda later: isinstance(later, ToolMessage), messages[at + 1 :])
            yield tuple(
                _call_summary(call, result, provenance.get(call.id, ""))
                for call, result in zip(message.calls, results, strict=False)
                if isinstance(result, ToolMessage)
            )


def _call_summary(call: SentCall, result: ToolMessage, provenance: str) -> CallSummary:
    ok = True
    match read_json(result.content).value_or(result.content):
        case {"ok": False, "errors": [*errors]}:
            ok, text = False, "; ".join(map(_error_in_words, errors))
        case {"ok": True, "tool_name": _, "data": data} | data:
            text = canonical(data)
    return CallSummary(call.name, call.arguments, provenance, ok, text)


def _error_in_words(error: Json) -> str:
    match error:
        case {"code": code, "message": message}:
            return f"{code}: {message}"
        case _:
            return canonical(error)


# Why a run ended as it did: the rule that decided, the settings it reads, and the event that it judged.


_UNSET = {
    "fix_empty_final": "ask again for an empty answer with --set fix_empty_final=true",
    "text_dialects": 'read calls in text with --set text_dialects=["marked"]',
    "history_policies": 'shorten the history with --set history_policies=["shorten_old_tool_results"]',
}
"""What to do about a rule by a setting that it reads, and that is off."""


def explain_outcome(run: Run) -> tuple[OutcomeWords, dict[str, str]]:
    words, config = outcome_in_words(run.outcome), run.state.plan.config
    off = next((_UNSET[name] for name in words.settings if name in _UNSET and not getattr(config, name)), "")
    hint = "; ".join(filter(None, (off, words.hint)))
    return words._replace(hint=hint), {name: setting_text(getattr(config, name)) for name in words.settings}


def setting_text(value: object) -> str:
    """The value of a setting, as Python writes it; the dialects that are read by default are one word."""
    return repr(abbreviated_dialect_names(value) if isinstance(value, tuple) else value)


def deciding_event(trace: Trace) -> Traced | None:
    """The event upon which the outcome was decided; ``None`` if the run has not ended."""
    if isinstance(trace.run.outcome, Resting):
        return None
    settled = (each for each in reversed(trace.events) if any(isinstance(n, RunSettled) for n in each.notes))
    return next(settled, None)


# The notes of a run as lines: for `explain`, for the page, and as warnings above the turns.


_LONGEST = 140
"""Characters of a warning above the turns."""
_MANY = 8
"""Tools that were not called are named up to this number, unless none was."""


def note_line(note: Note) -> str:
    shown = (
        f"{each.name} {value}"
        for each in fields(note)
        if each.name != "turn" and (value := getattr(note, each.name)) not in {"", None, ()}
    )
    return f"{type(note).__name__}: {', '.join(shown)}".removesuffix(": ")


def note_rows_for_page(found: Iterable[Note]) -> list[Json]:
    """The notes that are not silent, as lists of level, kind and sentence."""
    told = ((type(note).__name__, *note_sentence(note)) for note in found)
    return [[level, kind, words] for kind, level, words in told if level != "silent"]


def run_warnings(run: Run) -> list[tuple[NoteLevel, str, list[int]]]:
    """What is worth a warning above the turns, the worst first: level, sentence and turns of each."""
    found: dict[tuple[NoteLevel, str], list[int]] = {}
    for note in run.notes:
        level, words = note_sentence(note)
        if level in {"bad", "warn"}:
            turns = found.setdefault((level, shorten_line(words, _LONGEST)), [])
            turn = getattr(note, "turn", 0)
            if turn and turn not in turns:
                turns.append(turn)
    # An answer may claim what no tool has done.
    called = {note.name for note in run.notes if isinstance(note, notes.CallStarted)}
    tools = run.state.plan.tools
    offered = [each.name for each in tools.definitions]
    unused = [name for name in offered if not called & {name, tools.inner_name(name)}]
    if 0 < len(unused) <= _MANY or unused == offered != []:
        found["warn", shorten_line(f"offered and never run: {', '.join(unused)}", _LONGEST)] = []
    ordered = sorted(found.items(), key=lambda each: each[0][0] != "bad")
    return [(level, words, turns) for (level, words), turns in ordered]

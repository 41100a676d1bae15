"""A whole run as data for its page: its outcome and why, its plan, its warnings and its turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from toolreel._driver import Resting, Run, cost_in_words, describe_outcome, duration
from toolreel._replay.explain.turns import CallSummary, TurnSummary, story
from toolreel._replay.explain.why import advised, note_words, rule_of, setting_shown, why
from toolreel._replay.run_page.items import Items
from toolreel._replay.run_page.remarks import told_notes, warnings_of
from toolreel._replay.run_page.turns import RunTurns, Steps
from toolreel._replay.trace import Trace, cut
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json, JsonText, Tree, parse
from toolreel_core._protocol import notes
from toolreel_core._settings import LoopConfig


def kept_tree(run: Run, name: str) -> RunTree:
    """A run without its events as data: no raw requests and replies, and no difference to the history."""
    items = Items()
    turns = story(run)
    steps = {turn.number: _steps(run, turn, turn is turns[-1], items) for turn in turns}
    return run_tree(run_head(run, name, items), run, steps, items)


def _steps(run: Run, turn: TurnSummary, is_last: bool, items: Items) -> Steps:
    said: Steps = [{"kind": "user", "message": items.message(UserMessage(text))} for text in turn.said]
    counted = "1 message" if turn.messages == 1 else f"{turn.messages:,} messages"
    words = f"{counted}, request {turn.digest[:16]}"
    text = run.text if is_last and not turn.calls else turn.answer or turn.stripped
    reply: Tree = {
        "kind": "reply",
        "text": text,
        "reasoning": "",
        "finish": "",
        "problem": "",
        "calls": [_call(call) for call in turn.calls],
        "usage": {"prompt_tokens": turn.prompt_tokens, "completion_tokens": turn.completion_tokens},
        "served": {},
        "frames": None,
        "ms": turn.ms,
        "notes": [*told_notes(note for note in run.notes if getattr(note, "turn", 0) == turn.number)],
    }
    results: Steps = [_result(call) for call in turn.calls]
    return [*said, {"kind": "request", "words": words}, reply, *results]


def _call(call: CallSummary) -> Json:
    return {
        "id": "",
        "name": call.name,
        "arguments": call.arguments,
        "error": "",
        "original": "",
        "from": call.provenance,
    }


def _result(call: CallSummary) -> Json:
    return {
        "kind": "tool",
        "name": call.name,
        "key": "",
        "ok": call.ok,
        "codes": [],
        "output": call.result,
        "ms": call.ms,
        "notes": [],
    }


def cleaned(tree: RunTree, shown: Callable[[str], str]) -> RunTree:
    """The same with every text as it may be shown."""

    def clean(value: Json) -> Json:
        match value:
            case str():
                return shown(value)
            case dict():
                return {key: clean(each) for key, each in value.items()}
            case list() | tuple():
                return [clean(each) for each in value]
            case _:
                return value

    steps = tuple((turn, [*map(clean, each)]) for turn, each in tree.steps)
    return RunTree(
        {key: clean(each) for key, each in tree.head.items()}, steps, tuple(map(clean, tree.items))
    )


_LABEL: Final = 90
_TITLE: Final = 140


@dataclass(frozen=True, slots=True)
class RunTree:
    """A run as data."""

    head: dict[str, Json]
    """What the page shows first, with a line for each turn."""
    steps: tuple[tuple[int, Steps], ...]
    """The turns by number, each with its steps."""
    items: tuple[Json, ...]
    """Messages in wire forms, by number."""


def traced_tree(trace: Trace, name: str) -> RunTree:
    """A recorded run as data.

    :param name: what the page calls it
    """
    turns, found = RunTurns(trace), why(trace)
    decided = found.event
    head: dict[str, Json] = {
        **run_head(trace.run, name, turns.items),
        "recorded": True,
        "digest": trace.recorded.digest,
        "events": len(trace.events),
        "decided": None
        if decided is None
        else {
            "event": decided.record.n,
            "turn": max(1, decided.before.tally.turns),
            "words": decided.summary,
            "notes": [note_words(note) for note in decided.notes],
        },
        "options": [*turns.options],
    }
    return run_tree(head, trace.run, turns.steps, turns.items)


def run_tree(head: dict[str, Json], run: Run, steps: Mapping[int, Steps], items: Items) -> RunTree:
    """A run with a line for each turn in its head."""
    ordered = tuple(sorted(steps.items()))
    began = {note.turn for note in run.notes if isinstance(note, notes.ExchangeBegan)}
    head["turns"] = [_line(number, each, number in began) for number, each in ordered]
    return RunTree(head, ordered, tuple([parse(JsonText(text)) for text in items.texts]))


def run_head(run: Run, name: str, items: Items) -> dict[str, Json]:
    """What a page shows of a run before its turns."""
    plan, outcome = run.state.plan, run.outcome
    words, hint = describe_outcome(outcome)
    rule = rule_of(outcome, plan.config)
    first = next((each.content for each in plan.messages if isinstance(each, UserMessage)), "")
    return {
        "name": name,
        "title": cut(first.strip(), _TITLE) or name,
        "model": run.state.present.model,
        "form": plan.provider.wire_form,
        "provider": plan.provider.name,
        "outcome": outcome.name,
        "state": "resting" if isinstance(outcome, Resting) else "good" if run.completed else "bad",
        "words": words,
        "hint": advised(outcome, plan.config, hint),
        "rule": rule.words,
        "settings": [*map(list, rule.values(plan.config).items())],
        "answer": run.text,
        "figures": [*map(list, _figures(run))],
        "shares": _shares(run),
        "warnings": [*map(list, warnings_of(run))],
        "exchanges": 1 + sum(isinstance(note, notes.ExchangeBegan) for note in run.notes),
        "opening": [items.message(message) for message in plan.messages],
        "plan": {
            "digest": plan.digest,
            "presets": [*plan.presets],
            "set": _set(plan.config),
            "requested": parse(plan.options),
            "tools": [
                {"name": each.name, "about": each.description, "parameters": each.parameters}
                for each in plan.tools.definitions
            ],
        },
    }


def _set(config: LoopConfig) -> list[Json]:
    """The settings that are not as they are by default."""
    usual = LoopConfig()
    return [
        [each.name, setting_shown(value)]
        for each in fields(config)
        if each.init and (value := getattr(config, each.name)) != getattr(usual, each.name)
    ]


def _figures(run: Run) -> Iterator[tuple[str, str]]:
    tally = run.state.tally
    yield "turns", f"{tally.turns:,}"
    failed = f", {tally.failed_calls:,} failed" if tally.failed_calls else ""
    ignored = f", {tally.ignored_calls:,} ignored" if tally.ignored_calls else ""
    yield "tool calls", f"{tally.tool_calls:,}{failed}{ignored}"
    yield "tokens in", f"{tally.prompt_tokens:,}"
    yield "tokens out", f"{tally.completion_tokens:,}"
    if tally.cached_tokens:
        yield "from the cache", f"{tally.cached_tokens:,}"
    if tally.reasoning_tokens:
        yield "for reasoning", f"{tally.reasoning_tokens:,}"
    if tally.by_tools:
        spent = tally.by_tools.prompt_tokens + tally.by_tools.completion_tokens
        yield "tokens of inner agents", f"{spent:,}"
    yield "cost", cost_in_words(run) or "none"
    yield "time", "not measured" if run.timing.total_ms is None else duration(run.timing.total_ms)


def _shares(run: Run) -> Json:
    timing = run.timing
    if not timing.total_ms:
        return None
    parts = {"model": timing.model_ms, "tools": timing.tools_ms, "waiting": timing.waiting_ms}
    # Tools that ran together take more than their share of the whole.
    rest = max(0, timing.total_ms - sum(filter(None, parts.values())))
    return [*map(list, parts.items()), ["between", rest]]


_WORST: Final = ("bad", "warn", "info")


def _line(number: int, steps: Steps, begins: bool) -> Json:
    """A turn as a line of the list: number, label, level, times, whether an exchange begins, retries."""
    trees = [step for step in steps if isinstance(step, dict)]
    levels = {str(note[0]) for step in trees for note in _notes(step)}
    level = next((each for each in _WORST if each in levels), "")
    return [
        number,
        _label(trees),
        level,
        [_ms(trees, kinds) for kinds in (("reply", "failed"), ("tool",), ("wait", "approval"))],
        begins,
        sum(step["kind"] == "failed" for step in trees),
    ]


def _notes(step: Mapping[str, Json]) -> list[list[Json]]:
    found = step.get("notes")
    return [each for each in found if isinstance(each, list)] if isinstance(found, list) else []


def _ms(trees: Iterable[Mapping[str, Json]], kinds: tuple[str, ...]) -> int | None:
    known = [ms for step in trees if step["kind"] in kinds and isinstance(ms := step.get("ms"), int)]
    return sum(known) if known else None


def _label(trees: Iterable[Mapping[str, Json]]) -> str:
    """The calls of a turn, or else the beginning of its text."""
    calls: list[str] = []
    text = ""
    for step in trees:
        match step:
            case {"kind": "reply", "calls": [*found], "text": str(said)}:
                calls += [str(call["name"]) for call in found if isinstance(call, dict)]
                text = said or text
            case {"kind": "failed", "message": str(message)}:
                text = text or message
            case {"kind": "cancelled"}:
                text = text or "cancelled"
            case _:
                pass
    return cut(", ".join(calls) or text.strip() or "an empty reply", _LABEL)

"""A run in memory as data for its page: what it keeps without a recording are its notes and messages."""

from __future__ import annotations

from collections.abc import Callable

from toolreel._driver import Run
from toolreel._replay.explain.turns import CallSummary, TurnSummary, story
from toolreel._replay.run_page.items import Items
from toolreel._replay.run_page.remarks import told_notes
from toolreel._replay.run_page.run_tree import RunTree, run_head, run_tree
from toolreel._replay.run_page.turns import Steps
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Json, Tree


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

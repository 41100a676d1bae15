"""A run as data for its page: its outcome and why, its plan, its warnings, and each event of its turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, islice, zip_longest
from typing import Literal, NamedTuple, TypeAlias, assert_never

from toolreel._driver import Resting, Run, Wanted, run_statistics_as_text
from toolreel._replay.run_stories import (
    deciding_event,
    explain_outcome,
    note_rows_for_page,
    run_warnings,
    setting_text,
)
from toolreel._replay.trace import Trace, Traced, shorten_line
from toolreel_core._conversation import Form, Message, Transcript, UserMessage, wire_part, wire_tree
from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse, read_json
from toolreel_core._loop import parse_reply_body
from toolreel_core._plan import Request
from toolreel_core._protocol import (
    AskApproval,
    RunTool,
    SendRequest,
    Settled,
    Wait,
    events,
    note_sentence,
    notes,
)
from toolreel_core._replies import ArgumentError, Reply, ToolCall, as_chat
from toolreel_core._settings import Provider, WireForm

_LABEL = 90
"""Characters of a turn in the list."""
_TITLE = 140
"""Characters of the title, which begins the first message of the user."""
_LEVELS = ("bad", "warn", "info")
_LABELLING = (events.ReplyReceived, events.RequestFailed, events.CancelRequested)
"""Of these, the last one is the label of a turn."""


@dataclass(frozen=True, slots=True)
class RunTree:
    head: dict[str, Json]
    """What the page shows first, with a line for each turn."""
    steps: tuple[tuple[int, list[Json]], ...]
    """The turns by number, each with its steps."""
    items: tuple[Json, ...]
    """Messages in wire forms, by number."""
    key: str = ""
    """The key of the call that it is the inner run of."""
    parent: int | None = None
    """The number of the run that made this call."""

    def map_values(self, change: Callable[[Json], Json]) -> RunTree:
        steps = tuple((turn, [*map(change, each)]) for turn, each in self.steps)
        return replace(self, steps=steps, items=tuple(map(change, self.items)))


def recorded_run_tree(trace: Trace, name: str) -> RunTree:
    """A recorded run as data.

    :param name: what the page calls it
    """
    items, options, turns = NumberedItems(), dict[str, int](), dict[int, list[Traced]]()
    last = max(1, trace.run.state.tally.turns)
    for traced in trace.events:
        # What begins an exchange belongs to its first turn.
        begins = isinstance(traced.record.event, events.UserSpoke) and isinstance(
            traced.before.phase, Settled
        )
        turns.setdefault(min(last, traced.turn + 1) if begins else traced.turn, []).append(traced)
    head, decided = _run_tree_head(trace.run, name, items), deciding_event(trace)
    if decided:
        head["decided"] = {"event": decided.record.n, "turn": decided.turn, "words": decided.summary}
    began = {note.turn for note in trace.run.notes if isinstance(note, notes.ExchangeBegan)}
    ordered = sorted(turns.items())
    head["turns"] = [_turn_list_entry(number, each, number in began) for number, each in ordered]
    steps = tuple(
        (number, [*chain.from_iterable(_event_steps(one, items, options) for one in each)])
        for number, each in ordered
    )
    return RunTree(head | {"recorded": True, "options": [*options]}, steps, _parsed_items(items))


def conversation_tree(run: Run, name: str) -> RunTree:
    items = NumberedItems()
    head = _run_tree_head(run, name, items)
    opening: list[Json] = [items.add_message(each) for each in run.messages]
    return RunTree(head | {"opening": opening, "turns": []}, (), _parsed_items(items))


def _parsed_items(items: NumberedItems) -> tuple[Json, ...]:
    return tuple([parse(JsonText(text)) for text in items.texts])


def _event_steps(traced: Traced, items: NumberedItems, options: dict[str, int]) -> Iterator[Json]:
    """An event, and the request that it answers.

    :param options: what requests have besides messages, each once, with its number
    """
    effect, lap = traced.effect, traced.record.lap
    if isinstance(effect, SendRequest):
        request = effect.request
        yield {
            "kind": "request",
            "model": request.model,
            "endpoint": effect.endpoint,
            "purpose": effect.purpose,
            "form": request.form,
            "messages": request.sent.texts.count,
            "bytes": request.sent.texts.size,
            "streamed": request.streamed,
            "options": options.setdefault(request.options.text, len(options)),
            "sent": [[*each] for each in items.sent_ranges(request, traced.before.messages)],
            **({"system": request.sent.system.decode()} if request.sent.system else {}),
        }
    times: Tree = {} if lap is None else {"ms": lap.ms, "first_ms": lap.first_ms}
    yield {**_event_tree(traced, items), "notes": note_rows_for_page(traced.notes), **times}


def _event_tree(traced: Traced, items: NumberedItems) -> Tree:
    event, effect = traced.record.event, traced.effect
    match event:
        case events.ReplyReceived():
            return _reply_tree(event, parse_reply_body(event.body, traced.before).reply)
        case events.RequestFailed():
            return {"kind": "failed", "message": event.message, "raw": event.body}
        case events.ToolReturned():
            ended = next((note for note in traced.notes if isinstance(note, notes.CallEnded)), None)
            return {
                "kind": "tool",
                **({"name": effect.name, "key": effect.key} if isinstance(effect, RunTool) else {}),
                "output": event.output,
                **({"parts": [wire_part(part) for part in event.parts]} if event.parts else {}),
                "ok": ended is None or ended.ok,
                "codes": [] if ended is None else [*ended.codes],
            }
        case events.ApprovalGiven():
            named = effect.name if isinstance(effect, AskApproval) else ""
            return {"kind": "approval", "name": named, "approved": event.approved, "reason": event.reason}
        case events.WaitElapsed():
            return {"kind": "wait", "planned_ms": effect.ms if isinstance(effect, Wait) else 0}
        case events.CancelRequested():
            return {"kind": "cancelled", "reason": event.reason}
        case events.UserSpoke():
            return {"kind": "user", "message": items.add_message(UserMessage(event.content, event.parts))}
        case events.RunStarted():
            return {"kind": "started"}
        case _:
            assert_never(event)


def _reply_tree(event: events.ReplyReceived, reply: Reply) -> Tree:
    # A body that was streamed is the frames; whole, it is what the page shows first.
    whole = as_chat(event.body).body
    return {
        "kind": "reply",
        "text": reply.content,
        "reasoning": reply.reasoning,
        "finish": reply.finish,
        "problem": reply.problem.code if reply.problem else "",
        "calls": [_call_tree(call) for call in reply.calls],
        "usage": asdict(reply.usage),
        "served": asdict(reply.served),
        "frames": None if whole is event.body else event.body.count("data:"),
        "raw": event.body,
    }


def _call_tree(call: ToolCall) -> Tree:
    """A call; ``original`` is what the model wrote, if that is not the same JSON."""
    if isinstance(call.arguments, ArgumentError):
        arguments, error, original = call.original, call.arguments.detail or call.arguments.code, ""
    else:
        arguments, error = str(call.arguments), ""
        same = read_json(call.original).map(canonical).value_or(call.original) == arguments
        original = "" if same else call.original
    named = {"name": call.name, "arguments": arguments}
    return {**named, "error": error, "original": original, "from": call.provenance}


def _run_tree_head(run: Run, name: str, items: NumberedItems) -> dict[str, Json]:
    plan, outcome = run.state.plan, run.outcome
    words, settings = explain_outcome(run)
    first = next((each.content for each in plan.messages if isinstance(each, UserMessage)), "")
    return {
        "name": name,
        "title": shorten_line(first.strip(), _TITLE) or name,
        "model": run.state.present.model,
        "provider": plan.provider.name,
        "outcome": outcome.name,
        "state": "resting" if isinstance(outcome, Resting) else "good" if run.completed else "bad",
        "words": words.sentence,
        "hint": words.hint,
        "rule": words.rule,
        "settings": [*map(list, settings.items())],
        "answer": run.text,
        "figures": [*map(list, run_statistics_as_text(run).items())],
        "warnings": [*map(list, run_warnings(run))],
        "exchanges": 1 + sum(isinstance(note, notes.ExchangeBegan) for note in run.notes),
        "opening": [items.add_message(message) for message in plan.messages],
        "plan": {
            "digest": plan.digest,
            "presets": [*plan.presets],
            "set": [[name, setting_text(getattr(plan.config, name))] for name in plan.config.changes()],
            "requested": parse(plan.options),
            "tools": [
                {"name": each.name, "about": each.description, "parameters": each.parameters}
                for each in plan.tools.definitions
            ],
        },
    }


def _turn_list_entry(number: int, turn: Sequence[Traced], begins: bool) -> Json:
    """A turn as a line of the list: number, label, level, times, whether an exchange begins."""

    def ms(*kinds: type[Wanted]) -> int | None:
        laps = (each.record.lap for each in turn if isinstance(each.effect, kinds))
        known = [lap.ms for lap in laps if lap and lap.ms is not None]
        return sum(known) if known else None

    ends = [each.summary for each in turn if isinstance(each.record.event, _LABELLING)]
    levels = {note_sentence(note)[0] for each in turn for note in each.notes}
    return [
        number,
        shorten_line(ends[-1].removeprefix("reply: ") if ends else "", _LABEL),
        next((each for each in _LEVELS if each in levels), ""),
        [ms(SendRequest), ms(RunTool), ms(Wait, AskApproval)],
        begins,
    ]


# What a request sent of the stored history: which messages were changed, added or left out.
#
# The history is compared in the form that the provider speaks, as any provider of that form would get it, so
# that only what is special about this request is a difference.


Sending: TypeAlias = Literal["same", "changed", "left_out", "added"]
_Pair: TypeAlias = tuple[int | None, int | None]
"""The number of a stored item and of the sent one; ``None`` where there is none."""

_WHOLE = 3_000
"""Maximum number of items that are compared one by one; of more, all count as left out and added. The time is
quadratic: 0.3 s for 3,000 items of which half were changed."""


class ItemRange(NamedTuple):
    """Items of a request whose numbers count up together."""

    sending: Sending
    stored: int
    """The number of the first stored item; -1 without any."""
    sent: int
    length: int
    fresh: bool
    """Whether this is the first request with this difference; later ones only repeat it."""


class NumberedItems:
    """Every request repeats the whole conversation, so a request is a few ranges of numbers.

    In a page of 2,000 turns that would be millions of messages.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._blocks: dict[bytes, tuple[int, ...]] = {}
        self._stored: list[int] = []
        self._known_pairs: set[_Pair] = set()
        self._count = 0
        self._form: WireForm | None = None

    @property
    def texts(self) -> list[str]:
        return [*self._numbers]

    def add_text(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def add_message(self, message: Message) -> int:
        """The number of a message in the chat-completions form."""
        return self.add_text(canonical(wire_tree(message)))

    def sent_ranges(self, request: Request, stored: Transcript) -> list[ItemRange]:
        """What a request sent of the stored messages.

        :param stored: as it was when the request was made; histories only grow from call to call
        """
        was, now = self._numbers_of_stored_messages(request, stored), self._sent_numbers(request)
        begin = _common_prefix_length(was, now)
        end = min(_common_prefix_length(was[::-1], now[::-1]), min(len(was), len(now)) - begin)
        middle = self._pair_stored_with_sent(was[begin : len(was) - end], now[begin : len(now) - end])
        return [
            *_ranges_of_consecutive_numbers(now[:begin]),
            *self._item_ranges(middle),
            *_ranges_of_consecutive_numbers(now[len(now) - end :]),
        ]

    def _numbers_of_stored_messages(self, request: Request, stored: Transcript) -> list[int]:
        """The stored messages as any provider of that form gets them, without quirks."""
        count = len(stored.messages)
        if request.form != "chat_completions":
            # There a message can be several items, or none, and later ones may join an earlier item.
            form = Form(Provider(wire_form=request.form))
            texts = map(canonical, Transcript.of(stored.messages, form).texts.values())
            self._form, self._stored = request.form, [*map(self.add_text, texts)]
            return self._stored
        if self._form != request.form:
            self._form, self._stored, self._count = request.form, [], 0
        newest = [*islice(reversed(stored.messages), count - self._count)]
        self._stored += map(self.add_message, reversed(newest))
        self._count = count
        return self._stored

    def _sent_numbers(self, request: Request) -> list[int]:
        rope = request.sent.texts
        for block in rope.full:
            if block not in self._blocks:  # requests share their full blocks, so each is parsed once
                values = parse(JsonText(f"[{block.removeprefix(b',').decode()}]"))
                texts = values if isinstance(values, Sequence) else ()
                self._blocks[block] = tuple([self.add_text(canonical(value)) for value in texts])
        full = chain.from_iterable(self._blocks[block] for block in rope.full)
        rest = rope.behind
        return [*full, *(self.add_text(text.decode()) for text in rest)]

    def _pair_stored_with_sent(self, was: Sequence[int], now: Sequence[int]) -> Iterator[_Pair]:
        """Stored items with the sent ones; where they differ, they belong together in their order."""
        if max(len(was), len(now)) > _WHOLE:
            yield from chain(((one, None) for one in was), ((None, other) for other in now))
            return
        # autojunk would ignore numbers that occur often, as a short message that is repeated does.
        for _, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            yield from zip_longest(was[a:b], now[c:d])

    def _item_ranges(self, pairs: Iterable[_Pair]) -> Iterator[ItemRange]:
        last: ItemRange | None = None
        for pair in pairs:
            stored, sent = (-1 if each is None else each for each in pair)
            fresh = stored != sent and pair not in self._known_pairs
            self._known_pairs.add(pair)
            sending: Sending = "same" if stored == sent else "changed"
            if -1 in (stored, sent):
                sending = "added" if stored == -1 else "left_out"
            if last and last[:1] + last[4:] == (sending, fresh):
                goes_on = stored in {-1, last.stored + last.length} and sent in {-1, last.sent + last.length}
                if goes_on:
                    last = last._replace(length=last.length + 1)
                    continue
            if last:
                yield last
            last = ItemRange(sending, stored, sent, 1, fresh)
        if last:
            yield last


def _common_prefix_length(one: Sequence[int], other: Sequence[int]) -> int:
    short = min(len(one), len(other))
    if one[:short] == other[:short]:
        return short
    return next(at for at in range(short) if one[at] != other[at])


def _ranges_of_consecutive_numbers(numbers: Sequence[int]) -> Iterator[ItemRange]:
    first = 0
    while first < len(numbers):
        # Mostly all of them count up, which is seen at once.
        count = len(numbers) - first
        if numbers[first:] != [*range(numbers[first], numbers[first] + count)]:
            count = next(at for at in range(1, count) if numbers[first + at] != numbers[first] + at)
        yield ItemRange("same", numbers[first], numbers[first], count, fresh=False)
        first += count

"""Scenarios: a task, its world, and the checks that decide whether it was done by what they see of a run.

Scripts are models for a dry run, which prove the checks. A script's next reply follows from the conversation
alone, so it can drive a run, its continuation after a crash, and a thousand concurrent runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never, cast, get_args

from toolreel_core._config_checks import unknown_name_message
from toolreel_core._conversation import AssistantMessage, Message, ToolMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    NOTHING,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    list_at,
    parse,
    read_json,
    value_at_json_pointer,
)
from toolreel_core._plan import Plan, Preset, Request
from toolreel_core._protocol import (
    CallAbandoned,
    CallEnded,
    CallRejected,
    CallSkipped,
    Cancelled,
    Completed,
    ContentStripped,
    Note,
    NoToolCalls,
    Outcome,
    ReplyRead,
    Settled,
    State,
    Truncated,
)
from toolreel_core._replies import FinishReason
from toolreel_core._settings import estimate_tokens_by_bytes
from toolreel_core._tools import ToolSurface
from toolreel_core.evals._scenarios.world import World, map_texts

ScriptKind: TypeAlias = Literal["good", "skipping", "bad"]
"""``good`` passes; ``skipping`` does the task without its hard part; ``bad`` fails."""
SCRIPT_KINDS: tuple[ScriptKind, ...] = get_args(ScriptKind)
PREFIX = "scripted:"
_RESULT = re.compile(r"\$(\d+)(/.*)")
"""A value from an earlier result: the number of the call, and a JSON pointer."""


ScriptLine: TypeAlias = "str | Sequence[Tree] | Tree"
"""A text; or calls, each ``{"call": NAME, "with": ARGUMENTS}``, where a text such as ``$0/data/id`` is a
place in the result of the first call; or an object of ``calls``, a ``text`` beside them, and a provider's own
``fields`` of the message and ``call_fields`` of its first call."""


def calls_in(line: ScriptLine) -> Sequence[Tree]:
    if isinstance(line, Mapping):
        return cast("Sequence[Tree]", line["calls"])
    return () if isinstance(line, str) else line


@dataclass(frozen=True, slots=True)
class Script:
    """The replies of a scripted model, in order; the last one is repeated."""

    lines: tuple[ScriptLine, ...]
    since: str = ""
    """What the user says when the script begins, where other messages come before; else it begins at once."""


@dataclass(frozen=True, slots=True)
class ScenarioScripts:
    """What proves an oracle: one script that passes, and others that must not."""

    good: Script
    bad: Script
    skipping: Script | None = None

    def of(self, kind: ScriptKind) -> Script:
        """The script of one kind; where nothing can be skipped, the good one."""
        return getattr(self, kind) or self.good


def script_kind_of_model(model: str) -> ScriptKind | None:
    """The kind of script that a model's name asks for; ``None`` for a model that is none."""
    if not model.startswith(PREFIX):
        return None
    word = model.removeprefix(PREFIX)
    if word not in SCRIPT_KINDS:
        raise ConfigError(f"model {model!r}: {unknown_name_message('scripted model', word, SCRIPT_KINDS)}")
    return word


def call(name: str, /, **arguments: Json) -> tuple[Tree, ...]:
    """A line that makes one call; two lines can be joined with ``+``."""
    return ({"call": name, "with": arguments},)


def script(*lines: ScriptLine) -> Script:
    """A script of these lines."""
    return Script(lines)


def scripted_reply(said: Script, messages: Sequence[Tree], *, model: str = "scripted") -> Tree:
    """The body of the next reply.

    >>> body = scripted_reply(script("Done."), [{"role": "user", "content": "Hello."}])
    >>> body["choices"][0]["message"]["content"]
    'Done.'

    :param messages: the conversation so far, as a request tells it
    """
    # An earlier history may have been shortened, so its length does not tell where the script begins.
    begins = [at for at, each in enumerate(messages) if said.since and each.get("content") == said.since]
    turns = messages[begins[-1] if begins else 0 :]
    place = sum(message.get("role") == "assistant" for message in turns)
    line = said.lines[min(place, len(said.lines) - 1)]
    more = line if isinstance(line, Mapping) else {}
    message: Tree = {
        "role": "assistant",
        "content": line if isinstance(line, str) else more.get("text"),
        **as_tree(more.get("fields")),
    }
    calls = [
        {
            "id": f"call_{place}_{index}",
            "type": "function",
            "function": {
                "name": each["call"],
                "arguments": canonical(_fill_results(each.get("with", {}), messages)),
            },
            **(as_tree(more.get("call_fields")) if index == 0 else {}),
        }
        for index, each in enumerate(calls_in(line))
    ]
    if calls:
        message = {**message, "tool_calls": calls}
    prompt, completion = (
        estimate_tokens_by_bytes(canonical(list(messages))),
        estimate_tokens_by_bytes(canonical(message)),
    )
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"scripted-{place}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def reply_as_event_stream(body: Tree) -> str:
    (choice,) = cast("Sequence[Tree]", body["choices"])
    message = as_tree(choice["message"])
    calls = [{**as_tree(call), "index": place} for place, call in enumerate(list_at(message, "tool_calls"))]
    delta: Tree = {**message, "tool_calls": calls} if calls else message
    head: Tree = {**body, "object": "chat.completion.chunk"}
    # As with stream_options.include_usage: the usage comes last, in a chunk without choices.
    chunks: list[Tree] = [
        {
            **head,
            "choices": [{"index": 0, "delta": delta, "finish_reason": choice["finish_reason"]}],
            "usage": None,
        },
        {**head, "choices": []},
    ]
    return "".join(f"data: {line}\n\n" for line in (*map(canonical, chunks), "[DONE]"))


def _fill_results(value: Json, messages: Sequence[Tree]) -> Json:
    """A value with the results of earlier calls in it; ``None`` where there is no such result yet."""
    results = [str(message.get("content")) for message in messages if message.get("role") == "tool"]

    def put(text: str) -> Json:
        found = _RESULT.fullmatch(text)
        if not found:
            return text
        result: Json = read_json("".join(results[int(found[1]) :][:1])).value_or(None)
        return value_at_json_pointer(result, found[2])

    return map_texts(value, put)


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A tool call of a run, and its result."""

    name: str
    """As the model wrote it, or the tool's inner name where it means one."""
    arguments: str
    """The model's own text of them."""
    ok: bool
    codes: tuple[str, ...]
    """Codes of the errors in its result, such as ``ARGUMENTS_TOO_LARGE``."""
    result: str
    """The result as the model read it."""


@dataclass(frozen=True, slots=True)
class ObservedTurn:
    """One reply of the model."""

    finish: FinishReason
    calls: tuple[ObservedCall, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SentExchange:
    request: Request
    reply: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, from its beginning to its end."""

    outcome: Outcome
    final: str
    """The final text, of the last exchange if there are several; empty if there is none."""
    turns: tuple[ObservedTurn, ...]
    world: World
    tools_sent: bool
    """Whether the requests listed any tools."""
    tools_refused: bool = False
    """Whether the server refused tools, and the run went on without them."""
    answers: tuple[str, ...] = ()
    """The final text of each exchange that was begun; the last one is ``final``."""
    sent: tuple[SentExchange, ...] = ()
    """The model's requests and replies, in order, with those that were asked for again."""
    reasoning_replayed: bool = True
    """Whether the configuration sends reasoning back at all; some providers refuse it."""

    @property
    def calls(self) -> tuple[ObservedCall, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)


_UNFINISHED = Cancelled("the run has not ended")
_RESULTS = (CallEnded, CallRejected, CallSkipped, CallAbandoned)
_Result: TypeAlias = CallEnded | CallRejected | CallSkipped | CallAbandoned


def evidence_of(
    plan: Plan,
    state: State,
    notes: Iterable[Note],
    world: World,
    *,
    earlier: tuple[str, ...] = (),
    sent: tuple[SentExchange, ...] = (),
) -> Evidence:
    """The evidence of a run.

    :param state: its last; one that has not ended counts as cancelled
    :param earlier: the answers of the exchanges before the last one
    :param sent: its requests, with their replies
    """
    outcome = state.phase.outcome if isinstance(state.phase, Settled) else _UNFINISHED
    all_notes = tuple(notes)
    dropped = state.memory.tools_dropped
    final = outcome.content if isinstance(outcome, Completed | NoToolCalls | Truncated) else ""
    return Evidence(
        outcome,
        final,
        _observed_turns(plan, state.messages.messages[len(plan.opening) :], all_notes),
        world,
        tools_sent=plan.sends_tools and bool(plan.tools.names) and not dropped,
        tools_refused=dropped,
        answers=(*earlier, final),
        sent=sent,
        reasoning_replayed=plan.provider.reasoning_replay != "never",
    )


def _observed_turns(
    plan: Plan, messages: Sequence[Message], notes: Sequence[Note]
) -> tuple[ObservedTurn, ...]:
    """The replies that counted, the last of each turn; those before it were asked for again."""
    replies = {note.turn: note for note in notes if isinstance(note, ReplyRead)}
    results = {(note.turn, note.call_id): note for note in notes if isinstance(note, _RESULTS)}
    stripped_text = {note.turn: note.sample for note in notes if isinstance(note, ContentStripped)}
    turns_with_results = {turn for turn, _ in results}
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    calling = iter([message.calls for message in said if message.calls])
    texts = iter([message.content for message in said if not message.calls])
    outputs = iter([message.content for message in messages if isinstance(message, ToolMessage)])
    turns = list[ObservedTurn]()
    for turn, reply in replies.items():
        calls, text = tuple[ObservedCall, ...](), stripped_text.get(turn, "")
        if turn in turns_with_results:
            calls = tuple(
                ObservedCall(
                    *(plan.tools.inner_name(call.name), call.arguments),
                    *_ok_and_codes(results[turn, call.id]),
                    output,
                )
                # Calls of a run that has not ended may still be without a result. They come first here:
                # the other way round, zip would take one output more than there are calls.
                for call, output in zip(next(calling), outputs, strict=False)
            )
        elif reply.problem != "EMPTY_RESPONSE":
            text = next(texts, "")
        turns.append(ObservedTurn(reply.finish, calls, text))
    return tuple(turns)


def _ok_and_codes(note: _Result) -> tuple[bool, tuple[str, ...]]:
    match note:
        case CallEnded():
            return note.ok, note.codes
        case CallRejected():
            return False, (note.code,)
        case CallSkipped():
            return True, ()
        case CallAbandoned():
            return False, ("TOOL_CANCELLED",)
        case _:
            assert_never(note)


PACK = "own"
"""The pack of all scenarios that are not built in."""
Layer: TypeAlias = Literal["outcome", "exercise"]
"""``outcome``: whether the task was done; ``exercise``: whether the hard part of it was met at all."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a scenario."""

    name: str
    """Part of the failure's category, such as ``draft`` in ``task.outcome:draft``."""
    layer: Layer
    finding: Callable[[Evidence], str] = field(compare=False)
    """What is wrong, in words for a person; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one trial of a scenario poses: everything in it may be drawn from the trial's seed."""

    messages: tuple[Message, ...]
    """The initial ones."""
    tools: ToolSurface
    world: World
    checks: tuple[Check, ...] = ()
    """Their names are the same for every seed."""
    scripts: ScenarioScripts | None = None
    follow_ups: tuple[str, ...] = ()
    """What the user says after each complete answer, in turn."""
    outside: tuple[str, ...] = ()
    """Tools that are real: they run outside of the world, which takes note of their results."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the catalogue."""

    name: str
    pack: str
    """What it belongs to: a pack of the built-in ones, or ``own``."""
    about: str
    version: int
    """Increased whenever its texts, world or tools change, so that older records are kept apart."""
    begin: Callable[[str], Case] = field(compare=False)
    """The case of one run, from the seed that its identifiers and values are drawn from."""
    changes: Preset = field(default_factory=Preset)
    """What it changes in a configuration, such as a lower limit of argument bytes."""
    tree: JsonText = NOTHING
    """The file that it was read from, as data."""

    @property
    def from_file(self) -> bool:
        """Whether a user's file holds it, so that it is stored whole with results."""
        return self.pack == PACK and self.tree != NOTHING

    @property
    def control(self) -> bool:
        """Whether it is a plain conversation without tools."""
        config = parse(self.changes.config)
        return isinstance(config, Mapping) and config.get("tool_use_mode") == "disabled"

    def scripts(self, seed: str) -> ScenarioScripts:
        """The scripts of one trial.

        :raises ConfigError: if nobody has written a script for the scenario
        """
        scripts = self.begin(seed).scripts
        if scripts is None:
            raise ConfigError(f"scenario {self.name!r} has no scripts; run it with a model")
        return scripts

"""Random values of the core, for Hypothesis: every field of every member is drawn.

States come from short runs, so that only what can happen is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar, assert_never, get_args

from hypothesis import strategies as st

from tests.samples import ECHO, PING
from toolreel.config import LoopConfig
from toolreel.effects import Effect
from toolreel.events import CancelRequested, Event, ReplyReceived, RequestFailed, RunStarted, ToolReturned
from toolreel.jsontext import Json, JsonText, canonical
from toolreel.loop import start, step
from toolreel.messages import Message
from toolreel.notes import Note
from toolreel.outcome import FailureKind, Outcome
from toolreel.plan import Plan
from toolreel.request import RequestOptions
from toolreel.state import AwaitingReply, AwaitingTools, Idle, Settled, State, Step
from toolreel.surface import ToolSurface
from toolreel.transcript import Transcript

__all__ = [
    "answers",
    "effects",
    "events",
    "json_objects",
    "json_texts",
    "json_values",
    "member",
    "messages",
    "notes",
    "outcomes",
    "plans",
    "replies",
    "runs",
    "states",
    "transcripts",
]

_Value = TypeVar("_Value")


def member(kind: type[_Value]) -> st.SearchStrategy[_Value]:
    """Values of a class, with every field drawn, those that have a default too."""
    drawn: dict[str, Any] = {item.name: ... for item in fields(kind) if item.init}  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return st.builds(kind, **drawn)


def _members(union: object) -> st.SearchStrategy[Any]:
    return st.one_of([member(kind) for kind in get_args(union)])


json_values: Final[st.SearchStrategy[Json]] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects: Final[st.SearchStrategy[Mapping[str, Json]]] = st.dictionaries(
    st.text(), json_values, max_size=3
)
json_texts: Final[st.SearchStrategy[JsonText]] = json_objects.map(canonical)
st.register_type_strategy(JsonText, json_texts)

messages: Final[st.SearchStrategy[Message]] = _members(Message)
transcripts: Final[st.SearchStrategy[Transcript]] = st.lists(messages, max_size=4).map(Transcript.of)
st.register_type_strategy(Transcript, transcripts)
st.register_type_strategy(RequestOptions, json_texts.map(RequestOptions))

_limits: Final = st.integers(1, 100)
_configs: Final = st.builds(
    LoopConfig,
    max_turns=st.integers(1, 4),
    max_tool_args_bytes=_limits,
    max_tool_output_bytes=_limits,
    max_argument_depth=_limits,
    text_dialects=st.sampled_from([(), ("hermes_json",), ("hermes_json", "json_fenced")]),
)
plans: Final[st.SearchStrategy[Plan]] = st.builds(
    Plan,
    model=st.text(min_size=1),
    messages=st.lists(messages, min_size=1, max_size=3).map(tuple),
    options=st.dictionaries(st.sampled_from(["temperature", "top_p", "user"]), json_values).map(canonical),
    tools=st.sampled_from([(), (ECHO,), (ECHO, PING)]).map(ToolSurface),
    config=_configs,
    seed=st.integers(),
)

events: Final[st.SearchStrategy[Event]] = _members(Event)
outcomes: Final[st.SearchStrategy[Outcome]] = _members(Outcome)
effects: Final[st.SearchStrategy[Effect]] = _members(Effect)
notes: Final[st.SearchStrategy[Note]] = _members(Note)

_calls: Final = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", ""]),
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["echo", "ping", "nope"]),
                "arguments": st.sampled_from(["{}", '{"text":"é"}', '{"text":1}', '{"text', "[]", None]),
            }
        ),
    }
)
_said: Final = st.fixed_dictionaries(
    {"content": st.none() | st.text(max_size=5)},
    optional={"tool_calls": st.lists(_calls, max_size=3), "refusal": st.text(max_size=5)},
)
_choices: Final = st.fixed_dictionaries(
    {"message": _said, "finish_reason": st.sampled_from(["stop", "tool_calls", "length", "content_filter"])}
)
_bodies: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {"choices": st.lists(_choices, max_size=2)},
    optional={"usage": st.fixed_dictionaries({"prompt_tokens": _limits, "completion_tokens": _limits})},
)
replies: Final[st.SearchStrategy[str]] = st.text(max_size=5) | _bodies.map(canonical)
"""Bodies of replies: calls, good and bad, final texts, empty ones, and what is no reply at all."""


def answers(state: State) -> st.SearchStrategy[Event]:
    """Events that the phase of this state can take."""
    cancelled = member(CancelRequested)
    match state.phase:
        case Idle():
            return st.just(RunStarted())
        case AwaitingReply(ref):
            failed = st.builds(
                RequestFailed,
                st.just(ref),
                st.sampled_from(get_args(FailureKind)),
                st.text(),
                st.none() | st.integers(400, 599),
            )
            return st.builds(ReplyReceived, st.just(ref), st.just(200), replies) | failed | cancelled
        case AwaitingTools(ref):
            outputs = json_values.map(canonical) | st.text()
            return st.builds(ToolReturned, st.just(ref), outputs) | cancelled
        case Settled():
            return st.builds(ToolReturned, st.integers(1, 9), st.just("{}")) | cancelled
        case _:
            assert_never(state.phase)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Step, ...]:
    """All steps of a short run, the first of them its start."""
    steps = [start(draw(plans))]
    for _ in range(draw(st.integers(0, 6))):
        state = steps[-1].state
        steps.append(step(state, draw(answers(state))))
    return tuple(steps)


def states() -> st.SearchStrategy[State]:
    """States that a short run leads to, the one before its first event too."""
    return runs().map(lambda steps: steps[-1].state) | plans.map(State.idle)

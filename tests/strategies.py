"""Random values of the core, for Hypothesis: every field of every member is drawn.

States come from short runs, so that only what can happen is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, assert_never, cast, get_args

from hypothesis import strategies as st

from tests.samples import ECHO, PING
from toolreel_core._conversation import (
    HISTORY_POLICIES,
    AssistantMessage,
    Audio,
    Blob,
    Detail,
    File,
    Form,
    Image,
    Media,
    Message,
    Part,
    SentCall,
    SystemMessage,
    Text,
    ToolMessage,
    Transcript,
    UserMessage,
    parts_of_message,
    parts_text,
    unsupported_part_error,
    user_message,
)
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._loop import start, step
from toolreel_core._plan import OutputSpec, Plan, RequestOptions
from toolreel_core._protocol import (
    ApprovalGiven,
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    CancelRequested,
    Effect,
    Event,
    FailureKind,
    Idle,
    Note,
    Outcome,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    Settled,
    Spent,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    WaitElapsed,
    Waiting,
)
from toolreel_core._settings import (
    LoopConfig,
    Provider,
    RepeatedEffects,
    ToolFailurePolicy,
    ToolUseMode,
)
from toolreel_core._tools import ToolDefinition, ToolSurface

_Value = TypeVar("_Value")


def member(kind: type[_Value]) -> st.SearchStrategy[_Value]:
    """Values of a class, with every field drawn, those that have a default too."""
    if kind in _DRAWN_TOGETHER:
        return cast("st.SearchStrategy[_Value]", _DRAWN_TOGETHER[kind])
    drawn: dict[str, Any] = {item.name: ... for item in fields(kind) if item.init}  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return st.builds(kind, **drawn)


def _members(union: object) -> st.SearchStrategy[Any]:
    return st.one_of([member(kind) for kind in get_args(union)])


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects: st.SearchStrategy[Mapping[str, Json]] = st.dictionaries(st.text(), json_values, max_size=3)
json_texts: st.SearchStrategy[JsonText] = json_objects.map(canonical)
st.register_type_strategy(JsonText, json_texts)
# Finite, as JSON wants it, and without -0.0, which equals 0.0 and is written otherwise.
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False).map(abs))

times: st.SearchStrategy[int | None] = st.none() | st.integers(0, 6_000)
_bytes = st.binary(max_size=40)
_urls = st.sampled_from(["https://example.org/a.png", "https://example.org/b?key=1#x"])
_details: st.SearchStrategy[Detail] = st.sampled_from(get_args(Detail))
blobs = st.builds(Blob.of, _bytes, st.sampled_from(["image/png", "application/pdf", "text/csv"]))
images = st.builds(Image, st.builds(Blob.of, _bytes, st.just("image/png")) | _urls, _details)
audio = st.builds(Audio, st.builds(Blob.of, _bytes, st.sampled_from(["audio/wav", "audio/mpeg"])))
files = st.builds(File, blobs | _urls, st.text(max_size=5))
media: st.SearchStrategy[Media] = images | audio | files
parts: st.SearchStrategy[Part] = st.builds(Text, st.text(max_size=5)) | media
"""Parts of messages, of every kind."""
for _kind, _strategy in ((Blob, blobs), (Image, images), (Audio, audio), (File, files)):
    st.register_type_strategy(_kind, _strategy)
_part_lists = st.lists(parts, max_size=4).map(tuple)
_DRAWN_TOGETHER: Mapping[type, st.SearchStrategy[Any]] = {
    UserMessage: st.builds(UserMessage, st.text())
    | _part_lists.filter(bool).map(lambda given: UserMessage(parts_text(given), given)),
    UserSpoke: st.builds(UserSpoke, st.text(), times)
    | _part_lists.filter(bool).map(lambda given: UserSpoke(parts_text(given), None, given)),
}
"""Classes whose fields have to fit each other."""

messages: st.SearchStrategy[Message] = _members(Message)


def _ends_with_words(given: tuple[Message, ...]) -> bool:
    """Whether these may begin a run: the last one is no empty prompt."""
    last = given[-1]
    return not isinstance(last, UserMessage) or bool(last.parts or last.content.strip())


_INFERRED = {item.name for item in fields(Provider) if item.type != "str"} - {
    "wire_form", "supports_tools", "supports_images", "reports_cost", "pin_upstream", "schema_transform",
    "special_token_guard",
}  # fmt: skip
providers: st.SearchStrategy[Provider] = st.builds(
    Provider,
    supports_tools=st.sampled_from(["unknown", "yes", "yes", "no"]),
    supports_images=st.sampled_from(["unknown", "yes", "yes", "no"]),
    reasoning_field=st.sampled_from(["", "reasoning", "reasoning_content", "thoughts"]),
    reasoning_placeholder=st.sampled_from(["", " "]),
    **cast("Any", dict.fromkeys(sorted(_INFERRED), ...)),
)
"""Every setting that changes what goes out, drawn freely."""
forms: st.SearchStrategy[Form] = st.builds(Form, providers, estimator=st.sampled_from(["", "bytes_per_4"]))

_ids = st.sampled_from(["a", "b", "a_2", "", "call é", "functions.ping:1", "D681PevKs"])
_extras: st.SearchStrategy[JsonText] = st.sampled_from(
    ["{}", "{}", '{"reasoning_content":"Hm."}', '{"reasoning":null}', '{"extra_content":{"google":{"x":1}}}']
).map(JsonText)
_sent_calls = st.builds(SentCall, _ids, st.sampled_from(["ping", "a.b", "x" * 70]), st.just("{}"), _extras)
histories: st.SearchStrategy[list[Message]] = st.lists(
    st.one_of(
        st.builds(SystemMessage, st.text(max_size=2)),
        st.builds(UserMessage, st.text(max_size=2)),
        st.builds(lambda text, part: user_message([text, part]), st.text(max_size=2), media),
        st.builds(
            AssistantMessage,
            st.sampled_from(["", " ", "said"]),
            st.lists(_sent_calls, max_size=3).map(tuple),
            _extras,
        ),
        st.builds(ToolMessage, _ids, st.just("{}"), st.sampled_from(["", "pong"])),
        st.builds(ToolMessage, _ids, st.just("{}"), st.just(""), st.lists(media, max_size=2).map(tuple)),
    ),
    max_size=12,
)
"""Conversations as somebody may have stored them, most of which no provider would take."""

_stored = st.lists(messages, max_size=4) | histories


@st.composite
def _transcripts(draw: st.DrawFn) -> Transcript:
    stored, form = draw(_stored), draw(st.just(Form()) | forms)
    kept = draw(st.none() | st.lists(st.sampled_from(stored), unique_by=id)) if stored else None
    return Transcript.of(stored, form, kept=kept)


transcripts: st.SearchStrategy[Transcript] = _transcripts()
_counts = st.integers(0, 2_000_000)
spendings = st.builds(
    Spent,
    _counts,
    _counts,
    st.none() | st.sampled_from([0.0, 0.001, 0.25, 12.5]),
    *(_counts,) * 4,
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from(["", "EUR"]),
)
st.register_type_strategy(Spent, spendings)
st.register_type_strategy(Transcript, transcripts)
st.register_type_strategy(RequestOptions, json_texts.map(RequestOptions))

_limits = st.integers(1, 100)
_maybe = st.none() | st.integers(1, 6)
configs: st.SearchStrategy[LoopConfig] = st.builds(
    LoopConfig,
    tool_use_mode=st.sampled_from(get_args(ToolUseMode)),
    tool_failure_policy=st.sampled_from(get_args(ToolFailurePolicy)),
    max_turns=st.integers(1, 4),
    max_tool_calls_per_turn=_maybe,
    max_tool_args_bytes=_limits,
    max_tool_output_bytes=_limits,
    max_argument_depth=_limits,
    max_total_tokens=st.none() | st.integers(1, 200),
    max_cost=st.none() | st.floats(0.001, 2),
    max_wall_ms=st.none() | st.integers(1, 5_000),
    max_tool_calls=_maybe,
    repetition_warn=st.none() | st.integers(2, 3),
    repetition_stop=st.none() | st.integers(4, 5),
    nudge_no_tool_calls=st.integers(0, 2),
    fix_empty_final=st.booleans(),
    fix_empty_final_disable_tools=st.booleans(),
    fix_empty_final_text=st.sampled_from(["Say it.", "Und das Ergebnis?"]),
    stream=st.sampled_from(["always", "final", "never"]),
    max_tries=st.integers(1, 3),
    retry_base_ms=st.integers(0, 2_000),
    retry_cap_ms=st.integers(2_000, 60_000),
    fallback_without_tools=st.booleans(),
    parallel_tools=st.booleans(),
    require_first_call=st.booleans(),
    context_window_tokens=st.none() | st.integers(60, 500),
    reserved_response_tokens=st.integers(0, 50),
    history_policies=st.lists(st.sampled_from([*HISTORY_POLICIES]), max_size=3, unique=True),
    text_dialects=st.sampled_from([(), ("hermes_json",), ("hermes_json", "json_fenced")]),
    dialects_in_reasoning=st.booleans(),
    constrained_calls=st.sampled_from(["off", "off", "response_format"]),
    restate_task=st.booleans(),
    repeated_effects=st.sampled_from(get_args(RepeatedEffects)),
    withhold_repeated=st.integers(0, 2),
)
"""Every setting, drawn so that most runs go on for a while."""

_traits: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "read_only": st.booleans(),
        "polling": st.booleans(),
        "needs_approval": st.sampled_from([False] * 3 + [True]),
    }
)


def _with_traits(tool: ToolDefinition) -> st.SearchStrategy[ToolDefinition]:
    return _traits.map(lambda traits: replace(tool, **traits))


_surfaces: st.SearchStrategy[ToolSurface] = (
    st.sampled_from([(), (ECHO,), (ECHO, PING), (ECHO, PING)])
    .flatmap(lambda tools: st.tuples(*map(_with_traits, tools)))
    .map(ToolSurface)
)


def _plan(tools: ToolSurface, config: LoopConfig, **rest: Any) -> Plan:  # noqa: ANN401 - the other parts
    """A plan of these parts; a mode that wants tools is relaxed where there are none.

    Its provider takes what the messages have.
    """
    said = [part for message in rest["messages"] for part in parts_of_message(message)]
    if unsupported_part_error(said, rest["provider"]):
        rest["provider"] = replace(
            rest["provider"], supports_images="yes", supports_audio="yes", supports_files="yes"
        )
    if config.tool_use_mode == "enforced" and not tools.definitions:
        config = replace(config, tool_use_mode="relaxed")
    return Plan(tools=tools, config=config, **rest)


outputs: st.SearchStrategy[OutputSpec] = st.builds(
    OutputSpec,
    st.sampled_from(["{}", '{"type":"object"}', '{"type":"array"}', '{"enum":["a",1]}']).map(JsonText),
    st.sampled_from(["final_answer", "report"]),
    st.sampled_from(["", "A report."]),
)
st.register_type_strategy(OutputSpec, outputs)

plans: st.SearchStrategy[Plan] = st.builds(
    _plan,
    model=st.text(min_size=1).filter(str.strip),
    messages=st.lists(messages, min_size=1, max_size=3).map(tuple).filter(_ends_with_words),
    options=st.dictionaries(
        st.sampled_from(["temperature", "user", "max_tokens", "parallel_tool_calls"]), json_values
    ).map(canonical),
    tools=_surfaces,
    config=configs,
    seed=st.integers(),
    provider=st.just(Provider()) | providers,
    overrides=st.dictionaries(
        st.sampled_from(["temperature", "max_completion_tokens", "tool_choice"]), json_values
    ).map(canonical),
    output=st.none() | outputs,
)

events: st.SearchStrategy[Event] = _members(Event)
outcomes: st.SearchStrategy[Outcome] = _members(Outcome)
effects: st.SearchStrategy[Effect] = _members(Effect)
notes: st.SearchStrategy[Note] = _members(Note)

_calls = st.fixed_dictionaries(
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
_said = st.fixed_dictionaries(
    {"content": st.none() | st.text(max_size=5)},
    optional={"tool_calls": st.lists(_calls, max_size=3), "refusal": st.text(max_size=5)},
)
_choices = st.fixed_dictionaries(
    {"message": _said, "finish_reason": st.sampled_from(["stop", "tool_calls", "length", "content_filter"])}
)
_bodies: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"choices": st.lists(_choices, max_size=2)},
    optional={
        "usage": st.fixed_dictionaries(
            {"prompt_tokens": _limits, "completion_tokens": _limits},
            optional={"cost": st.floats(0, 1)},
        ),
        "error": st.sampled_from([{"code": 503, "message": "Overloaded."}, {"code": "odd"}]),
    },
)
_frames = st.lists(_bodies.map(canonical) | st.sampled_from(["[DONE]", '{"cho']), min_size=1, max_size=3)
_streams = _frames.map(lambda frames: "".join(f"data: {frame}\n\n" for frame in frames))
replies: st.SearchStrategy[str] = st.text(max_size=5) | _bodies.map(canonical) | _streams
"""Bodies of replies, streamed or not: calls, good and bad, final texts, empty ones, and what is none."""


complaints = st.text(max_size=5) | st.sampled_from(["tools are not supported", "bad tool_choice"])
"""What a failed request says; some of it refuses tools."""


def failures(ref: int) -> st.SearchStrategy[RequestFailed]:
    """Ways in which the request with this ref may fail."""
    return st.builds(
        RequestFailed,
        st.just(ref),
        st.sampled_from(get_args(FailureKind)),
        complaints,
        st.none() | st.sampled_from([400, 404, 429, 503]) | st.integers(400, 599),
        st.text(max_size=5),
        st.none() | st.integers(0, 70_000),
        times,
    )


def answers(state: State) -> st.SearchStrategy[Event]:
    """Events that the phase of this state can take."""
    cancelled = member(CancelRequested)
    match state.phase:
        case Idle():
            return st.just(RunStarted())
        case AwaitingReply() as phase:
            ref = st.just(phase.ref)
            replied = st.builds(ReplyReceived, ref, st.just(200), replies, times)
            return replied | replied | failures(phase.ref) | cancelled
        case Waiting() as phase:
            return st.builds(WaitElapsed, st.just(phase.ref), times) | cancelled
        case AwaitingTools() as phase:
            outputs = json_values.map(canonical) | st.text()
            refs = [flight.ref for flight in phase.running if flight.result is None]
            given_parts = st.just(()) | st.lists(media, max_size=2).map(tuple)
            bills = st.none() | spendings
            ref = st.sampled_from(refs)
            return st.builds(ToolReturned, ref, outputs, times, bills, given_parts) | cancelled
        case AwaitingApproval() as phase:
            given = st.builds(ApprovalGiven, st.just(phase.ref), st.booleans(), st.text(max_size=5), times)
            return given | cancelled
        case Settled():
            return st.builds(ToolReturned, st.integers(1, 9), st.just("{}"), times) | cancelled
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

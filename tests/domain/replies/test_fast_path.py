from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._replies.fast_path import ordinary_calls, ordinary_reply
from toolreel_core._replies.normalize import normalize_reply
from toolreel_core._replies.reply import Reply, Served, Usage
from toolreel_core._settings.loop_config import LoopConfig
from toolreel_core._tools.surface import ToolSurface
from toolreel_core._tools.tool_definition import ToolDefinition

ROOT = Path(__file__).resolve().parents[3]
CASES = [json.loads(line) for line in (ROOT / "tests/corpora/wire.jsonl").read_text("utf-8").splitlines()]
JOURNALS = sorted((ROOT / "cassettes").glob("*/*.journal.jsonl"))
TOOLS = ToolSurface(tuple(map(ToolDefinition.of, ("add", "ping", "state_get", "state_patch"))))
CONFIGS = (
    LoopConfig(),
    LoopConfig(argument_repairs="strict"),
    LoopConfig(argument_repairs="lenient", max_argument_depth=2),
    LoopConfig(text_dialects=("hermes_json", "json_fenced"), dialects_in_reasoning=True),
)
UNKNOWN = '{"nobody_knows_this":null,'
"""Begins a body that is no ordinary one, and says what it said before."""


def call(arguments: str = "{}", identity: Json = "call_a", name: str = "ping") -> dict[str, Json]:
    function: Json = {"name": name, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def body(content: Json = "Hi.", *calls: Json, finish: Json = None, **changes: Json) -> dict[str, Any]:
    """A reply as OpenAI documents it."""
    message: dict[str, Json] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = list(calls)
    word = finish or ("tool_calls" if calls else "stop")
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764000000,
        "model": "served/model",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": word}],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        "system_fingerprint": "fp_1",
    } | changes


def with_message(**changes: Json) -> dict[str, Json]:
    tree = body()
    tree["choices"][0]["message"] |= changes
    return tree


def with_choice(**changes: Json) -> dict[str, Json]:
    tree = body()
    tree["choices"][0] |= changes
    return tree


def ordinary(tree: Json, config: LoopConfig | None = None) -> Reply | None:
    return ordinary_reply(json.dumps(tree), TOOLS.known, config or LoopConfig())


def read_with_care(text: str, config: LoopConfig) -> Reply:
    """The reply in a text that begins with an object, as the reader of any reply finds it."""
    beside = UNKNOWN + text.lstrip().removeprefix("{")
    assert ordinary_reply(beside, TOOLS.known, config) is None
    return normalize_reply(beside, tools=TOOLS, config=config)


def test_a_text_is_found() -> None:
    assert ordinary(body()) == Reply(
        content="Hi.",
        finish="stop",
        usage=Usage(11, 7, cached_tokens=4),
        served=Served("served/model", "", "fp_1", "chatcmpl-1"),
    )


def test_calls_are_found() -> None:
    reply = ordinary(body(None, call('{"n": 1}'), call(identity="call_b")))
    assert reply is not None
    assert reply.finish == "tool_calls"
    assert reply.content == ""
    assert reply.calls == (
        ToolCall("call_a", "ping", JsonText('{"n":1}'), '{"n": 1}'),
        ToolCall("call_b", "ping", JsonText("{}"), "{}"),
    )


@pytest.mark.parametrize(
    "tree",
    [
        body("Is 2 < 3? See [1] and {this}, where a = b."),
        body(" \n", call()),
        body("Let me see.", call()),
        with_message(tool_calls=None),
        with_message(tool_calls=[], annotations=[], audio=None, reasoning_content=None, function_call=None),
        with_choice(native_finish_reason="STOP"),
        body(provider="Z", service_tier="default", timings={"prompt_ms": 1.5}),
    ],
)
def test_what_servers_add_without_saying_anything_changes_nothing(tree: dict[str, Any]) -> None:
    found = ordinary(tree, LoopConfig(text_dialects=()))
    assert found is not None
    assert found == read_with_care(json.dumps(tree), LoopConfig())


def test_where_dialects_are_read_only_a_text_without_signs_of_markup_takes_the_fast_path() -> None:
    bare = LoopConfig(text_dialects=("marked", "react"))
    assert ordinary(body("Hello.")) is not None
    assert ordinary(body("See [1].")) is None
    assert ordinary(body("Hello."), bare) is None


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {},
        body(error="x"),
        body(choices=None),
        body(choices=[]),
        body(choices=[None]),
        body(choices=[{}, {}]),
        with_choice(tool_calls=[call()]),
        with_choice(native_finish_reason="MALFORMED_FUNCTION_CALL"),
        with_choice(finish_reason="length"),
        with_choice(finish_reason=["stop"]),
        with_choice(message="Hi."),
        with_message(role="user"),
        with_message(refusal="No."),
        with_message(reasoning_content=""),
        with_message(content=[]),
        with_message(content=None),
        with_message(content=" \n"),
        with_message(tool_calls={}),
        with_message(tool_calls="x"),
        body(None, call("{"), finish="tool_calls"),
        body(None, call(), finish="stop"),
        body("Hi.", finish="tool_calls"),
        body("<think>2+2</think>Four."),
        body("<think>2+2</think>", call()),
        body("<function=ping>"),
        body('{"name": "ping", "arguments": {}}'),
    ],
)
def test_anything_else_is_left_to_the_reader_of_any_reply(tree: Json) -> None:
    assert ordinary(tree) is None


def test_a_text_that_may_hold_calls_is_left_to_those_who_look_for_them() -> None:
    assert ordinary(body(), CONFIGS[-1]) is None
    assert ordinary(body(None, call()), CONFIGS[-1]) is not None


def places(tree: Json, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield (*place, key)
            yield from places(item, (*place, key))
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield (*place, index)
            yield from places(item, (*place, index))


CONTENTS = st.sampled_from(
    [
        *(None, "", " ", "Hi.", "é", "<think>a</think>b", "<tool_call>", "[1]", "to=functions.x"),
        *("Action: ping\nAction Input: {}", "✿FUNCTION✿: ping", '{"name": "ping", "arguments": {}}'),
        *("◁think▷a◁/think▷b", '```json\n{"name": "ping", "arguments": {}}\n```', "ping()", "</think>a"),
    ]
)
ARGUMENTS = st.sampled_from(
    [
        "{}",
        '{"n": 1}',
        '{"n":1.50}',
        '{"a": {"b": [1]}}',
        '{"é": "\\u00e9\\n"}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud83d"}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"input": {}}',
        '{"<|a|>": 1}',
        '{"a": %s}' % ("9" * 4400),
        "",
        "null",
        '"{}"',
        "{'a': 1,}",
        '{"a": ',
    ]
)
CALLS = st.builds(
    call,
    ARGUMENTS,
    st.sampled_from(["call_a", "call_b", "", None, 7]),
    st.sampled_from(["ping", "add", "Ping"]),
)
ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        2.0,
        1e300,
        10**20,
        "",
        "x",
        "stop",
        "tool_calls",
        "\ud83d",
        [],
        ["x"],
        {},
        {"x": 1},
    ]
)
KEYS = st.sampled_from(
    [
        *(
            "error",
            "tool_calls",
            "function_call",
            "refusal",
            "reasoning",
            "reasoning_content",
            "content",
            "usage",
        ),
        *("provider", "provenance", "signature", "native_finish_reason", "cost", "cached_tokens", "index"),
    ]
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """The text of an ordinary body, or of one in which up to two things are not."""
    tree: Json = body(draw(CONTENTS), *draw(st.lists(CALLS, max_size=3)))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from(list(places(tree))))
        holder: Any = tree
        for step in place[:-1]:
            holder = holder[step]
        match draw(st.sampled_from(["change", "drop", "add"])):
            case "drop":
                del holder[place[-1]]
            case "add" if isinstance(holder, dict):
                holder[draw(KEYS)] = deepcopy(draw(ODD))
            case _:
                holder[place[-1]] = deepcopy(draw(ODD))
    spaced = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    text = json.dumps(tree, ensure_ascii=draw(st.booleans()), separators=spaced)
    number = draw(st.sampled_from(["1764000000", "NaN", "-Infinity", "1e999", "9" * 4400]))
    around = draw(st.sampled_from(["", "\n", " \t\r\n"]))
    return around + text.replace("1764000000", number) + draw(st.sampled_from(["", "\n", "x"]))


@given(bodies())
@example('{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}')
def test_what_is_found_is_what_the_reader_of_any_reply_finds(text: str) -> None:
    for config in CONFIGS:
        found = ordinary_reply(text, TOOLS.known, config)
        assert found in (None, read_with_care(text, config))
        assert found in (None, normalize_reply(text, tools=TOOLS, config=config))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_worked_case_reads_alike(case: dict[str, Any]) -> None:
    tools = ToolSurface(tuple(map(ToolDefinition.of, case["tools"])))
    text = case["raw"] if "raw" in case else json.dumps(case["body"])
    for config in CONFIGS:
        found = ordinary_reply(text, tools.known, config)
        if found is not None:
            beside = UNKNOWN + text.lstrip().removeprefix("{")
            assert ordinary_reply(beside, tools.known, config) is None
            assert normalize_reply(beside, tools=tools, config=config) == found


@pytest.mark.parametrize("journal", JOURNALS, ids=[path.parent.name for path in JOURNALS])
def test_recorded_replies_read_alike(journal: Path) -> None:
    events = [json.loads(line).get("event", {}) for line in journal.read_text("utf-8").splitlines()]
    texts = [cast("str", event["body"]) for event in events if event.get("type") == "reply_received"]
    assert texts
    for text in texts:
        for config in CONFIGS:
            found = ordinary_reply(text, TOOLS.known, config)
            assert found is None or found == read_with_care(text, config)


KNOWN = frozenset({"add", "ping"})


def entry(arguments: Json = "{}", **changes: Json) -> dict[str, Json]:
    function: Json = {"name": "ping", "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function} | changes


def test_calls_are_read_in_order_with_their_arguments_in_canonical_form() -> None:
    other = entry('{"n": 1}', id="call_b", index=1, function={"name": "add", "arguments": '{"n": 1}'})
    assert ordinary_calls([entry(), other], KNOWN, 64) == (
        ToolCall("call_a", "ping", JsonText("{}"), "{}"),
        ToolCall("call_b", "add", JsonText('{"n":1}'), '{"n": 1}'),
    )


@pytest.mark.parametrize(
    "listed",
    [
        {"0": entry()},
        "[]",
        ["ping"],
        [entry(), entry()],
        [entry(), None],
        [entry(extra_content={})],
        [entry(id=None)],
        [entry(id=7)],
        [entry(id=" ")],
        [entry(function=None)],
        [entry(function={"name": "ping"})],
        [entry(function={"name": "ping", "arguments": "{}", "signature": "s"})],
        [entry(function={"name": "Ping", "arguments": "{}"})],
        [entry(function={"name": ["ping"], "arguments": "{}"})],
        [entry({})],
        [entry("")],
        [entry("[]")],
        [entry('{"n": 1,}')],
        [entry('{"n": 1, "n": 2}')],
        [entry('{"a</parameter>": 1}')],
        [entry('{"\\u003c|a|>": 1}')],
        [entry('{"arguments": {}}')],
        [entry('{"a": [[[1]]]}')],
    ],
)
def test_calls_of_which_one_is_not_ordinary_are_left_to_others(listed: Json) -> None:
    assert ordinary_calls(listed, KNOWN, 3) is None


def test_arguments_may_nest_as_deeply_as_is_allowed() -> None:
    assert ordinary_calls([entry('{"a": [[1]]}')], KNOWN, 3) is not None

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import joined, joined_calls, joined_function

PING: Json = {"id": "a", "function": {"name": "ping", "arguments": "{}"}}
THOUGHT: Json = {"type": "reasoning.text", "text": "So ", "index": 0, "signature": None}


def details(*entries: Json) -> Json:
    """What becomes of reasoning details that come one in a delta."""
    return joined([{"reasoning_details": [entry]} for entry in entries])["reasoning_details"]


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        ([], {"content": None}),
        ([{"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"}], {"content": "Hello"}),
        ([{"content": None}, {"refusal": "I will "}, {"refusal": "not."}], {"refusal": "I will not."}),
        ([{"reasoning_content": ""}], {"reasoning_content": ""}),
        (
            [{"reasoning": "So", "reasoning_content": "So"}] * 2,
            {"reasoning": "SoSo", "reasoning_content": "SoSo"},
        ),
        ([{"refusal": 3}], {"refusal": "3"}),
        (
            [{"content": "a"}, {"content": [{"type": "text", "text": "b"}]}, {"content": {"type": "x"}}],
            {"content": ["a", {"type": "text", "text": "b"}, {"type": "x"}]},
        ),
        ([{"tool_calls": [PING]}], {"tool_calls": [PING]}),
        (
            [{"function_call": {"name": "ping"}}, {"function_call": {"arguments": "{}"}}],
            {"function_call": {"name": "ping", "arguments": "{}"}},
        ),
        ([{"thinking_blocks": [1]}, {"thinking_blocks": [2]}], {"thinking_blocks": [1, 2]}),
        ([{"extra_content": {"a": 1}}, {"extra_content": {"a": 2}}], {"extra_content": {"a": 2}}),
    ],
    ids=str,
)
def test_deltas_are_joined_to_a_message(deltas: list[dict[str, Json]], message: dict[str, Json]) -> None:
    assert joined(deltas) == {"role": "assistant", "content": None, **message}


def test_reasoning_details_keep_their_order_and_pieces_of_one_are_joined() -> None:
    sealed: Json = {"type": "reasoning.encrypted", "data": "abc", "index": 1}
    assert details(
        THOUGHT,
        {"type": "reasoning.summary", "summary": "It ", "index": 2},
        {"type": "reasoning.text", "text": "what?", "index": 0},
        sealed,
        {"type": "reasoning.summary", "summary": "works.", "index": 2},
        {"type": "reasoning.text", "text": None, "index": 0, "signature": "s"},
        sealed,
    ) == [
        {"type": "reasoning.text", "text": "So what?", "index": 0, "signature": "s"},
        {"type": "reasoning.summary", "summary": "It works.", "index": 2},
        sealed,
        sealed,
    ]


def test_reasoning_details_with_another_id_are_others() -> None:
    one: Json = {"type": "reasoning.text", "id": "a", "text": "One."}
    other: Json = {"type": "reasoning.text", "id": "b", "text": "Other."}
    assert details(one, other) == [one, other]
    assert details(one, {"type": "reasoning.text", "text": " More."}) == [
        {"type": "reasoning.text", "id": "a", "text": "One. More."}
    ]


def test_what_is_no_reasoning_detail_is_left_out() -> None:
    assert joined([{"reasoning_details": "x"}, {"reasoning_details": THOUGHT}])["reasoning_details"] == [
        THOUGHT
    ]


def test_thinking_blocks_go_on_until_they_are_signed() -> None:
    def piece(text: str | None = None, **more: Json) -> dict[str, Json]:
        return {"thinking_blocks": [{"type": "thinking", "thinking": text, **more}]}

    hidden: Json = {"type": "redacted_thinking", "data": "abc"}
    deltas: list[dict[str, Json]] = [
        piece("So "),
        piece("what?"),
        piece(None, signature="s"),
        piece("Then."),
        {"thinking_blocks": [hidden, hidden]},
    ]
    assert joined(deltas)["thinking_blocks"] == [
        {"type": "thinking", "thinking": "So what?", "signature": "s"},
        {"type": "thinking", "thinking": "Then."},
        hidden,
        hidden,
    ]
    odd = joined([{"thinking_blocks": ["odd"]}, piece("So.")])["thinking_blocks"]
    assert odd == ["odd", {"type": "thinking", "thinking": "So."}]


@pytest.mark.parametrize("content", [4, {"type": "text", "text": "Hi."}, ["Hi."], "Hi."])
def test_content_that_comes_at_once_stays_what_it_is(content: Json) -> None:
    assert joined([{"content": None}, {"content": content}])["content"] == content


def piece(name: str | None = None, arguments: Json = None, **marks: Json) -> dict[str, Any]:
    """A fragment, with the marks that its server gives it."""
    function = {"name": name, "arguments": arguments}
    return {**marks, "function": {key: value for key, value in function.items() if value is not None}}


def call(name: str, arguments: Json = "{}", **marks: Json) -> dict[str, Any]:
    return {**marks, "function": {"name": name, "arguments": arguments}}


READ = ('{"path":', '"a"}')
BOTH = "".join(READ)


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        pytest.param(
            [
                [piece("read", "", index=0, id="a", type="function")],
                *([piece(None, text, index=0)] for text in READ),
            ],
            [call("read", BOTH, id="a", type="function")],
            id="the id on the first fragment only",
        ),
        pytest.param(
            [
                [piece("read", index=0, id="a")],
                [piece("ping", index=1, id="b")],
                [piece(None, READ[0], index=0)],
                [piece(None, "{}", index=1)],
                [piece(None, READ[1], index=0)],
            ],
            [call("read", BOTH, id="a"), call("ping", id="b")],
            id="interleaved, with the id on the first only",
        ),
        pytest.param(
            [
                [piece("read", READ[0], index=0, id="a"), piece("ping", "{", index=1, id="b")],
                [piece(None, "}", index=1), piece(None, READ[1], index=0)],
            ],
            [call("read", BOTH, id="a"), call("ping", id="b")],
            id="two in one delta",
        ),
        pytest.param(
            [[piece("read", text, index=0, id="a")] for text in (READ[0], READ[0] + '"', BOTH)],
            [call("read", BOTH, id="a")],
            id="all of the arguments again with every piece",
        ),
        pytest.param(
            [[piece("read", text, index=0)] for text in ('{"a": ', '{"a": 1}}')],
            [call("read", '{"a": {"a": 1}}')],
            id="pieces that only begin alike",
        ),
        pytest.param(
            [[piece("read", text, index=0)] for text in ('{"a": ', '{"a": 1')],
            [call("read", '{"a": {"a": 1')],
            id="pieces that begin alike, and were cut",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0, id="a")], [piece("ping", "{}", index=0, id="b")]],
            [call("ping", id="a"), call("ping", id="b")],
            id="index 0 twice, with a new id",
        ),
        pytest.param(
            [
                [piece("ping", "", index=0, id="a")],
                [piece(None, "{}", index=0)],
                [piece("read", "", index=0, id="b")],
                [piece(None, BOTH, index=0)],
            ],
            [call("ping", id="a"), call("read", BOTH, id="b")],
            id="index 0 twice, in fragments",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0)], [piece("read", "", index=0)], [piece(None, BOTH, index=0)]],
            [call("ping"), call("read", BOTH)],
            id="index 0 twice, a new name after complete JSON",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0)], [piece("ping", "{}", index=0)]],
            [call("ping"), call("ping")],
            id="index 0 twice, the same name and more JSON after complete JSON",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0, id="a")], [piece("ping", " { }", index=1, id="a")]],
            [call("ping", id="a")],
            id="the same call under the next index",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0, id="a")], [piece("ping", '{"n": 1}', index=1, id="a")]],
            [call("ping", id="a"), call("ping", '{"n": 1}', id="a")],
            id="the same id under another index, with other arguments",
        ),
        pytest.param(
            [[piece("ping", '{"n": 1}', index=0, id="a")], [piece("ping", '{"n": 2}', index=0, id="a")]],
            [call("ping", '{"n": 1}{"n": 2}', id="a")],
            id="one call with two arguments",
        ),
        pytest.param(
            [
                [piece("read", READ[0], index=0, id="a")],
                [piece(None, READ[1], index=0)],
                [piece("read", {"path": "a"}, index=0, id="a")],
            ],
            [call("read", BOTH, id="a")],
            id="the whole call once more, as an object",
        ),
        pytest.param(
            [
                [piece("read", "", index=0, id="a")],
                *([piece(None, text, index=0, id=f"b{text}")] for text in READ),
            ],
            [call("read", BOTH, id="a")],
            id="another id in every fragment",
        ),
        pytest.param(
            [[piece("read", text, index=0, id=f"a{text}")] for text in READ],
            [call("read", BOTH, id=f"a{READ[0]}")],
            id="another id in every fragment, and the name",
        ),
        pytest.param(
            [[piece("read", READ[0], index=0, id="a")], [piece(None, READ[1], index=0, id=" ")]],
            [call("read", BOTH, id="a")],
            id="a blank id",
        ),
        pytest.param(
            [*([piece(None, text, index=0, id="a")] for text in READ), [piece("read", index=0)]],
            [call("read", BOTH, id="a")],
            id="the name after the arguments",
        ),
        pytest.param(
            [
                [piece(name, text, index=0)]
                for _ in "ab"
                for name, text in (("read", ""), *((None, t) for t in READ))
            ],
            [call("read", BOTH), call("read", BOTH)],
            id="index 0 twice without ids, the same name again in front of the next arguments",
        ),
        pytest.param(
            [[piece("read", READ[0], id="a")], [piece(None, READ[1], id="a")], [piece("ping", "{}", id="b")]],
            [call("read", BOTH, id="a"), call("ping", id="b")],
            id="ids and no index",
        ),
        pytest.param(
            [[piece("read", READ[0])], [piece(None, READ[1])], [piece("ping", "{}")]],
            [call("read", BOTH), call("ping")],
            id="neither id nor index",
        ),
        pytest.param(
            [[piece("ping", ""), piece("pong", "")]],
            [call("ping", ""), call("pong", "")],
            id="neither, side by side",
        ),
        pytest.param(
            [[piece("read", "", id="a")], [piece(None, BOTH, index=0)], [piece("ping", "{}", index=1)]],
            [call("read", BOTH, id="a"), call("ping")],
            id="first an id, then an index",
        ),
        pytest.param(
            [[piece("read", READ[0], index=0)], [piece(None, READ[1], index=0, id="a")]],
            [call("read", BOTH, id="a")],
            id="an id that comes late",
        ),
        pytest.param(
            [[piece("read", READ[0], index=0, id="a")], [piece(None, "{}", index=1)]],
            [call("read", READ[0], id="a"), {"function": {"arguments": "{}"}}],
            id="arguments without a name",
        ),
        pytest.param(
            [[piece("read", READ[0], index=0, id="a")], [piece("read", READ[1], index=0, id="a")]],
            [call("read", BOTH, id="a")],
            id="id and name in every fragment",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0)], [piece("ping", " ", index=0)], [piece("ping", index=0)]],
            [call("ping", "{} ")],
            id="the name once more after the arguments",
        ),
        pytest.param(
            [[piece("read", index=0)], [piece("_file", index=0)], [piece("", "{}", index=0, id="")]],
            [call("read_file")],
            id="a name in pieces",
        ),
        pytest.param(
            [[piece("read", {"path": "a"}, index=0)], [piece("ping", {}, index=0)]],
            [call("read", {"path": "a"}), call("ping", {})],
            id="arguments as an object",
        ),
        pytest.param(
            [[piece("read", {"path": "a"}, index=0)], [piece(None, "{}", index=0)]],
            [call("read", '{"path":"a"}{}')],
            id="arguments as an object and as text",
        ),
        pytest.param(
            [[piece("ping", "{}", index=0, id=7)], [piece("ping", "{}", index=0, id=8)]],
            [call("ping", id=7), call("ping", id=8)],
            id="ids as numbers",
        ),
        pytest.param(
            [[piece("ping", "{}", index=True, id=False)], [piece(None, "", index="x", id=[])]],
            [call("ping", id=[])],
            id="ids and indices that are none",
        ),
        pytest.param(
            [
                [{**piece("ping", "{}", index=0), "extra_content": {"google": {"thought_signature": "s"}}}],
                [{"index": 0, "function": {"signature": "t"}}],
            ],
            [
                {
                    "extra_content": {"google": {"thought_signature": "s"}},
                    "function": {"name": "ping", "arguments": "{}", "signature": "t"},
                }
            ],
            id="what must go back unchanged",
        ),
        pytest.param(
            [[{"index": 0, "id": "a", "type": "function"}], [piece("ping", "{}", index=0)]],
            [{"id": "a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}],
            id="an id before anything else",
        ),
        pytest.param(
            [piece("ping", "{", index=0), piece(None, "}", index=0)],
            [call("ping")],
            id="one object instead of a list",
        ),
        pytest.param(
            [
                [piece("read", READ[0], index="0", id="a"), piece("ping", "{", index=1.0, id="b")],
                [piece(None, "}", index="1"), piece(None, READ[1], index=0)],
            ],
            [call("read", BOTH, id="a"), call("ping", id="b")],
            id="indices as text and as fractions",
        ),
        pytest.param(
            [[piece("ping", "{", index=index)] for index in (0.5, "x", "-1", "\u0661", "1" * 5000)],
            [call("ping", "{" * 5)],
            id="indices that are no numbers of a list",
        ),
        pytest.param(
            [[piece("ping", "{}", index=1, id="b")], [piece("read", BOTH, index=0, id="a")]],
            [call("read", BOTH, id="a"), call("ping", id="b")],
            id="the second index before the first",
        ),
        pytest.param(
            [[piece("ping", "{}", index=1)], ["x"], [piece("read", BOTH, index=0)]],
            [call("ping"), "x", call("read", BOTH)],
            id="the second index before the first, and something without",
        ),
        pytest.param(
            [
                [piece("read", READ[0], index=0, id="a")],
                [piece(None, READ[1], index=0)],
                [piece("read", BOTH, index=0, id="a")],
            ],
            [call("read", BOTH, id="a")],
            id="the whole call once more in the end",
        ),
        pytest.param(
            [
                {"0": piece("read", READ[0], id="a"), "1": piece("ping", id="b")},
                {"0": piece(None, READ[1]), "2": 3},
            ],
            [call("read", BOTH, id="a"), call("ping", "", id="b"), 3],
            id="an object of indices instead of a list",
        ),
        pytest.param(
            ["x", [3, {"name": "ping", "arguments": "{}"}]],
            ["x", 3, {"name": "ping", "arguments": "{}"}],
            id="what is no fragment",
        ),
    ],
)
def test_fragments_are_joined_to_calls(deltas: list[Json], calls: list[Json]) -> None:
    assert joined_calls(deltas) == calls


def test_braces_in_a_text_end_nothing() -> None:
    for text in ('{"a":"}', '{"a":"\\"}', '{"a":"\\\\\\"}', '{"a":[{}', '{"a":"\\'):
        assert joined_calls([[piece("ping", text, index=0)], [piece("ping", '"}', index=0)]]) == [
            call("ping", text + '"}')
        ]


OBJECTS = st.dictionaries(st.text(), st.text() | st.lists(st.dictionaries(st.text(), st.text())))


@given(OBJECTS, OBJECTS, st.data())
def test_two_calls_are_told_apart_wherever_their_arguments_are_cut(
    one: Json, other: Json, data: st.DataObject
) -> None:
    """By a server that repeats the name and gives neither id nor a new index."""
    fragments: list[Json] = []
    for arguments in (canonical(one), canonical(other)):
        cuts = sorted(data.draw(st.sets(st.integers(1, len(arguments) - 1), max_size=4)))
        bounds = zip([0, *cuts], [*cuts, len(arguments)], strict=True)
        fragments += [[piece("ping", arguments[start:stop], index=0)] for start, stop in bounds]
    assert joined_calls(fragments) == [call("ping", canonical(one)), call("ping", canonical(other))]


def test_a_name_without_end_is_cut() -> None:
    assert joined_calls([[piece("name", index=0)], *([piece("nam", index=0)] for _ in range(2_000))]) == [
        call("name" + "nam" * 333, "")
    ]


def test_the_one_legacy_call_is_joined_too() -> None:
    assert joined_function([{"name": "ping", "arguments": ""}, {"arguments": "{"}, {"arguments": "}"}]) == {
        "name": "ping",
        "arguments": "{}",
    }
    assert joined_function(["ping"]) == {"arguments": ""}

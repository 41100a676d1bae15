from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._replies.streaming.call_deltas import joined_calls, joined_function


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
            [[piece("ping", "{}", index=0, id="a")], [piece("ping", "{}", index=1, id="a")]],
            [call("ping", id="a"), call("ping", id="a")],
            id="the same id twice",
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

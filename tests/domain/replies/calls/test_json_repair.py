from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._replies.calls.json_repair import (
    is_cut,
    keys_quoted,
    mended,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2, ] , }', {"a": [1, 2]}),
        ("{'a': 'x'}", {"a": "x"}),
        ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
        ('{"a": "x\ny\t\x00"}', {"a": "x\ny\t\x00"}),
        ("{'a': 'x\ny'}", {"a": "x\ny"}),
        ('{"a": 1} // one', {"a": 1}),
        ('{"a": 1, # one\n"b": 2}', {"a": 1, "b": 2}),
        ('{"a": /* one\nor two */ 1}', {"a": 1}),
        ('{"a": 1, // last\n}', {"a": 1}),
        (r"{'a': 'it\'s'}", {"a": "it's"}),
        ("""{'a': 'say "hi"'}""", {"a": 'say "hi"'}),
        (r"""{'a': 'say \"hi\"'}""", {"a": 'say "hi"'}),
        (r"{'a': '\x41\xe9\U0001F600'}", {"a": "Aé😀"}),
        (r"{'a': 'a\nb\\c'}", {"a": "a\nb\\c"}),
        ("""{'a': "it's"}""", {"a": "it's"}),
        ("{'': ''}", {"": ""}),
    ],
)
def test_the_notation_of_a_closed_payload_is_mended(text: str, value: Json) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert json.loads(mended(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"url": "http://x//y", "b": "# no /* comment */"}',
        '{"a": "None, True,}", "b": [1, 2]}',
        r'{"a": "\"\\", "b": "it\u0027s"}',
        "{}",
        "",
    ],
)
def test_json_stays_as_it_is(text: str) -> None:
    assert mended(text) == text


@given(json_values)
def test_any_json_stays_as_it_is(value: Json) -> None:
    text = canonical(value)
    assert mended(text) == text
    assert not is_cut(text)


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 'pi",
        "{'a': 'it's'}",
        '{"a": "pi',
        "{'a': 1",
        '{"a": 1 /* and',
        '{"a": True, "b": "',
        '{"a": "b\',\'}',
        r"{'a': '\d'}",
        "{'a': 'line \\\nbreak'}",
        r"{'a': '\UFFFFFFFF'}",
        '{"a": pin}',
        '{"a": [,]}',
        "{,}",
        '{"a": 1,, }',
        '{"a": "\\\n"}',
    ],
)
def test_what_was_cut_or_is_something_else_is_never_made_json(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(mended(text))


@given(json_values.filter(lambda value: isinstance(value, dict) and bool(value)), st.data())
def test_no_beginning_of_an_object_is_ever_completed(value: Json, data: st.DataObject) -> None:
    for text in (canonical(value), repr(value)):
        cut = text[: data.draw(st.integers(0, len(text) - 1))]
        for step in (mended, keys_quoted, without_fence, without_tokens):
            with pytest.raises(json.JSONDecodeError):
                json.loads(step(cut) or "{")


@given(st.text(alphabet="{}[]:,'\"\\/*#\n\tTrueNone01abx "))
def test_mending_mended_text_that_is_json_changes_nothing(text: str) -> None:
    again = mended(text)
    try:
        json.loads(again)
    except ValueError:
        return
    assert mended(again) == again


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('{part: "pin"}', '{"part": "pin"}'),
        ("{a:1, b_2 :{$c: 2}}", '{"a":1, "b_2" :{"$c": 2}}'),
        ('{"a": "{b: 1}"}', '{"a": "{b: 1}"}'),
        ('{"a": b}', '{"a": b}'),
        ("[a: 1]", "[a: 1]"),
    ],
)
def test_keys_get_the_quotes_that_they_lack(text: str, quoted: str) -> None:
    assert keys_quoted(text) == quoted


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}```', '{"a": 1}'),
        ('```{"a": 1}```', '{"a": 1}'),
        ('~~~json5\n{"a": 1}\n~~~\n', '{"a": 1}'),
        ('````json\n{"a": "```"}\n````', '{"a": "```"}'),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ('```json\n{"a": 1}', '```json\n{"a": 1}'),
        ('Here:\n```json\n{"a": 1}\n```', 'Here:\n```json\n{"a": 1}\n```'),
        ('`{"a": 1}`', '`{"a": 1}`'),
    ],
)
def test_a_fence_around_all_of_it_is_taken_off(text: str, inside: str) -> None:
    assert without_fence(text) == inside


@pytest.mark.parametrize(
    "tokens",
    [
        "<|tool_call_end|>",
        "<|im_end|>\n</s>",
        " </tool_call> ",
        "<\uff5ctool▁call▁end\uff5c>",
        "[/TOOL_CALLS]",
        "<end_of_turn>",
    ],
)
def test_control_tokens_are_nothing(tokens: str) -> None:
    assert without_tokens(tokens) == ""


@pytest.mark.parametrize("text", ["", "and more", "<|im_end|", '<a href="x">', "<|im_end|> x", "<a b>", "}"])
def test_anything_else_is_something(text: str) -> None:
    assert without_tokens(text) == text


def test_tokens_are_taken_off_behind_a_fence_only() -> None:
    assert without_tokens_behind_fence("~~~\n{}\n~~~\n<|im_end|></s>") == "~~~\n{}\n~~~"
    for text in ("", "{}</s>", "```\n{}\n```", "```\n{}\n``` and </s>"):
        assert without_tokens_behind_fence(text) == text


@pytest.mark.parametrize(
    "text", ["", " ", '{"a": "x', '{"a": 1', "[", '"', '{"a": "\\"', '```json\n{"a"', "```\n{}\n``"]
)
def test_text_that_stops_is_cut(text: str) -> None:
    assert is_cut(text)


@pytest.mark.parametrize("text", ["{}", '{"a": "["}', '{"a": pin}', "}", "x", '"{"', "```\n{}\n```"])
def test_text_that_is_closed_is_not_cut(text: str) -> None:
    assert not is_cut(text)


@pytest.mark.parametrize("part", ['"\\', "/*", "'", ",", "{a", "<a>", "```", "#", "'\\", "<"])
def test_no_text_takes_longer_than_its_length_explains(part: str) -> None:
    """A minute of backtracking would be noticed here."""
    text = part * 20_000
    for step in (mended, keys_quoted, without_fence, without_tokens, without_tokens_behind_fence, is_cut):
        step(text)

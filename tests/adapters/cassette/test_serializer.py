from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.cassette.test_yaml import TEXT, TREE
from tests.samples import worked
from toolreel._internal import CassetteError
from toolreel.cassette import Exchange, SessionHeader, StoredResponse, dump_yaml, parse_cassette, serialize
from toolreel.cassette import _serializer as cassette_format
from toolreel_core._jsontext import Json, canonical

CASSETTES = Path(__file__).parents[3] / "cassettes"
URL = "https://api.test/v1/chat/completions"


def as_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def exchange(request: str | bytes, response: str | bytes = "") -> Exchange:
    answer = StoredResponse(200, "OK", (), as_bytes(response))
    return Exchange(1, "POST", URL, {"accept": ["*/*"]}, (as_bytes(request),), answer)


def cassette(*exchanges: Exchange) -> str:
    return serialize(SessionHeader(), exchanges)


def stored(text: str) -> list[tuple[bytes, bytes]]:
    """The bodies in a file."""
    exchanges = parse_cassette(text)[1]
    return [(one.body, one.answer.body) for one in exchanges]


def conversation(turns: int, *, reminder: bool = False) -> list[Exchange]:
    tools: list[Json] = [{"type": "function", "function": {"name": "look_up", "description": "d" * 200}}]
    messages: list[Json] = [{"role": "system", "content": "Be brief."}]
    exchanges = []
    for turn in range(turns):
        messages = [*messages, {"role": "user", "content": f"question {turn}?"}]
        last: list[Json] = [{"role": "user", "content": f"{turns - turn} turns left"}] if reminder else []
        body = canonical({"model": "m", "messages": [*messages, *last], "tools": tools})
        exchanges.append(exchange(body, canonical({"id": turn, "usage": {"total_tokens": turn}})))
        messages = [*messages, {"role": "assistant", "content": f"answer {turn}."}]
    return exchanges


BODY = st.one_of(
    TREE.map(canonical),
    TREE.map(lambda tree: json.dumps(tree, indent=1)),
    TEXT,
    st.binary(max_size=20),
    st.sampled_from(
        ["null", '{"a":1,"a":2}', '{"a":"\\ud800"}', "1e999", '{"messages":[[1],2]}', "9" * 5_000]
    ),
)
MESSAGES = st.lists(st.sampled_from([{"role": "user"}, "a", 1, 1.0, True, [[]]]), max_size=6)
CHAT = st.builds(
    lambda messages, tools: canonical({"messages": messages, "tools": tools}),
    MESSAGES,
    st.lists(TEXT, max_size=2),
)


@given(bodies=st.lists(st.tuples(BODY | CHAT, BODY), max_size=6))
def test_every_cassette_comes_back_as_it_was(bodies: list[tuple[str | bytes, str | bytes]]) -> None:
    text = cassette(*(exchange(*both) for both in bodies))
    assert stored(text) == [(as_bytes(asked), as_bytes(answered)) for asked, answered in bodies]
    assert serialize(*parse_cassette(text)) == text


@pytest.mark.parametrize("path", sorted(CASSETTES.glob("*/*.yaml")), ids=lambda path: path.parent.name)
def test_what_was_recorded_is_written_again_to_the_byte(path: Path) -> None:
    text = path.read_text("utf-8")
    assert serialize(*parse_cassette(text)) == text


def test_a_body_is_a_tree_or_a_text_or_bytes_and_left_out_when_it_is_empty() -> None:
    text = cassette(
        exchange('{"a":[1,2.5,"x"]}', "null"),
        exchange('{"a": 1}', '{\n  "a": 1\n}\n'),
        exchange(b"\xff\x00", "data: 1\n\ndata: [DONE]\n"),
        exchange(b""),
    )
    assert "body:\n      json:\n        a:\n        - 1\n        - 2.5\n        - x\n" in text
    assert "body:\n      json: null\n" in text
    assert "body:\n      text: '{\"a\": 1}'\n" in text
    assert 'body:\n      text: |\n        {\n          "a": 1\n        }\n' in text
    assert "body:\n      binary: !!binary |\n        /wA=\n" in text
    assert "body:\n      text: |\n        data: 1\n\n        data: [DONE]\n" in text
    assert text.count("body:") == 6
    assert [body for body, _ in stored(text)] == [b'{"a":[1,2.5,"x"]}', b'{"a": 1}', b"\xff\x00", b""]


def test_a_body_whose_messages_begin_with_a_list_is_a_text_in_a_request_and_a_tree_in_a_response() -> None:
    body = '{"messages":[["a"],"b"]}'
    text = cassette(exchange(body, body))
    assert f"text: '{body}'" in text
    assert "messages:\n        - - a\n        - b\n" in text
    assert stored(text) == [(body.encode(), body.encode())]


def test_every_message_stands_exactly_once() -> None:
    text = cassette(*conversation(30, reminder=True))
    assert {text.count(f"question {turn}?") for turn in range(30)} == {1}
    assert {text.count(f"answer {turn}.") for turn in range(29)} == {1}
    assert text.count("Be brief.") == text.count("name: look_up") == 1


def test_small_or_different_values_are_no_aliases_and_anchors_tell_apart_what_differs() -> None:
    big, other = ["x" * 80], ["y" * 80]
    bodies = [
        {"tools": big},
        {"tools": big},
        {"tools": other},
        {"tools": other},
        {"stop": ["x"]},
        {"stop": ["x"]},
    ]
    text = cassette(*(exchange(canonical(body)) for body in bodies))
    anchors = {line.split("&")[1] for line in text.splitlines() if "&" in line}
    assert len(anchors) == 2
    assert {text.count(f"*{anchor}") for anchor in anchors} == {1}
    assert text.count("x" * 80) == text.count("y" * 80) == 1


def test_what_would_not_come_back_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = dump_yaml
    monkeypatch.setattr(cassette_format, "dump_yaml", lambda *of: dump(*of).replace("lossless", "lossy"))
    with pytest.raises(CassetteError, match="interaction 2: does not come back from YAML as it was"):
        cassette(exchange("a"), replace(exchange("lossless"), number=2))


GOOD = cassette(exchange('{"a":1}', "plain"))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (GOOD, "- 1\n...\n", "the top of the file: expected a mapping, found list"),
        *worked("a file of another shape", "cassettes"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_its_place(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(CassetteError) as caught:
        parse_cassette(GOOD.replace(old, new))
    assert complaint in str(caught.value)


def test_a_file_that_was_cut_off_is_refused_wherever_that_was() -> None:
    for length in range(len(GOOD.rstrip())):
        with pytest.raises(CassetteError):
            parse_cassette(GOOD[:length])


def test_a_few_bytes_do_not_unfold_into_many_bodies() -> None:
    bodies = "\n".join(f"        m{n}: &m{n} [{', '.join([f'*m{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(CassetteError, match="more than 536870912 characters with its aliases unfolded"):
        parse_cassette(GOOD.replace("        a: 1", "        m0: &m0 lol\n" + bodies))

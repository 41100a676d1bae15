from __future__ import annotations

import gzip
import json

import pytest

from tests.adapters.secrets.planted import KINDS
from toolreel._secrets import body_texts, leaks_with_places, texts_in_journal_line

KEY = KINDS["an OpenAI key"].secret
ESCAPED = KEY.replace("s", "\\u0073")


def places(body: bytes) -> list[str]:
    return [f"{place}: {leak.kind}" for place, leak in leaks_with_places(body_texts("body", body), {})]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (f'{{"a":[{{"b":"{KEY}"}}]}}', "body.a[0].b: API key"),
        (f'{{"{KEY}":1}}', "body (a key): API key"),
        (
            json.dumps({"a": json.dumps({"b": json.dumps([KEY])})}, separators=(",", ":")),
            "body.a.b[0]: API key",
        ),
        (f'"{ESCAPED}"', "body: API key"),
        (f"  [ {json.dumps(ESCAPED)} ]".replace("\\\\u", "\\u"), "body[0]: API key"),
        ('{"api_key":"a1B2c3D4e5F6g7H8i9"}', "body.api_key: key or token"),
        ('{"db":{"password":"hunter2hunter2"}}', "body.db.password: password"),
        (f"plain {KEY}", "body: API key"),
    ],
)
def test_the_place_of_a_secret_is_told_as_exactly_as_its_form_allows(body: str, place: str) -> None:
    assert place in places(body.encode())
    assert place in places(gzip.compress(body.encode()))


def test_what_a_parser_would_pass_over_is_looked_at_as_text() -> None:
    assert places(f'{{"a":"{KEY}","a":1}}'.encode()) == ["body: API key"]
    assert places(b"\x1f\x8b" + KEY.encode()) == ["body: API key"]


def test_a_line_of_a_journal_is_gone_through_likewise() -> None:
    body = json.dumps({"choices": [{"message": {"content": KEY}}]}, separators=(",", ":"))
    line = json.dumps({"n": 1, "event": {"body": body}}, separators=(",", ":"))
    (found,) = leaks_with_places(texts_in_journal_line(line), {})
    assert found[0] == "event.body.choices[0].message.content"
    ((place, leak),) = leaks_with_places(texts_in_journal_line(f"no JSON {KEY}"), {})
    assert (place, leak.kind) == ("", "API key")

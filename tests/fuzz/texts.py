"""Calls in text: what is cut or quoted is never one, and any other text is read to its end."""

from __future__ import annotations

from tests.fuzz.claims import claim_arguments, claim_text, twice
from tests.fuzz.draw import Draw
from tests.fuzz.trees import json_object
from tests.fuzz.written import DIALECTS_WRITTEN, QUOTATIONS, SPOKEN_OF, written
from toolreel_core._jsontext import Json, canonical, encodable_text, read_json
from toolreel_core._text_calls import DIALECTS, MARKED, TextCalls, leading_reasoning, text_calls

_ENABLED = (DIALECTS, MARKED, *((dialect,) for dialect in DIALECTS))
_TOOLS = ("ping", "add", "other")
_SCHEMAS: dict[str, Json] = {
    "add": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "l": {"type": "array"}},
        "required": ["a"],
    }
}
_CALLS = tuple(written(dialect, "NAME", canonical({"a": 1})) for dialect in DIALECTS_WRITTEN)
_DEPTH = 64
"""Levels that the arguments of a call may have."""


def check(data: bytes) -> None:
    """What holds for any text, for one with a call in it, and for one with a call in a quotation."""
    draw = Draw(data)
    draw.one_of((_check_any, _check_any, _check_written, _check_quoted))(draw)


def _check_any(draw: Draw) -> None:
    enabled = draw.one_of(_ENABLED)
    finish = draw.one_of(("stop", "length"))
    schemas = draw.one_of((_SCHEMAS, {}))
    text = draw.rest()

    def found(content: str, *earlier: str) -> TextCalls:
        return text_calls(
            content, tools=_TOOLS, dialects=enabled, finish=finish, schemas=schemas, earlier=earlier
        )

    got = twice(lambda: found(text))
    for call in got.calls:
        assert call.name, "a call without a name"
        assert call.dialect in DIALECTS, f"{call.dialect} is no dialect"
        assert call.dialect in MARKED or call.name in _TOOLS, "an answer was taken for a call of no tool"
        claim_arguments(call.arguments, depth=_DEPTH)
        assert call.original in text or len(got.calls) > 1 or "<|" in text, "a call that nobody wrote"
    ids = [call.id for call in got.calls if call.id]
    assert len(set(ids)) == len(ids), "two calls with one id"
    _claim_part(got.content, text)
    framed = any(span.kind == "frame" for span in got.spans)
    if not (got.calls or framed or leading_reasoning(text).end):
        assert got.content.strip() == text.strip(), "a text without calls was changed"
    assert found(got.content).calls == (), "what is left of a text holds a further call"
    assert found(text, text).calls == (), "what a tool has returned would run"
    assert found(text, canonical([text])).calls == (), "what a tool has returned as JSON would run"


def _check_written(draw: Draw) -> None:
    dialect = draw.one_of(DIALECTS_WRITTEN)
    enabled = draw.one_of((DIALECTS, MARKED, (dialect,)))
    place = draw.number(1 << 16)
    arguments = read_json(canonical(json_object(draw))).map(canonical).unwrap()
    # In a line of its own: a call in the line of a sentence may be quoted, and is asked about.
    text = f"{_prose(draw)}\n{written(dialect, 'other', arguments)}"
    if leading_reasoning(text).end:
        return  # what ends reasoning ends it wherever it stands: such a call is given up, never run

    def calls(content: str, finish: str) -> list[tuple[str, str]]:
        got = text_calls(content, tools=_TOOLS, dialects=enabled, finish=finish)
        return [(call.name, call.arguments) for call in got.calls]

    assert calls(text, "stop") == [("other", arguments)], f"the call was not read: {text!r}"
    cut = text[: place % len(text)]
    assert calls(cut, "length") in ([], [("other", arguments)]), f"a call that was cut would run: {cut!r}"


def _check_quoted(draw: Draw) -> None:
    finish = draw.one_of(("stop", "length"))
    call = draw.one_of([*SPOKEN_OF, *_CALLS]).replace("NAME", "other").replace("\n", " ")
    quotation = draw.one_of(QUOTATIONS)
    # Reasoning is told from prose at the head of a text only.
    before = "" if quotation.startswith("<think>") else _prose(draw)
    text = before + quotation.replace("{}", call) + " " + draw.rest().replace("other", "")
    got = text_calls(text, tools=_TOOLS, dialects=DIALECTS, finish=finish)
    assert not any(call.name == "other" for call in got.calls), f"a quotation would run: {text!r}"


def _prose(draw: Draw) -> str:
    """Words and line ends, which open nothing."""
    return "".join(mark for mark in draw.text(40) if mark.isalpha() or mark in " \n,")


def _claim_part(part: str, whole: str) -> None:
    """A text is another one, with something left out and blanks as may be."""
    left = iter("".join(whole.split()))
    assert all(mark in left for mark in "".join(part.split())), "content was made up"
    claim_text(encodable_text(part))

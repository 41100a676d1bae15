"""Cases for each rule of calls as text, with expectations from the rules alone, not from what is read.

The cases are in ``tests/corpora/text-call-rules.jsonl``; ``rule`` names what each is about: C2 no
calls, same text; C4 fabricated results; C5 reasoning; C7 unknown tools; C8 names; C9 arguments; C10
types; C11 repairs; C12 what was cut; C13 siblings; C14 quotations; C15 bare forms; C16 ids; or the
grammar of a dialect.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._text_calls import DIALECTS, MARKED, TextCalls, text_calls

CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "text-call-rules.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
STRING: Json = {"type": "string"}
SCHEMAS: dict[str, Json] = {
    "get_weather": {
        "properties": {
            "city": STRING,
            "days": {"type": "integer"},
            "units": {"enum": ["c", "f"]},
            "detail": {"type": "boolean"},
            "coords": {"type": "array", "items": {"type": "number"}},
            "opts": {"type": "object"},
            "note": {"type": ["string", "null"]},
        },
        "required": ["city"],
    },
    "list_jobs": {"properties": {}},
    "log_entry": {"properties": {"text": STRING, "level": STRING}, "required": ["text"]},
    "db.query": {"properties": {"sql": STRING}, "required": ["sql"]},
    "set_limits": {
        "properties": {
            "max": {"type": "number"},
            "hard": {"type": "boolean"},
            "owner": {"anyOf": [STRING, {"type": "null"}]},
            "any": {},
        },
        "required": ["max"],
    },
    "save-file": {"properties": {"path": STRING, "body": STRING}, "required": ["path", "body"]},
    "typed": {
        "$defs": {
            "Unit": {"enum": ["1", "2"], "type": "string"},
            "P": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
        "properties": {
            "u": {"$ref": "#/$defs/Unit"},
            "p": {"$ref": "#/$defs/P"},
            "c": {"const": "5"},
            "lvl": {"enum": [1, 2]},
            "mix": {"type": ["integer", "string"]},
            "on": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
            "arr": {"type": "array", "items": STRING},
            "allof": {"allOf": [{"$ref": "#/$defs/Unit"}]},
        },
    },
}
TAKEN_BACK = {"h-only-close-think"}
"""A closer alone says only afterwards that what stands before it was reasoning."""

each_case = pytest.mark.parametrize("case", CASES, ids=[f"{case['rule']}-{case['id']}" for case in CASES])
each_mode = pytest.mark.parametrize("mode", ["own", "marked", "everything"])


def read(case: dict[str, Any], mode: str, text: str, finish: str) -> TextCalls:
    own = case["enable"].split(",")
    dialects = {"own": own, "marked": [*MARKED, *own], "everything": DIALECTS}[mode]
    return text_calls(text, tools=list(SCHEMAS), dialects=dialects, finish=finish, schemas=SCHEMAS)


def calls_in(found: TextCalls) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in found.calls]


def words(text: str) -> str:
    return " ".join(text.split())


@each_mode
def test_a_text_is_read_by_the_rules(mode: str, subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(f"{case['rule']}-{case['id']}"):
            is_read_by_the_rules(case, mode)


def is_read_by_the_rules(case: dict[str, Any], mode: str) -> None:
    got = read(case, mode, case["text"], case.get("finish", "stop"))
    found = [[call.name, json.loads(call.arguments), call.id] for call in got.calls]
    assert [call[:2] for call in found] == [call[:2] for call in case["calls"]]
    assert [call[2:] for call, wanted in zip(found, case["calls"], strict=True) if wanted[2:]] == [
        wanted[2:] for wanted in case["calls"] if wanted[2:]
    ]
    if "content" in case:
        assert words(got.content) == words(case["content"])
    else:
        assert got.content.strip() == case["text"].strip()
    assert words(got.reasoning) == words(case.get("reasoning", ""))
    assert set(case.get("rejected", ())) <= set(got.rejected)
    assert read(case, mode, got.content, case.get("finish", "stop")).calls == ()


@pytest.mark.slow
@each_case
def test_of_a_text_that_was_cut_no_call_is_made_up(case: dict[str, Any]) -> None:
    if case["id"] in TAKEN_BACK:
        pytest.skip("its calls are taken back by what follows")
    calls = calls_in(read(case, "everything", case["text"], case.get("finish", "stop")))
    for end in range(len(case["text"])):
        cut = calls_in(read(case, "everything", case["text"][:end], "length"))
        assert cut == calls[: len(cut)]

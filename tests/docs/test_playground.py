"""What the playground says of a reply; tests/pages/test_playground.py has the page itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.build_playground import SOURCE
from docs.playground.read_reply import read_reply
from toolreel.presets import shipped

WHOLE: dict[str, Any] = json.loads((SOURCE / "examples.json").read_text("utf-8"))
EXAMPLES = {example["title"]: example for example in WHOLE["examples"]}
RUNS = 'runs stock({"part":"pin","shelf":3})'
AGAIN = "asks the model again"
STRICT, LENIENT = 'argument_repairs="strict"', 'argument_repairs="lenient"'


def read(reply: str, kind: str = "text", **fields: str) -> dict[str, Any]:
    form = {"question": WHOLE["question"], "tools": json.dumps(WHOLE["tools"]), "preset": "", "settings": ""}
    return read_reply({**form, "kind": kind, "reply": reply, **fields}, shipped())


def example(title: str) -> list[dict[str, Any]]:
    chosen = EXAMPLES[title]
    reply = chosen["reply"] if chosen["kind"] == "text" else json.dumps(chosen["reply"])
    results: list[dict[str, Any]] = read(reply, chosen["kind"], preset=chosen.get("preset", ""))["results"]
    return results


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (
            "Arguments that are not quite JSON",
            [(["defaults", "text_dialects=[]", LENIENT], RUNS), ([STRICT], AGAIN)],
        ),
        ("A call in the text", [(["defaults", STRICT, LENIENT], RUNS), (["text_dialects=[]"], AGAIN)]),
        (
            "A call without a marker",
            [
                (["defaults", "text_dialects=[]", STRICT, LENIENT], AGAIN),
                (['preset="llama_text_calls"'], RUNS),
            ],
        ),
        (
            "A call that is only shown",
            [(["defaults", "text_dialects=[]", STRICT, LENIENT], "ends as completed")],
        ),
        (
            "Arguments that the schema refuses",
            [(["defaults", "text_dialects=[]", STRICT, LENIENT], AGAIN)],
        ),
    ],
)
def test_each_example_shows_what_it_is_named_for(title: str, expected: list[tuple[list[str], str]]) -> None:
    assert [(result["settings"], result["verdict"]) for result in example(title)] == expected


def test_a_repaired_call_is_shown_as_written_and_as_it_runs() -> None:
    repaired, strict = example("Arguments that are not quite JSON")
    call = {"name": "stock", "format": "structured", "written": "{'part': 'pin', 'shelf': 3,}"}
    assert repaired["calls"] == [{**call, "fate": 'runs with {"part":"pin","shelf":3}'}]
    assert strict["calls"] == [{**call, "fate": "is not run: ARGUMENTS_JSON_PARSE_ERROR"}]
    assert repaired["notes"][0][1].startswith("ARGUMENTS_REPAIRED: Arguments were complete")
    assert "Call stock again with one JSON object." in strict["told"][0]["content"]
    assert json.loads(strict["request"])["messages"][-1] == strict["told"][0]


@pytest.mark.parametrize(
    ("reply", "fields", "reason"),
    [
        ("There are 4.", {}, "Nothing in the text looks like a call."),
        ("There are 4.", {"tools": ""}, "No tool is offered."),
        ('{"name": "stock", "parameters": {"part": "pin"}}', {}, "It is in none of the formats"),
        ("<tool_call>", {"kind": "body"}, ""),
    ],
)
def test_a_reply_without_a_call_says_why(reply: str, fields: dict[str, str], reason: str) -> None:
    found = read(reply, **fields)["results"][0]
    assert (found["calls"], found["parts"]) == ([], [])
    assert found["unread"].startswith(reason)
    assert bool(found["unread"]) == bool(reason)


CALL = '<tool_call>{"name": "stock", "arguments": {"part": "pin", "shelf": 3}}</tool_call>'


def test_settings_of_your_own_are_one_more_result() -> None:
    found = read(CALL, settings='{"text_calls_for": "approved"}')["results"]
    own = next(result for result in found if 'text_calls_for="approved"' in result["settings"])
    assert own["verdict"] == 'asks you about stock({"part":"pin","shelf":3})'


@pytest.mark.parametrize(
    ("field", "text", "error"),
    [
        ("tools", "[", "not JSON: Expecting value: line 1 column 2 (char 1)"),
        ("settings", "[]", 'expected an object, such as {"nudge_no_tool_calls": 1}'),
        ("settings", '{"max_turn": 1}', "there is no setting 'max_turn'; did you mean 'max_turns'?"),
    ],
)
def test_a_field_that_cannot_be_used_says_why(field: str, text: str, error: str) -> None:
    found = read("Hi.", **{field: text})
    assert found["field"] == ("tools" if field == "tools" else "settings")
    assert error in found["error"]


def test_the_page_links_pages_of_the_site() -> None:
    links = re.findall(r'href="\.\./([^"]+)\.html"', (SOURCE / "index.html").read_text("utf-8"))
    assert len(links) == 4
    assert [
        link for link in links if link != "../index" and not (SOURCE.parent / f"{link}.md").is_file()
    ] == []

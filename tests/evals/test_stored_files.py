"""What an evaluation writes has a schema and a version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.evals.evaluations import evaluated, plan_of
from tests.evals.provider import provider
from tests.samples import complaint
from toolreel._internal import ResultsError
from toolreel.evals import Header, Results, read_header, schema_of, write_json
from toolreel_core._errors import CodecError
from toolreel_core._jsontext import Tree
from toolreel_core.evals import VERSION, record_of

HEADER: Final = jsonschema.Draft202012Validator(schema_of("header"))
RECORD: Final = jsonschema.Draft202012Validator(schema_of("record"))


def test_all_that_is_written_is_as_the_schemas_say(tmp_path: Path) -> None:
    with provider(outages=True) as far:
        evaluated(plan_of(far.url, loop={"max_tries": 1}, endpoint={"read_timeout": 0.3}), tmp_path)
    HEADER.validate(json.loads((tmp_path / "header.json").read_text("utf-8")))
    lines = (tmp_path / "journal.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 12
    for connection in lines:
        RECORD.validate(json.loads(connection))


def full() -> Any:  # noqa: ANN401 - JSON that tests change
    """A record that has every field."""
    verdict = {"result": "void", "category": "transport.rate_limit", "reasons": ["Slow down."]}
    names = ("failure", "finish", "model", "provider", "fingerprint", "request_id")
    asked = dict.fromkeys(names, "text")
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "reasoning_tokens"), 1)
    texts = (
        "key",
        "model",
        "profile",
        "strategy",
        "scenario",
        "endpoint",
        "digest",
        "loop",
        "final",
    )
    return {
        "record": VERSION,
        **dict.fromkeys(texts, "text"),
        **dict.fromkeys(("trial", "version", "turns", "calls"), 1),
        **verdict,
        "configuration": {},
        "tools_sent": True,
        "world": {},
        "attempts": [
            {
                "ms": 1,
                "base_url": "https://acme.test",
                **verdict,
                "asked": [{"turn": 1, "ms": 1, "status": 429, "cost": 0.5, **asked, **counts}],
            }
        ],
        "error_status": 429,
        "error_body": {"error": "Slow down."},
        "error_hint": "Acme: Slow down.",
        "cassette": "cassettes/a.yaml",
    }


def is_read(tree: Tree) -> bool:
    try:
        record_of(json.dumps(tree))
    except CodecError:
        return False
    return True


def places(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """Every field, wherever it stands."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield (*place, key)
            if key not in {"configuration", "world", "error_body"}:
                yield from places(value, (*place, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from places(value, (*place, index))


def changed(place: tuple[Any, ...], change: str) -> Any:  # noqa: ANN401
    """The full record with one field changed, left out, or with an unknown one next to it."""
    tree = deepcopy(full())
    at = tree
    for step in place[:-1]:
        at = at[step]
    match change:
        case "left out":
            del at[place[-1]]
        case "unknown":
            at["unheard_of"] = 1
        case "of another type":
            at[place[-1]] = [[]]
        case _:
            at[place[-1]] = -1
    return tree


PLACES: Final = [*places(full())]


def test_a_full_record_is_read_and_as_the_schema_says() -> None:
    assert is_read(full())
    assert {place[0] for place in PLACES} == {*schema_of("record")["properties"]}
    RECORD.validate(full())


@pytest.mark.parametrize("change", ["left out", "unknown", "of another type", "below zero"])
def test_the_schema_refuses_what_the_reader_refuses(change: str) -> None:
    rate_limited = 0
    for place in PLACES:
        tree = changed(place, change)
        assert RECORD.is_valid(tree) == is_read(tree), (change, place)
        rate_limited += not is_read(tree)
    assert rate_limited > len(PLACES) // 3


@pytest.mark.parametrize("found", [0, 2, None])
def test_a_record_of_another_version_is_refused_with_the_remedy(found: object, tmp_path: Path) -> None:
    write_json(tmp_path / "header.json", Header({}).tree())
    (tmp_path / "journal.jsonl").write_text(json.dumps({**full(), "record": found}) + "\n", "utf-8")
    assert complaint(ResultsError, lambda: Results.open(tmp_path)) == (
        f"{tmp_path}/journal.jsonl, line 1: of version {json.dumps(found)}; this toolreel reads version 1; "
        "restore the file, or evaluate into another directory"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "header.json: cannot be read: "),
        ("[]", "header.json: expected an object; restore the file"),
        ("{}", "header.json: an evaluation of version None; this toolreel reads version 1: evaluate into"),
        (
            '{"toolreel_evaluation": 7}',
            "header.json: an evaluation of version 7; this toolreel reads version 1",
        ),
        ('{"toolreel_evaluation": 1, "plan": []}', "header.json: plan is missing or wrong"),
        ('{"toolreel_evaluation": 1, "plan": {}}', "header.json: 'created' is missing or wrong"),
    ],
)
def test_a_header_that_is_none_is_refused_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "header.json").write_text(text)
    assert told in complaint(ResultsError, lambda: read_header(tmp_path / "header.json"))

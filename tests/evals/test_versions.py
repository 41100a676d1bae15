"""What an evaluation writes has a schema, and every version of it is read for ever."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.evals.provider import provider
from tests.evals.trying import evaluated, plan_of
from tests.samples import complaint
from toolreel._internal.errors import ResultsError
from toolreel._journal.migrations import Versions
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import HEADERS, RECORDS, Results, read_header, schema_of
from toolreel_core._errors import CodecError
from toolreel_core._jsontext.canonical import Tree
from toolreel_core.evals._records.record import VERSION, record_line, record_of

FROZEN: Final = Path(__file__).parents[1] / "versions"
DIGESTS: Final = {
    1: (
        "1d7a2562bbabac04d4872f4c8606a1e9138c0faf65106b2ce57142182ce03b69",
        "40f9e15eaaece48d2449e9e4989dbef97939e9d6c110005ae6548b270db157c5",
    ),
}
"""By version, the digests of a frozen header and its journal, whose bytes never change."""

ENDPOINTS: Final = {
    "header.json": "575929fd089dc707a7ce7bae1a7084b504d2492fac8d58b274d139e6f8b7bc6c",
    "journal.jsonl": "d5183272a89027f0ebc16a74ed0db9a2ac3d15761605572bd2dcee9ea3429051",
}
"""Digests of a frozen evaluation at two endpoints, whose plan was changed."""

HEADER: Final = jsonschema.Draft202012Validator(schema_of("header"))
RECORD: Final = jsonschema.Draft202012Validator(schema_of("record"))


def frozen(version: int, folder: Path) -> Path:
    """The frozen evaluation of a version, as a directory."""
    for name in ("header.json", "journal.jsonl"):
        shutil.copy(FROZEN / f"evaluation-{version}.{name}", folder / name)
    return folder


def test_there_is_a_frozen_evaluation_of_every_version() -> None:
    assert HEADERS.newest == RECORDS.newest == VERSION
    assert sorted(DIGESTS) == [*range(1, VERSION + 1)]


@pytest.mark.parametrize("version", DIGESTS)
def test_a_frozen_evaluation_is_what_it_was_and_is_read(version: int, tmp_path: Path) -> None:
    folder = frozen(version, tmp_path)
    files = (folder / "header.json", folder / "journal.jsonl")
    assert tuple(sha256(path.read_bytes()).hexdigest() for path in files) == DIGESTS[version]
    results = Results.open(folder)
    found = [*results.records()]
    assert len(found) == len(results) == 16
    assert {record.verdict.result for record in found} == {"pass", "pass_unexercised", "fail"}
    assert {asked.failure for record in found for each in record.attempts for asked in each.asked} > {
        "status"
    }
    assert plan_of_header(results.header).count == 16
    if version == VERSION:
        assert [record_line(record) for record in found] == files[1].read_text("utf-8").splitlines()


def test_a_frozen_evaluation_with_endpoints_and_an_earlier_plan_is_read(tmp_path: Path) -> None:
    """Version 1 has grown optional fields; what has them is read for ever, too."""
    for name, frozen_digest in ENDPOINTS.items():
        path = FROZEN / f"evaluation-1-endpoints.{name}"
        assert sha256(path.read_bytes()).hexdigest() == frozen_digest
        shutil.copy(path, tmp_path / name)
    results = Results.open(tmp_path)
    found = [*results.records()]
    assert sorted((each.cell.endpoint, each.cell.scenario, each.verdict.result) for each in found) == [
        *(("one", name, "pass") for name in ("one_switch", "one_text")),
        *(("two", name, "fail") for name in ("one_switch", "one_text")),
    ]
    assert all(each.attempts[-1].base_url.startswith("http://127.0.0.1:") for each in found)
    (before,) = results.header.earlier
    assert (before.records, before.since) == (4, results.header.created)
    assert before.plan != results.header.plan
    lines = (tmp_path / "journal.jsonl").read_text("utf-8").splitlines()
    assert [record_line(each) for each in found] == lines


def test_a_frozen_evaluation_is_planned_over_the_defaults_that_it_was_begun_with(tmp_path: Path) -> None:
    results = Results.open(frozen(1, tmp_path))
    plan = plan_of_header(results.header)
    assert plan.tree() == results.header.plan
    planned = {(sample.cell, sample.trial): sample.configuration for sample in plan.samples()}
    assert {(record.cell, record.trial): record.digest for record in results.records()} == planned
    assert plan.configuration(next(plan.samples()).cell).config.text_dialects == ()


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
        "fallback",
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


def test_a_newer_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = frozen(1, tmp_path)
    journal = folder / "journal.jsonl"
    journal.write_text(journal.read_text("utf-8").replace('"record":1', '"record":7', 1), "utf-8")
    told = complaint(ResultsError, lambda: Results.open(folder))
    assert "journal.jsonl, line 1: a record of version 7, which a newer toolreel wrote; this one, " in told
    header = folder / "header.json"
    header.write_text(
        header.read_text("utf-8").replace('"toolreel_evaluation": 1', '"toolreel_evaluation": 7')
    )
    told = complaint(ResultsError, lambda: read_header(header))
    assert "header.json: a header of an evaluation of version 7, which a newer toolreel wrote" in told


def test_an_older_header_is_read_as_if_it_had_been_written_now(tmp_path: Path) -> None:
    def begun_by_its_new_name(tree: Tree) -> Tree:
        return {**tree, "created": tree["begun"]}

    now: Versions[Tree] = Versions("header", ResultsError, (begun_by_its_new_name,))
    path = frozen(1, tmp_path) / "header.json"
    tree = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**tree, "begun": "2026-01-01T00:00:00Z"}), "utf-8")
    assert read_header(path, now).created == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "header.json: cannot be read: "),
        ("[]", "header.json: expected an object; restore the file"),
        ("{}", "header.json: None is no version of a header of an evaluation"),
        ('{"toolreel_evaluation": 1, "plan": []}', "header.json: plan is missing or wrong"),
        ('{"toolreel_evaluation": 1, "plan": {}}', "header.json: 'created' is missing or wrong"),
    ],
)
def test_a_header_that_is_none_is_refused_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "header.json").write_text(text)
    assert told in complaint(ResultsError, lambda: read_header(tmp_path / "header.json"))

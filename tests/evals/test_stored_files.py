"""Headers and records that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evals.made import record
from tests.samples import complaint
from toolreel._internal import ResultsError
from toolreel.evals import Header, Results, read_header, write_json
from toolreel_core.evals import record_tree


@pytest.mark.parametrize("found", [0, 2, None])
def test_a_record_of_another_version_is_refused_with_the_remedy(found: int | None, tmp_path: Path) -> None:
    write_json(tmp_path / "header.json", Header({}).tree())
    write_json(tmp_path / "tree.json", {**record_tree(record()), "record": found})
    line = json.dumps(json.loads((tmp_path / "tree.json").read_text()))
    (tmp_path / "journal.jsonl").write_text(f"{line}\n", "utf-8")
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
        ('{"toolreel_evaluation": 1, "plan": {}}', "header.json: versions is missing or wrong"),
    ],
)
def test_a_header_that_is_none_is_refused_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "header.json").write_text(text)
    assert told in complaint(ResultsError, lambda: read_header(tmp_path / "header.json"))

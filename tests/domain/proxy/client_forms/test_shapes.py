"""A field of another shape than its form defines is refused, not left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest

from tests.domain.proxy.client_forms.test_other_requests import FORMS, TURN, lost
from toolreel_core._jsontext import Json
from toolreel_core._proxy import SHAPES, Kind, misshapen
from toolreel_core._settings import WireForm

VALUES: Final[dict[Kind, Json]] = {"text": "x", "list": [], "object": {}, "other": 5}
CASES: Final = [
    (form, path, value)
    for form, shapes in SHAPES.items()
    for path, kinds in shapes.items()
    for kind, value in VALUES.items()
    if kind not in kinds
]


def put(path: Sequence[str], value: Json) -> Any:  # noqa: ANN401 - a body
    """A body with a value at a path and nothing else."""
    if not path:
        return value
    rest = put(path[1:], value)
    return [rest] if path[0] == "[]" else {path[0]: rest}


@pytest.mark.parametrize(("form", "path", "value"), CASES)
def test_a_value_of_another_shape_is_named_with_its_place(form: WireForm, path: str, value: Json) -> None:
    (loss,) = misshapen(put(path.split("."), value), form)
    assert (loss.code, loss.param) == ("wrong_shape", path.replace(".[]", "[0]"))


@pytest.mark.parametrize(("form", "path", "value"), CASES)
def test_the_client_is_told_before_anything_is_sent(form: WireForm, path: str, value: Json) -> None:
    first, *rest = path.split(".")
    body = json.loads(json.dumps(dict(TURN[form])))
    asked = {**body, first: put(rest, value)}
    if first in {"messages", "input"}:
        asked[first] = [*body[first], *({"role": "user", **entry} for entry in asked[first])]
    for to in FORMS:
        if to != form:
            assert lost(form, to, asked)[0] == "wrong_shape"


@pytest.mark.parametrize("form", FORMS)
def test_what_has_its_shape_or_is_null_is_none(form: WireForm) -> None:
    assert not [*misshapen(TURN[form], form)]
    assert not [*misshapen(dict.fromkeys(path.partition(".")[0] for path in SHAPES[form]), form)]

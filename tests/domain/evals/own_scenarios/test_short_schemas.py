from __future__ import annotations

import pytest

from toolreel_core._internal import PlaceError, Table
from toolreel_core.evals import parameters_of


def test_short_forms_are_schemas() -> None:
    found = parameters_of(
        Table.of(
            {
                "city": "string: The city: its name.",
                "days": "integer?",
                "tags": "string[]?: Words.",
                "unit": ["C", "F"],
                "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
            }
        )
    )
    assert found["properties"] == {
        "city": {"type": "string", "description": "The city: its name."},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Words."},
        "unit": {"enum": ["C", "F"]},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
    }
    assert found["required"] == ["city", "unit", "place"]
    assert found["additionalProperties"] is False


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("strin", "did you mean 'string'"),
        ("", "there is no type ''"),
        (3, "expected a type such as 'integer'"),
    ],
)
def test_another_type_is_refused(value: object, told: str) -> None:
    with pytest.raises(PlaceError, match=rf"arguments.city: .*{told}"):
        parameters_of(Table.of({"city": value}, "arguments"))

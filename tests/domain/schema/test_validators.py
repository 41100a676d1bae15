from __future__ import annotations

from toolreel_core._jsontext.canonical import Json, JsonText, canonical
from toolreel_core._schema.compiled import Check
from toolreel_core._schema.validators import fits, register_validator

# Schemas that no other validator takes, since what is registered stays.
EVEN, ODD = canonical({"$anchor": "even"}), canonical({"$anchor": "odd"})
PLAIN = canonical({"type": "string", "title": "plain"})


def knows_even(schema: JsonText) -> Check | None:
    return (lambda value: isinstance(value, int) and value % 2 == 0) if schema == EVEN else None


def knows_even_ones(schema: JsonText) -> Check | None:
    return (lambda value: value == 1) if schema == EVEN else None


def outcomes(schema: JsonText, *values: Json) -> list[bool]:
    return [fits(schema, value) for value in values]


def test_without_a_validator_for_its_schema_nothing_fits() -> None:
    assert outcomes(ODD, 1, 2) == [False, False]


def test_a_value_fits_as_soon_as_one_validator_says_so() -> None:
    assert outcomes(EVEN, 1, 2, 3) == [False, False, False]
    register_validator(knows_even)
    assert outcomes(EVEN, 1, 2, 3) == [False, True, False]
    register_validator(knows_even_ones)
    assert outcomes(EVEN, 1, 2, 3) == [True, True, False]
    assert outcomes(ODD, 1, 2) == [False, False]


def test_a_plain_schema_needs_no_registered_validator() -> None:
    asked: list[JsonText] = []

    def asks(schema: JsonText) -> None:
        asked.append(schema)

    register_validator(asks)
    assert outcomes(PLAIN, "text", 1) == [True, False]
    assert outcomes(ODD, "text") == [False]
    assert asked == [ODD]

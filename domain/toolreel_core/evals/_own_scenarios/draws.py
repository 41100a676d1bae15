"""Values that a trial draws from its seed, and the placeholders for them in a scenario."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from toolreel_core._internal import PlaceError, Table, unknown_name
from toolreel_core._jsontext import Json, canonical
from toolreel_core.evals._scenarios.draws import Draws

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_ANY: Final = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
"""A placeholder, or the doubled braces that stand for the text itself."""
_BARE: Final = re.compile(rf"\{{({_NAME})\}}")
"""A placeholder alone: its value keeps its type."""


def with_texts(value: Json, change: Callable[[str], Json]) -> Json:
    """A value whose texts, keys among them, are changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_written(change(key)): with_texts(item, change) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [with_texts(item, change) for item in value]
    return value


def filled(value: Json, values: Mapping[str, Json]) -> Json:
    """A value with the drawn values in it; a text that is one placeholder takes the value's type.

    >>> filled({"pieces": "{n}", "note": "{n} of {{n}}"}, {"n": 3})
    {'pieces': 3, 'note': '3 of {n}'}
    """

    def put(found: re.Match[str]) -> str:
        return f"{{{found[1]}}}" if found[1] else _written(values[found[2]])

    def change(text: str) -> Json:
        bare = _BARE.fullmatch(text)
        return values[bare[1]] if bare else _ANY.sub(put, text)

    return with_texts(value, change)


def escaped(value: Json) -> Json:
    """A value whose braces stand for themselves when it is filled.

    >>> filled(escaped("as {name}"), {})
    'as {name}'
    """
    return with_texts(value, lambda text: _BARE.sub(r"{{\1}}", text))


def check_placeholders(value: Json, known: Mapping[str, object], *place: str) -> None:
    """Refuse a placeholder that nothing is drawn for.

    :raises PlaceError: at the place
    """

    def check(text: str) -> str:
        for name in (found[2] for found in _ANY.finditer(text) if found[2]):
            if name not in known:
                what = unknown_name("draw", name, known) if known else f"nothing is drawn for {{{name}}}"
                raise PlaceError(place, f"{what} (for the text itself, write {{{{{name}}}}})")
        return text

    with_texts(value, check)


def _written(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value)


_FORMS: Final = 'write a list of values, { from = 1, to = 9 }, { pattern = "A-####" } or { sum = ["a", "b"] }'
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without I and O, which look like digits."""

Operation: TypeAlias = Literal["sum", "product", "difference"]
_OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values."""

    values: tuple[Json, ...]
    unlike: tuple[str, ...] = ()
    """Draws whose values it must not have."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range, both ends included."""

    least: int
    most: int
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text in which each ``#`` is a digit and each ``?`` a capital letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Computed:
    """A number made of numbers that were drawn before, and of fixed ones."""

    operation: Operation
    of: tuple[str | int, ...]


Draw: TypeAlias = Choice | Whole | Pattern | Computed


def drawn(draws: Mapping[str, Draw], seed: str) -> dict[str, Json]:
    """The values of one trial.

    >>> drawn({"sku": Pattern("A-##"), "pieces": Whole(2, 9)}, "1")
    {'sku': 'A-44', 'pieces': 6}
    """
    values, seeded = dict[str, Json](), Draws(seed)
    for name, draw in draws.items():
        values[name] = _value(draw, name, seeded, values)
    return values


def _value(draw: Draw, name: str, seeded: Draws, before: Mapping[str, Json]) -> Json:
    match draw:
        case Choice():
            allowed = [value for value in draw.values if not _is_one_of(value, draw.unlike, before)]
            # Where all are taken, the first is drawn twice rather than none.
            pool = allowed or draw.values
            return pool[seeded.whole(name) % len(pool)]
        case Whole():
            return _unlike(draw, name, seeded, before)
        case Pattern():
            return "".join(_letter(char, f"{name}/{place}", seeded) for place, char in enumerate(draw.text))
        case Computed():
            return _computed(draw, before)
        case _:
            assert_never(draw)


def _unlike(draw: Whole, name: str, seeded: Draws, before: Mapping[str, Json]) -> int:
    span = draw.most - draw.least + 1
    tries = (draw.least + seeded.whole(f"{name}/{again}") % span for again in count())
    return next(value for value in tries if not _is_one_of(value, draw.unlike, before))


def _computed(draw: Computed, before: Mapping[str, Json]) -> int:
    first, *others = (each if isinstance(each, int) else cast("int", before[each]) for each in draw.of)
    match draw.operation:
        case "sum":
            return first + sum(others)
        case "product":
            return first * math.prod(others)
        case "difference":
            return first - sum(others)
        case _:
            assert_never(draw.operation)


def _letter(char: str, name: str, seeded: Draws) -> str:
    match char:
        case "#":
            return str(seeded.whole(name) % 10)
        case "?":
            return _LETTERS[seeded.whole(name) % len(_LETTERS)]
        case _:
            return char


def _is_one_of(value: Json, names: Sequence[str], before: Mapping[str, Json]) -> bool:
    return any(canonical(value) == canonical(before[name]) for name in names)


def draws_of(table: Table) -> dict[str, Draw]:
    """The draws of a ``[draw]`` table, in its order.

    :raises PlaceError: at the first error
    """
    draws = dict[str, Draw]()
    for name in table.values:
        if not name.isidentifier():
            raise table.complaint(
                "write a name of letters, digits and _, so that {name} can stand for it", name
            )
        draws[name] = _draw(table, name, draws)
    return draws


def _draw(table: Table, name: str, before: Mapping[str, Draw]) -> Draw:
    value = table.values[name]
    if isinstance(value, list | tuple):
        return Choice(_values(table, name, value))
    if not isinstance(value, Mapping):
        raise table.complaint(f"expected a draw, got {value!r}; {_FORMS}", name)
    inner = table.table(name)
    if "one_of" in value:
        inner.only("one_of", "unlike")
        return Choice(_values(inner, "one_of", value["one_of"]), _earlier(inner, "unlike", before))
    if "pattern" in value:
        return Pattern(inner.only("pattern").text("pattern"))
    for operation in _OPERATIONS:
        if operation in value:
            return _computation(inner.only(operation), operation, before)
    if not {"from", "to"} & value.keys():
        inner.only("from", "to", "unlike", "one_of", "pattern", *_OPERATIONS)
    return _range(inner, before)


def _values(table: Table, key: str, values: object) -> tuple[Json, ...]:
    if not isinstance(values, list | tuple) or not values:
        raise table.complaint("expected a list of at least one value", key)
    try:
        canonical(list(values))
    except (TypeError, ValueError):
        raise table.complaint("expected values that JSON can hold", key) from None
    return tuple(values)


def _range(inner: Table, before: Mapping[str, Draw]) -> Whole:
    inner.only("from", "to", "unlike")
    for key in ("from", "to"):
        if type(inner.values.get(key)) is not int:
            raise inner.complaint(f"expected a whole number; {_FORMS}", key)
    least, most = inner.values["from"], inner.values["to"]
    unlike = _earlier(inner, "unlike", before)
    if most - least < len(unlike):
        raise inner.complaint(f"from {least} to {most} leaves no number; write a larger one", "to")
    return Whole(least, most, unlike)


def _computation(inner: Table, operation: Operation, before: Mapping[str, Draw]) -> Computed:
    given = inner.values[operation]
    parts = given if isinstance(given, list | tuple) else [given]
    names = [each for each in parts if type(each) is not int]
    known = _earlier(Table(inner.place, {operation: names}), operation, before)
    if not known:
        raise inner.complaint("name the numbers that were drawn before", operation)
    for name in known:
        if not _is_number(before[name]):
            raise inner.complaint(f"{name!r} is not drawn as a number; draw it with from and to", operation)
    return Computed(operation, tuple(parts))


def _is_number(draw: Draw) -> bool:
    if isinstance(draw, Choice):
        return all(type(value) is int for value in draw.values)
    return isinstance(draw, Whole | Computed)


def _earlier(inner: Table, key: str, before: Mapping[str, Draw]) -> tuple[str, ...]:
    given = inner.values.get(key, ())
    names = (given,) if isinstance(given, str) else inner.names(key)
    for name in names:
        if name not in before:
            raise PlaceError((*inner.place, key), f"{unknown_name('draw', name, before)} (above this one)")
    return names

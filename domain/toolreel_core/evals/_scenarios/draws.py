"""Draws: the values of one trial, and the placeholders that stand for them.

A constant that is drawn cannot be memorised, and trials differ even at temperature 0. Draws are built on
digests, so that every machine and version of Python draws the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias, cast

from toolreel_core._config_checks import PlaceError, Table, unknown_name_message
from toolreel_core._jsontext import Json, canonical, chained_digest, value_at_json_pointer
from toolreel_core.evals._scenarios.forms import checked_value
from toolreel_core.evals._scenarios.world import as_text, as_values, identifier_from_seed, map_texts

# Values are drawn by their place, so a change to a list changes the trials that draw from it.
_WORDS = """
first_names Ada Bruno Clara David Edith Felix Greta Hugo Irene Jonas Karin Leon Maren Nils Olga Paul Rosa
    Simon Tilda Viktor
last_names Quint Almond Berger Castle Dorn Ekman Falk Grove Holm Ibsen Jansen Keller Lund Moss Novak
    Olsen Perry Rask Stone Vogel
rooms kitchen hall attic cellar garage study nursery pantry library workshop bathroom bedroom balcony
    veranda
words amber birch cobalt dune ember fjord grove hazel indigo juniper kelp linen maple nickel onyx pebble
    quartz reed slate tulip umber velvet willow yarrow zinc
"""
WORD_LISTS = {name: words for name, *words in map(str.split, re.split(r"\n(?=\S)", _WORDS.strip()))}


_ALPHABETS = {"#": "0123456789", "?": "ABCDEFGHJKLMNPQRSTUVWXYZ"}
"""What stands for the marks of a pattern: without I and O, which look like digits."""
_OPERATIONS: Mapping[str, Callable[[Sequence[int]], int]] = {"sum": sum, "product": math.prod}
_KINDS = ("one_of", "pattern", "from", "largest_first", *_OPERATIONS)

_Below: TypeAlias = Callable[[str, int], int]
"""A number from 0 to a limit, without it, by the name that it is drawn under."""


def draw_values(draws: Mapping[str, Any], seed: str, *, shift: int = 0) -> dict[str, Json]:
    """The values of one trial.

    >>> draw_values({"sku": {"pattern": "A-##"}, "pieces": {"from": 2, "to": 9}, "to": "person"}, "1")
    {'sku': 'A-44', 'pieces': 6, 'to': 'Rosa Grove'}

    :param draws: a ``[draw]`` table; texts in it may have placeholders for what is drawn above them
    :raises PlaceError: at the first error
    """
    table, values = Table.of(draws, "draw"), dict[str, Json]()

    def below(what: str, limit: int) -> int:
        # Shifted by 192 for the built-in scenarios, whose recorded runs were drawn from the upper 64 bits.
        return (int(chained_digest("draw", what, seed), 16) >> shift) % limit

    for name in table.values:
        if not name.isidentifier():
            what = "write a name of letters, digits and _, so that {name} can stand for it"
            raise table.error_at(what, name)
        known = Table.of({name: fill_placeholders(table.values[name], values, "draw", name)}, "draw")
        draw = checked_value(known, name, "draw")
        match draw:
            case "person":
                parts = (
                    WORD_LISTS[f"{part}_names"][below(f"{name} {part}", 20)] for part in ("first", "last")
                )
                values[name] = " ".join(parts)
            case "word":
                word = WORD_LISTS["words"][below(name, len(WORD_LISTS["words"]))]
                values[name] = f"{word}-{100 + below(f'{name} number', 900)}"
            case "uuid":
                values[name] = identifier_from_seed(seed, name)
            case _:
                inner = draw if isinstance(draw, Mapping) else {"one_of": draw}
                values[name] = _draw_value(Table(("draw", name), inner), name, below, values)
    return values


def _draw_value(table: Table, name: str, below: _Below, before: Mapping[str, Json]) -> Json:
    draw = table.values
    if len(kinds := [key for key in _KINDS if key in draw]) > 1:
        raise table.error_at(f"write one of {', '.join(kinds)}, and leave the others out")
    if kinds[0] in _OPERATIONS:
        return _compute_value(table, kinds[0], before)
    if "largest_first" in draw:
        return _sorted_largest_first(table, before)
    unlike = [_earlier_value(table, "unlike", other, before) for other in as_values(draw.get("unlike", []))]
    values = list[Json]()
    for place in range(int(draw.get("several", 1))):
        label = f"{name} {place}" if "several" in draw else name
        values.append(_draw_one(table, below, label, unlike, values))
    return values if "several" in draw else values[0]


def _draw_one(table: Table, below: _Below, label: str, unlike: list[Json], drawn: list[Json]) -> Json:
    taken = [*unlike, *drawn]
    match table.values:
        case {"one_of": given}:
            listed = WORD_LISTS[given] if isinstance(given, str) else given
            items: list[Json] = [one for one in listed if one not in unlike]
            if not items:
                raise table.error_at("expected more values, so that there are enough", "one_of")
            # Where all are drawn, one is drawn twice rather than none.
            left = [item for item in items if item not in drawn] or items
            return left[below(label, len(left))]
        case {"pattern": text}:
            alphabets = [_ALPHABETS.get(char, char) for char in str(text)]
            if math.prod(map(len, alphabets)) <= len(taken):
                raise table.error_at("expected more # and ?, so that there are enough", "pattern")
            labels = (f"{label}/{again}" if again else label for again in count())
            tries = (_draw_text(alphabets, below, each) for each in labels)
            return next(one for one in tries if one not in taken)
        case _:
            # JSON Schema takes 1e3 for a whole number.
            least, size = int(table.values["from"]), int(table.values["to"] - table.values["from"] + 1)
            if size <= len(taken):
                raise table.error_at("expected a larger number, so that there are enough", "to")
            numbers: Iterator[int] = (least + below(f"{label}/{again}", size) for again in count())
            return next(one for one in numbers if one not in taken)


def _draw_text(alphabets: Sequence[str], below: _Below, label: str) -> str:
    return "".join(each[below(f"{label}/{place}", len(each))] for place, each in enumerate(alphabets))


def _compute_value(inner: Table, operation: str, before: Mapping[str, Json]) -> Json:
    # Not isinstance, since a boolean is an int.
    numbers = [
        part if type(part) is int else _earlier_value(inner, operation, part, before)
        for part in as_values(inner.values[operation])
    ]
    if not numbers or any(type(number) is not int for number in numbers):
        raise inner.error_at("name numbers that were drawn before, with from and to", operation)
    return _OPERATIONS[operation](cast("Sequence[int]", numbers))


def _sorted_largest_first(inner: Table, before: Mapping[str, Json]) -> Json:
    keys = ("largest_first", "by" if "by" in inner.values else "largest_first")
    items, numbers = (_earlier_value(inner, key, inner.text(key), before) for key in keys)
    if not (isinstance(items, list) and isinstance(numbers, list) and len(items) == len(numbers)):
        raise inner.error_at("name a list, drawn with several, and by = a list of as many numbers")
    ranked: Any = zip(numbers, items, strict=True)
    return [item for _, item in sorted(ranked, key=itemgetter(0), reverse=True)]


def _earlier_value(inner: Table, key: str, name: object, before: Mapping[str, Json]) -> Json:
    if name not in before:
        raise inner.error_at(f"{unknown_name_message('draw', str(name), before)} (above this one)", key)
    return before[str(name)]


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE = rf"\{{(?P<name>{_NAME})(?P<path>(?:\.\w+)*)\}}"
_ANY = re.compile(rf"\{{\{{({_NAME}(?:\.\w+)*)\}}\}}|{_PLACE}")
"""A placeholder, or the doubled braces that stand for the text itself; ``{rooms.0}`` is a part of a value."""
_BARE = re.compile(_PLACE)
"""A placeholder alone: its value keeps its type."""


def fill_placeholders(value: Json, values: Mapping[str, Json], *place: str) -> Json:
    """A value with the drawn values in it; a text that is one placeholder takes the value's type.

    >>> fill_placeholders({"pieces": "{n}", "note": "{n} of {{n}}, {rooms.0}"}, {"n": 3, "rooms": ["hall"]})
    {'pieces': 3, 'note': '3 of {n}, hall'}
    """

    def value_of(found: re.Match[str]) -> Json:
        name, path = found["name"], found["path"]
        if name not in values:
            what = (
                unknown_name_message("draw", name, values) if values else f"nothing is drawn for {found[0]}"
            )
            raise PlaceError(place, f"{what} (for the text itself, write {{{found[0]}}})")
        part = value_at_json_pointer(values[name], path.replace(".", "/"))
        if path and part is None:
            raise PlaceError(place, f"{name!r} has no part {path[1:]!r}; it is {canonical(values[name])}")
        return part

    def change(text: str) -> Json:
        if bare := _BARE.fullmatch(text):
            return value_of(bare)
        return _ANY.sub(lambda found: f"{{{found[1]}}}" if found[1] else as_text(value_of(found)), text)

    return map_texts(value, change)


def escape_braces(value: Json) -> Json:
    """A value whose braces stand for themselves when it is filled."""
    return map_texts(value, lambda text: _BARE.sub(r"{{\1\2}}", text))

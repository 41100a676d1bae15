"""Arrays, objects with arbitrary keys, and unions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolreel.tools._python.types.values import InvalidValue, JsonType
from toolreel_core._jsontext.canonical import Json


def union(choices: Sequence[JsonType]) -> JsonType:
    """A union of types."""

    def read(value: Json) -> object:
        found, complaints = list[object](), list[InvalidValue]()
        for choice in choices:
            try:
                found.append(choice.read(value))
            except InvalidValue as error:
                complaints.append(error)
        if not found:
            deepest = max(complaints, key=lambda error: len(error.path))
            raise deepest if deepest.path or len(choices) == 1 else complaints[0]
        # A value that needs no conversion wins, so that "7" for `int | str` stays text.
        return next((result for result in found if type(result) is type(value)), found[0])

    schemas = [choice.schema for choice in choices]
    if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return JsonType({"type": [schema["type"] for schema in schemas]}, read)
    return JsonType({"anyOf": schemas}, read)


def items_reader(
    kind_at: Callable[[int], JsonType], build: Callable[[list[object]], object], count: int | None = None
) -> Callable[[Json], object]:
    """A reader of arrays.

    :param kind_at: the type of the item at an index
    :param build: makes the Python value of the items
    """

    def read(value: Json) -> object:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidValue.of(value, "an array")
        if count is not None and len(value) != count:
            raise InvalidValue.of(value, f"an array of {count}")
        items = list[object]()
        for at, item in enumerate(value):
            try:
                items.append(kind_at(at).read(item))
            except InvalidValue as error:
                raise error.under(at) from None
        return build(items)

    return read


def values_reader(read_key: Callable[[str], object], kind: JsonType) -> Callable[[Json], object]:
    """A reader of objects with arbitrary keys."""

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InvalidValue.of(value, "an object")
        values = dict[object, object]()
        for key, item in value.items():
            try:
                values[read_key(key)] = kind.read(item)
            except InvalidValue as error:
                raise error.under(key) from None
        return values

    return read

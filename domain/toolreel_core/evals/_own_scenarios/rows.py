"""The answers of a tool in a scenario file."""

from __future__ import annotations

from typing import Final

from returns.pipeline import is_successful

from toolreel_core._internal.config_checks import Table
from toolreel_core._jsontext.canonical import JsonText, canonical, read
from toolreel_core.evals._own_scenarios.table_world import Row

_KEYS: Final = ("when", "then", "json", "read", "set", "error", "times")
_EXCLUSIVE: Final = ("then", "json", "read", "error")


def rows_of(tool: Table, name: str, *, effect: bool) -> tuple[Row, ...]:
    """The rows under ``answers``, in their order.

    :raises PlaceError: at the first error
    """
    answers = tool.values.get("answers", [])
    if not isinstance(answers, list | tuple):
        raise tool.complaint(
            'expected a list: [{ when = { city = "Oslo" }, then = { celsius = 4 } }]', "answers"
        )
    tables = (Table.of(each, *tool.place, "answers", str(place)) for place, each in enumerate(answers, 1))
    return tuple(_row(table, name, effect=effect) for table in tables)


def _row(table: Table, name: str, *, effect: bool) -> Row:
    table.only(*_KEYS)
    given = [key for key in _EXCLUSIVE if key in table.values]
    if len(given) > 1:
        raise table.complaint(f"has {' and '.join(given)}; an answer has one of them")
    if not given and not effect:
        raise table.complaint('says no result; write then = { … }, read = "/place" or error = { … }')
    if "set" in table.values and not effect:
        raise table.complaint(
            "sets the world; write effect = true at the tool, since it does something", "set"
        )
    error = table.table("error").only("code", "message")
    if "error" in table.values and not error.text("code"):
        raise error.complaint("write a code, such as 'TIMEOUT'", "code")
    return Row(
        name,
        table.table("when").json(),
        _then(table),
        _pointer(table, "read"),
        tuple(
            (_checked(table, key), _json(table, value)) for key, value in table.table("set").values.items()
        ),
        error.text("code"),
        error.text("message"),
        table.whole("times"),
    )


def _then(table: Table) -> JsonText | None:
    if "json" in table.values:
        # TOML has no null.
        found = read(table.text("json"))
        if not is_successful(found):
            raise table.complaint(f"not JSON: {found.failure()}", "json")
        return canonical(found.unwrap())
    return _json(table, table.values["then"]) if "then" in table.values else None


def _json(table: Table, value: object) -> JsonText:
    return canonical(Table.of({"value": value}, *table.place).checked(canonical).values["value"])


def _pointer(table: Table, key: str) -> str:
    text = table.text(key)
    if key in table.values and not text.startswith("/"):
        raise table.complaint(f"expected a place in [world] such as '/stock/lamp', got {text!r}", key)
    return text


def _checked(table: Table, pointer: str) -> str:
    if not pointer.startswith("/"):
        raise table.complaint(f"expected places in [world] such as '/stock/lamp', got {pointer!r}", "set")
    return pointer

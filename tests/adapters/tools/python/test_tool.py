from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any, cast

import pytest

from tests.adapters.tools.python.test_host import call
from tests.samples import complaint
from toolreel.tools._isolation import Isolation
from toolreel.tools._python.host import PythonTools
from toolreel.tools._python.signature import definition_of
from toolreel.tools._python.tool import Tool, tool
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.surface import ToolDefinition


@tool
def count(part: str) -> int:
    """How many there are."""
    return len(part)


@tool(
    name="shop.book",
    description="Book one.",
    read_only=True,
    polling=True,
    needs_approval=True,
    idempotent=True,
    exposed=False,
    deadline_ms=500,
    max_args_bytes=100,
    max_output_bytes=200,
)
def book(part: str, day: date) -> str:
    """Book."""
    return f"{part} {day:%d.%m.}"


def test_a_marked_function_stays_what_it_is() -> None:
    assert count("pin") == 3
    assert book("pin", date(2026, 11, 22)) == "pin 22.11."


def test_what_is_said_of_a_function_goes_into_its_definition() -> None:
    assert Tool.of(count).definition == definition_of(count)
    assert Tool.of(book).definition == ToolDefinition(
        "shop.book",
        "Book one.",
        definition_of(book).parameters,
        read_only=True,
        polling=True,
        needs_approval=True,
        idempotent=True,
        exposed=False,
        deadline_ms=500,
        max_args_bytes=100,
        max_output_bytes=200,
    )


def test_what_is_said_where_it_is_handed_over_goes_before() -> None:
    made = Tool.of(book, name="book", needs_approval=False).definition
    assert (made.name, made.needs_approval, made.read_only) == ("book", False, True)


def test_a_host_takes_marked_functions_and_methods_as_they_are() -> None:
    class Shop:
        @tool(name="shop.stock", read_only=True)
        def stock(self, part: str) -> int:
            """How many there are."""
            return len(part)

    tools = PythonTools([book, Shop().stock])
    assert [definition.name for definition in tools.surface.definitions] == ["shop.book", "shop.stock"]
    assert tools.run(call("shop.stock", part="pin")) == ToolReturned(4, "3")
    assert tools.run(call("shop.book", part="pin", day="2026-11-22")) == ToolReturned(4, '"pin 22.11."')


def test_a_definition_that_the_signature_made_has_its_arguments_read() -> None:
    assert PythonTools([Tool(definition_of(book), book)]).run(
        call("book", part="pin", day="2026-11-22")
    ) == ToolReturned(4, '"pin 22.11."')


def test_with_a_schema_of_its_own_a_tool_gets_plain_json() -> None:
    def kind(day: date) -> str:
        return type(day).__name__

    for schema, told in ((None, "date"), ({"type": "object"}, "str")):
        tools = PythonTools([Tool.of(kind, parameters=schema)])
        assert tools.run(call("kind", day="2026-11-22")) == ToolReturned(4, f'"{told}"')


def test_a_name_helps_where_a_function_has_none() -> None:
    nameless = cast("Callable[..., object]", partial(lambda: 3))
    assert PythonTools([Tool.of(nameless, name="three")]).run(call("three")) == ToolReturned(4, "3")


def test_what_takes_no_mark_is_sent_to_the_constructor() -> None:
    told = complaint(ConfigError, lambda: tool(len))
    assert told.endswith("does not accept attributes; use Tool.of instead of @tool")


@pytest.mark.parametrize(
    ("isolated", "made"),
    [(False, None), (True, Isolation()), (Isolation(memory_bytes=9), Isolation(memory_bytes=9))],
)
def test_a_tool_may_have_a_process_of_its_own(isolated: bool | Isolation, made: Isolation | None) -> None:
    assert Tool.of(count, isolated=isolated).isolation == made


def test_a_setting_that_there_is_not_is_refused() -> None:
    settings: dict[str, Any] = {"readonly": True}
    with pytest.raises(TypeError, match="readonly"):
        Tool.of(count, **settings)

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from tests.adapters.tools.python.test_host import call
from tests.samples import complaint, worked
from toolreel._internal import ToolModuleError
from toolreel.tools import Isolation, PythonTools, RunContext, Tool, Toolbox, load_tools, signature_of, tool
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json
from toolreel_core._protocol import ToolReturned
from toolreel_core._tools import ToolDefinition


@tool
def count(part: str) -> int:
    """How many there are."""
    return len(part)


SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("read_only", "polling", "needs_approval", "idempotent"), True),
    "exposed": False,
    "deadline_ms": 500,
    "max_args_bytes": 100,
    "max_output_bytes": 200,
}


@tool(name="shop.book", description="Book one.", **SETTINGS)
def book(part: str, day: date) -> str:
    """Book."""
    return f"{part} {day:%d.%m.}"


def test_a_marked_function_stays_what_it_is() -> None:
    assert count("pin") == 3
    assert book("pin", date(2026, 11, 22)) == "pin 22.11."


def test_what_is_said_of_a_function_goes_into_its_definition() -> None:
    assert Tool.of(count).definition == signature_of(count).definition
    parameters = signature_of(book).definition.parameters
    assert Tool.of(book).definition == ToolDefinition("shop.book", "Book one.", parameters, **SETTINGS)
    # What is said where it is handed over goes before.
    made = Tool.of(book, name="book", needs_approval=False, isolated=True)
    found = made.definition
    assert (found.name, found.needs_approval, found.read_only) == ("book", False, True)
    assert made.isolation == Isolation()
    settings: dict[str, Any] = {"readonly": True}
    with pytest.raises(TypeError, match="readonly"):
        Tool.of(count, **settings)


def test_a_host_takes_marked_functions_and_methods_as_they_are() -> None:
    class Shop:
        @tool(name="shop.stock", read_only=True)
        def stock(self, part: str) -> int:
            """How many there are."""
            return len(part)

    tools = PythonTools([book, Shop().stock])
    assert [definition.name for definition in tools.surface.definitions] == ["shop.book", "shop.stock"]
    assert tools.run(call("shop.stock", part="pin")) == ToolReturned(4, "3")
    hidden = call("shop.book", part="pin", day="2026-11-22")
    assert complaint(ConfigError, lambda: tools.run(hidden)) == (
        "tool 'shop.book' is not exposed, so that no run may call it"
    )
    shown = PythonTools([Tool.of(book, exposed=True)])
    assert shown.run(hidden) == ToolReturned(4, '"pin 22.11."')


def test_with_a_schema_of_its_own_a_tool_gets_plain_json() -> None:
    def kind(day: date) -> str:
        return type(day).__name__

    for schema, told in ((None, "date"), ({"type": "object"}, "str")):
        tools = PythonTools([Tool.of(kind, parameters=schema)])
        assert tools.run(call("kind", day="2026-11-22")) == ToolReturned(4, f'"{told}"')
    nameless = cast("Callable[..., object]", partial(lambda: 3))
    assert PythonTools([Tool.of(nameless, name="three")]).run(call("three")) == ToolReturned(4, "3")


def test_a_schema_without_what_its_function_needs_is_refused() -> None:
    def weigh(context: RunContext[None], part: str, unit: str, *rest: str, digits: int = 1) -> str:
        return f"{context.key} {part} {unit} {rest} {digits}"

    one: dict[str, Json] = {"type": "object", "properties": {"part": {}}}
    both: dict[str, Json] = {"type": "object", "properties": {"part": {}, "unit": {}}}
    assert complaint(ConfigError, lambda: Tool.of(weigh, parameters=one)) == (
        "tool 'weigh': its schema has no 'unit', which the function needs; add it, or give it a default"
    )
    for schema in (both, {"type": "object"}, {**one, "allOf": [both]}):
        assert Tool.of(weigh, parameters=schema).arguments.context == "context"
    assert Tool.of(partial(weigh, unit="g"), name="weigh", parameters=one).arguments.kinds == {}


SHED = '''
from toolreel_core._tools import ToolDefinition
from toolreel.tools import Tool

def saw(wood: str) -> str:
    """Saw."""
    return wood

def drill() -> None:
    """Drill."""

TOOLS = [saw, Tool(ToolDefinition.of("nail"), lambda: None)]
PAIR = (saw, drill)
LENGTH = 3
MIXED = [saw, "drill"]
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A working directory with modules in it, forgotten again afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = {*sys.modules}
    (tmp_path / "shed.py").write_text(SHED)
    yield tmp_path
    for name in {*sys.modules} - known:
        del sys.modules[name]


def test_a_function_or_a_list_of_tools_is_found_in_the_working_directory(here: Path) -> None:
    assert Toolbox(load_tools(["shed:saw"])).surface.names == ("saw",)
    assert "state_get" in Toolbox(load_tools(["toolreel.demo:TOOLS"])).surface.names
    assert sys.path.count(str(here)) == 1
    assert Toolbox(load_tools(["shed:TOOLS", "shed:drill"])).surface.names == ("saw", "nail", "drill")
    assert Toolbox(load_tools(["shed:PAIR"])).surface.names == ("saw", "drill")
    assert isinstance(load_tools(["shed:TOOLS"])[1], Tool)


def test_a_file_is_found_where_it_is_with_what_it_imports_beside_it(here: Path) -> None:
    (here / "agents").mkdir()
    (here / "agents" / "planks.py").write_text("WIDTH = 3\n")
    (here / "agents" / "bench.py").write_text(
        'from planks import WIDTH\n\ndef cut(at: int) -> int:\n    """Cut."""\n    return at * WIDTH\n'
    )
    assert Toolbox(load_tools(["shed.py:saw", "agents/bench.py:cut"])).surface.names == ("saw", "cut")


def test_a_file_with_the_name_of_another_module_is_refused(here: Path) -> None:
    (here / "json.py").write_text("TOOLS = []\n")
    assert "another module is named json; rename the file" in refusal("json.py:TOOLS")


def refusal(name: str) -> str:
    return complaint(ToolModuleError, lambda: load_tools([name]))


FORM = "expected module:attribute, for example my_tools:TOOLS"
KIND = "expected a function, a Tool, a list of them or a PythonTools"


@pytest.mark.parametrize(("name", "why"), worked("a name that leads to no tools is refused", "tools"))
def test_a_name_that_leads_to_no_tools_is_refused(name: str, why: str) -> None:
    assert refusal(name) == f"--tools {name}: {why}"


def test_a_host_stands_for_its_tools(here: Path) -> None:
    hosts = "from shed import *\nfrom toolreel import PythonTools\n"
    hosts += "HOST = PythonTools([saw, drill], deny=['drill'])\nDEPS = PythonTools([saw], deps={})\n"
    (here / "hosts.py").write_text(hosts)
    assert Toolbox(load_tools(["hosts:HOST"])).surface.names == ("saw",)
    assert refusal("hosts:DEPS") == (
        "--tools hosts:DEPS: a PythonTools with deps, a deadline or on_error cannot be used here, "
        "since its calls need them; name a list of tools"
    )


def test_a_module_that_breaks_on_import_is_named_with_the_line(here: Path) -> None:
    path = here / "broken.py"
    path.write_text("a = 1\nb = a / 0\n")
    assert refusal("broken:a") == (
        "--tools broken:a: importing broken failed with ZeroDivisionError: division by zero "
        f"(line 2 of {path})"
    )
    (here / "leaving.py").write_text("raise SystemExit(3)\n")
    assert "importing leaving failed with SystemExit: 3 (line 1 of " in refusal("leaving:a")

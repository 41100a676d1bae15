from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.samples import complaint
from toolreel._errors import ToolModuleError
from toolreel.tools._python.loading import load_tools
from toolreel.tools._python.tool import Tool
from toolreel.tools._python.toolbox import Toolbox

SHED = '''
from toolreel_core._tools.surface import ToolDefinition
from toolreel.tools._python.tool import Tool

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


def test_a_function_or_a_list_of_tools_is_found_in_the_working_directory() -> None:
    assert Toolbox(load_tools(["shed:saw"])).surface.names == ("saw",)
    assert Toolbox(load_tools(["shed:TOOLS", "shed:drill"])).surface.names == ("saw", "nail", "drill")
    assert Toolbox(load_tools(["shed:PAIR"])).surface.names == ("saw", "drill")
    assert isinstance(load_tools(["shed:TOOLS"])[1], Tool)


def test_the_working_directory_is_put_on_the_path_once(here: Path) -> None:
    load_tools(["shed:saw"])
    load_tools(["shed:saw"])
    assert sys.path.count(str(here)) == 1


def test_an_installed_module_is_found_too() -> None:
    names = Toolbox(load_tools(["toolreel.demo:TOOLS"])).surface.names
    assert "state_get" in names


def test_nothing_is_asked_for_and_nothing_found() -> None:
    assert load_tools([]) == []


def refusal(name: str) -> str:
    return complaint(ToolModuleError, lambda: load_tools([name]))


@pytest.mark.parametrize("name", ["shed", "shed:", ":saw", ""])
def test_a_name_in_another_form_is_refused_with_an_example(name: str) -> None:
    assert refusal(name) == f"--tools {name}: expected module:attribute, for example my_tools:TOOLS"


def test_a_module_that_is_not_there_is_named() -> None:
    assert refusal("shet:saw") == "--tools shet:saw: cannot import shet: No module named 'shet'"


def test_an_attribute_that_is_not_there_is_named_with_the_nearest() -> None:
    assert refusal("shed:TOOL") == "--tools shed:TOOL: shed has no 'TOOL'; did you mean 'TOOLS'?"
    assert refusal("shed:xyz") == "--tools shed:xyz: shed has no 'xyz'"


def test_what_is_no_tool_is_refused() -> None:
    expected = "is not a tool; expected a function, a Tool or a list of them"
    assert refusal("shed:LENGTH") == f"--tools shed:LENGTH: 3 {expected}"
    assert refusal("shed:MIXED") == f"--tools shed:MIXED: 'drill' {expected}"


def test_a_module_that_breaks_on_import_is_named_with_the_line(here: Path) -> None:
    path = here / "broken.py"
    path.write_text("a = 1\nb = a / 0\n")
    assert refusal("broken:a") == (
        "--tools broken:a: importing broken failed with ZeroDivisionError: division by zero "
        f"(line 2 of {path})"
    )


def test_a_module_that_is_no_python_is_named(here: Path) -> None:
    (here / "odd.py").write_text("a = = 1\n")
    assert refusal("odd:a") == (
        "--tools odd:a: importing odd failed with SyntaxError: invalid syntax (odd.py, line 1)"
    )


def test_a_module_that_wants_to_end_the_program_is_named(here: Path) -> None:
    path = here / "leaving.py"
    path.write_text("raise SystemExit(3)\n")
    assert refusal("leaving:a") == (
        f"--tools leaving:a: importing leaving failed with SystemExit: 3 (line 1 of {path})"
    )


def test_a_module_whose_own_import_fails_says_which(here: Path) -> None:
    (here / "poor.py").write_text("import no_such_module\n")
    assert refusal("poor:a") == "--tools poor:a: cannot import poor: No module named 'no_such_module'"

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import pytest

import toolreel_core
from toolreel_core import (
    catalogues,
    codec,
    content,
    outcomes,
    phases,
    replies,
    tools,
    transforms,
)
from toolreel_core._lazy_pattern import lazy_pattern


def test_the_public_names_are_loaded_when_they_are_used() -> None:
    assert "step" in dir(toolreel_core)
    assert all(getattr(toolreel_core, name) is not None for name in dir(toolreel_core))


@pytest.mark.parametrize(
    "module", [catalogues, codec, content, outcomes, phases, replies, tools, transforms], ids=str
)
def test_each_module_has_what_it_lists(module: ModuleType) -> None:
    names = set(vars(module)["__all__"])
    assert names <= vars(module).keys()
    assert not names & set(dir(toolreel_core))


@pytest.mark.parametrize("name", ["no_such_name", "_no_such_module"])
def test_another_name_is_an_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(toolreel_core, name)


@pytest.mark.parametrize(
    ("home", "hooks", "error"),
    [
        ("toolreel_core.no_such_module", "lazy_exports('package')", ModuleNotFoundError),
        ("toolreel_core", "lazy_exports('toolreel_core')", ModuleNotFoundError),
        (
            "toolreel_core",
            "lazy_exports('toolreel_core', instead=lambda at: LookupError(at.name))",
            LookupError,
        ),
    ],
)
def test_a_failed_import_is_an_error_that_the_package_may_replace(
    home: str, hooks: str, error: type[Exception]
) -> None:
    source = f"""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from {home} import no_such_module
else:
    from toolreel_core._lazy_names import lazy_exports
    load, names = {hooks}
"""
    package: dict[str, Any] = {}
    exec(source, package)  # noqa: S102 - the hooks read the imports of the module that calls
    with pytest.raises(error, match="no_such_module"):
        package["load"]("no_such_module")


def test_a_pattern_can_be_copied_before_its_first_use() -> None:
    assert copy.copy(lazy_pattern("a+")).fullmatch("aa")

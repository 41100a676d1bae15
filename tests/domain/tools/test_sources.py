from __future__ import annotations

from typing import Any

from tests.samples import ECHO, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._tools import ToolDefinition, ToolSource, ToolSurface, compose

READ = ToolDefinition.of("files.read")
WRITE = ToolDefinition.of("files.write")
FETCH = ToolDefinition.of("fetch")
FILES = ToolSource("files", (READ, WRITE))
WEB = ToolSource("web", (FETCH,))
ALL = ToolSurface((READ, WRITE, FETCH))


def test_sources_become_one_surface_in_their_order() -> None:
    assert compose(WEB, FILES) == ToolSurface((FETCH, READ, WRITE))
    assert compose(FILES, WEB) == ALL
    assert [tool.source for tool in compose(FILES, WEB).definitions] == ["files", "files", "web"]


def test_no_source_is_an_empty_surface() -> None:
    assert compose() == ToolSurface()


def test_a_clash_names_both_sources_and_the_remedy() -> None:
    cloud = ToolSource("cloud", (ECHO, WRITE))
    assert complaint(ConfigError, lambda: compose(FILES, cloud)) == (
        "tool 'files.write' comes from 'files' and from 'cloud'; rename one of the two, "
        "or leave one source out"
    )


def test_a_clash_is_one_even_if_a_mask_would_take_it_away() -> None:
    cloud = ToolSource("cloud", (WRITE,))
    assert "comes from 'files' and from 'cloud'" in (
        complaint(ConfigError, lambda: compose(FILES, cloud, deny=["files.write"]))
    )


def test_two_sources_may_not_share_a_name() -> None:
    assert complaint(ConfigError, lambda: compose(FILES, WEB, ToolSource("files", ()))) == (
        "source 'files' is given twice; rename one of the two"
    )


def test_a_list_of_sources_or_something_else_is_told_what_to_write() -> None:
    wrong: Any = [FILES, WEB]
    assert complaint(ConfigError, lambda: compose(wrong)) == (
        "compose: expected ToolSource values, one argument each, got list; "
        'write compose(ToolSource("name", definitions), …)'
    )


def test_a_source_has_a_name() -> None:
    assert complaint(ConfigError, lambda: ToolSource(" ", ())).startswith("source: expected a name")

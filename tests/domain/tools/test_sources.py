from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.samples import ECHO, complaint
from toolreel_core._errors import ConfigError
from toolreel_core._tools import ToolDefinition, ToolSource, ToolSurface, compose, masked

READ = ToolDefinition.of("files.read")
WRITE = ToolDefinition.of("files.write")
FETCH = ToolDefinition.of("fetch")
FILES = ToolSource("files", (READ, WRITE))
WEB = ToolSource("web", (FETCH,))
ALL = ToolSurface((READ, WRITE, FETCH))


@pytest.mark.parametrize(
    ("allow", "deny", "left"),
    [
        (None, [], ("files_read", "files_write", "fetch")),
        ([], [], ()),
        (["files.read"], [], ("files_read",)),
        (["fetch", "files_read"], [], ("files_read", "fetch")),
        (["files.*"], [], ("files_read", "files_write")),
        (None, ["files_*"], ("fetch",)),
        (None, ["*"], ()),
        (["*"], ["*.write"], ("files_read", "fetch")),
        (["fetch"], ["fetch"], ()),
    ],
)
def test_what_is_allowed_and_not_denied_is_left(
    allow: list[str] | None, deny: list[str], left: tuple[str, ...]
) -> None:
    surface = compose(FILES, WEB, allow=allow, deny=deny)
    assert surface == masked(ALL, allow=allow, deny=deny)
    assert surface.names == left
    assert {*surface.masked, *(tool.name for tool in surface.definitions)} == {
        "files.read",
        "files.write",
        "fetch",
    }


def test_masking_again_only_takes_away() -> None:
    once = masked(ALL, deny=["files.write"])
    twice = masked(once, allow=["files.*"])
    assert twice.names == ("files_read",)
    assert twice.masked == ("files.write", "fetch")


def test_patterns_may_come_from_anything_that_gives_them_once() -> None:
    assert masked(ALL, allow=iter(["fetch", "files.read"])).names == ("files_read", "fetch")


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (
            lambda: masked(ALL, allow=["file_read"]),
            "allow: there is no tool 'file_read'; did you mean 'files_read'?",
        ),
        (
            lambda: masked(ALL, deny=["fetch", "filse.*"]),
            "deny: there is no tool 'filse.*'; did you mean 'files.read'?",
        ),
        (
            lambda: masked(ALL, deny=["mcp_*"]),
            "deny: there is no tool 'mcp_*'; there are: files.read, files_read, files.write, files_write, "
            "fetch",
        ),
        (lambda: compose(allow=["fetch"]), "allow: there is no tool 'fetch'; there are no tools at all"),
    ],
)
def test_a_mask_that_means_no_tool_is_an_error_with_a_suggestion(act: Callable[[], Any], why: str) -> None:
    assert complaint(ConfigError, act) == why


def test_one_text_is_not_a_list_of_names() -> None:
    assert complaint(ConfigError, lambda: masked(ALL, deny="fetch")) == (
        "deny: expected a list of names, got 'fetch'"
    )


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

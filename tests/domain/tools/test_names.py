from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._errors import ConfigError
from toolreel_core._tools import check_name, matches, outward_name, prefixed_name

INNER = st.text("abcXYZ019_./:-", min_size=1, max_size=256)
LONG = "files." + "x" * 60


@pytest.mark.parametrize("name", ["a", "A-z_09", "files.read", "mcp/server:tool", "x" * 256])
def test_a_name_may_say_more_inside_than_outside(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "two words", "é", "newline\n", "x" * 257])
def test_any_other_name_is_refused_with_what_is_allowed(name: str) -> None:
    assert complaint(ConfigError, lambda: check_name(name)) == (
        f"tool name {name!r} does not fit [a-zA-Z0-9_./:-]{{1,256}}; use letters, digits and _ . / : - only"
    )


@pytest.mark.parametrize(
    ("name", "outward"),
    [
        ("echo", "echo"),
        ("A-z_09", "A-z_09"),
        ("files.read", "files_read"),
        ("mcp/a:b", "mcp_a_b"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 55 + "_9537c5fd"),
        (LONG, "files_" + "x" * 49 + "_e74d9f60"),
    ],
)
def test_the_model_sees_a_name_that_every_provider_takes(name: str, outward: str) -> None:
    assert outward_name(name) == outward


@given(INNER)
def test_an_outward_name_fits_the_rule_and_is_its_own(name: str) -> None:
    outward = outward_name(name)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", outward)
    assert outward_name(outward) == outward


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert outward_name(LONG + "a") != outward_name(LONG + "b")


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("files.read", "files.read", True),
        ("files_read", "files.read", True),
        ("files", "files.read", False),
        ("files?read", "files.read", False),
        ("*", "anything", True),
        ("files.*", "files.read", True),
        ("files_*", "files.read", True),
        ("files_*", "file.read", False),
        ("*.read", "files.read", True),
        ("*_write", "files.read", False),
        ("f*.*d", "files.read", True),
        ("f*s*e*d", "files.read", True),
        ("f*s*l*d", "files.read", False),
        ("ab*ba", "aba", False),
        ("ab*ba", "abba", True),
        ("", "a", False),
    ],
)
def test_a_pattern_means_a_tool_in_either_form(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) == fits


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("mcp", "git", "git_log"), "mcp_git_git_log"),
        (("mcp", "my files", "read.text"), "mcp_my_files_read.text"),
        (("mcp", "é", "a/b:c"), "mcp___a/b:c"),
    ],
)
def test_a_tool_of_a_source_has_a_name_that_says_whose_it_is(parts: tuple[str, ...], name: str) -> None:
    assert prefixed_name(*parts) == name
    check_name(name)


def test_a_name_that_is_too_long_is_shortened_with_a_digest() -> None:
    names = [prefixed_name("mcp", "s", "x" * length) for length in (300, 299)]
    assert [len(name) for name in names] == [256, 256]
    assert names[0] != names[1]

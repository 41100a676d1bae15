from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._replies import meant_name

KNOWN_NAMES = ("stock_lookup", "ping", "files.read", "multi-part")


@pytest.mark.parametrize("name", KNOWN_NAMES)
def test_the_name_of_a_tool_is_taken_as_it_is(name: str) -> None:
    assert meant_name(name, KNOWN_NAMES) == (name, ())


@pytest.mark.parametrize(
    "given_name",
    [
        " stock_lookup\n",
        "functions.stock_lookup",
        "default_api.stock_lookup",
        "default_api:stock_lookup",
        "tool:stock_lookup",
        "stock.lookup",
        "functions.stock.lookup",
        "functions.stock_lookup:0",
        "stock_lookup<|channel|>commentary",
        "stock_lookup <|",
        "stock_lookup<\uff5ctool▁sep\uff5c>",
        "functions.stock_lookup<|channel|>json",
        "stock_lookup</arg_value>",
        "stock_lookupstock_lookup",
    ],
)
def test_what_leaked_into_a_name_is_taken_off_where_a_tool_is_left(given_name: str) -> None:
    assert meant_name(given_name, KNOWN_NAMES) == ("stock_lookup", ("NAME_NORMALIZED",))


@pytest.mark.parametrize(
    "given_name",
    [
        "Ping",
        "stock-lookup",
        "stocklookup",
        "multi_part",
        "functions.unknown",
        "functions_ping",
        "my.ping",
        "ping:0",
        "stock_lookup<arg_key>part</arg_key>",
        "files_read",
        "functions.",
        "nothingnothing",
        "pingpingping",
        "<|channel|>ping",
    ],
)
def test_nothing_is_guessed(given_name: str) -> None:
    assert meant_name(given_name, KNOWN_NAMES) == (given_name, ("NAME_UNKNOWN",))


def test_an_unknown_name_loses_what_no_name_can_have() -> None:
    assert meant_name(" nothing<|channel|>", KNOWN_NAMES) == ("nothing", ("NAME_NORMALIZED", "NAME_UNKNOWN"))


def test_a_name_that_is_all_leaked_tokens_stays_a_name() -> None:
    assert meant_name("<|tool_call_begin|>ping", KNOWN_NAMES) == (
        "<|tool_call_begin|>ping",
        ("NAME_UNKNOWN",),
    )


def test_a_tool_whose_name_looks_spoilt_keeps_it() -> None:
    assert meant_name("functions.ping", ["ping", "functions.ping"]) == ("functions.ping", ())


@given(st.text(min_size=1))
def test_a_name_is_a_tools_or_said_to_be_unknown(name: str) -> None:
    meant, codes = meant_name(name, KNOWN_NAMES)
    assert (meant in KNOWN_NAMES) != ("NAME_UNKNOWN" in codes)
    assert (meant != name) == ("NAME_NORMALIZED" in codes)


@pytest.mark.parametrize("name", ["Ping", " ping", "functions.ping", "nothing"])
def test_a_name_that_is_not_mended_is_a_tools_or_unknown(name: str) -> None:
    assert meant_name(name, KNOWN_NAMES, exact=True) == (name, ("NAME_UNKNOWN",))
    assert meant_name("ping", KNOWN_NAMES, exact=True) == ("ping", ())

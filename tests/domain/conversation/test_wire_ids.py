from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyrsistent import PMap, pmap

from tests.samples import ID_FORMS, printed_under
from toolreel_core._conversation.wire_ids import free_id
from toolreel_core._settings.provider import IdStyle

STYLES: tuple[IdStyle, ...] = get_args(IdStyle)
LONG = "call_" + "x" * 36


def sent(*wanted: str, style: IdStyle, name: str = "ping") -> list[str]:
    """The ids under which calls with these go out, one after another."""
    used_ids: PMap[str, int] = pmap()
    ids: list[str] = []
    for each in wanted:
        ids.append(free_id(each, name, len(ids), used_ids, style))
        used_ids = used_ids.set(each, (used_ids.get(each) or 0) + 1)
        used_ids = used_ids if ids[-1] in used_ids else used_ids.set(ids[-1], 1)
    return ids


@pytest.mark.parametrize(
    ("style", "native"),
    [
        ("keep", "any id at all, é"),
        ("openai", "call_abc-123"),
        ("openai", "toolu_01A09q90qw90lq917835lq9"),
        ("kimi", "functions.ping:7"),
        ("kimi", "functions.files.read-all:0"),
        ("alnum9", "D681PevKs"),
    ],
)
def test_an_id_that_has_the_form_already_goes_out_as_it_is(style: IdStyle, native: str) -> None:
    assert sent(native, style=style) == [native]


@pytest.mark.parametrize("wanted", ["", "call é", "call.1", LONG, "functions.ping:0", "a\n"])
def test_openai_takes_up_to_40_letters_digits_and_dashes(wanted: str) -> None:
    (own,) = sent(wanted, style="openai")
    assert re.fullmatch(r"call_[A-Za-z0-9]{24}", own)


@pytest.mark.parametrize(
    "wanted", ["", "call_0", "ping:0", "functions.ping", "functions.ping:٣", "functions.:0"]
)
def test_kimi_counts_calls_over_the_whole_conversation(wanted: str) -> None:
    assert sent(wanted, style="kimi") == ["functions.ping:0"]
    assert sent("functions.a:0", "functions.b:1", wanted, style="kimi")[2] == "functions.ping:2"


def test_kimi_passes_over_a_number_that_is_taken() -> None:
    assert sent("functions.ping:1", "call_a", "call_b", style="kimi") == [
        *("functions.ping:1", "functions.ping:2", "functions.ping:3"),
    ]


@pytest.mark.parametrize("wanted", ["", "call_0", "D681PevK", "D681PevKs1", "D681Pev_s", "D681PevKé"])
def test_mistral_takes_nine_letters_and_digits(wanted: str) -> None:
    (own,) = sent(wanted, style="alnum9")
    assert re.fullmatch(r"[A-Za-z0-9]{9}", own)


def test_an_id_that_comes_again_is_told_apart() -> None:
    assert sent("a", "a", "a_2", "a", style="keep") == ["a", "a_2", "a_2_2", "a_3"]
    assert sent("functions.ping:0", "functions.ping:0", style="kimi") == [
        "functions.ping:0",
        "functions.ping:1",
    ]


def test_a_call_without_an_id_gets_one() -> None:
    assert sent("", "", "call_2", style="keep") == ["call_1", "call_2", "call_2_2"]


@pytest.mark.parametrize("style", STYLES)
@given(
    wanted=st.lists(st.sampled_from(["", "a", "a_2", "call_1", "functions.x:1", "D681PevKs", LONG, "\ud83d"]))
)
def test_ids_are_unique_have_the_form_and_stay_when_they_go_out_again(
    style: IdStyle, wanted: list[str]
) -> None:
    own = sent(*wanted, style=style)
    assert len({*own}) == len(own)
    assert all(re.fullmatch(ID_FORMS[style], each) for each in own)
    assert sent(*own, style=style) == own


def test_an_id_that_is_made_follows_from_the_wanted_one_alone() -> None:
    (alone,) = sent("call é", style="alnum9")
    assert sent("call_a", "call_b", "call é", style="alnum9")[2] == alone
    program = (
        "from tests.domain.conversation.test_wire_ids import sent; print(sent('call é', style='alnum9')[0])"
    )
    assert {printed_under(seed, program) for seed in range(2)} == {alone}

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._plan.presets.list_patches import NamesPatch, joined, names_of

NAMES = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)
PATCHES: st.SearchStrategy[NamesPatch] = NAMES | NAMES.filter(bool).map(lambda names: {"only": names})


def test_a_list_adds_what_is_not_there_yet_in_order() -> None:
    assert joined(["b", "a"], ["a", "c"]) == ["b", "a", "c"]


def test_an_empty_list_clears() -> None:
    assert joined(["a"], []) == []
    assert joined({"only": ["a"]}, []) == []


def test_clearing_and_then_adding_is_remembered_as_both() -> None:
    assert joined([], ["a"]) == {"only": ["a"]}
    assert joined(["b"], {"only": ["a"]}) == {"only": ["a"]}
    assert joined({"only": ["a"]}, ["a", "b"]) == {"only": ["a", "b"]}


@given(PATCHES, PATCHES, PATCHES)
def test_it_does_not_matter_which_two_of_three_are_joined_first(
    one: NamesPatch, two: NamesPatch, three: NamesPatch
) -> None:
    assert joined(joined(one, two), three) == joined(one, joined(two, three))


def test_the_names_of_a_patch_are_those_that_it_leaves_behind() -> None:
    assert names_of(["a", "b"]) == names_of({"only": ["a", "b"]}) == ("a", "b")
    assert names_of([]) == ()


def test_what_is_no_patch_has_no_names() -> None:
    assert names_of("abc") == names_of({"others": ["a"]}) == names_of(None) == ()

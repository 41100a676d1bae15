from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.samples import IF_YOUR_OWN, complaint
from toolreel_core._config_checks import Registry, unknown_name_message
from toolreel_core._errors import ConfigError


@pytest.mark.parametrize("known", [["alpha", "beta"], ("alpha", "beta"), {"alpha": 1, "beta": 2}])
def test_a_name_that_does_not_exist_is_told_with_the_nearest_that_does(
    known: list[str] | tuple[str, ...] | Mapping[str, object],
) -> None:
    assert (
        unknown_name_message("provider", "nope", ["openai"])
        == "there is no provider 'nope'; there are: openai"
    )
    assert unknown_name_message("profile", "grok", ["qwen", "grok_default"]).endswith(
        "did you mean 'grok_default'?"
    )
    assert unknown_name_message("letter", "alpa", known) == "there is no letter 'alpa'; did you mean 'alpha'?"
    assert unknown_name_message("letter", "q", known) == "there is no letter 'q'; there are: alpha, beta"


def test_a_name_that_is_taken_is_refused_and_keeps_its_meaning() -> None:
    pets = Registry[int]("pet")
    pets.add("cat", 4)
    said = complaint(ConfigError, lambda: pets.add("cat", 3))
    assert said == "there is a pet 'cat' already; choose another name"
    assert pets["cat"] == 4


@pytest.mark.parametrize("name", ["", "Cat", "9lives", "a cat", "a-cat", "cät", "c" * 65])
def test_what_is_no_name_is_refused(name: str) -> None:
    assert complaint(ConfigError, lambda: Registry[int]("pet").add(name, 4)) == (
        f"pet {name!r}: a name begins with a small letter and has only small letters, digits and _, "
        "at most 64"
    )


def test_a_name_that_nothing_has_is_told_with_the_nearest() -> None:
    pets = Registry[int]("pet")
    pets.add("house_cat", 4)
    assert complaint(ConfigError, lambda: pets["hose_cat"]) == (
        f"there is no pet 'hose_cat'; did you mean 'house_cat'? {IF_YOUR_OWN}"
    )

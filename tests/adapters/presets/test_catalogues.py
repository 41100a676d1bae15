"""Reading catalogues: the user's own over the shipped one, and what is said of one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.samples import complaint
from toolreel._internal import CatalogueError
from toolreel.presets import CATALOGUE_VARIABLE, shipped, with_files
from toolreel_core._jsontext import parse

OWN = """
[preset.mine]
about = "Mine."
verified_on = 2026-11-22    # a day of TOML's own
[preset.mine.config]
max_turns = 4

[model."my/model"]
presets = ["mine", "deepseek_openrouter_compat"]

[sampling.cold]
options = { temperature = 0 }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def test_a_catalogue_of_ones_own_goes_over_the_shipped_one(own: Path) -> None:
    collection = with_files([own], {})
    assert collection.names == (*shipped().names, "mine")
    assert collection.get("mine").verified_on == "2026-11-22"
    assert parse(collection.profile("cold").options) == {"temperature": 0}
    assert collection.for_("openrouter", "my/model").names == (
        *("default_tool_calling", "openrouter"),
        *("mine", "deepseek_openrouter_compat"),
    )


def test_the_environment_names_catalogues_too_and_an_option_goes_over_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{turns}.toml" for turns in (1, 2, 3)]
    for turns, path in enumerate(paths, 1):
        path.write_text(f"[preset.mine.config]\nmax_turns = {turns}\n")
    environ = {CATALOGUE_VARIABLE: os.pathsep.join(map(str, paths[:2]))}
    found = [with_files(given, environ).get("mine").config for given in ([], [paths[2]])]
    assert found == ['{"max_turns":2}', '{"max_turns":3}']
    monkeypatch.setenv(CATALOGUE_VARIABLE, environ[CATALOGUE_VARIABLE])
    assert "mine" in with_files().names
    assert with_files(environ={}) is shipped() is shipped()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[preset.mine]\nabout =\n", "not TOML: Invalid value (at line 2"),
        (
            "[preset.mine.config]\nmax_turn = 3\n",
            "preset.mine.config: there is no setting 'max_turn'; did you mean 'max_turns'?",
        ),
        ("[preset]\nmine = " + "[" * 10_000, "nested too deep"),
    ],
    ids=["no value", "a setting", "nesting without end"],
)
def test_a_mistake_is_told_in_one_line_with_file_and_place(text: str, why: str, own: Path) -> None:
    own.write_text(text)
    said = complaint(CatalogueError, lambda: with_files([own], {}))
    assert said.startswith(str(own))
    assert why in said
    assert "\n" not in said


def test_a_file_that_cannot_be_read_is_told_with_the_remedy(tmp_path: Path) -> None:
    missing, latin = tmp_path / "missing.toml", tmp_path / "latin.toml"
    latin.write_bytes(b"# caf\xe9\n")
    assert complaint(CatalogueError, lambda: with_files([missing], {})) == (
        f"{missing}: there is no such catalogue; correct {CATALOGUE_VARIABLE}"
    )
    assert complaint(CatalogueError, lambda: with_files([latin], {})) == (
        f"{latin}: not UTF-8 at byte 5; save it as UTF-8"
    )
    assert complaint(CatalogueError, lambda: with_files([tmp_path], {})) == (
        f"{tmp_path}: cannot be read: Is a directory"
    )

"""Front matter, as we read it and as the reference library does, over the same folders."""

from __future__ import annotations

from pathlib import Path

import pytest
import skills_ref

from tests.adapters.tools.skills.skills_here import front, write_skill
from tests.samples import complaint, worked
from toolreel._internal import SkillError
from toolreel.tools.skills import parse_skill, read_skill

EVERYTHING = front(license="MIT", compatibility="Needs git.", metadata="\n  author: us\n  version: 1.0")
FOLDED = front(description=">-\n  Fills\n  forms.")


def verdicts(tmp_path: Path, text: str | bytes) -> tuple[bool, bool]:
    """Whether a skill is valid: to us, and to the reference library."""
    folder = write_skill(tmp_path / "pdf-forms", text)
    try:
        read_skill(folder, strict=True)
        ours = True
    except SkillError:
        ours = False
    try:
        theirs = not skills_ref.validate(folder)
    except Exception:  # noqa: BLE001 - the library raises whatever its parsers do
        theirs = False
    return ours, theirs


@pytest.mark.parametrize(
    ("about", "text", "ours", "theirs"),
    [
        *worked("our verdict and that of the reference library", "tools"),
        ("everything", EVERYTHING, True, True),
        ("a folded description", FOLDED, True, True),
        ("the longest description", front(description="x" * 1024), True, True),
        ("too long a description", front(description="x" * 1025), False, False),
        ("a byte-order mark", "\ufeff" + front(), False, False),
        ("not UTF-8", front().encode() + b"\xff", False, False),
        ("half a character", front(license='"\\ud83d"'), False, True),
        ("pages of front matter", front(license="x" * 20_000), False, True),
    ],
)
def test_our_verdict_and_that_of_the_reference_library(
    tmp_path: Path, about: str, text: str | bytes, ours: bool, theirs: bool
) -> None:
    assert verdicts(tmp_path, text) == (ours, theirs), about


@pytest.mark.parametrize("name", ["pdf", "données", "数据", "a1-b2", "9"])
def test_names_in_any_script_are_as_the_reference_library_has_them(tmp_path: Path, name: str) -> None:
    folder = write_skill(tmp_path / name, front(name=name))
    assert skills_ref.validate(folder) == []
    assert read_skill(folder).name == skills_ref.read_properties(folder).name == name


@pytest.mark.parametrize("text", [front(), EVERYTHING, FOLDED])
def test_what_is_read_is_what_the_reference_library_reads(tmp_path: Path, text: str) -> None:
    folder = write_skill(tmp_path / "pdf-forms", text)
    ours, theirs = read_skill(folder), skills_ref.read_properties(folder)
    assert (ours.name, ours.description) == (theirs.name, theirs.description)
    assert ours.compatibility == (theirs.compatibility or "")
    assert ours.body == "Do it."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *worked("all that is wrong is told with its place and remedy", "tools"),
        (
            "\ufeff" + front(),
            "it has to begin with front matter; a byte-order mark or blanks stand before it",
        ),
        (front(metadata="{a: " * 3000), "line 4, column 71: nested deeper than 16 levels"),
        (
            front(description="x" * 1025, compatibility="\n  - a"),
            "description: 1025 characters, at most 1024; compatibility: expected a text",
        ),
    ],
)
def test_all_that_is_wrong_is_told_with_its_place_and_remedy(text: str, words: str) -> None:
    assert complaint(SkillError, lambda: parse_skill(text, Path("pdf-forms"), strict=True)) == words


@pytest.mark.parametrize(
    ("text", "description", "warnings"),
    [
        *worked("a skill as it exists is read with a warning", "tools"),
        ("\ufeff" + front(), "Fills PDF forms.", ["a byte-order mark or blanks stand before it"]),
        (front(description="x" * 1025), "x" * 1025, ["description: 1025 characters"]),
    ],
)
def test_a_skill_as_it_exists_is_read_with_a_warning(
    text: str, description: str, warnings: list[str]
) -> None:
    found = parse_skill(text, Path("pdf-forms"))
    assert (found.name, found.description) == ("pdf-forms", description)
    assert len(found.warnings) == len(warnings)
    assert all(part in told for part, told in zip(warnings, found.warnings, strict=True))
    assert complaint(SkillError, lambda: parse_skill(text, Path("pdf-forms"), strict=True))


@pytest.mark.parametrize("text", worked("what cannot be mended stays an error", "tools"))
def test_what_cannot_be_mended_stays_an_error(text: str) -> None:
    assert complaint(SkillError, lambda: parse_skill(text, Path("pdf-forms")))

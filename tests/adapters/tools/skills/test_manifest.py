"""Front matter, as we read it and as the reference library does, over the same folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import skills_ref

from tests.adapters.tools.skills.skills_here import front, write_skill
from tests.samples import complaint
from toolreel._internal import SkillError
from toolreel.tools.skills import parse_skill, read_skill

VALID: Final[Mapping[str, str]] = {
    "the least": front(),
    "everything": front(license="MIT", compatibility="Needs git.", metadata="\n  author: us\n  version: 1.0"),
    "allowed tools as text": front(**{"allowed-tools": "Bash(git:*) Read"}),
    "allowed tools as a list": front(**{"allowed-tools": "\n  - Read\n  - Bash(git:*)"}),
    "metadata in several levels": front(metadata="\n  a:\n    b: c"),
    "an empty compatibility": front(compatibility=""),
    "a quoted description": front(description='"Use it when: PDF."'),
    "a folded description": front(description=">-\n  Fills\n  forms."),
    "a description of several lines": front(description="|\n  Fills\n  forms."),
    "the longest description": front(description="x" * 1024),
    "no body": "---\nname: pdf-forms\ndescription: x\n---",
    "line breaks of Windows": front().replace("\n", "\r\n"),
    "spaces behind a mark": front().replace("---\n", "---  \n"),
    "dashes in the description": front(description="a --- b"),
    "a document's end": front(license="MIT\n..."),
}
INVALID: Final[Mapping[str, str | bytes]] = {
    "empty": "",
    "no front matter": "# Forms\n",
    "not at the beginning": "\n" + front(),
    "a byte-order mark": "\ufeff" + front(),
    "not closed": "---\nname: pdf-forms\ndescription: x\n",
    "empty front matter": "---\n---\n",
    "a list": "---\n- name\n---\n",
    "no name": "---\ndescription: x\n---\n",
    "an empty name": front(name=""),
    "a list for a name": front(name="\n  - pdf-forms"),
    "capitals": front(name="PDF-forms"),
    "an underscore": front(name="pdf_forms"),
    "a hyphen first": front(name="-pdf"),
    "another name than the folder's": front(name="pdf"),
    "too long a name": front(name="x" * 65),
    "no description": "---\nname: pdf-forms\n---\n",
    "a mapping for a description": front(description="\n  a: b"),
    "too long a description": front(description="x" * 1025),
    "an unknown field": front(version="1.0"),
    "a colon without quotes": front(description="Use it when: PDF."),
    "a tab": front(metadata="\n\ta: b"),
    "a key twice": front(license="MIT\nlicense: BSD"),
    "an anchor": front(license="&x MIT"),
    "a tag that makes objects": front(license="!!python/object/apply:os.getcwd []"),
    "two documents": front(license="MIT\n...\nmore: x"),
    "a control character": front(license="\x07"),
    "not UTF-8": front().encode() + b"\xff",
}
OURS_ALONE: Final[Mapping[str, str]] = {
    "a list in brackets": front(**{"allowed-tools": "[Read, Write]"}),
    "a mapping in brackets": front(metadata="{author: us}"),
    "levels indented differently": front(metadata="\n  a: b\nlicense:\n    c: d"),
}
"""Valid to us, and not to the reference library: see the module's docstring."""
THEIRS_ALONE: Final[Mapping[str, str]] = {
    "a mark behind a text": "---\nname: pdf-forms\ndescription: x ---\nbody\n",
    "a mark before a field": "---name: pdf-forms\ndescription: x\n---\n",
    "half a character": front(license='"\\ud83d"'),
    "pages of front matter": front(license="x" * 20_000),
}
"""The other way round."""


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


TABLES: Final[Mapping[tuple[bool, bool], Mapping[str, str | bytes]]] = {
    (True, True): VALID,
    (False, False): INVALID,
    (True, False): OURS_ALONE,
    (False, True): THEIRS_ALONE,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(text, expected, id=name)
        for expected, table in TABLES.items()
        for name, text in table.items()
    ],
)
def test_our_verdict_and_that_of_the_reference_library(
    tmp_path: Path, text: str | bytes, expected: tuple[bool, bool]
) -> None:
    assert verdicts(tmp_path, text) == expected


@pytest.mark.parametrize("name", ["pdf", "données", "数据", "a1-b2", "9"])
def test_names_in_any_script_are_as_the_reference_library_has_them(tmp_path: Path, name: str) -> None:
    folder = write_skill(tmp_path / name, front(name=name))
    assert skills_ref.validate(folder) == []
    assert read_skill(folder).name == skills_ref.read_properties(folder).name == name


@pytest.mark.parametrize("text", [front(), VALID["everything"], VALID["a folded description"]])
def test_what_is_read_is_what_the_reference_library_reads(tmp_path: Path, text: str) -> None:
    folder = write_skill(tmp_path / "pdf-forms", text)
    ours, theirs = read_skill(folder), skills_ref.read_properties(folder)
    assert (ours.name, ours.description) == (theirs.name, theirs.description)
    assert ours.compatibility == (theirs.compatibility or "")
    assert ours.body == "Do it."


def test_every_value_is_a_text() -> None:
    assert parse_skill(front(description="2026-11-22"), Path("pdf-forms")).description == "2026-11-22"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "# Forms",
            "it has to begin with front matter, a line '---'; name: expected a text; "
            "description: expected a text",
        ),
        (
            "\ufeff" + front(),
            "it has to begin with front matter; a byte-order mark or blanks stand before it",
        ),
        ("---\nname: x\n", "its front matter is not closed; put a line '---' below it"),
        (
            front(license="&x MIT"),
            "line 4, column 10: anchors and aliases are not allowed; write the value out",
        ),
        (front(license="!!str MIT"), "line 4, column 10: the tag '!!str' is not allowed here; leave it out"),
        (front(metadata="[" * 40), "line 4, column 26: nested deeper than 16 levels"),
        (front(metadata="{a: " * 3000), "line 4, column 71: nested deeper than 16 levels"),
        (
            front(description="Use it when: PDF."),
            "line 3, column 25: not YAML: mapping values are not allowed in this context; "
            "put a text that holds a colon in quotes",
        ),
        (
            "---\n- a\n---\n",
            "its front matter has to be fields, such as 'name: …' and 'description: …'",
        ),
        (
            "---\nname: Pdf\nversion: 1\n---\n",
            "unknown field 'version': there are name, description, license, compatibility, metadata, "
            "allowed-tools; put what is your own under metadata; "
            "description: expected a text; "
            "name: 'Pdf' is not at most 64 lower-case letters and digits, with single hyphens inside; "
            "name: 'Pdf' is not the name of its folder, 'pdf-forms'; rename one of the two",
        ),
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
        (front(description="Use it when: PDF."), "Use it when: PDF.", ["a text that holds a colon"]),
        (front(description="PDF: fill, e.g.: a form"), "PDF: fill, e.g.: a form", ["colon"]),
        (front(description='Use it when: "PDF".'), 'Use it when: "PDF".', ["colon"]),
        (front(description="@team fills forms"), "@team fills forms", ["not YAML"]),
        (front(description="`fill` fills forms"), "`fill` fills forms", ["not YAML"]),
        (front(metadata="\n\ta: b"), "Fills PDF forms.", ["not YAML"]),
        ("\ufeff" + front(), "Fills PDF forms.", ["a byte-order mark or blanks stand before it"]),
        ("\n\n" + front(), "Fills PDF forms.", ["a byte-order mark or blanks stand before it"]),
        (
            front(model="opus", **{"user-invocable": "true", "argument-hint": "[file]"}),
            "Fills PDF forms.",
            ["unknown field 'model', 'user-invocable', 'argument-hint'"],
        ),
        (front(version="1.0"), "Fills PDF forms.", ["unknown field 'version'"]),
        (front(name="PDF_Forms"), "Fills PDF forms.", ["lower-case letters", "not the name of its folder"]),
        ("---\ndescription: x\n---\n", "x", ["name: expected a text"]),
        (
            "---\nname: pdf-forms\n---\n# Forms\n\nFill them.\nMore.",
            "Fill them.",
            ["description: expected a text"],
        ),
        ("# Forms\n\nFill them.\n", "Fill them.", ["begin with", "name: expected", "description: expected"]),
        ("---\n---\nFill them.\n", "Fill them.", ["name: expected a text", "description: expected a text"]),
        (front(description="x" * 1025), "x" * 1025, ["description: 1025 characters"]),
        (front(compatibility="\n  - git"), "Fills PDF forms.", ["compatibility: expected a text"]),
        (front(compatibility="Needs: git"), "Fills PDF forms.", ["colon"]),
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


@pytest.mark.parametrize(
    "text",
    [
        *("", "# Forms\n", "---\nname: x\n", "---\nname: x\n---\n# Only a heading", "---\n- name\n---\n"),
        front(license="MIT\nlicense: BSD"),
    ],
)
def test_what_cannot_be_mended_stays_an_error(text: str) -> None:
    assert complaint(SkillError, lambda: parse_skill(text, Path("pdf-forms")))

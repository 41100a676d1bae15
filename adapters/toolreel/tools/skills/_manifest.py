"""A ``SKILL.md``: front matter of YAML and a body of Markdown, checked as Agent Skills are specified.

The verdict is that of the reference library, skills-ref, over the same folder. Ours differs

- in what only strictyaml refuses: lists and mappings in brackets, and levels that are indented differently,
  are YAML, and are taken;
- in the marks: the first line is ``---`` and nothing else, and so is the one that closes the front matter,
  while the library takes ``---`` anywhere; a text that holds ``---`` is therefore whole here;
- in bounds, which the library has none of: a file, its front matter and its nesting have a size, and an
  escape for half a character is refused, since it cannot be sent.

Everything in the front matter is text: ``version: 1.0`` is ``"1.0"``, and nothing becomes an object.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolreel._internal.errors import MissingExtra, SkillError
from toolreel_core._jsontext.canonical import JsonText, canonical, sound

try:
    from toolreel._internal.safe_yaml import Rules, YamlError, read_tree
except ImportError:
    raise MissingExtra.of("skills", "PyYAML") from None

_FIELDS: Final = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_MARK: Final = "---"
_HEAD_LIMIT: Final = 16 * 1024
"""Characters of front matter; its longest fields have 1,024 and 500."""
_RULES: Final = Rules(plain=str, tags={}, max_depth=16, max_size=2 * _HEAD_LIMIT, aliases=False)
"""Every value is a text; anchors and tags mean nothing here."""
_NAME_LIMIT: Final = 64
_LIMITS: Final = {"description": 1024, "compatibility": 500}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a ``SKILL.md`` says."""

    name: str
    """Letters, digits and hyphens; the name of its folder."""
    description: str
    """What it does, and when it is to be used."""
    compatibility: str
    """What it needs, such as programs or a network; often empty."""
    body: str
    """The instructions."""
    front_matter: JsonText
    """All fields, as a JSON object of texts; ``allowed-tools`` is among them and allows nothing here."""


def manifest_of(text: str, folder: str) -> Manifest:
    r"""What a ``SKILL.md`` says that is in a folder of this name.

    >>> manifest_of("---\nname: pdf\ndescription: Reads PDF files.\n---\nCall pdftotext.\n", "pdf").body
    'Call pdftotext.'

    :raises SkillError: with everything that is wrong with it
    """
    head, body = _parted(text.replace("\r\n", "\n"))
    fields = _fields(head)
    name = unicodedata.normalize("NFKC", _text(fields, "name"))
    if problems := [*_unknown(fields), *_of_name(fields, name, folder), *_of_texts(fields)]:
        raise SkillError("; ".join(problems))
    front_matter = canonical(fields)
    if sound(front_matter) != front_matter:
        raise SkillError("its front matter holds half a character (\\ud800 to \\udfff); write it whole")
    return Manifest(name, _text(fields, "description"), _text(fields, "compatibility"), body, front_matter)


def _parted(text: str) -> tuple[str, str]:
    """The front matter and the body."""
    first, *lines = text.split("\n")
    if first.rstrip() != _MARK:
        hint = " after a byte-order mark; save it without one" * first.startswith("\ufeff" + _MARK)
        raise SkillError(f"it has to begin with front matter, a line '---'{hint}")
    end = next((at for at, line in enumerate(lines) if line.rstrip() == _MARK), None)
    if end is None:
        raise SkillError("its front matter is not closed; put a line '---' below it")
    return "\n".join(lines[:end]), "\n".join(lines[end + 1 :]).strip()


def _fields(head: str) -> Mapping[str, Any]:
    if len(head) > _HEAD_LIMIT:
        raise SkillError(f"its front matter has {len(head)} characters; at most {_HEAD_LIMIT} are read")
    try:
        tree = read_tree(head, _RULES)
    except YamlError as error:
        # The front matter begins below the mark, in the file's second line.
        raise SkillError(f"line {error.line + 1}, column {error.column}: {error.problem}") from None
    if not isinstance(tree, dict):
        raise SkillError("its front matter has to be fields, such as 'name: …' and 'description: …'")
    return tree


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def _unknown(fields: Mapping[str, Any]) -> Iterator[str]:
    if unknown := [field for field in fields if field not in _FIELDS]:
        yield (
            f"unknown field {', '.join(map(repr, unknown))}: there are {', '.join(_FIELDS)}; "
            "put what is your own under metadata"
        )


def _of_name(fields: Mapping[str, Any], name: str, folder: str) -> Iterator[str]:
    if not name:
        yield "name: expected a text" if "name" in fields else "name: it is missing"
        return
    if len(name) > _NAME_LIMIT:
        yield f"name: {len(name)} characters, at most {_NAME_LIMIT}"
    if name != name.lower() or not all(char.isalnum() or char == "-" for char in name):
        yield f"name: {name!r} has other characters than lower-case letters, digits and hyphens"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield f"name: {name!r} may have single hyphens only, and inside"
    if unicodedata.normalize("NFKC", folder) != name:
        yield f"name: {name!r} is not the name of its folder, {folder!r}; rename one of the two"


def _of_texts(fields: Mapping[str, Any]) -> Iterator[str]:
    if "description" not in fields:
        yield "description: it is missing"
    elif not _text(fields, "description"):
        yield "description: expected a text that says what the skill does, and when to use it"
    if not isinstance(fields.get("compatibility", ""), str):
        yield "compatibility: expected a text"
    for field, limit in _LIMITS.items():
        value = fields.get(field)
        if isinstance(value, str) and len(value) > limit:
            yield f"{field}: {len(value)} characters, at most {limit}"

"""Parse and check a ``SKILL.md``: YAML front matter and a Markdown body, as Agent Skills specify.

The result is that of the reference library, skills-ref, with these differences:

- We accept YAML that only strictyaml rejects: flow lists and mappings, and varying indentation.
- The front matter is delimited by lines that are exactly ``---``, while the library accepts ``---`` anywhere;
  a value that contains ``---`` is therefore not cut.
- We limit the size of the file, of the front matter and its nesting, and reject lone surrogates, because they
  cannot be sent.

All values in the front matter are strings: ``version: 1.0`` is ``"1.0"``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolreel._errors import MissingExtra, SkillError
from toolreel_core._jsontext.canonical import JsonText, canonical, sound

try:
    import yaml
    from yaml.constructor import ConstructorError
except ImportError:
    raise MissingExtra.of("skills", "PyYAML") from None

__all__ = ["Manifest", "manifest_of"]

_FIELDS: Final = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_MARK: Final = "---"
_HEAD_LIMIT: Final = 16 * 1024
"""Maximum length of the front matter; its longest fields have 1,024 and 500 characters."""
_MAX_NESTING: Final = 16
_NAME_LIMIT: Final = 64
_LIMITS: Final = {"description": 1024, "compatibility": 500}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parsed content of a ``SKILL.md``."""

    name: str
    """Lower-case letters, digits and hyphens; equals the name of the folder."""
    description: str
    """What the skill does, and when to use it."""
    compatibility: str
    """Requirements such as programs or a network; often empty."""
    body: str
    """The instructions."""
    front_matter: JsonText
    """All fields as a JSON object of strings; ``allowed-tools`` is included, but has no effect."""


def manifest_of(text: str, folder: str) -> Manifest:
    r"""Parse a ``SKILL.md``.

    :param folder: name of its folder, which must equal the name of the skill


    >>> manifest_of("---\nname: pdf\ndescription: Reads PDF files.\n---\nCall pdftotext.\n", "pdf").body
    'Call pdftotext.'

    :raises SkillError: lists all problems
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


class _Texts(yaml.BaseLoader):
    """A loader that constructs only strings, lists and mappings, and rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            raise ConstructorError(None, None, "a key stands twice", node.start_mark)
        for key in mapping:
            if not isinstance(key, str):
                raise ConstructorError(None, None, f"the key {key!r} is not a text", node.start_mark)
        return mapping


def _fields(head: str) -> Mapping[str, Any]:
    if len(head) > _HEAD_LIMIT:
        raise SkillError(f"its front matter has {len(head)} characters; at most {_HEAD_LIMIT} are read")
    try:
        _reject_unsafe(head)
        tree = yaml.load(head, Loader=_Texts)  # noqa: S506 - a BaseLoader makes texts, lists and mappings
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise SkillError(
            f"line {line}: not YAML: {error.problem}; put a text that holds a colon in quotes"
        ) from None
    except yaml.YAMLError as error:
        raise SkillError(f"its front matter is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(tree, dict):
        raise SkillError("its front matter has to be fields, such as 'name: …' and 'description: …'")
    return tree


def _reject_unsafe(head: str) -> None:
    """Reject anchors and aliases, tags, and deep nesting, before anything is constructed."""
    depth = 0
    for event in yaml.parse(head, Loader=yaml.BaseLoader):
        line = event.start_mark.line + 2 if event.start_mark else 2
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise SkillError(f"line {line}: anchors and aliases are not allowed; write the value out")
        if getattr(event, "tag", None) is not None:
            raise SkillError(f"line {line}: tags are not allowed; every value is a text")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_NESTING:
            raise SkillError(f"line {line}: nested deeper than {_MAX_NESTING} levels")


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

"""Find skills: folders with a ``SKILL.md``, read once, and read the files in them.

Skills as they exist are read leniently: what does not follow the specification is mended where it can be,
with a warning. With ``strict``, it is an error, and the verdict is that of skills-ref, the reference, but

- what only strictyaml refuses (lists and mappings in brackets, uneven indentation) is YAML, and is taken;
- a mark is a line ``---`` and nothing else, while the library takes ``---`` anywhere;
- the sizes of a file and its front matter, and the nesting, are limited, and lone surrogates are rejected.

Everything in the front matter is text: ``version: 1.0`` is ``"1.0"``, and nothing becomes an object.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from toolreel._internal import SkillError, YamlError, YamlRules, log, read_tree
from toolreel_core._jsontext import canonical, encodable_text, text_at

_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_MARK = "---"
# What stands between the first two marks, which may have blanks behind them, and what follows.
_FRONT_MATTER = re.compile(r"(?ms)---[^\S\n]*\n(.*?)^---[^\S\n]*$(.*)")
_HEAD_LIMIT = 16 * 1024
"""Characters of front matter; its longest fields have 1,024 and 500."""
_RULES = YamlRules(plain=str, tags={}, max_depth=16, max_size=2 * _HEAD_LIMIT, aliases=False)
"""Every value is a text; anchors and tags mean nothing here."""
# The limits of https://agentskills.io/specification, as those of other fields below.
_NAME_LIMIT = 64
_WORDS = re.compile(r"[\W_]+")
"""What the name of a skill cannot have."""
# A text that holds a colon, or begins with a sign that means something in YAML.
_UNQUOTED = re.compile(r"""(?m)^([\w-]+:[ ]+)([^\s"'|>].*:(?:\s.*)?|[@`%&*!].*)$""")
# A name that is too long is reported with its other faults, by ``_NAME_LIMIT``.
_LIMITS = {"name": _HEAD_LIMIT, "description": 1024, "compatibility": 500}


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, as of the time it was read."""

    name: str
    """Letters, digits and hyphens; the name of its folder."""
    description: str
    """What it does, and when it is to be used."""
    compatibility: str
    """What it needs, such as programs or a network; often empty."""
    body: str
    warnings: tuple[str, ...]
    """What does not follow the specification, and was mended or ignored."""
    folder: Path
    files: Mapping[str, int] = field(default_factory=dict)
    """The bytes of its regular files, by path from the folder, sorted; without ``SKILL.md``, links and hidden
    files."""


def parse_skill(text: str, folder: Path, *, strict: bool = False) -> Skill:
    """The skill of a ``SKILL.md``, without its other files.

    :param strict: whether what does not follow the specification is an error
    :raises SkillError: with everything that is wrong with it
    """
    text, problems = text.replace("\r\n", "\n"), list[str]()
    if (begun := text.removeprefix("\ufeff").lstrip()) != text:
        text = begun
        problems.append("it has to begin with front matter; a byte-order mark or blanks stand before it")
    if not text.startswith(_MARK):
        problems.append(f"it has to begin with front matter, a line {_MARK!r}")
        text = f"{_MARK}\n{_MARK}\n{text}"
    found = _FRONT_MATTER.match(text)
    if found is None:
        raise SkillError(f"its front matter has to stand between two lines {_MARK!r}")
    head, body = found[1], found[2].strip()
    try:
        fields = _parse_front_matter(head)
    except SkillError as error:
        # With quotes round each text that YAML would take for something else, and without tabs.
        quoted = _UNQUOTED.sub(lambda found: found[1] + json.dumps(found[2]), head.replace("\t", "  "))
        if quoted == head:
            raise
        fields = _parse_front_matter(quoted)
        problems.append(str(error))
    name = unicodedata.normalize("NFKC", text_at(fields, "name").strip())
    problems += _find_problems(fields, name, folder.name)
    name = _WORDS.sub("-", (name or folder.name).lower()).strip("-")
    # Without a description, the first line that is not a heading says what the skill is for.
    lines = [line.strip() for line in body.split("\n") if not line.startswith("#")]
    description = text_at(fields, "description").strip() or next(filter(None, lines), "")
    if problems and (strict or not name or not description):
        raise SkillError("; ".join(problems))
    if encodable_text(texts := canonical(fields)) != texts:
        raise SkillError("its front matter holds half a character (\\ud800 to \\udfff); write it whole")
    return Skill(name, description, text_at(fields, "compatibility").strip(), body, tuple(problems), folder)


def _parse_front_matter(head: str) -> Mapping[str, Any]:
    if len(head) > _HEAD_LIMIT:
        raise SkillError(f"its front matter has {len(head)} characters; at most {_HEAD_LIMIT} are read")
    try:
        tree = read_tree(head if head.strip() else "{}", _RULES)
    except YamlError as error:
        # The front matter begins below the mark, in the file's second line.
        raise SkillError(f"line {error.line + 1}, column {error.column}: {error.problem}") from None
    if not isinstance(tree, dict):
        raise SkillError("its front matter has to be fields, such as 'name: …' and 'description: …'")
    return tree


def _find_problems(fields: Mapping[str, Any], name: str, folder: str) -> Iterator[str]:
    if unknown := [field for field in fields if field not in _FIELDS]:
        yield (
            f"unknown field {', '.join(map(repr, unknown))}: there are {', '.join(_FIELDS)}; "
            "put what is your own under metadata"
        )
    for field_name, limit in _LIMITS.items():
        value = fields.get(field_name, "")
        if not isinstance(value, str) or not (value.strip() or field_name == "compatibility"):
            yield f"{field_name}: expected a text"
        elif len(value) > limit:
            yield f"{field_name}: {len(value)} characters, at most {limit}"
    parts = name.split("-")  # of letters of any script
    is_name = len(name) <= _NAME_LIMIT and name == name.lower() and all(part.isalnum() for part in parts)
    if name and not is_name:
        yield f"name: {name!r} is not at most 64 lower-case letters and digits, with single hyphens inside"
    if name and unicodedata.normalize("NFKC", folder) != name:
        yield f"name: {name!r} is not the name of its folder, {folder!r}; rename one of the two"


_ABSOLUTE = re.compile(r"/|[a-zA-Z]:")
"""How an absolute path begins, also on Windows."""
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
"""``O_NONBLOCK``, because opening a named pipe would block until another process writes to it."""


class UnreadableFile(Exception):
    """A path that cannot be read; the text says why, and which paths are valid."""

    code = "ARGUMENT_ERROR"


class FileTooLarge(UnreadableFile):
    code = "TOOL_OUTPUT_TOO_LARGE"


def read_inside(folder: Path, path: str, limit: int) -> bytes:
    """Read a file in a folder, and no other: paths come from the model, and folders are untrusted.

    A path is resolved first, including symbolic links, and must stay inside. It is then opened one component
    at a time without following links, so that a link created in the meantime is rejected.

    :param path: relative to the folder, with ``/`` between its parts
    :raises UnreadableFile: if it is outside the folder, not a file, over the limit in bytes, or unreadable
    """
    if not path.strip() or _ABSOLUTE.match(path) or ".." in path.split("/") or {"\0", "\\"} & {*path}:
        raise UnreadableFile(f"{path!r}: give a path inside the skill's folder, relative to it, with '/'")
    try:
        root = Path(os.path.realpath(folder, strict=True))
        real = Path(os.path.realpath(root / PurePosixPath(path), strict=True))
        if not real.is_relative_to(root):
            raise UnreadableFile(f"{path!r} is a link that leaves the skill's folder, and is not followed")
        file = _open_beneath(root, real.relative_to(root).parts)
        try:
            return _file_content(file, path, limit)
        finally:
            os.close(file)
    except FileNotFoundError:
        raise UnreadableFile(f"there is no file {path!r}; skills_load lists its files") from None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise UnreadableFile(f"{path!r} cannot be read: {why}") from None
    except ValueError:  # a lone surrogate
        raise UnreadableFile(f"{path!r} cannot be the name of a file") from None


def _open_beneath(root: Path, parts: tuple[str, ...]) -> int:
    if os.open not in os.supports_dir_fd:  # Windows: rely on the path that was just resolved
        return os.open(root.joinpath(*parts), _FLAGS)
    file = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        above = file
        try:
            file = os.open(part, _FLAGS, dir_fd=above)
        finally:
            os.close(above)
    return file


def _file_content(file: int, path: str, limit: int) -> bytes:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        is_folder = stat.S_ISDIR(found.st_mode)
        what = "a folder; give the path of a file in it" if is_folder else "no ordinary file"
        raise UnreadableFile(f"{path!r} is {what}")
    content = b""
    # Counted while it is read: the file may grow after ``fstat``.
    while len(content) <= limit and (chunk := os.read(file, limit + 1 - len(content))):
        content += chunk
    if len(content) > limit:
        size = max(found.st_size, len(content))
        raise FileTooLarge(f"{path!r} has {size} bytes; at most {limit} are read")
    return content


MANIFEST_LIMIT = 128 * 1024
"""Maximum size of a ``SKILL.md``; twenty times what the specification recommends."""

# As in skills-ref: the specification's spelling first.
_NAMES = ("SKILL.md", "skill.md")
_SKIPPED_FOLDERS = ("node_modules", "__pycache__")
# https://agentskills.io/client-implementation/adding-skills-support recommends 4 to 6 levels, 2,000 folders.
_MAX_DEPTH = 5
_MAX_FOLDERS = 2_000
_MAX_FILES = 2_000
"""Maximum number of files in one skill."""


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of some folders, by name."""

    skills: tuple[Skill, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not follow the specification, and was mended or ignored, with the folder of the skill."""
        return tuple(f"{each.folder}: {problem}" for each in self.skills for problem in each.warnings)


def read_skills(*folders: Path | str, strict: bool = False) -> Skills:
    """Read the skills in folders; each folder is a skill, or has skills at most five levels down.

    Links are not followed, and hidden folders are skipped; a folder inside a skill belongs to that skill.

    :param strict: what does not follow the specification is an error, instead of a warning
    :raises SkillError: if a skill is invalid, two have the same name, or there is none
    """
    found: dict[str, Skill] = {}
    for place in (each for folder in folders for each in _skill_folders(Path(folder))):
        skill = read_skill(place, strict=strict)
        other = found.setdefault(skill.name, skill)
        if other is not skill and not os.path.samefile(other.folder, skill.folder):
            raise SkillError(
                f"{place}: skill {skill.name!r} is in {other.folder} as well; leave one of the two out"
            )
    skills = Skills(tuple(found[name] for name in sorted(found)))
    for why in skills.warnings:
        log("tools", "warning", "skill_not_as_specified", {"why": why})
    return skills


def read_skill(folder: Path | str, *, strict: bool = False) -> Skill:
    """Read the skill in a folder.

    :param strict: what does not follow the specification is an error, instead of a warning
    :raises SkillError: if it is invalid; names the folder and all problems
    """
    folder = Path(os.path.abspath(folder))
    name = _manifest_name(folder)
    if name is None:
        raise SkillError(f"{folder}: there is no SKILL.md in it")
    try:
        text = read_inside(folder, name, MANIFEST_LIMIT).decode()
        return replace(parse_skill(text, folder, strict=strict), files=_skill_files(folder, name))
    except UnicodeDecodeError as error:
        raise SkillError(f"{folder / name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except (UnreadableFile, SkillError) as error:
        raise SkillError(f"{folder / name}: {error}") from None


def _manifest_name(folder: Path) -> str | None:
    return next((name for name in _NAMES if os.path.lexists(folder / name)), None)


def _skill_folders(folder: Path) -> list[Path]:
    """The folders with a ``SKILL.md``, sorted; :class:`SkillError` if there are none, or one is a link."""
    if not folder.is_dir():
        what = "it is not a folder" if folder.exists() else "there is no such folder"
        raise SkillError(f"{folder}: {what}; correct --skills, or the path that was given")
    places: list[Path] = []
    for count, (here, folders, _) in enumerate(_visible_entries(folder), 1):
        if count > _MAX_FOLDERS:
            raise SkillError(f"{folder}: more than {_MAX_FOLDERS} folders; name the one with the skills")
        if _manifest_name(here) is not None:
            places.append(here)
            folders.clear()
        for link in (here / name for name in folders):
            if link.is_symlink() and _manifest_name(link):
                raise SkillError(f"{link}: a link is not followed; name what it links to")
        if len(here.relative_to(folder).parts) == _MAX_DEPTH:
            folders.clear()
    if not places:
        raise SkillError(f"{folder}: neither a skill nor a folder of skills: there is no SKILL.md in it")
    return sorted(places)


def _skill_files(folder: Path, manifest: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for count, (here, folders, names) in enumerate(_visible_entries(folder)):
        if count + len(folders) + len(found) + len(names) > _MAX_FILES:
            raise SkillError(f"its folder has more than {_MAX_FILES} files; a skill has a few dozen")
        for path in (here / name for name in names):
            file = path.lstat()
            if stat.S_ISREG(file.st_mode) and path != folder / manifest:
                found[path.relative_to(folder).as_posix()] = file.st_size
    return dict(sorted(found.items()))


def _visible_entries(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Folders, with the names of those and of the files in each; no links, nothing hidden."""

    def refuse(error: OSError) -> None:
        raise SkillError(f"{error.filename}: cannot be read: {error.strerror}")

    for here, folders, files in os.walk(folder, onerror=refuse):
        for names in (folders, files):
            names[:] = sorted(
                name
                for name in names
                if name[0] != "." and name not in _SKIPPED_FOLDERS and encodable_text(name) == name
            )
        yield Path(here), folders, files

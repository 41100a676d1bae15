"""Find skills: folders with a ``SKILL.md``, read once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolreel._errors import SkillError
from toolreel.tools.skills._files import UnreadableFile, read_inside
from toolreel.tools.skills._manifest import Manifest, manifest_of
from toolreel_core._jsontext.canonical import sound

MANIFEST_LIMIT: Final = 128 * 1024
"""Maximum size of a ``SKILL.md``; twenty times what the specification recommends."""

_NAMES: Final = ("SKILL.md", "skill.md")
_SKIPPED_FOLDERS: Final = ("node_modules", "__pycache__")
_MAX_DEPTH: Final = 5
_MAX_FOLDERS: Final = 2_000
_MAX_FILES: Final = 2_000
"""Maximum number of files in one skill."""


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file that comes with a skill."""

    path: str
    """Relative to the skill's folder, with ``/`` between its parts."""
    size: int


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, as of the time it was read."""

    manifest: Manifest
    folder: Path
    files: tuple[SkillFile, ...] = ()
    """Its regular files, sorted by path, without ``SKILL.md``, links and hidden files."""

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of some folders, by name."""

    skills: tuple[Skill, ...]
    left_out: tuple[str, ...] = ()
    """Errors of invalid skills, with ``skip_invalid``."""


def read_skills(*folders: Path | str, skip_invalid: bool = False) -> Skills:
    """Read the skills in folders; each folder is a skill, or has skills at most five levels down.

    Links are not followed, and hidden folders are skipped; a folder inside a skill belongs to that skill.

    :param skip_invalid: leave out invalid skills, instead of raising
    :raises SkillError: if a skill is invalid, two have the same name, or there is none
    """
    found: dict[str, Skill] = {}
    left_out: list[str] = []
    for place, linked in (each for folder in folders for each in _places(Path(folder))):
        try:
            _add(found, place, linked=linked)
        except SkillError as error:
            if not skip_invalid:
                raise
            left_out.append(str(error))
    return Skills(tuple(found[name] for name in sorted(found)), tuple(left_out))


def _add(found: dict[str, Skill], place: Path, *, linked: bool) -> None:
    """Add a skill, unless it was added before.

    :raises SkillError: if it is invalid, or another has its name
    """
    if linked:
        raise SkillError(f"{place}: a link is not followed; name what it links to")
    skill = read_skill(place)
    other = found.setdefault(skill.name, skill)
    if other is not skill and not os.path.samefile(other.folder, skill.folder):
        raise SkillError(
            f"{place}: skill {skill.name!r} is in {other.folder} as well; leave one of the two out"
        )


def read_skill(folder: Path) -> Skill:
    """Read the skill in a folder.

    :raises SkillError: if it is invalid; names the folder and all problems
    """
    folder = Path(os.path.abspath(folder))
    name = _manifest_name(folder)
    if name is None:
        raise SkillError(f"{folder}: there is no SKILL.md in it")
    place = folder / name
    try:
        text = read_inside(folder, name, MANIFEST_LIMIT).decode()
        return Skill(manifest_of(text, folder.name), folder, _files(folder, name))
    except UnreadableFile as error:
        raise SkillError(f"{folder}: {error}") from None
    except UnicodeDecodeError as error:
        raise SkillError(f"{place}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except SkillError as error:
        raise SkillError(f"{place}: {error}") from None


def _manifest_name(folder: Path) -> str | None:
    return next((name for name in _NAMES if os.path.lexists(folder / name)), None)


def _places(folder: Path) -> list[tuple[Path, bool]]:
    """The folders with a ``SKILL.md``, sorted by name, and whether each is a symbolic link.

    :raises SkillError: if there are none
    """
    if not folder.is_dir():
        what = "it is not a folder" if folder.exists() else "there is no such folder"
        raise SkillError(f"{folder}: {what}; correct --skills, or the path that was given")
    places: list[tuple[Path, bool]] = []
    pending, count = [(folder, 0, False)], 0
    while pending:
        at, depth, linked = pending.pop()
        count += 1
        if count > _MAX_FOLDERS:
            raise SkillError(f"{folder}: more than {_MAX_FOLDERS} folders; name the one with the skills")
        if _manifest_name(at) is not None:
            places.append((at, linked))
        elif depth < _MAX_DEPTH and not linked:
            inner = [entry for entry in reversed(_entries(at)) if entry.is_dir()]
            pending += [(at / entry.name, depth + 1, entry.is_symlink()) for entry in inner]
    if not places:
        raise SkillError(f"{folder}: neither a skill nor a folder of skills: there is no SKILL.md in it")
    return places


def _files(folder: Path, manifest: str) -> tuple[SkillFile, ...]:
    files: list[SkillFile] = []
    pending = [folder]
    while pending:
        at = pending.pop()
        for entry in _entries(at):
            if entry.is_dir(follow_symlinks=False):
                pending.append(at / entry.name)
            elif entry.is_file(follow_symlinks=False):
                path = (at / entry.name).relative_to(folder).as_posix()
                files += [SkillFile(path, entry.stat(follow_symlinks=False).st_size)] * (path != manifest)
        if len(files) + len(pending) > _MAX_FILES:
            raise SkillError(f"its folder has more than {_MAX_FILES} files; a skill has a few dozen")
    return tuple(sorted(files, key=lambda file: file.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry in entries if _is_listed(entry.name)]
    except OSError as error:
        raise SkillError(f"{folder}: cannot be read: {error.strerror}") from None
    return sorted(listed, key=lambda entry: entry.name)


def _is_listed(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED_FOLDERS and sound(name) == name

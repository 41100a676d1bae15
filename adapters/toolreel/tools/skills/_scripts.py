"""Scripts of skills: which may run, and running one in a child process."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from toolreel._internal.errors import SkillError
from toolreel.tools._bounded_process import BoundedProcess, ProcessResult, inherited_environment
from toolreel.tools._call_context import RunContext
from toolreel.tools.skills._folders import Skill, UnreadableFile, read_inside
from toolreel_core._internal.wildcards import fits

_SCRIPT_LIMIT: Final = 2**20
"""Maximum size of a script."""
_PROGRAMS: Final = {
    ".py": "python3",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".pl": "perl",
    ".rb": "ruby",
}
"""Interpreter of a script without a ``#!`` line, by its suffix."""
_PYTHON: Final = ("python", "python3")
"""Interpreters that are replaced by the Python that runs toolreel."""


@dataclass(frozen=True, slots=True)
class SkillScript:
    """A script that is allowed to run."""

    skill: Skill
    path: str
    """Relative to the skill's folder."""
    program: tuple[str, ...]
    """Interpreter and its arguments, from the ``#!`` line or by suffix."""
    digest: str
    """SHA-256 of its content when it was allowed."""

    @property
    def name(self) -> str:
        """``SKILL/FILE``, which patterns are matched against."""
        return f"{self.skill.name}/{self.path}"


def allowed_scripts(skills: Iterable[Skill], patterns: Sequence[str]) -> tuple[SkillScript, ...]:
    """The scripts that match patterns such as ``pdf-forms/scripts/*.py``; ``*`` matches any text.

    :raises SkillError: if a pattern matches no script
    """
    files = [(skill, file.path) for skill in skills for file in skill.files]
    allowed: dict[str, SkillScript] = {}
    for pattern in patterns:
        matching = [(skill, path) for skill, path in files if fits(pattern, f"{skill.name}/{path}")]
        scripts = [script for skill, path in matching if (script := _script(skill, path))]
        if not scripts:
            what = "none of its files says what runs it" if matching else "no skill has a file of that name"
            raise SkillError(
                f"--skills-allow-script {pattern}: {what}; expected SKILL/FILE, "
                "for example pdf-forms/scripts/*.py"
            )
        allowed |= {script.name: script for script in scripts}
    return tuple(allowed[name] for name in sorted(allowed))


def script_changed(script: SkillScript) -> bool:
    """Whether the content of a script has changed since it was allowed."""
    try:
        return _digest(read_inside(script.skill.folder, script.path, _SCRIPT_LIMIT)) != script.digest
    except UnreadableFile:
        return True


def command_of(script: SkillScript, args: Sequence[str]) -> list[str]:
    """The command line for a script; it is not run through a shell.

    :raises FileNotFoundError: if its interpreter is not installed
    """
    program, *own = script.program
    found = sys.executable if program in _PYTHON else shutil.which(program)
    if not found:
        raise FileNotFoundError(f"{program} is not installed here")
    return [found, *own, str(script.skill.folder / script.path), *args]


def run_script(
    script: SkillScript, args: Sequence[str], call: RunContext[Any], *, deadline: float, limit: int
) -> ProcessResult:
    """Run a script until it exits, reaches its deadline, or the call ends.

    It has no input. Its environment has only ``PATH``, the key of the call, and a temporary folder as
    ``HOME`` and ``TMPDIR``, which is removed afterwards.

    :param limit: bytes of each output stream that are kept
    :raises OSError: if it cannot be started
    :raises ValueError: if an argument holds NUL or a lone surrogate
    """
    with tempfile.TemporaryDirectory(prefix="toolreel-", ignore_cleanup_errors=True) as scratch:
        environment = {
            **inherited_environment(("PATH", "SYSTEMROOT")),
            **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), scratch),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TOOLREEL_CALL_KEY": call.key,
        }
        process = BoundedProcess(command_of(script, args), environment, limit, cwd=script.skill.folder)
        call.on_end(process.kill)
        return process.run(deadline=deadline)


def _script(skill: Skill, path: str) -> SkillScript | None:
    try:
        content = read_inside(skill.folder, path, _SCRIPT_LIMIT)
    except UnreadableFile:
        return None
    program = _program(path, content)
    return SkillScript(skill, path, program, _digest(content)) if program else None


def _program(path: str, content: bytes) -> tuple[str, ...]:
    """Interpreter and its arguments; empty if unknown."""
    first, _, _ = content.partition(b"\n")
    if not first.startswith(b"#!"):
        program = _PROGRAMS.get(PurePosixPath(path).suffix)
        return (program,) if program else ()
    try:
        words = shlex.split(first[2:].decode())
    except ValueError:
        return ()
    if words and PurePosixPath(words[0]).name == "env":
        words = words[2:] if words[1:2] == ["-S"] else words[1:]
    return tuple(words)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""Agent Skills as tools: ``skills_list``, ``skills_load``, ``skills_read_file`` and ``skills_run_script``.

A skill is a folder with a ``SKILL.md`` (https://agentskills.io/specification). The model sees it in three
steps: name and description in the first request (:func:`skills_message`), the instructions when it loads the
skill, and other files when it reads them. Pass the tools to any host for Python functions::

    skills = read_skills("skills")
    tools = PythonTools(skill_tools(skills, allow_scripts=["pdf-forms/scripts/*.py"]))
    plan = Plan.of(
        model="…", messages=[SystemMessage(skills_message(skills)), UserMessage("…")], tools=tools.surface
    )
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, Final

from toolreel._internal import SkillError
from toolreel.tools import (
    DEADLINE,
    BoundedProcess,
    ProcessResult,
    RunContext,
    Tool,
    ToolError,
    inherited_environment,
)
from toolreel.tools.skills._folders import Skill, Skills, UnreadableFile, read_inside
from toolreel_core._config_checks import fits
from toolreel_core._jsontext import Json

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
        scripts = [script for skill, path in matching if (script := _script_of(skill, path))]
        if not scripts:
            what = "none of its files says what runs it" if matching else "no skill has a file of that name"
            raise SkillError(
                f"--skills-allow-script {pattern}: {what}; expected SKILL/FILE, "
                "for example pdf-forms/scripts/*.py"
            )
        allowed |= {script.name: script for script in scripts}
    return tuple(allowed[name] for name in sorted(allowed))


def _script_of(skill: Skill, path: str) -> SkillScript | None:
    try:
        content = read_inside(skill.folder, path, _SCRIPT_LIMIT)
    except UnreadableFile:
        return None
    program = _program_of(path, content)
    return SkillScript(skill, path, program, hashlib.sha256(content).hexdigest()) if program else None


def _program_of(path: str, content: bytes) -> tuple[str, ...]:
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


_SOURCE: Final = "skills"
_FILE_LIMIT: Final = 128 * 1024
"""Maximum size in bytes of a file to read."""
_OUTPUT_LIMIT: Final = 32 * 1024
"""Maximum bytes of stdout and of stderr to return."""
_MARGIN: Final = 5.0
"""Seconds that the host's deadline is longer than that of a script, so that the script's result arrives."""
_ABOUT: Final = (
    "Skills are instructions for particular tasks. Before you begin a task that one of these skills is for, "
    "call skills_load with its name, and do as it says."
)


def skills_message(skills: Skills) -> str:
    """Names and descriptions of skills, for the system message; empty without skills."""
    lines = [f"- {skill.name}: {' '.join(skill.manifest.description.split())}" for skill in skills.skills]
    return "\n".join([_ABOUT, "", *lines]) if lines else ""


def skill_tools(
    skills: Skills,
    *,
    allow_scripts: Sequence[str] = (),
    ask: bool = True,
    deadline: float = DEADLINE,
) -> list[Tool]:
    """The tools to use skills; none without skills.

    :param allow_scripts: patterns of allowed scripts, such as ``pdf-forms/scripts/*.py``; without any, there
        is no ``skills_run_script``
    :param ask: whether each run of a script needs approval
    :param deadline: seconds until a script is killed, with its child processes
    :raises SkillError: if a pattern matches no script
    """
    scripts = allowed_scripts(skills.skills, allow_scripts)
    if not skills.skills:
        return []
    known, by_name = {skill.name: skill for skill in skills.skills}, {each.name: each for each in scripts}
    run_by = _SkillTools(known, by_name, deadline)
    load, read = _skill_schema(known), _skill_schema(known, path=_PATH)
    tools = [
        Tool.of(run_by.listed, name="skills_list", read_only=True),
        Tool.of(run_by.loaded, name="skills_load", parameters=load, read_only=True),
        Tool.of(run_by.read, name="skills_read_file", parameters=read, read_only=True),
    ]
    if scripts:
        with_scripts = {script.skill.name: script.skill for script in scripts}
        schema = _skill_schema(with_scripts, script=_PATH, args=_ARGS)
        limit = int((deadline + _MARGIN) * 1000)
        name = "skills_run_script"
        tools.append(Tool.of(run_by.ran, name=name, parameters=schema, needs_approval=ask, deadline_ms=limit))
    return [tool.from_source(_SOURCE) for tool in tools]


_PATH: Final[Mapping[str, Json]] = {
    "type": "string",
    "description": "As skills_load lists it, relative to the skill's folder.",
}
_ARGS: Final[Mapping[str, Json]] = {
    "type": "array",
    "items": {"type": "string"},
    "maxItems": 100,
    "description": "Arguments, one text each; no shell reads them.",
}


def _skill_schema(skills: Mapping[str, Skill], **further: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema of a tool with a skill's name and further parameters."""
    name: Json = {"type": "string", "enum": list(skills), "description": "The skill's name."}
    return {
        "type": "object",
        "properties": {"name": name, **further},
        "required": ["name", *(key for key in further if key != "args")],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class _SkillTools:
    """The tool functions; the docstrings of the public methods are the descriptions that the model sees."""

    skills: Mapping[str, Skill]
    scripts: Mapping[str, SkillScript]
    deadline: float

    def listed(self) -> Json:
        """List the skills there are: name and description of each."""
        skills = self.skills.values()
        return {"skills": [{"name": each.name, "description": each.manifest.description} for each in skills]}

    def loaded(self, name: str) -> Json:
        """Load a skill before you begin a task that it is for: its instructions, and its files."""
        skill = self._find_skill(name)
        files: list[Json] = [{"path": file.path, "bytes": file.size} for file in skill.files]
        loaded: dict[str, Json] = {"name": name, "instructions": skill.manifest.body}
        if skill.manifest.compatibility:
            loaded["compatibility"] = skill.manifest.compatibility
        if files:
            loaded["files"] = files
        if scripts := self._script_paths(name):
            loaded["scripts_that_may_be_run"] = list(scripts)
        return loaded

    def read(self, name: str, path: str) -> Json:
        """Read a file of a skill, when its instructions say so."""
        skill = self._find_skill(name)
        try:
            content = read_inside(skill.folder, path, _FILE_LIMIT)
        except UnreadableFile as error:
            hint = f"; {self._nearest_file(skill, path)}" if error.missing else ""
            code = "TOOL_OUTPUT_TOO_LARGE" if error.too_large else "ARGUMENT_ERROR"
            raise ToolError(f"Skill {name}: {error}{hint}.", code) from None
        about: dict[str, Json] = {"name": name, "path": path, "bytes": len(content)}
        try:
            if b"\0" not in content:
                return {**about, "text": content.decode("utf-8-sig")}
        except UnicodeDecodeError:
            pass
        return {**about, "binary": True, "note": "This file is not text, so it is not shown."}

    def ran(self, run: RunContext[Any], name: str, script: str, args: Sequence[str] = ()) -> Json:
        """Run a script of a skill, when its instructions say so; it gets no input."""
        known = self.scripts.get(f"{self._find_skill(name).name}/{script}")
        if known is None:
            raise ToolError(
                f"{script!r} of skill {name} was not run: it is not allowed. "
                f"You may run: {', '.join(self._script_paths(name)) or 'none of its files'}.",
                "TOOL_NOT_ALLOWED",
            )
        try:
            content = read_inside(known.skill.folder, known.path, _SCRIPT_LIMIT)
        except UnreadableFile:
            content = b""
        if hashlib.sha256(content).hexdigest() != known.digest:
            raise ToolError(
                f"{script!r} of skill {name} was not run: it is no longer what it was when it was allowed. "
                "Do not call it again.",
                "TOOL_NOT_ALLOWED",
            )
        try:
            ended = self._run_script(known, args, run)
        except (OSError, ValueError) as error:  # it cannot be started, or an argument holds NUL
            raise ToolError(f"{script!r} of skill {name} cannot be run: {error}.") from None
        return _script_result(ended, script, self.deadline)

    def _run_script(self, script: SkillScript, args: Sequence[str], call: RunContext[Any]) -> ProcessResult:
        """Run a script until it exits, reaches its deadline, or the call ends; no shell reads its arguments.

        It has no input. Its environment has only ``PATH``, the key of the call, and a temporary folder as
        ``HOME`` and ``TMPDIR``, which is removed afterwards.
        """
        program, *own = script.program
        found = sys.executable if program in _PYTHON else shutil.which(program)
        if not found:
            raise FileNotFoundError(f"{program} is not installed here")
        folder = script.skill.folder
        with tempfile.TemporaryDirectory(prefix="toolreel-", ignore_cleanup_errors=True) as scratch:
            environment = {
                **inherited_environment(("PATH", "SYSTEMROOT")),
                **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), scratch),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                "TOOLREEL_CALL_KEY": call.key,
            }
            command = [found, *own, str(folder / script.path), *args]
            process = BoundedProcess(command, environment, _OUTPUT_LIMIT, cwd=folder)
            call.on_end(process.kill)
            return process.run(deadline=self.deadline)

    def _find_skill(self, name: str) -> Skill:
        if name not in self.skills:
            raise ToolError(f"There is no skill {name!r}. There are: {', '.join(self.skills)}.")
        return self.skills[name]

    def _script_paths(self, name: str) -> tuple[str, ...]:
        return tuple(script.path for script in self.scripts.values() if script.skill.name == name)

    def _nearest_file(self, skill: Skill, path: str) -> str:
        paths = [file.path for file in skill.files]
        last = f"/{PurePosixPath(path).name}"
        close = [each for each in paths if each.endswith(last)] or get_close_matches(path, paths, n=1)
        return f"did you mean {close[0]!r}?" if close else "skills_load lists its files"


def _script_result(ended: ProcessResult, script: str, deadline: float) -> Json:
    """The result of a script for the model; a non-zero exit code is a failure."""
    data: dict[str, Json] = {
        "exit_code": ended.exit_code,
        "stdout": ended.stdout.text,
        "stderr": ended.stderr.text,
    }
    sizes = {"stdout": ended.stdout.size, "stderr": ended.stderr.size}
    warnings: list[Json] = [
        f"{name} has {size} bytes; the first {_OUTPUT_LIMIT} are shown"
        for name, size in sizes.items()
        if size > _OUTPUT_LIMIT
    ]
    errors: list[Json] = []
    if ended.exit_code is None:
        message = f"{script} was ended after {deadline:g} s; it may have had effects."
        errors = [{"code": "TOOL_TIMEOUT", "message": message}]
    elif ended.exit_code:
        message = f"{script} ended with exit code {ended.exit_code}."
        errors = [{"code": "TOOL_ERROR", "message": message}]
    return {"ok": not errors, "data": data, "warnings": warnings, "errors": errors}

"""Agent Skills as tools: ``skills_list``, ``skills_load``, ``skills_read_file`` and ``skills_run_script``.

A skill is a folder with a ``SKILL.md`` (https://agentskills.io/specification). The model sees it in three
steps: name and description in the first request (:func:`skills_message`), the instructions when it loads the
skill, and other files when it reads them.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from toolreel._internal import SkillError
from toolreel.tools import (
    CALL_DEADLINE,
    BoundedProcess,
    ProcessResult,
    RunContext,
    Tool,
    ToolError,
    inherited_environment,
)
from toolreel.tools.skills._folders import Skill, Skills, UnreadableFile, read_inside
from toolreel_core._config_checks import matches_wildcard
from toolreel_core._jsontext import Json
from toolreel_core._tools import ToolFlags

_SCRIPT_LIMIT = 2**20
"""Bytes of a script, which is read as a whole for its digest, again before each run."""
_PROGRAMS = {
    ".py": "python3",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".pl": "perl",
    ".rb": "ruby",
}
"""Interpreter of a script without a ``#!`` line, by its suffix."""
_PYTHON = ("python", "python3")
"""Interpreters that are replaced by the Python that runs toolreel."""


class SkillScript(NamedTuple):
    program: tuple[str, ...]
    digest: str
    """SHA-256 of its content when it was allowed."""


Scripts: TypeAlias = Mapping[tuple[str, str], SkillScript]
"""Scripts by the name of the skill and the path in its folder."""


def allowed_scripts(skills: Iterable[Skill], patterns: Sequence[str]) -> Scripts:
    """The scripts that match patterns such as ``pdf-forms/scripts/*.py``; each has to match one."""
    files = [(skill, path) for skill in skills for path in skill.files]
    allowed: dict[tuple[str, str], SkillScript] = {}
    for pattern in patterns:
        matching = [each for each in files if matches_wildcard(pattern, f"{each[0].name}/{each[1]}")]
        scripts = {(skill.name, path): _current_script(skill, path) for skill, path in matching}
        runnable = {place: script for place, script in scripts.items() if script is not None}
        if not runnable:
            what = "none of its files says what runs it" if matching else "no skill has a file of that name"
            raise SkillError(
                f"--skills-allow-script {pattern}: {what}; expected SKILL/FILE, "
                "for example pdf-forms/scripts/*.py"
            )
        allowed |= runnable
    return dict(sorted(allowed.items()))


def _current_script(skill: Skill, path: str) -> SkillScript | None:
    """A script as it is now; ``None`` if it cannot be read, or nothing says what runs it."""
    try:
        content = read_inside(skill.folder, path, _SCRIPT_LIMIT)
        program = _script_program(path, content)
    except (UnreadableFile, ValueError):  # a first line that is not UTF-8, or has a quote too many
        return None
    return SkillScript(program, hashlib.sha256(content).hexdigest()) if program else None


def _script_program(path: str, content: bytes) -> tuple[str, ...]:
    """Interpreter and its arguments; empty if unknown."""
    first, _, _ = content.partition(b"\n")
    if not first.startswith(b"#!"):
        return tuple(filter(None, [_PROGRAMS.get(PurePosixPath(path).suffix)]))
    words = shlex.split(first[2:].decode())
    if words and PurePosixPath(words[0]).name == "env":
        # "#!/usr/bin/env -S python3 -u": with -S, env splits the rest, which is split here already.
        words = words[2:] if words[1:2] == ["-S"] else words[1:]
    return tuple(words)


_SOURCE = "skills"
_FILE_LIMIT = 128 * 1024
"""Maximum bytes of a file to return."""
_OUTPUT_LIMIT = 32 * 1024
"""Maximum bytes of stdout and of stderr to return."""
_MARGIN = 5.0
"""Seconds that the host's deadline is longer than that of a script, so that the script's result arrives."""
_ABOUT = (
    "Skills are instructions for particular tasks. Before you begin a task that one of these skills is for, "
    "call skills_load with its name, and do as it says."
)


def skills_message(skills: Skills) -> str:
    """Names and descriptions of skills, for the system message; empty without skills."""
    lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in skills.skills]
    return "\n".join([_ABOUT, "", *lines]) if lines else ""


def skill_tools(
    skills: Skills,
    *,
    allow_scripts: Sequence[str] = (),
    ask: bool = True,
    deadline: float = CALL_DEADLINE,
) -> list[Tool]:
    """The tools to use skills; none without skills.

    :param allow_scripts: patterns of allowed scripts, such as ``pdf-forms/scripts/*.py``; without any, there
        is no ``skills_run_script``
    :param ask: whether each run of a script needs approval
    :param deadline: seconds until a script is killed, with its child processes
    :raises SkillError: if a pattern matches no script
    """
    scripts = allowed_scripts(skills.skills, allow_scripts)
    known = {skill.name: skill for skill in skills.skills}
    if not known:
        return []
    run_by = _SkillTools(known, scripts, deadline)
    schema, path_schema = _skill_tool_parameters(known), _skill_tool_parameters(known, path=_PATH)
    tools = [
        Tool.of(run_by.list_skills, name="skills_list", read_only=True),
        Tool.of(run_by.load_skill, name="skills_load", parameters=schema, read_only=True),
        Tool.of(run_by.read_file, name="skills_read_file", parameters=path_schema, read_only=True),
    ]
    if scripts:
        schema = _skill_tool_parameters(dict.fromkeys(name for name, _ in scripts), script=_PATH, args=_ARGS)
        flags: ToolFlags = {"needs_approval": ask, "deadline_ms": int((deadline + _MARGIN) * 1000)}
        tools.append(Tool.of(run_by.run_script, name="skills_run_script", parameters=schema, **flags))
    return [tool.with_source(_SOURCE) for tool in tools]


_PATH: Mapping[str, Json] = {
    "type": "string",
    "description": "As skills_load lists it, relative to the skill's folder.",
}
_ARGS: Mapping[str, Json] = {
    "type": "array",
    "items": {"type": "string"},
    "maxItems": 100,
    "description": "Arguments, one text each; no shell reads them.",
}


def _skill_tool_parameters(names: Iterable[str], **further: Mapping[str, Json]) -> Mapping[str, Json]:
    name: Json = {"type": "string", "enum": list(names), "description": "The skill's name."}
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
    scripts: Scripts
    deadline: float

    def list_skills(self) -> Json:
        """List the skills there are: name and description of each."""
        skills = self.skills.values()
        return {"skills": [{"name": each.name, "description": each.description} for each in skills]}

    def load_skill(self, name: str) -> Json:
        """Load a skill before you begin a task that it is for: its instructions, and its files."""
        skill = self._find_skill(name)
        parts: dict[str, Json] = {
            "compatibility": skill.compatibility,
            "files": [{"path": path, "bytes": size} for path, size in skill.files.items()],
            "scripts_that_may_be_run": self._script_paths(name),
        }
        given = {key: part for key, part in parts.items() if part}
        return {"name": name, "instructions": skill.body, **given}

    def read_file(self, name: str, path: str) -> Json:
        """Read a file of a skill, when its instructions say so."""
        try:
            content = read_inside(self._find_skill(name).folder, path, _FILE_LIMIT)
        except UnreadableFile as error:
            raise ToolError(f"Skill {name}: {error}.", error.code) from None
        about: dict[str, Json] = {"name": name, "path": path, "bytes": len(content)}
        try:
            if b"\0" not in content:
                return {**about, "text": content.decode("utf-8-sig")}
        except UnicodeDecodeError:
            pass
        return {**about, "binary": True, "note": "This file is not text, so it is not shown."}

    def run_script(self, run: RunContext[Any], name: str, script: str, args: Sequence[str] = ()) -> Json:
        """Run a script of a skill, when its instructions say so; it gets no input."""
        skill, known = self._find_skill(name), self.scripts.get((name, script))
        if known is None or _current_script(skill, script) != known:
            why = "it is no longer what it was when it was allowed. Do not call it again."
            if known is None:
                allowed = ", ".join(self._script_paths(name)) or "none of its files"
                why = f"it is not allowed. You may run: {allowed}."
            raise ToolError(f"{script!r} of skill {name} was not run: {why}", "TOOL_NOT_ALLOWED")
        program, *options = known.program
        # No shell reads its arguments. Of the environment it sees where programs are, and nothing else; its
        # home is a temporary folder.
        with tempfile.TemporaryDirectory(prefix="toolreel-", ignore_cleanup_errors=True) as scratch:
            environment = {
                **inherited_environment(("PATH", "SYSTEMROOT")),
                **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), scratch),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                "TOOLREEL_CALL_KEY": run.key,
            }
            program = sys.executable if program in _PYTHON else program
            command = [program, *options, str(skill.folder / script), *args]
            process = BoundedProcess(command, environment, _OUTPUT_LIMIT, cwd=skill.folder)
            run.on_end(process.kill)
            try:
                ended = process.run(deadline=self.deadline)
            except (OSError, ValueError) as error:  # it cannot be started, or an argument holds NUL
                raise ToolError(f"{script!r} of skill {name} cannot be run: {error}.") from None
        return _script_result(ended, script, self.deadline)

    def _find_skill(self, name: str) -> Skill:
        if name not in self.skills:
            raise ToolError(f"There is no skill {name!r}. There are: {', '.join(self.skills)}.")
        return self.skills[name]

    def _script_paths(self, name: str) -> list[str]:
        return [path for skill, path in self.scripts if skill == name]


def _script_result(ended: ProcessResult, script: str, deadline: float) -> Json:
    streams = {"stdout": ended.stdout, "stderr": ended.stderr}
    code, message = "TOOL_ERROR", f"{script} ended with exit code {ended.exit_code}."
    if ended.exit_code is None:
        code, message = "TOOL_TIMEOUT", f"{script} was ended after {deadline:g} s; it may have had effects."
    return {
        "ok": ended.exit_code == 0,
        "data": {"exit_code": ended.exit_code, **{name: each.text for name, each in streams.items()}},
        "warnings": [
            f"{name} has {each.size} bytes; the first {_OUTPUT_LIMIT} are shown"
            for name, each in streams.items()
            if each.size > _OUTPUT_LIMIT
        ],
        "errors": [] if ended.exit_code == 0 else [{"code": code, "message": message}],
    }

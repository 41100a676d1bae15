"""Agent Skills as tools: ``skills_list``, ``skills_load``, ``skills_read_file`` and ``skills_run_script``.

A skill is a folder with a ``SKILL.md`` (https://agentskills.io/specification). What a model sees of it
comes in three steps: name and description in the first request (:func:`skills_message`), the instructions
when it loads the skill, other files when it reads them. The tools are :class:`Tool` objects like any other,
for every host that takes Python functions::

    skills = read_skills("skills")
    tools = PythonTools(skill_tools(skills, allow_scripts=["pdf-forms/scripts/*.py"]))
    plan = Plan.of(
        model="…", messages=[SystemMessage(skills_message(skills)), UserMessage("…")], tools=tools.surface
    )
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, Final

from toolreel.tools._bounded_process import ProcessResult
from toolreel.tools._call_context import RunContext
from toolreel.tools._python.host import DEADLINE, Tool, ToolError
from toolreel.tools.skills._files import UnreadableFile, read_inside
from toolreel.tools.skills._folders import Skill, Skills, read_skill, read_skills
from toolreel.tools.skills._scripts import SkillScript, allowed_scripts, run_script, script_changed
from toolreel_core._jsontext.canonical import Json

__all__ = ["Skill", "Skills", "read_skill", "read_skills", "skill_tools", "skills_message"]

_SOURCE: Final = "skills"
_FILE_LIMIT: Final = 128 * 1024
_OUTPUT_LIMIT: Final = 32 * 1024
_MARGIN: Final = 5.0
"""Seconds that the host waits longer than a script may take, for the script's end to be told."""
_ABOUT: Final = (
    "Skills are instructions for particular tasks. Before you begin a task that one of these skills is for, "
    "call skills_load with its name, and do as it says."
)


def skills_message(skills: Skills) -> str:
    """What a model is told of its skills from the start, for a system message: names and descriptions.

    Empty, if there are no skills.
    """
    lines = [f"- {skill.name}: {' '.join(skill.manifest.description.split())}" for skill in skills.skills]
    return "\n".join([_ABOUT, "", *lines]) if lines else ""


def skill_tools(
    skills: Skills,
    *,
    allow_scripts: Sequence[str] = (),
    ask: bool = True,
    deadline: float = DEADLINE,
    file_limit: int = _FILE_LIMIT,
    output_limit: int = _OUTPUT_LIMIT,
) -> list[Tool]:
    """The tools by which a model uses skills; none, if there are no skills.

    :param allow_scripts: patterns of scripts that may be run, such as ``pdf-forms/scripts/*.py``; without
        any, there is no ``skills_run_script``
    :param ask: somebody has to approve each run of a script
    :param deadline: seconds that a script may take, until it is killed with all that it has started
    :param file_limit: bytes of a file that may be read
    :param output_limit: bytes of each of a script's outputs that the model is shown
    :raises SkillError: if a pattern means no script
    """
    scripts = allowed_scripts(skills.skills, allow_scripts)
    if not skills.skills:
        return []
    desk = _SkillTools(
        {skill.name: skill for skill in skills.skills},
        {script.name: script for script in scripts},
        deadline,
        file_limit,
        output_limit,
    )
    tools = [
        Tool.of(desk.listed, name="skills_list", read_only=True),
        Tool.of(desk.loaded, name="skills_load", parameters=_skill_schema(desk.skills), read_only=True),
        Tool.of(
            desk.read,
            name="skills_read_file",
            parameters=_skill_schema(desk.skills, path={"type": "string", "description": _PATH}),
            read_only=True,
        ),
    ]
    if scripts:
        with_scripts = {script.skill.name: script.skill for script in scripts}
        tools.append(
            Tool.of(
                desk.ran,
                name="skills_run_script",
                parameters=_skill_schema(
                    with_scripts, script={"type": "string", "description": _PATH}, args=_ARGS
                ),
                needs_approval=ask,
                deadline_ms=int((deadline + _MARGIN) * 1000),
            )
        )
    return [tool.from_source(_SOURCE) for tool in tools]


_PATH: Final = "As skills_load lists it, relative to the skill's folder."
_ARGS: Final[Mapping[str, Json]] = {
    "type": "array",
    "items": {"type": "string"},
    "maxItems": 100,
    "description": "Arguments, one text each; no shell reads them.",
}


def _skill_schema(skills: Mapping[str, Skill], **further: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema of a tool that takes a skill's name, and more."""
    name: Json = {"type": "string", "enum": list(skills), "description": "The skill's name."}
    return {
        "type": "object",
        "properties": {"name": name, **further},
        "required": ["name", *(key for key in further if key != "args")],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class _SkillTools:
    """Who hands skills out; the docstrings of its methods are what the model reads of the tools."""

    skills: Mapping[str, Skill]
    scripts: Mapping[str, SkillScript]
    deadline: float
    file_limit: int
    output_limit: int

    def listed(self) -> Json:
        """List the skills there are: name and description of each."""
        skills = self.skills.values()
        return {"skills": [{"name": each.name, "description": each.manifest.description} for each in skills]}

    def loaded(self, name: str) -> Json:
        """Load a skill before you begin a task that it is for: its instructions, and its files."""
        skill = self._skill(name)
        files: list[Json] = [{"path": file.path, "bytes": file.size} for file in skill.files]
        told: dict[str, Json] = {"name": name, "instructions": skill.manifest.body}
        if skill.manifest.compatibility:
            told["compatibility"] = skill.manifest.compatibility
        if files:
            told["files"] = files
        if scripts := self._scripts(name):
            told["scripts_that_may_be_run"] = list(scripts)
        return told

    def read(self, name: str, path: str) -> Json:
        """Read a file of a skill, when its instructions say so."""
        skill = self._skill(name)
        try:
            content = read_inside(skill.folder, path, self.file_limit)
        except UnreadableFile as error:
            hint = f"; {self._nearest(skill, path)}" if error.missing else ""
            code = "TOOL_OUTPUT_TOO_LARGE" if error.too_large else "ARGUMENT_ERROR"
            raise ToolError(f"Skill {name}: {error}{hint}.", code) from None
        told: dict[str, Json] = {"name": name, "path": path, "bytes": len(content)}
        try:
            if b"\0" not in content:
                return {**told, "text": content.decode("utf-8-sig")}
        except UnicodeDecodeError:
            pass
        return {**told, "binary": True, "note": "This file is not text, so it is not shown."}

    def ran(self, run: RunContext[Any], name: str, script: str, args: Sequence[str] = ()) -> Json:
        """Run a script of a skill, when its instructions say so; it gets no input."""
        known = self.scripts.get(f"{self._skill(name).name}/{script}")
        if known is None:
            raise ToolError(
                f"{script!r} of skill {name} was not run: it is not allowed. "
                f"You may run: {', '.join(self._scripts(name)) or 'none of its files'}.",
                "TOOL_NOT_ALLOWED",
            )
        if script_changed(known):
            raise ToolError(
                f"{script!r} of skill {name} was not run: it is no longer what it was when it was allowed. "
                "Do not call it again.",
                "TOOL_NOT_ALLOWED",
            )
        try:
            ended = run_script(known, args, run, deadline=self.deadline, limit=self.output_limit)
        except (OSError, ValueError) as error:
            raise ToolError(f"{script!r} of skill {name} cannot be run: {error}.") from None
        return _result(ended, script, self.deadline, self.output_limit)

    def _skill(self, name: str) -> Skill:
        if name not in self.skills:
            raise ToolError(f"There is no skill {name!r}. There are: {', '.join(self.skills)}.")
        return self.skills[name]

    def _scripts(self, name: str) -> tuple[str, ...]:
        return tuple(script.path for script in self.scripts.values() if script.skill.name == name)

    def _nearest(self, skill: Skill, path: str) -> str:
        paths = [file.path for file in skill.files]
        last = f"/{PurePosixPath(path).name}"
        close = [each for each in paths if each.endswith(last)] or get_close_matches(path, paths, n=1)
        return f"did you mean {close[0]!r}?" if close else "skills_load lists its files"


def _result(ended: ProcessResult, script: str, deadline: float, limit: int) -> Json:
    """What the model is told of a script that has ended; another exit code than 0 is a failure."""
    data: dict[str, Json] = {
        "exit_code": ended.exit_code,
        "stdout": ended.stdout.text,
        "stderr": ended.stderr.text,
    }
    sizes = {"stdout": ended.stdout.size, "stderr": ended.stderr.size}
    warnings: list[Json] = [
        f"{name} has {size} bytes; the first {limit} are shown"
        for name, size in sizes.items()
        if size > limit
    ]
    errors: list[Json] = []
    if ended.exit_code is None:
        message = f"{script} was ended after {deadline:g} s; it may have had effects."
        errors = [{"code": "TOOL_TIMEOUT", "message": message}]
    elif ended.exit_code:
        message = f"{script} ended with exit code {ended.exit_code}."
        errors = [{"code": "TOOL_ERROR", "message": message}]
    return {"ok": not errors, "data": data, "warnings": warnings, "errors": errors}

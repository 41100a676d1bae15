"""``--skills FOLDER``: the tools by which a model uses skills, and what it is told of them from the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Final

import click

from toolreel._cli.output.console import err, printable
from toolreel.tools._python.host import ToolLike

__all__ = ["ChosenSkills", "SkillChoice", "skill_options"]

_OPTIONS: Final = (
    click.option(
        "--skills-skip-invalid",
        "skip_invalid",
        is_flag=True,
        help="Leave out skills that cannot be used, and say so, instead of stopping.",
    ),
    click.option(
        "--skills-allow-script",
        "scripts",
        multiple=True,
        metavar="SKILL/FILE",
        help="A script of a skill that may be run once it is approved, for example pdf-forms/scripts/*.py; "
        "none may without it; may be repeated.",
    ),
    click.option(
        "--skills",
        "folders",
        multiple=True,
        metavar="FOLDER",
        help="An Agent Skill (a folder with a SKILL.md), or a folder of them; may be repeated.",
    ),
)


@dataclass(frozen=True, slots=True)
class ChosenSkills:
    """The skills of a run."""

    tools: tuple[ToolLike, ...] = ()
    message: str = ""
    """What the model is told of them from the start; empty, if there are none."""

    def after(self, system: str | None) -> str:
        """The system message of the run: what the user gives, and then this."""
        return "\n\n".join(text for text in (system, self.message) if text)


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """What the options say."""

    folders: tuple[str, ...]
    scripts: tuple[str, ...]
    """Patterns of those that may be run."""
    skip_invalid: bool

    def read(self) -> ChosenSkills:
        """The skills that are meant; what is left out is told.

        :raises AdapterError: if one cannot be used
        """
        if not self.folders:
            if self.scripts:
                raise click.UsageError("--skills-allow-script is for skills; say which: --skills FOLDER")
            return ChosenSkills()
        from toolreel.tools.skills._host import read_skills, skill_tools, skills_message

        skills = read_skills(*self.folders, skip_invalid=self.skip_invalid)
        for what in skills.left_out:
            err.print(printable(f"left out    {what}"), style="yellow")
        return ChosenSkills(tuple(skill_tools(skills, allow_scripts=self.scripts)), skills_message(skills))


def skill_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that takes skills, which it gets as ``skills``, a :class:`SkillChoice`."""

    @wraps(command)
    def choosing(
        folders: tuple[str, ...], scripts: tuple[str, ...], skip_invalid: bool, **others: object
    ) -> None:
        command(skills=SkillChoice(folders, scripts, skip_invalid), **others)

    options: Callable[..., None] = choosing
    for option in _OPTIONS:
        options = option(options)
    return options

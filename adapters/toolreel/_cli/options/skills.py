"""``--skills FOLDER``: Agent Skills as tools, and their part of the system message."""

from __future__ import annotations

from dataclasses import dataclass

import click

from toolreel._cli.options.option_bundle import bundle
from toolreel._cli.output.console import err, printable
from toolreel.tools._python.tools import ToolLike


@dataclass(frozen=True, slots=True)
class ChosenSkills:
    """The skills of a run."""

    tools: tuple[ToolLike, ...] = ()
    message: str = ""
    """Their names and descriptions for the system message; empty if there are no skills."""


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """The values of the ``--skills`` options."""

    folders: tuple[str, ...]
    scripts: tuple[str, ...]
    """Patterns of the scripts that are allowed."""
    skip_invalid: bool

    def read(self) -> ChosenSkills:
        """Read the chosen skills; warn about those left out.

        :raises AdapterError: if one cannot be used
        """
        if not self.folders:
            if self.scripts:
                raise click.UsageError("--skills-allow-script needs --skills FOLDER")
            return ChosenSkills()
        from toolreel.tools.skills._folders import read_skills
        from toolreel.tools.skills._skill_tools import skill_tools, skills_message

        skills = read_skills(*self.folders, skip_invalid=self.skip_invalid)
        for problem in skills.left_out:
            err.print(printable(f"left out    {problem}"), style="yellow")
        return ChosenSkills(tuple(skill_tools(skills, allow_scripts=self.scripts)), skills_message(skills))


skill_options = bundle(
    "skills",
    SkillChoice,
    click.option(
        "--skills",
        "folders",
        multiple=True,
        metavar="FOLDER",
        help="Folder of an Agent Skill (it has a SKILL.md), or of several. Repeatable.",
    ),
    click.option(
        "--skills-allow-script",
        "scripts",
        multiple=True,
        metavar="SKILL/FILE",
        help="Allow the model to run a script of a skill, such as pdf-forms/scripts/*.py; each call needs "
        "approval. By default no script is allowed. Repeatable.",
    ),
    click.option(
        "--skills-skip-invalid",
        "skip_invalid",
        is_flag=True,
        help="Warn about invalid skills and leave them out, instead of stopping.",
    ),
)
"""Adds the ``--skills`` options to a command, which receives them as one argument ``skills``."""

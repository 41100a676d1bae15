"""Agent Skills as tools."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.tools.skills._folders import (
        MANIFEST_LIMIT,
        Skill,
        Skills,
        UnreadableFile,
        parse_skill,
        read_inside,
        read_skill,
        read_skills,
    )
    from toolreel.tools.skills._skill_tools import skill_tools, skills_message
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("skills"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "Skill",
    "Skills",
    "read_skill",
    "read_skills",
    "skill_tools",
    "skills_message",
]

"""The public names of ``toolreel.tools.skills``."""

from toolreel.tools.skills._folders import Skill, Skills, read_skill, read_skills
from toolreel.tools.skills._skill_tools import skill_tools, skills_message

__all__ = [
    "Skill",
    "Skills",
    "read_skill",
    "read_skills",
    "skill_tools",
    "skills_message",
]

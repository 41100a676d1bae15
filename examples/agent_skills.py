"""An Agent Skill in a run: the model sees its name first, then its instructions, then runs its script.

The skill is a folder with a ``SKILL.md`` and a script. The script may be run because it is allowed by
name, and because somebody approves it. What came of each call is in the journal, so that the second run
below needs neither the folder nor a Python that runs scripts.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from toolreel import (
    Always,
    Completed,
    MemoryJournal,
    Plan,
    Ports,
    PythonTools,
    Rehearsal,
    SystemMessage,
    UserMessage,
    parse_journal,
    run,
)
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel.tools.skills import read_skills, skill_tools, skills_message

INSTRUCTIONS = """\
---
name: word-count
description: Counts the words of a text exactly. Use it whenever a number of words is asked for.
---
Do not count yourself. Run scripts/count.py with the text as its only argument.
"""
SCRIPT = "import sys\nprint(len(sys.argv[1].split()))\n"
TEXT = "It is a truth universally acknowledged"


def main() -> None:
    """Count with a skill; then do without it."""
    endpoint = ScriptedEndpoint(
        [
            calling(("skills_load", {"name": "word-count"})),
            calling(
                ("skills_run_script", {"name": "word-count", "script": "scripts/count.py", "args": [TEXT]})
            ),
            saying("It has 6 words."),
        ]
    )
    with TemporaryDirectory() as folder:
        skill = Path(folder) / "word-count"
        (skill / "scripts").mkdir(parents=True)
        (skill / "SKILL.md").write_text(INSTRUCTIONS)
        (skill / "scripts" / "count.py").write_text(SCRIPT)

        skills = read_skills(folder)
        tools = PythonTools(skill_tools(skills, allow_scripts=["word-count/scripts/*.py"]))
        plan = Plan.of(
            model="scripted",
            messages=[SystemMessage(skills_message(skills)), UserMessage(f"How many words: {TEXT}")],
            tools=tools.surface,
        )
        journal = MemoryJournal(plan)
        ended = run(plan, Ports(endpoint, tools, Always()), journal=journal)
    endpoint.finish()

    rehearsal = Rehearsal(parse_journal(journal.text))
    again = MemoryJournal(plan)
    replayed = run(plan, rehearsal, journal=again)
    rehearsal.finish()
    print(f"tools: {', '.join(plan.tools.names)}")
    print(f"{ended.outcome.name}; replayed without the skill, identical: {again.text == journal.text}")
    assert r"\"stdout\":\"6\\n\"" in journal.text
    assert ended.outcome == replayed.outcome == Completed("It has 6 words.")
    assert again.text == journal.text


if __name__ == "__main__":
    main()

"""``--skills FOLDER``: what the model is sent, what is run, and what is said when something is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.adapters.tools.skills.skills_here import PDF, front, write_skill
from tests.cli.commands import READY, WORKSPACE, assert_mistake, run_at, said_by_each, toolreel
from tests.servers.chat_server import replying, serving
from toolreel._cli import LiveSession, LiveTarget
from toolreel.testing import calling
from toolreel.tools import Toolbox
from toolreel.tools.skills import read_skills, skill_tools
from toolreel_core._plan import Plan

LOADING = calling(("skills_load", {"name": "pdf-forms"}))
RUNNING = calling(("skills_run_script", {"name": "pdf-forms", "script": "scripts/say.sh", "args": ["hello"]}))
ALLOWED = ("--skills", "skills", "--skills-allow-script", "pdf-forms/scripts/*")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills" / "pdf-forms", PDF, {"scripts/say.sh": "echo said: $1"})
    return tmp_path


def test_a_run_loads_a_skill_runs_its_script_and_replays_without_both(here: Path) -> None:
    with serving(replying(LOADING), replying(RUNNING), replying(READY)) as server:
        said = toolreel(
            *(*run_at(server, "Fill it."), *ALLOWED, "--approve", "always"),
            *("--system", "Be brief.", "--record", "kept", "--json"),
            cwd=here,
        )
    assert said.code == 0
    first = json.loads(server.seen[0].body)
    (system,) = [message for message in first["messages"] if message["role"] == "system"]
    assert system["content"].startswith("Be brief.\n\nSkills are instructions for particular tasks.")
    assert system["content"].endswith("\n- pdf-forms: Fills PDF forms.")
    assert "# Forms" not in server.seen[0].body.decode()
    assert "# Forms" in server.seen[1].body.decode()
    assert "said: hello" in server.seen[2].body.decode()

    shutil.rmtree(here / "skills")
    (again,) = said_by_each([("replay", "kept")], here)
    assert again.code == 0
    assert "identical" in again.stdout


def test_scripts_are_not_offered_unless_they_are_allowed_nor_run_unless_approved(here: Path) -> None:
    with serving(replying(RUNNING), replying(READY), replying(RUNNING), replying(READY)) as server:
        base = (*run_at(server, "Fill it."), "--approve", "never", "--json")
        unknown, denied = said_by_each([(*base, "--skills", "skills"), (*base, *ALLOWED)], here)
    assert "There is no tool 'skills_run_script'" in unknown.stdout
    assert "TOOL_DENIED" in denied.stdout
    assert "said: hello" not in unknown.stdout + denied.stdout


def test_a_run_that_rests_is_resumed_with_its_skills(here: Path) -> None:
    tools = skill_tools(read_skills(here / "skills"), allow_scripts=["*"])
    plan = Plan.of(model="m", messages="Fill it.", tools=Toolbox(tools).surface)
    with serving(replying(RUNNING), replying(READY)) as server:
        LiveSession(LiveTarget(server.url), tools).run(plan, here / "kept.yaml")
        base = ("resume", "kept", "--base-url", server.url, "--approve", "always")
        other, said = said_by_each([(*base, "--skills", "skills"), (*base, *ALLOWED)], here)
    assert other.code == 3
    assert said.code == 0
    assert "said: hello" in server.seen[1].body.decode()


def test_mistakes_are_told(here: Path) -> None:
    write_skill(here / "bad" / "zip", front(name="zip", license="MIT\nlicense: BSD"))
    write_skill(here / "other" / "zip", front(name="zip", version="1", description="Use it when: ZIP."))
    write_skill(here / "bad" / "good", front(name="good"))
    bad, pattern, alone, lenient, strict = said_by_each(
        [
            ("tools", "--skills", "bad"),
            ("tools", "--skills", "skills", "--skills-allow-script", "pdf-forms/say.sh"),
            ("tools", *WORKSPACE, "--skills-allow-script", "*"),
            ("tools", "--skills", "other"),
            ("tools", "--skills", "other", "--check"),
        ],
        here,
    )
    assert_mistake(bad, "the key 'license' stands twice")
    assert_mistake(pattern, "--skills-allow-script pdf-forms/say.sh: no skill has a file of that name")
    assert_mistake(alone, "--skills-allow-script needs --skills FOLDER")
    assert lenient.code == 0
    assert lenient.stderr.count("warning     ") == 2
    assert "unknown field 'version'" in lenient.stderr
    assert_mistake(strict, "put a text that holds a colon in quotes")

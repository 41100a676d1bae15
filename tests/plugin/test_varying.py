"""Tests whose prompts have a time, an id or a path in them, in real sessions of pytest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.project import Project
from tests.servers.chat_server import replying
from toolreel.testing import calling, saying

PROMPT = """
import itertools, os
from toolreel.cassette import Vary

NOW = Vary(pattern=r"Now: [0-9-]{10} [0-9:]{5}", becomes="Now: <time>")
TIME = os.environ.get("THE_TIME", "2026-11-22 14:03")

def timed():
    return asking(f"Now: {TIME}. How many pins are in stock?")
"""

GIVEN = {
    "in the test": """
def test_pins(reel):
    reel.vary(NOW)
    assert_reel(reel.run(timed(), TOOLS)).called("stock").completed("There are 4.")
""",
    "async": """
@pytest.mark.anyio
@pytest.mark.reel("test_agent/test_pins")
async def test_pins(reel):
    reel.vary(NOW)
    assert_reel(await reel.arun(timed(), [stock])).called("stock").completed("There are 4.")
""",
}

PLAIN = """
def test_pins(reel):
    assert_reel(reel.run(timed(), TOOLS)).called("stock").completed("There are 4.")
"""

TABLE = """
[[tool.toolreel.vary]]
pattern = "Now: [0-9-]{10} [0-9:]{5}"
becomes = "Now: <time>"
"""
USED = "pattern='Now: [[]0-9-]{10} [[]0-9:]{5}', becomes='Now: <time>'"
"""As ``fnmatch_lines`` wants it."""


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_TIME", "2027-01-01 00:00")


def recordings(project: Project) -> dict[str, bytes]:
    return {name: (project.path / "reels" / name).read_bytes() for name in project.files()}


@pytest.mark.parametrize("given", GIVEN)
def test_a_prompt_with_the_time_replays_at_another_time(
    project: Project, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    project.tests(PROMPT + GIVEN[given])
    times = 2 if given == "async" else 1  # asyncio and trio share the recording
    project.record().assert_outcomes(passed=times)
    before = recordings(project)
    assert b"Now: 2026-11-22 14:03" in before["test_agent/test_pins.yaml"]
    later(monkeypatch)
    result = project.here()
    result.assert_outcomes(passed=times)
    result.stdout.fnmatch_lines(
        ["*= what may vary in recordings =*", f"test_agent.py::test_pins*: {USED}: 2 *"]
    )
    assert recordings(project) == before
    assert result.ret == 0


def test_a_rule_of_a_test_that_fits_nothing_fails_the_test(project: Project) -> None:
    project.tests(PROMPT + GIVEN["in the test"].replace("NOW", 'NOW, Vary(at="/user")'))
    result = project.record()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the rule (at='/user') fits no request of this session: correct or *"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_rule_of_a_test_without_requests_fails_it(project: Project) -> None:
    project.tests(PROMPT + "\ndef test_none(reel):\n    reel.vary(NOW)\n")
    result = project.here()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the test made no request, so the rule (*) fits none: remove it"])


def test_a_rule_comes_before_the_first_use(project: Project, recorded: Callable[[str], None]) -> None:
    recorded(PROMPT + PLAIN)
    project.tests(PROMPT + PLAIN + "    reel.vary(NOW)\n")
    result = project.here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*reel.vary: the reel has been used already; give the rules before its first use"]
    )


def test_rules_of_the_project_are_for_all_tests(
    project: Project, recorded: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(PROMPT + PLAIN)
    (project.path / "pyproject.toml").write_text(TABLE)
    project.tests(
        PROMPT
        + PLAIN
        + '\ndef test_other(reel):\n    assert_reel(reel.run(Plan.of(model="m", messages="?")))\n'
    )
    project.record("-k", "other", script=[replying(saying("Yes."))]).assert_outcomes(passed=1, deselected=1)
    later(monkeypatch)
    result = project.here()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"pyproject.toml: {USED}: 2 requests"])
    assert result.ret == 0


UNUSED = '\n[[tool.toolreel.vary]]\nat = "/metadata/trace"\n'


def test_a_rule_of_the_project_that_is_none_is_named_with_its_line(
    project: Project, recorded: Callable[[str], None]
) -> None:
    recorded(PROMPT + PLAIN)
    (project.path / "pyproject.toml").write_text(TABLE + UNUSED.replace('"/m', '"m'))
    result = project.here()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*pyproject.toml: tool.toolreel.vary?1?: at: 'metadata/trace' *"])


FROZEN = """
from toolreel import PythonTools

def test_order(reel):
    def order(part: str) -> str:
        \"\"\"Order a part.\"\"\"
        return reel.new_id("order")

    question = f"Now: {reel.now:%Y-%m-%d %H:%M:%S}. I am {reel.new_id()}. A pin, please."
    plan = Plan.of(model="m", messages=question, tools=PythonTools([order]).surface)
    assert_reel(reel.run(plan, [order])).called("order").completed()
"""


def test_a_frozen_clock_and_seeded_ids_replay_without_a_rule(project: Project) -> None:
    project.tests(FROZEN)
    script = (replying(calling(("order", {"part": "pin"}))), replying(saying("Done.")))
    project.record(script=script).assert_outcomes(passed=1)
    result = project.here()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*what may vary*")
    text = (project.path / "reels/test_agent/test_order.yaml").read_text()
    assert "\nnow: '20" in text
    project.edit("reels/test_agent/test_order.yaml", "\nnow: '20", "\nnow: '19")
    project.here().assert_outcomes(failed=1)

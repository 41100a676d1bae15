"""The pytest plugin: the fixture ``reel`` records the model's replies of a test, and replays them.

pytest loads it automatically if toolreel is installed with the extra ``pytest``::

    def test_status(reel):
        run = reel.run(plan, tools)
        assert_reel(run).called("state_get", path="/release/status").completed()


    @pytest.mark.reel("status/local--qwen")  # a recording with an explicit name
    async def test_the_same(reel):
        run = await reel.arun(plan, tools)

============================  =======================================================================
``--reel=replay``             the default: no network; a difference from the recording fails the test
``--reel=record``             record again; the old recording is replaced only if the test passes
``--reel=auto``               record missing recordings, replay the others
``--reel-live-url URL``       server to record from
``--reel-live-key-env NAME``  variable that holds the API key
============================  =======================================================================

``[tool.toolreel]`` in ``pyproject.toml`` sets the server, the variable of its key, the folder of recordings
and the hosts that a replaying test may reach: see :mod:`toolreel._internal.pyproject_table`. It also says
what may vary in requests; a test says that by ``reel.vary(Vary(...))``.

Tests can share a recording by name: the first that passes records it, the others replay it.

Every pytest session loads this module, so the rest is imported when the first test uses a reel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from toolreel.testing._reel import Reel

_GIVEN = pytest.StashKey[bool]()
"""Whether a test uses a reel, directly or through a fixture."""

_MARK = "reel(name): use a recording with this name instead of the name of the test"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("reel", "recorded sessions with language models")
    group.addoption(
        "--reel",
        choices=("replay", "record", "auto"),
        default="replay",
        help="replay recordings (the default), record them again, or record only missing ones",
    )
    group.addoption(
        "--reel-live-url",
        metavar="URL",
        help="server to record from (default: base_url of [tool.toolreel] in pyproject.toml)",
    )
    group.addoption(
        "--reel-live-key-env",
        metavar="NAME",
        help="name of the environment variable with its API key",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give every marked test a reel, even without the fixture argument."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("reel") and not _uses_reel(item):
        item.fixturenames.append("reel")


@pytest.fixture
def reel(request: pytest.FixtureRequest) -> Reel:
    """This test's recording: see :class:`toolreel.testing._reel.Reel`."""
    # It has no teardown: requests of `teardown_method`, which runs after it, belong to the recording, too.
    request.node.stash[_GIVEN] = True
    from toolreel.testing import _pytest_reel as reel_session

    return reel_session.open_reel(request.node)


def _wrap_test_phase(item: pytest.Item, when: str) -> Generator[None, object, object]:
    if not _uses_reel(item):
        return (yield)
    from toolreel.testing import _pytest_reel as reel_session

    with reel_session.check_reel_after_phase(item, when):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _wrap_test_phase(item, "setup"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _wrap_test_phase(item, "call"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _wrap_test_phase(item, "teardown"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test passed: only then is its recording saved. No report has its key."""
    report = yield
    if report.when == "call" and _uses_reel(item):
        from toolreel.testing import _pytest_reel as reel_session

        item.stash[reel_session.PASSED] = report.passed
        reel_session.scrub_report(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the rules that were used, and the files that were written."""
    from toolreel._internal import count_with_noun

    ended = [one for reports in terminalreporter.stats.values() for one in reports]
    told = [pair for one in ended if getattr(one, "when", "") == "teardown" for pair in one.user_properties]
    requests = Counter[str]()
    for rule, count in (value for name, value in told if name == "reel_rule"):
        requests[rule] += count
    rules = [f"{rule}: {count_with_noun(count, 'request')}" for rule, count in sorted(requests.items())]
    written = sorted(str(value) for name, value in told if name == "reel_recorded")
    notices = dict.fromkeys(str(value) for name, value in told if name == "reel_notice")
    for title, lines in (("what may vary in recordings", rules), ("recorded", [*written, *notices])):
        if lines:
            terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)


def _uses_reel(item: pytest.Item) -> bool:
    return "reel" in getattr(item, "fixturenames", ()) or item.stash.get(_GIVEN, False)

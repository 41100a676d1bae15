"""The pytest plugin: a recording for each test that asks for one, by the test's name.

It is there wherever toolreel is installed with its extra ``pytest``::

    def test_status(reel):
        run = reel.run(plan, tools)
        assert_reel(run).called("state_get", path="/release/status").completed()


    @pytest.mark.reel("status/local--qwen")  # a name of your own, and no network in any case
    async def test_the_same(reel):
        run = await reel.arun(plan, tools)

============================  =======================================================================
``--reel=replay``             the default: no network, and whatever differs from the record fails
``--reel=record``             record anew; what was there is replaced only when the test has passed
``--reel=auto``               record what is missing, replay what is there
``--reel-live-url URL``       where to record, or the environment variable ``TOOLREEL_LIVE_URL``
``--reel-live-key-env NAME``  the variable that holds the key, or ``TOOLREEL_LIVE_KEY_ENV``
``reel_dir``                  (ini) folder of all recordings; else ``reels`` beside each test's file
``reel_allowed_hosts``        (ini) hosts that a replaying test may reach; ``loopback`` by default
============================  =======================================================================

Tests may share a name: the first that passes records, the others replay what it has recorded.

This module is loaded by every pytest, so everything that a reel needs is imported when the first
test asks for one.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from toolreel.testing._reel import Reel

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_itemcollected",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_terminal_summary",
    "reel",
]

_GIVEN: Final = pytest.StashKey[bool]()
"""Whether a test has been given a reel, perhaps to one of its fixtures."""

_MARK: Final = "reel(name): the test's recording has this name instead of the test's own"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options in this module's table."""
    group = parser.getgroup("reel", "recorded sessions with language models")
    group.addoption(
        "--reel",
        choices=("replay", "record", "auto"),
        default="replay",
        help="replay recordings (the default), record them anew, or record those that are missing",
    )
    group.addoption(
        "--reel-live-url",
        metavar="URL",
        default=os.environ.get("TOOLREEL_LIVE_URL"),
        help="the server to record from; by default what TOOLREEL_LIVE_URL says",
    )
    group.addoption(
        "--reel-live-key-env",
        metavar="NAME",
        default=os.environ.get("TOOLREEL_LIVE_KEY_ENV"),
        help="the environment variable with its key; by default the one that TOOLREEL_LIVE_KEY_ENV names",
    )
    parser.addini("reel_dir", "folder of all recordings; 'reels' beside each test's file if not set")
    parser.addini(
        "reel_allowed_hosts",
        "hosts that replaying tests may reach: names with * for any text, and 'loopback'",
        type="args",
        default=["loopback"],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARK)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that is marked has a reel, even if it does not take it as an argument."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("reel") and not _uses_reel(item):
        item.fixturenames.append("reel")


@pytest.fixture
def reel(request: pytest.FixtureRequest) -> Generator[Reel]:
    """This test's recording: see :class:`toolreel.testing._reel.Reel`."""
    request.node.stash[_GIVEN] = True
    from toolreel.testing import _pytest_session as reel_session

    with reel_session.reel_of(request.node) as given:
        yield given


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """What is wrong with a recording is told without a stack trace."""
    if not _uses_reel(item):
        return (yield)
    from toolreel.testing import _pytest_session as reel_session

    with reel_session.readable(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The same; and a test that did not ask for all that was recorded has failed."""
    if not _uses_reel(item):
        return (yield)
    from toolreel.testing import _pytest_session as reel_session

    with reel_session.readable(item), reel_session.played_out(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """The same; here recordings are written."""
    if not _uses_reel(item):
        return (yield)
    from toolreel.testing import _pytest_session as reel_session

    with reel_session.readable(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test has passed, for only then its recording is kept."""
    report = yield
    if report.when == "call" and _uses_reel(item):
        from toolreel.testing import _pytest_session as reel_session

        item.stash[reel_session.PASSED] = report.passed
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which files were written."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    ended = [report for report in reports if getattr(report, "when", "") == "teardown"]
    written = [value for report in ended for name, value in report.user_properties if name == "reel_recorded"]
    if written:
        terminalreporter.section("recorded")
        for path in sorted(written):
            terminalreporter.line(str(path))


def _uses_reel(item: pytest.Item) -> bool:
    return "reel" in getattr(item, "fixturenames", ()) or item.stash.get(_GIVEN, False)

"""The reel of a test in a pytest session: its files, network access and failure reports."""

from __future__ import annotations

import os
import shlex
import traceback
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from toolreel._internal import (
    PYPROJECT,
    AdapterError,
    CassetteError,
    ProjectSettings,
    printable_text,
    project_settings,
)
from toolreel._secrets import scrubbed, secrets_to_scrub
from toolreel.testing._network_block import LOOPBACK, NetworkBlocked, network_blocked
from toolreel.testing._recordings_check import project_vary_rules
from toolreel.testing._reel import LiveSide, Reel
from toolreel.testing._reel_files import cassette_by_name, cassette_of_test, is_recorded
from toolreel_core._errors import ReplayMismatch

PASSED = pytest.StashKey[bool]()
"""Whether a test has passed; false until the call phase ends."""

_RECORDED = pytest.StashKey[set[Path]]()
"""Cassettes recorded in this session: further tests that share one replay it."""


@dataclass(slots=True)
class _Open:
    reel: Reel
    block: ExitStack = field(default_factory=ExitStack)
    """Keeps the network from a replay."""
    refused: Sequence[str] = ()
    """What the test has wanted of it."""

    def check(self) -> None:
        """Fail a test that left its recording, or wanted the network, though it caught the exception."""
        self.reel.check()
        if self.refused:
            raise NetworkBlocked(
                f"there is no network in a replay, but this test wanted to {self.refused[0]}"
            )


_OPEN = pytest.StashKey[_Open]()


def open_reel(item: pytest.Item) -> Reel:
    """The reel of a test, until the end of its teardown; the network is blocked unless it records."""
    settings = project_settings(item.config.rootpath)
    settings.set_unset_variables(os.environ)
    mode, cassette = item.config.getoption("--reel"), _cassette_path(item, settings)
    recorded = item.config.stash.setdefault(_RECORDED, set())
    missing = not is_recorded(cassette) if mode == "auto" else cassette not in recorded
    recording = mode != "replay" and missing
    # A server that is named for this session gets no key of the project's own.
    url, key_env = item.config.getoption("--reel-live-url"), item.config.getoption("--reel-live-key-env")
    ours = settings.values
    live = LiveSide(url or ours.get("base_url"), key_env or (None if url else ours.get("api_key_env")))
    reel = Reel(cassette, live, recording=recording, shared=project_vary_rules(settings))
    open_ = _Open(reel)
    item.stash[_OPEN] = open_
    item.stash[PASSED] = False
    if not recording:
        hosts = (LOOPBACK, *settings.texts("allowed_hosts"))
        open_.refused = open_.block.enter_context(network_blocked(hosts, _network_remedy(item, live)))
    return reel


@contextmanager
def check_reel_after_phase(item: pytest.Item, when: str) -> Generator[None]:
    """Check the reel of a test after a phase: ``setup``, ``call`` or ``teardown``.

    Errors of a recording become failures with the difference and without a stack trace.
    """
    try:
        with _end_reel(item) if when == "teardown" else nullcontext():
            yield
        if when == "call" and (open_ := item.stash.get(_OPEN, None)):
            open_.check()
    except BaseException as error:
        cause = _readable_cause(error)
        is_failure = isinstance(error, pytest.fail.Exception)
        # pytest's ScopeMismatch: "… the function scoped fixture reel with a module scoped request object."
        if cause is None and is_failure and "scoped fixture reel with a" in str(error):
            raise pytest.fail.Exception(f"{error}\n\n{_ONE_TEST}", pytrace=False) from None
        if cause is None:
            raise
        raise pytest.fail.Exception(_failure_text(item, error, cause), pytrace=False) from None


@contextmanager
def _end_reel(item: pytest.Item) -> Generator[None]:
    """End a reel after the teardown: check that a replay used all of it, and write a new recording.

    Only if the test has passed, and its teardown, too.
    """
    open_ = item.stash.get(_OPEN, None)
    if open_ is None:  # the reel itself could not be made
        yield
        return
    reel = open_.reel
    try:
        yield
    finally:
        open_.block.close()
        reel.close()
    if not item.stash[PASSED]:
        return
    open_.check()
    reel.finish()
    for rule, count in reel.requests_by_rule.items():
        if count:
            source = PYPROJECT if rule in reel.shared else item.nodeid
            item.user_properties.append(("reel_rule", (f"{source}: {rule.text}", count)))
    if reel.recording:
        written = [os.path.relpath(path, item.config.invocation_params.dir) for path in reel.save()]
        item.config.stash[_RECORDED].add(reel.cassette)
        item.user_properties += [("reel_recorded", path) for path in written]
        if reel.live.key_notice:
            item.user_properties.append(("reel_notice", reel.live.key_notice))


def scrub_report(item: pytest.Item, report: pytest.TestReport) -> None:
    """Take the credentials of the live server out of a report, where a server may have said them back."""
    open_ = item.stash.get(_OPEN, None)
    if open_ is not None and open_.reel.recording:
        known = secrets_to_scrub(open_.reel.live.secrets)
        text = report.longreprtext
        if (shown := scrubbed(text, known)) != text:
            report.longrepr = shown
        report.sections = [(title, scrubbed(content, known)) for title, content in report.sections]


_ONE_TEST = (
    "The fixture reel is the recording of one test, which is replaced only if that test passes.\n"
    "A fixture of a wider scope serves tests that may also run alone or in another order. Give it the scope\n"
    "function, or a recording of its own: with toolreel.cassette.use_cassette(path, mode='auto') as session."
)


def _cassette_path(item: pytest.Item, settings: ProjectSettings) -> Path:
    config, named = item.config, settings.values.get("recordings")
    base = item.path.parent
    if named:
        base = config.inipath.parent if config.inipath else config.rootpath
    folder, module = base / (named or "reels"), item.path.with_suffix("")
    if mark := item.get_closest_marker("reel"):
        for name in (*mark.args, *mark.kwargs.values()):
            return cassette_by_name(folder, name)
    module = module.relative_to(base) if module.is_relative_to(base) else Path(module.name)
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return cassette_of_test(folder / module, [*classes, item.name])


def _readable_cause(error: BaseException) -> BaseException | None:
    """The error, its cause or a member of its group whose message is a complete explanation."""
    match error:
        case ReplayMismatch() | AdapterError() | NetworkBlocked():
            return error
        case BaseExceptionGroup():
            found = [_readable_cause(one) for one in error.exceptions]
            return found[0] if all(found) else None
        case _:
            return None if error.__cause__ is None else _readable_cause(error.__cause__)


def _failure_text(item: pytest.Item, error: BaseException, cause: BaseException) -> str:
    parts, raised = [str(cause)], error
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    frames = [frame for each in (error, raised) for frame in traceback.extract_tb(each.__traceback__)]
    if lines := [frame.lineno for frame in frames if Path(frame.filename) == item.path]:
        parts = [f"{item.path.name}:{lines[-1]}: {cause}"]
    open_ = item.stash.get(_OPEN, None)
    if isinstance(cause, ReplayMismatch | CassetteError) and open_ and not open_.reel.recording:
        parts.append(f"To record: {_command_to_record(item, open_.reel.live)}")
    here = f"{item.config.invocation_params.dir}{os.sep}"
    return printable_text("\n".join(parts).replace(here, ""))


def _command_to_record(item: pytest.Item, live: LiveSide) -> str:
    where = "" if live.base_url else " --reel-live-url URL"
    return f"pytest {shlex.quote(item.nodeid)} --reel=record{where}"


def _network_remedy(item: pytest.Item, live: LiveSide) -> str:
    return (
        "Send it through the reel (reel.run, reel.endpoint, reel.transport); for a tool, replay its result "
        "(tools_in_replay=False);\nor allow the host in allowed_hosts of [tool.toolreel] in pyproject.toml.\n"
        f"To record: {_command_to_record(item, live)}"
    )

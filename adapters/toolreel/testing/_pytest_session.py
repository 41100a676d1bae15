"""A reel in a pytest session: where it lives, what it may do, and how its failures are told."""

from __future__ import annotations

import os
import shlex
import traceback
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from toolreel._errors import AdapterError, CassetteError
from toolreel.testing._files import ReelFiles, files_by_name, files_of_test
from toolreel.testing._network import NetworkBlocked, network_blocked
from toolreel.testing._reel import Reel
from toolreel.testing._tape import LiveSide
from toolreel_core._errors import ReplayMismatch

__all__ = ["PASSED", "played_out", "readable", "reel_of"]

PASSED: Final = pytest.StashKey[bool]()
"""Whether a test has passed, as far as that is known."""

_RECORDED: Final = pytest.StashKey[set[Path]]()
"""The cassettes that were recorded in this session, so that tests that share one replay it."""

_REEL: Final = pytest.StashKey[Reel]()
_FINISHED: Final = pytest.StashKey[bool]()
"""Whether a test's reel has been found to be over."""

_REFUSED: Final = pytest.StashKey[list[str]]()


@contextmanager
def reel_of(item: pytest.Item) -> Generator[Reel]:
    """The reel of a test while it runs; there is no network unless it is recorded."""
    mode, live = item.config.getoption("--reel"), _live(item.config)
    files = _files(item)
    recorded = item.config.stash.setdefault(_RECORDED, set())
    missing = not files.exist if mode == "auto" else files.cassette not in recorded
    recording = mode != "replay" and missing
    item.stash[_REEL] = reel = Reel(files, live, recording=recording)
    item.stash[PASSED] = item.stash[_FINISHED] = False
    hosts = item.config.getini("reel_allowed_hosts")
    with ExitStack() as stack:
        blocked = None if recording else network_blocked(hosts, _network_remedy(item))
        item.stash[_REFUSED] = stack.enter_context(blocked) if blocked else []
        yield reel
    reel.close()
    if item.stash[PASSED] and not item.stash[_FINISHED]:  # it was asked for in the middle of the test
        _check_finished(item)
    if item.stash[PASSED] and recording:
        written = [os.path.relpath(path, item.config.invocation_params.dir) for path in reel.save()]
        recorded.add(files.cassette)
        item.user_properties += [("reel_recorded", path) for path in written]


@contextmanager
def played_out(item: pytest.Item) -> Generator[None]:
    """Around a test: when it is over, its reel must be over too.

    What the test itself fails with goes on; that its reel is not over is then said beside it.
    """
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:
        if not _readable_cause(error) and (unfinished := _unfinished(item)):
            item.add_report_section("call", "reel", unfinished)
        raise
    _check_finished(item)


@contextmanager
def readable(item: pytest.Item) -> Generator[None]:
    """Failures of a recording become failures of the test that say what is different, and nothing else."""
    try:
        yield
    except BaseException as error:
        told = _readable_cause(error)
        if told is None:
            raise
        raise pytest.fail.Exception(_text(item, error, told), pytrace=False) from None


def _check_finished(item: pytest.Item) -> None:
    item.stash[_FINISHED] = True
    item.stash[_REEL].finish()
    if refused := item.stash[_REFUSED]:
        raise NetworkBlocked(f"there is no network in a replay, but this test wanted to {refused[0]}")


def _live(config: pytest.Config) -> LiveSide:
    return LiveSide(config.getoption("--reel-live-url"), config.getoption("--reel-live-key-env"))


def _files(item: pytest.Item) -> ReelFiles:
    folder, module = _folder(item)
    mark = item.get_closest_marker("reel")
    name = _marked(*mark.args, **mark.kwargs) if mark else None
    if name:
        return files_by_name(folder, name)
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return files_of_test(folder / module, [*classes, item.name])


def _marked(name: str | None = None) -> str | None:
    """What a marker says; Python itself refuses anything else in it."""
    return name


def _folder(item: pytest.Item) -> tuple[Path, Path]:
    """Where recordings lie, and in there those of the test's module."""
    root = item.config.inipath.parent if item.config.inipath else item.config.rootpath
    ini = item.config.getini("reel_dir")
    if not ini:
        return item.path.parent / "reels", Path(item.path.stem)
    module = item.path.with_suffix("")
    return root / ini, module.relative_to(root) if module.is_relative_to(root) else Path(module.name)


def _unfinished(item: pytest.Item) -> str:
    try:
        item.stash[_REEL].finish()
    except (ReplayMismatch, AdapterError) as error:
        return str(error)
    return ""


def _readable_cause(error: BaseException) -> BaseException | None:
    """What an error comes from, if its text says all there is to know: itself, its cause, a group's parts."""
    match error:
        case ReplayMismatch() | AdapterError() | NetworkBlocked():
            return error
        case BaseExceptionGroup():
            found = [_readable_cause(one) for one in error.exceptions]
            return found[0] if all(found) else None
        case _:
            return None if error.__cause__ is None else _readable_cause(error.__cause__)


def _text(item: pytest.Item, error: BaseException, told: BaseException) -> str:
    parts = [f"{place}: {told}" if (place := _place(item, error)) else str(told)]
    if told is not error and not isinstance(error, BaseExceptionGroup):
        parts.append(f"(It reached the test as {type(error).__name__}: {error})")
    reel = item.stash.get(_REEL, None)
    if isinstance(told, ReplayMismatch | CassetteError) and reel and not reel.recording:
        parts.append(f"To record: {_command(item)}")
    here = f"{item.config.invocation_params.dir}{os.sep}"
    return "\n".join(parts).replace(here, "")


def _place(item: pytest.Item, error: BaseException) -> str:
    """The line of the test's file from which it came."""
    lines = [frame.lineno for frame in _frames(error) if Path(frame.filename) == item.path]
    return f"{item.path.name}:{lines[-1]}" if lines else ""


def _frames(error: BaseException) -> Iterator[traceback.FrameSummary]:
    yield from traceback.extract_tb(error.__traceback__)
    if isinstance(error, BaseExceptionGroup):
        yield from _frames(error.exceptions[0])


def _command(item: pytest.Item) -> str:
    where = "" if _live(item.config).base_url else " --reel-live-url URL"
    return f"pytest {shlex.quote(item.nodeid)} --reel=record{where}"


def _network_remedy(item: pytest.Item) -> str:
    return (
        "Let it go through the reel (reel.run, reel.endpoint, reel.transport); for a tool, let the journal "
        "answer (tools_in_replay=False);\nor allow the host with the ini option reel_allowed_hosts.\n"
        f"To record: {_command(item)}"
    )

"""Watchers of runs, for the whole process: traces and logs.

A driver tells each watcher that a run begins, and then what happens in it. Watchers change nothing: what one
raises becomes a ``RuntimeWarning``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from toolreel._driver.ports import NO_SCOPE, Wanted
from toolreel_core._protocol import Event, State, Step


@dataclass(frozen=True, slots=True)
class Begun:
    run: str
    """Its name: that of a durable run, else a new one."""
    first: Step
    """Its state, the notes of its begin, and the effects that it wants first."""
    performer: object
    secrets: Mapping[str, str]
    durable: bool
    replays: bool
    """Whether its answers come from a record, at least the first ones."""


class Watch:
    """A watcher of one run; by default, its methods do nothing."""

    def performing(self, _effect: Wanted, /) -> AbstractContextManager[object]:
        """A scope for performing an effect, or for reading the next piece of a stream.

        It is entered where that happens: in the thread or the task of the effect.
        """
        return NO_SCOPE

    def began_to_arrive(self, effect: Wanted, /) -> None:
        """The first piece of a streamed reply is there."""

    def performed(self, effect: Wanted, /, *, replayed: bool) -> None:
        """The answer to an effect is there.

        :param replayed: whether it comes from a record
        """

    def stepped(self, effect: Wanted | None, event: Event, after: Step, /) -> None:
        """The run took an event, of this effect or of the user."""

    def ended(self, state: State, error: BaseException | None, /) -> None:
        """The driver is done, with the last state; ``error`` is what ended it instead of an outcome."""


RunWatcher: TypeAlias = Callable[[Begun], Watch]


_Join: TypeAlias = Callable[[Mapping[str, str]], AbstractContextManager[object]]
CONTEXTS: list[tuple[Callable[[], Mapping[str, str]], _Join]] = []
"""Functions of tracers: one writes the current trace as headers, the other joins the trace in headers."""


def current_trace_headers() -> dict[str, str]:
    """The current trace as headers, so that another process can go on in it; empty where nobody traces."""
    return {name: value for written, _ in CONTEXTS for name, value in written().items()}


@contextmanager
def continue_trace_from_headers(headers: Mapping[str, str]) -> Generator[None]:
    """Join the trace of these headers, which :func:`current_trace_headers` has written, here or elsewhere."""
    with ExitStack() as scopes:
        for _, joined in CONTEXTS if headers else ():
            scopes.enter_context(joined(headers))
        yield


WATCHERS: list[RunWatcher] = []


class Watches:
    """All that watches one run, as one; nothing of it can end or change the run."""

    def __init__(self, begun: Begun) -> None:
        self._watches = list[Watch]()
        for watcher in tuple(WATCHERS):
            try:
                self._watches.append(watcher(begun))
            except Exception as error:  # noqa: BLE001 - watching must not end a run
                _warn_of_watcher_failure(error)
        # Entering scopes that do nothing would be a tenth of what a driver does for an effect.
        self._surrounding = [each for each in self._watches if type(each).performing is not Watch.performing]

    def performing(self, effect: Wanted) -> AbstractContextManager[object]:
        """The scopes of all watches; each sees what is raised inside, and none can keep it from the run."""
        return self._enter_scopes(effect) if self._surrounding else NO_SCOPE

    @contextmanager
    def _enter_scopes(self, effect: Wanted) -> Generator[None, None, None]:
        scopes = list[AbstractContextManager[object]]()
        for watch in self._surrounding:
            try:
                scope = watch.performing(effect)
                scope.__enter__()
            except Exception as error:  # noqa: BLE001 - watching must not end a run
                _warn_of_watcher_failure(error)
            else:
                scopes.append(scope)
        raised: BaseException | None = None
        try:
            yield
        except BaseException as error:
            raised = error
            raise
        finally:
            for scope in reversed(scopes):
                kind, trace = (None, None) if raised is None else (type(raised), raised.__traceback__)
                try:
                    scope.__exit__(kind, raised, trace)
                except Exception as error:  # noqa: BLE001 - watching must not end a run
                    if error is not raised:
                        _warn_of_watcher_failure(error)

    def call(self, method: str, *values: object, **named: bool) -> None:
        for watch in self._watches:
            try:
                getattr(watch, method)(*values, **named)
            except Exception as error:  # noqa: BLE001 - watching must not end a run
                _warn_of_watcher_failure(error)


def _warn_of_watcher_failure(error: Exception) -> None:
    # The level points out of this module, to the driver.
    warnings.warn(f"a watcher of runs failed: {error!r}", RuntimeWarning, stacklevel=4)

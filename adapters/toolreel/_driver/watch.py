"""Watchers of runs, for the whole process: traces and logs.

A driver tells each watcher that a run begins, and then what happens in it. Watchers change nothing: what one
raises becomes a ``RuntimeWarning``. Without watchers, a step pays for a call of an empty method.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from toolreel._driver.ports import Wanted, secrets_of
from toolreel_core._protocol import Event, SendRequest, State, Step


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that begins, or goes on: one call of a driver."""

    run: str
    """Its name: that of a durable run, else a new one."""
    first: Step
    """Its state, the notes of its begin, and the effects that it wants first."""
    performer: object
    secrets: Mapping[str, str]
    """The credentials that it sends, by name."""
    durable: bool
    replays: bool
    """Whether its answers come from a record, at least the first ones."""


class Watch(Protocol):
    """What watches one run."""

    def stepped(self, effect: Wanted | None, event: Event, after: Step, /) -> None:
        """The run took an event, of this effect or of the user."""
        ...

    def ended(self, state: State, error: BaseException | None) -> None:
        """The driver is done, with the last state; ``error`` is what ended it instead of an outcome."""
        ...


@runtime_checkable
class ScopedWatch(Protocol):
    """What a :class:`Watch` may offer besides: scopes in which effects are performed."""

    def performing(self, effect: Wanted) -> AbstractContextManager[object]:
        """A scope for performing an effect, or for reading the next piece of a stream.

        It is entered where that happens: in the thread or the task of the effect.
        """
        ...

    def began_to_arrive(self, effect: Wanted) -> None:
        """The first piece of a streamed reply is there."""
        ...

    def performed(self, effect: Wanted, *, replayed: bool) -> None:
        """The answer to an effect is there.

        :param replayed: whether it comes from a record
        """
        ...


Watcher: TypeAlias = Callable[[Begun], Watch | None]
"""Begins to watch a run; ``None`` if it does not want to."""


def watch_logs(begun: Begun) -> Watch | None:
    """Log a run."""
    from toolreel._driver.log_watch import LogWatch  # it imports what describes outcomes

    return LogWatch(begun.run, begun.first, begun.performer, begun.secrets, replays=begun.replays)


WATCHERS: list[Watcher] = [watch_logs]
_NAME: Final = 6
"""Bytes of the name of a run that has none. It is in no journal and no digest: a replay has another one."""


def watch_with(watcher: Watcher) -> None:
    """Watch every run that begins from now on."""
    if watcher not in WATCHERS:
        WATCHERS.append(watcher)


def unwatch(watcher: Watcher) -> None:
    """Watch no further runs."""
    if watcher in WATCHERS:
        WATCHERS.remove(watcher)


class Watches:
    """All that watches one run, as one."""

    def __init__(self, watches: tuple[Watch, ...], state: State, performer: object) -> None:
        self._watches = watches
        self._scoped = [watch for watch in watches if isinstance(watch, ScopedWatch)]
        self._state = state
        self._lap_of: Callable[[Wanted], object] | None = getattr(performer, "lap_of", None)
        self._replays = _replays(performer)

    @property
    def scoped(self) -> bool:
        """Whether any of them wants to be around effects."""
        return bool(self._scoped)

    @contextmanager
    def performing(self, effect: Wanted) -> Generator[None, None, None]:
        """The scopes of all watches."""
        scopes = [scope for watch in self._scoped if (scope := _entered(watch, effect)) is not None]
        try:
            yield
        except BaseException as error:
            _leave(scopes, error)
            raise
        _leave(scopes, None)

    def began_to_arrive(self, effect: Wanted) -> None:
        """Tell of the first piece of a reply."""
        self._tell(self._scoped, "began_to_arrive", effect)

    def performed(self, effect: Wanted) -> None:
        """Tell of an answer."""
        recorded = self._lap_of is not None and self._lap_of(effect) is not None
        replayed = recorded or (self._replays and isinstance(effect, SendRequest))
        self._tell(self._scoped, "performed", effect, replayed=replayed)

    def stepped(self, effect: Wanted | None, event: Event, after: Step) -> None:
        """Tell of a step."""
        self._state = after.state
        self._tell(self._watches, "stepped", effect, event, after)

    def ended(self, error: BaseException | None) -> None:
        """Tell of the end."""
        self._tell(self._watches, "ended", self._state, error)

    def _tell(
        self,
        watches: Iterable[Watch | ScopedWatch],
        method: str,
        *told: Any,  # noqa: ANN401 - passed on
        **named: Any,  # noqa: ANN401
    ) -> None:
        for watch in watches:
            try:
                getattr(watch, method)(*told, **named)
            except Exception as error:  # noqa: BLE001 - watching must not end a run
                _warn(error)


def _entered(watch: ScopedWatch, effect: Wanted) -> AbstractContextManager[object] | None:
    """A watch's scope, entered; ``None`` if that failed."""
    try:
        scope = watch.performing(effect)
        scope.__enter__()
    except Exception as error:  # noqa: BLE001 - watching must not end a run
        _warn(error)
        return None
    return scope


def _leave(scopes: Sequence[AbstractContextManager[object]], raised: BaseException | None) -> None:
    """Leave scopes, the last first; each sees what was raised in it, and none can keep it from the run."""
    told = (None, None, None) if raised is None else (type(raised), raised, raised.__traceback__)
    for scope in reversed(scopes):
        try:
            scope.__exit__(*told)
        except Exception as error:  # noqa: BLE001 - watching must not end a run
            if error is not raised:
                _warn(error)


@contextmanager
def watched(at: Step, performer: object, run: str = "") -> Generator[Watches | None, None, None]:
    """Watch a run while the context is open; ``None`` if nobody wants to.

    :param run: the name of a durable run
    """
    watches = _begun(at, performer, run) if WATCHERS else None
    if watches is None:
        yield None
        return
    try:
        yield watches
    except BaseException as error:
        watches.ended(error)
        raise
    watches.ended(None)


def _begun(at: Step, performer: object, run: str) -> Watches | None:
    replays = hasattr(performer, "lap_of") or _replays(performer)
    begun = Begun(
        run or os.urandom(_NAME).hex(),
        at,
        performer,
        secrets_of(performer),
        bool(run),
        replays,
    )
    found = list[Watch]()
    for watcher in tuple(WATCHERS):
        try:
            watch = watcher(begun)
        except Exception as error:  # noqa: BLE001 - watching must not end a run
            _warn(error)
        else:
            found += [] if watch is None else [watch]
    return Watches(tuple(found), at.state, performer) if found else None


def _replays(performer: object) -> bool:
    return bool(getattr(getattr(performer, "endpoint", performer), "replays", False))


_DEPTH: Final = 4
"""How far up a warning points: out of this module, to the driver."""


def _warn(error: Exception) -> None:
    warnings.warn(f"a watcher of runs failed: {error!r}", RuntimeWarning, stacklevel=_DEPTH)


class TraceContext(Protocol):
    """Writes the current trace, and joins one that was written elsewhere, so that another process can go on.

    The tracer decides what a trace is (``toolreel.otel``); there is none by default.
    """

    def written(self) -> Mapping[str, str]:
        """The current trace as headers; empty where there is none."""
        ...

    def joined(self, headers: Mapping[str, str], /) -> AbstractContextManager[object]:
        """A scope in which the trace of these headers is the current one."""
        ...


CONTEXTS: list[TraceContext] = []


def current_trace() -> dict[str, str]:
    """The current trace as headers; empty where nobody traces."""
    return {name: value for context in CONTEXTS for name, value in context.written().items()}


@contextmanager
def joined_trace(headers: Mapping[str, str]) -> Generator[None]:
    """Join the trace of these headers, which :func:`current_trace` has written, here or elsewhere."""
    with ExitStack() as scopes:
        for context in CONTEXTS if headers else ():
            scopes.enter_context(context.joined(headers))
        yield

"""How the endpoints over pyreqwest wait: so that Ctrl-C or a cancellation ends it, and on asyncio alone.

pyreqwest blocks in Rust and looks at no signal before there is something to read. Only the main thread is
told of signals: there, the exchange takes place in another thread, and breaks off when somebody interrupts.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from types import coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from toolreel._errors import EndpointConfigError
from toolreel_core._protocol.effects import SendRequest

__all__ = ["interruptible", "on_asyncio"]


class _Clients(Protocol):
    def abort(self) -> None: ...


class _Endpoint(Protocol):
    @property
    def clients(self) -> _Clients: ...


_Sync = TypeVar("_Sync", bound=_Endpoint)
_Send = TypeVar("_Send", bound=Callable[..., Coroutine[Any, Any, object]])
_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def interruptible(
    send: Callable[Concatenate[_Sync, _Asked], _Answer],
) -> Callable[Concatenate[_Sync, _Asked], _Answer]:
    """A ``send`` that blocks, and that a ``KeyboardInterrupt`` ends at once."""

    @wraps(send)
    def sent(self: _Sync, /, *args: _Asked.args, **kwargs: _Asked.kwargs) -> _Answer:
        if threading.current_thread() is not threading.main_thread():
            return send(self, *args, **kwargs)
        answer = _apart().submit(send, self, *args, **kwargs)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self.clients.abort()
            raise

    return sent


def on_asyncio(send: _Send) -> _Send:
    """A ``send`` that asyncio has to run."""

    @wraps(send)
    async def sent(self: object, effect: SendRequest) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise EndpointConfigError(
                "the fast endpoint runs on asyncio alone; on trio, take AsyncHttpEndpoint"
            ) from None
        return await _as_cancelled(send(self, effect))

    return cast("_Send", sent)


@coroutine
def _as_cancelled(sending: Coroutine[Any, Any, object]) -> Generator[Any, Any, object]:
    """What is sent, ended by the very cancellation that it was told of.

    pyreqwest raises one of its own, which anyio's scopes do not know for theirs.
    """
    told: asyncio.CancelledError | None = None
    try:
        waiting = sending.send(None)
        while True:
            try:
                woken = yield waiting
            except asyncio.CancelledError as error:
                told = error
                waiting = sending.throw(error)
            else:
                waiting = sending.send(woken)
    except StopIteration as ended:
        return ended.value
    except asyncio.CancelledError as own:
        raise told or own from None
    finally:
        sending.close()


@cache
def _apart() -> ThreadPoolExecutor:
    """The one thread in which the main thread's exchanges take place."""
    return ThreadPoolExecutor(1, "toolreel-fast")

"""Makes waiting for pyreqwest interruptible by Ctrl-C and by cancellation, and rejects trio.

pyreqwest blocks in Rust and does not check for signals while it waits. Python handles signals in the main
thread only, so there the exchange runs in another thread, and is aborted on ``KeyboardInterrupt``.
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


class _Endpoint(Protocol):
    def abort(self) -> None: ...


_Sync = TypeVar("_Sync", bound=_Endpoint)
_Send = TypeVar("_Send", bound=Callable[..., Coroutine[Any, Any, object]])
_Params = ParamSpec("_Params")
_Answer = TypeVar("_Answer")


def interruptible(
    send: Callable[Concatenate[_Sync, _Params], _Answer],
) -> Callable[Concatenate[_Sync, _Params], _Answer]:
    """Make a blocking ``send`` end at once on ``KeyboardInterrupt``."""

    @wraps(send)
    def sent(self: _Sync, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Answer:
        if threading.current_thread() is not threading.main_thread():
            return send(self, *args, **kwargs)
        answer = _sender_thread().submit(send, self, *args, **kwargs)
        try:
            return answer.result()
        except KeyboardInterrupt:
            self.abort()
            raise

    return sent


def on_asyncio(send: _Send) -> _Send:
    """Make a ``send`` raise a clear error outside asyncio."""

    @wraps(send)
    async def sent(self: object, effect: SendRequest) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise EndpointConfigError(
                "the fast endpoint works only with asyncio; on trio, use AsyncHttpEndpoint"
            ) from None
        return await _as_cancelled(send(self, effect))

    return cast("_Send", sent)


@coroutine
def _as_cancelled(sending: Coroutine[Any, Any, object]) -> Generator[Any, Any, object]:
    """Run the coroutine; on cancellation, raise the original ``CancelledError`` again.

    pyreqwest raises a new one, which anyio's cancel scopes do not recognize as theirs.
    """
    original: asyncio.CancelledError | None = None
    try:
        # Drives the coroutine by hand, as ``await`` would, to see the exception that is thrown in.
        waiting = sending.send(None)
        while True:
            try:
                result = yield waiting
            except asyncio.CancelledError as error:
                original = error
                waiting = sending.throw(error)
            else:
                waiting = sending.send(result)
    except StopIteration as ended:
        return ended.value
    except asyncio.CancelledError as own:
        raise original or own from None
    finally:
        sending.close()


@cache
def _sender_thread() -> ThreadPoolExecutor:
    """The thread that runs the exchanges of the main thread."""
    return ThreadPoolExecutor(1, "toolreel-fast")

"""A cancellation that anyio recognises as its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar, cast

_Result = TypeVar("_Result")


@coroutine
def as_cancelled(sending: Coroutine[Any, Any, _Result]) -> Generator[Any, Any, _Result]:
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
        return cast("_Result", ended.value)
    except asyncio.CancelledError as own:
        raise original or own from None
    finally:
        sending.close()

"""Read a stream piece by piece inside a scope, or to its end.

A generator that yields inside a cancel scope or with a context variable set leaks it to its reader. So
the scope holds while the next piece is awaited, and never while it is used.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import TypeAlias, TypeVar

from toolreel._driver.ports import ReplyPiece
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._replies import Delta

_Item = TypeVar("_Item")
_Reply: TypeAlias = ReplyReceived | RequestFailed
_Scope = Callable[[], AbstractContextManager[object]]


def pulled(items: Generator[_Item, None, None], scope: _Scope) -> Generator[_Item, None, None]:
    """The items, each awaited inside a scope of its own; closing it closes them.

    It ends where a scope ends what happens inside, such as a cancel scope whose time is over.
    """
    try:
        while True:
            found = list[_Item]()
            with scope():
                try:
                    found.append(next(items))
                except StopIteration:
                    return
            if not found:
                return
            yield found[0]
    finally:
        with scope():
            items.close()


async def apulled(items: AsyncGenerator[_Item, None], scope: _Scope) -> AsyncGenerator[_Item, None]:
    """The async version of :func:`pulled`."""
    try:
        while True:
            found = list[_Item]()
            with scope():
                try:
                    found.append(await anext(items))
                except StopAsyncIteration:
                    return
            if not found:
                return
            yield found[0]
    finally:
        with scope():
            await items.aclose()


def event_of(pieces: Generator[ReplyPiece, None, None]) -> _Reply:
    """The event at the end of a reply."""
    *_, event = [piece for piece in pieces if not isinstance(piece, Delta)]
    return event


async def aevent_of(pieces: AsyncGenerator[ReplyPiece, None]) -> _Reply:
    """The async version of :func:`event_of`."""
    *_, event = [piece async for piece in pieces if not isinstance(piece, Delta)]
    return event

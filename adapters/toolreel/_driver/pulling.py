"""Iterate inside a scope that holds while the next item is awaited, and never while it is used.

A generator that yields inside a cancel scope or with a context variable set leaks it to whoever reads it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

_Item = TypeVar("_Item")
_Scope = Callable[[], AbstractContextManager[object]]


def pulled(items: Iterator[_Item], scope: _Scope) -> Generator[_Item, None, None]:
    """The items, each awaited inside a scope of its own; closing it closes them."""
    try:
        while True:
            with scope():
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        if isinstance(items, Generator):
            with scope():
                items.close()


async def apulled(items: AsyncGenerator[_Item, None], scope: _Scope) -> AsyncGenerator[_Item, None]:
    """The async version of :func:`pulled`."""
    try:
        while True:
            with scope():
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
            yield item
    finally:
        with scope():
            await items.aclose()

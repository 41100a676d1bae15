"""One implementation for sync and async: a sync caller runs async code in which nothing suspends.

Drivers, endpoints and agents are written once, as coroutines. The ports of a sync run return their answers
where those of an async run return something to await (:func:`await_if_awaitable`), so that its coroutines
never wait for an event loop, and :func:`immediately` has their result after one step.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import Any, TypeVar

_Item = TypeVar("_Item")


def immediately(awaitable: Awaitable[_Item]) -> _Item:
    """The result of an awaitable that does not suspend.

    :raises RuntimeError: if it does: something async was given to a sync run
    """
    steps = awaitable.__await__()
    try:
        next(steps)
    except StopIteration as done:
        value: _Item = done.value
        return value
    steps.close()
    raise RuntimeError("a port of a sync run waits for an event loop; write the async version of the call")


def items_without_suspending(
    items: Generator[_Item, None, None] | AsyncGenerator[_Item, None],
) -> Generator[_Item, None, None]:
    """The items of a generator, sync or async, that does not suspend; closing it closes them."""
    if isinstance(items, Generator):
        yield from items
        return
    try:
        while True:
            try:
                item = immediately(anext(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        immediately(items.aclose())


@contextmanager
def enter_without_suspending(manager: AbstractAsyncContextManager[_Item]) -> Generator[_Item]:
    """An async context manager that does not suspend, for ``with``."""
    value = immediately(manager.__aenter__())
    try:
        yield value
    except BaseException as error:
        if not immediately(manager.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        immediately(manager.__aexit__(None, None, None))


async def await_if_awaitable(value: _Item | Awaitable[_Item]) -> _Item:
    """What a sync port has returned, or what an async one has returned to await."""
    # `inspect.isawaitable` asks an abstract class, which takes ten calls for each answer of a port.
    answer: Any = value
    item: _Item = await answer if hasattr(answer, "__await__") else answer
    return item


async def generate_items_in_scopes(
    items: Generator[_Item, None, None] | AsyncGenerator[_Item, None],
    scope: Callable[[], AbstractContextManager[object]],
) -> AsyncGenerator[_Item, None]:
    """The items of a sync or async generator, each made inside a scope of its own; closing it closes them.

    A generator that yields inside a cancel scope or with a context variable set leaks it to its reader. So
    a scope holds while the next piece is awaited, and never while it is used. The items end where a scope
    ends what happens inside, such as a cancel scope whose time is over.
    """
    try:
        while True:
            found = list[_Item]()
            with scope():
                try:
                    found.append(next(items) if isinstance(items, Generator) else await anext(items))
                except (StopIteration, StopAsyncIteration):
                    return
            if not found:
                return
            yield found[0]
    finally:
        with scope():
            if isinstance(items, Generator):
                items.close()
            else:
                await items.aclose()

"""Performing the effects of one step: alone in the calling thread, several at the same time.

The answers come in the order of the effects, whatever order they finish in, so that a journal is
the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolreel._driver.ports import AsyncPerformer, Performer, Wanted
from toolreel._errors import MissingExtra
from toolreel_core._protocol.events import Event

__all__ = ["aanswers", "answers"]


def answers(performer: Performer, effects: Sequence[Wanted]) -> Iterator[tuple[Wanted, Event | None]]:
    """Each effect with its answer."""
    if len(effects) == 1:
        yield effects[0], performer.perform(effects[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(effects) or 1, thread_name_prefix="toolreel") as pool:
        yield from zip(effects, pool.map(performer.perform, effects), strict=True)


async def aanswers(performer: AsyncPerformer, effects: Sequence[Wanted]) -> list[tuple[Wanted, Event | None]]:
    """The same as :func:`answers`, awaited.

    :raises MissingExtra: if several have to be performed at the same time, and anyio is not installed
    """
    if len(effects) == 1:
        return [(effects[0], await performer.perform(effects[0]))]
    try:
        import anyio
    except ImportError:
        raise MissingExtra.of("http", "anyio") from None
    found: dict[int, Event | None] = {}

    async def perform(effect: Wanted) -> None:
        found[effect.ref] = await performer.perform(effect)

    async with anyio.create_task_group() as group:
        for effect in effects:
            group.start_soon(perform, effect)
    return [(effect, found[effect.ref]) for effect in effects]

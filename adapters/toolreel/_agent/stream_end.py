"""The last event of a stream, kept until the files are closed: its reader may reply at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing

from toolreel._driver import Run, RunEnded, ShownEvent, StreamEvent


class StreamEnd:
    """Passes on the events of a stream but the last, and keeps its run."""

    def __init__(self) -> None:
        self._ended: list[Run] = []

    @property
    def run(self) -> Run:
        """The run of the last event."""
        return self._ended[0]

    def kept_of(self, events: Generator[StreamEvent, None, None]) -> Generator[ShownEvent, None, None]:
        """The events without the last one, which is kept."""
        with closing(events):
            for event in events:
                if isinstance(event, RunEnded):
                    self._ended.append(event.run)
                else:
                    yield event

    async def akept_of(self, events: AsyncGenerator[StreamEvent, None]) -> AsyncGenerator[ShownEvent, None]:
        """The async version of :meth:`kept_of`."""
        async with aclosing(events):
            async for event in events:
                if isinstance(event, RunEnded):
                    self._ended.append(event.run)
                else:
                    yield event

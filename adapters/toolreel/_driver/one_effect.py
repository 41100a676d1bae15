"""Perform one effect, for loops of your own: in a queue, a service or a workflow."""

from __future__ import annotations

from typing import Final

from toolreel._driver.first_checks import Call, async_performer, sync_performer
from toolreel._driver.ports import AsyncEndpoint, AsyncPerformer, Endpoint, Performer, Wanted
from toolreel_core._errors import ProtocolError
from toolreel_core._protocol import Effect, Event, Finish

_PERFORM: Final = Call("perform", "await aperform(effect, ...)")
_APERFORM: Final = Call("aperform", "perform(effect, ...)")


def perform(effect: Effect, ports: Performer | Endpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    Failures of the model's server and of tools are events, too.

    :param effect: one of ``pending(state)``
    :param ports: as for :func:`~toolreel._driver.sync.run`
    :returns: the event; ``None`` if the approver has not decided yet
    :raises ConfigError: if the ports cannot perform anything; says what to write
    :raises ProtocolError: if the effect is ``Finish``
    """
    return sync_performer(ports, _PERFORM).perform(_wanted(effect))


async def aperform(effect: Effect, ports: AsyncPerformer | AsyncEndpoint) -> Event | None:
    """Perform one effect, and return the event that answers it, for the next ``step``.

    The async version of :func:`perform`, with the same parameters.
    """
    return await async_performer(ports, _APERFORM).perform(_wanted(effect))


def _wanted(effect: Effect) -> Wanted:
    if isinstance(effect, Finish):
        raise ProtocolError("Finish: nothing is left to perform; the run ended with state.outcome")
    return effect

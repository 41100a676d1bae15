"""What an application says about its runs, for their spans: the agent's name, the conversation."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Labels:
    """What the spans of a run say besides what the run itself knows."""

    agent: str = ""
    conversation: str = ""
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def of_inner_runs(self) -> Labels:
        """What holds for an agent that a tool runs, too: it is another agent in the same conversation."""
        return replace(self, agent="")


_NONE: Final = Labels()
LABELS: Final[ContextVar[Labels]] = ContextVar("toolreel_otel_labels", default=_NONE)


@contextmanager
def labelled(
    agent: str = "",
    *,
    conversation: str = "",
    attributes: Mapping[str, str | int | float | bool] | None = None,
) -> Generator[None, None, None]:
    """Label the spans of the runs that begin in a ``with`` block.

    ::

        with labelled("stock clerk", conversation="c-17"):
            agent.run("How many pins are there?")

    :param agent: name of the agent (``gen_ai.agent.name``); spans of runs are named after it
    :param conversation: id of the conversation in your application (``gen_ai.conversation.id``)
    :param attributes: further attributes of the run's own span
    """
    before = LABELS.get()
    merged = {**before.attributes, **(attributes or {})}
    token = LABELS.set(Labels(agent or before.agent, conversation or before.conversation, merged))
    try:
        yield
    finally:
        LABELS.reset(token)

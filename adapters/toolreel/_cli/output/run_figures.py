"""What a run that goes on has done and spent, for the terminal: the run, folded alongside its driver."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from toolreel._driver.ports import Wanted
from toolreel._driver.run_result import Run, cost_in_words
from toolreel._driver.timing import Lap, duration
from toolreel_core._loop.reducer import start, step
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool, SendRequest
from toolreel_core._protocol.events import Event, ReplyReceived, RequestFailed, ToolReturned
from toolreel_core._protocol.state import State, Tally

_SHOWN: Final = 5
"""Steps that stay on the screen."""


class RunFigures:
    """Follows a run event by event; empty until the run begins.

    :param now: seconds on a clock that never goes back
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._state: State | None = None
        self._model_ms = 0
        self._model_tokens = 0
        self._began = now()
        self.done: deque[str] = deque(maxlen=_SHOWN)
        """The latest steps, each with how long it took."""

    def begin(self, plan: Plan, state: State | None) -> None:
        """Follow a new run, or one that goes on from a state."""
        self._state = start(plan).state if state is None else state
        self._began = self._now()
        self.done.clear()

    def answered(self, effect: Wanted | None, event: Event, lap: Lap) -> None:
        """Take the next event, with the effect that it answers."""
        if self._state is None:
            return
        before, after = self._state.tally, step(self._state, event).state
        turn = before.turns
        match event, effect:
            case ReplyReceived(), SendRequest():
                self._count_reply(before, after.tally, lap)
                self.done.append(f"turn {turn}: reply{_in(lap)}{_tokens(before, after.tally)}")
            case RequestFailed(), SendRequest():
                self.done.append(f"turn {turn}: no reply{_in(lap)}")
            case ToolReturned(), RunTool():
                failed = " failed" if after.tally.failed_calls > before.failed_calls else ""
                self.done.append(f"turn {turn}: {effect.name}{failed}{_in(lap)}")
            case _:
                pass
        self._state = after

    @property
    def text(self) -> str:
        """Turns, calls, tokens, their rate, cost, and what is left of the limits; empty before the run."""
        return ", ".join(self._parts())

    def _count_reply(self, before: Tally, after: Tally, lap: Lap) -> None:
        if lap.ms is not None:
            self._model_ms += lap.ms
            self._model_tokens += after.completion_tokens - before.completion_tokens

    def _parts(self) -> Iterator[str]:
        if self._state is None:
            return
        tally, config = self._state.tally, self._state.present.config
        yield f"turn {self._state.exchange_tally.turns} of {config.max_turns}"
        if tally.tool_calls:
            failed = f" ({tally.failed_calls} failed)" if tally.failed_calls else ""
            yield f"{tally.tool_calls} call{'' if tally.tool_calls == 1 else 's'}{failed}"
        if tally.prompt_tokens + tally.completion_tokens:
            limit = "" if config.max_total_tokens is None else f" of {config.max_total_tokens}"
            yield f"{tally.prompt_tokens} + {tally.completion_tokens}{limit} tokens"
        if self._model_ms and self._model_tokens:
            yield f"{self._model_tokens / self._model_ms * 1000:.0f} tokens/s"
        if cost := cost_in_words(Run(self._state, ())):
            limit = "" if config.max_cost is None else f" of {config.max_cost:g}"
            yield f"cost {cost}{limit}"
        if config.max_wall_ms is not None:
            left = config.max_wall_ms - (self._now() - self._began) * 1000
            yield f"{duration(max(0, round(left)))} left"


def _in(lap: Lap) -> str:
    return "" if lap.ms is None else f" in {duration(lap.ms)}"


def _tokens(before: Tally, after: Tally) -> str:
    prompt, completion = (
        after.prompt_tokens - before.prompt_tokens,
        after.completion_tokens - before.completion_tokens,
    )
    return f", {prompt} + {completion} tokens" if prompt + completion else ""

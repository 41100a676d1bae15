"""How the CPU that something takes grows with its input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time

RUNS = (
    *" \n\tab1\"'`~[]{}()<>:,=|\\-*#_/.\u200b\u0120",
    " \n",
    "\n    ",
    "a ",
    "a=",
    "x.",
    "```\n",
    "> ",
    "* ",
    '{"a":',
    "[{",
    '"a",',
    "/*",
    "\\u",
    "&lt;",
    "<!--",
    "<think>",
    "</think>",
    "</seed:think></seed:think>`",
    "<tool_call>",
    "</tool_call>",
    "<parameter=a>",
    "</parameter>",
    "<|tool_call_begin|>",
    "<|channel|>",
    "Action: f\n",
)
"""What replies have been seen to repeat without end, and what dialects are made of."""

_SMALLEST = 2_000
_LARGEST = 8_000
_FAST = 0.02
"""CPU seconds, far above what one linear pass over the largest input takes on a busy machine."""
_SLOW = 0.3
"""CPU seconds that need no further step to be told from a limit that an input outgrows."""
_RATIO = 6
"""Between an input and one four times as long; 16 if the cost is quadratic."""


def superlinear(read: Callable[[int], object], largest: int = _LARGEST) -> str:
    """How an input of a length grows out of proportion; empty if it does not.

    The sizes grow by four, so that even a cubic cost is found before it takes minutes.
    """
    before = 0.0
    for size in _sizes(largest):
        took = cost(partial(read, size))
        if took > _FAST and before and took > _RATIO * before:
            # Once more, and for the next step: another thread may have taken the caches meanwhile, and a
            # single step is steep where an input outgrows a limit.
            took, before = cost(partial(read, size)), cost(partial(read, size // 4))
            again = took > _FAST and took > _RATIO * before
            if again and (took > _SLOW or cost(partial(read, size * 4)) > _RATIO * took):
                return f"{size // 4} characters take {1000 * before:.1f} ms, {size} take {1000 * took:.1f} ms"
        before = took
    return ""


def _sizes(largest: int) -> Iterator[int]:
    size = _SMALLEST
    while size <= largest:
        yield size
        size *= 4


def cost(read: Callable[[], object]) -> float:
    """CPU seconds of this thread: nothing else that runs on the machine counts."""
    begun = thread_time()
    read()
    return thread_time() - begun

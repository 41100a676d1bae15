"""What the state of a run takes in memory, and what it takes to keep every state of a run.

The payload of a state is the body of the request that it leads to, in bytes: a state keeps what was said, and
what goes out for it. Sizes are deep: every object that is reached from the state, once, without the plan,
which all states of a run share. To keep every state means that none of them is ever let go, as whoever steps
back and forth in a run does; what two states share counts once.

The budgets are twice the payload, and 3 kB a turn for all states. A long result is held twice, as it is
stored and as it goes out, which comes to 2.1; with a short one, the headers of Python's objects weigh
more than the text. Of the 5 kB a turn, vectors and maps that two states cannot share take the greater
part.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Final

from benchmarks.core_growth import PLAN, reply
from toolreel import ReplyReceived, State, ToolReturned, start, step
from toolreel.jsontext import canonical

TURNS: Final = 1_000
RESULT_BYTES: Final = (40, 400, 4_000)
_NOT_OURS: Final = (type, ModuleType, FunctionType, BuiltinFunctionType)


def deep_size(*roots: object, known: frozenset[int] = frozenset()) -> int:
    """Bytes of all objects that are reached from some, but for those that are known already."""
    seen, pending, size = set(known), [*roots], 0
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, _NOT_OURS):
            continue
        seen.add(id(value))
        size += sys.getsizeof(value)
        pending += gc.get_referents(value)
    return size


def reached(*roots: object) -> frozenset[int]:
    """The ids of all objects that are reached from some."""
    seen, pending = set[int](), [*roots]
    while pending:
        value = pending.pop()
        if id(value) not in seen and not isinstance(value, _NOT_OURS):
            seen.add(id(value))
            pending += gc.get_referents(value)
    return frozenset(seen)


def states(result_bytes: int) -> list[State]:
    """All states of a run of a thousand turns, with a result of so many bytes in each."""
    at, ref = start(PLAN).state, 1
    kept = [at]
    for number in range(TURNS):
        result = canonical({"part": f"pin {number}", "note": "x" * result_bytes})
        for event in (ReplyReceived(ref, 200, reply(ref)), ToolReturned(ref + 1, result)):
            at = step(at, event).state
            kept.append(at)
        ref += 2
    return kept


def every(result_bytes: int) -> int:
    """Bytes that are allocated for all states of a run of a thousand turns, and are still there."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = states(result_bytes)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken if kept else 0


def main() -> None:
    """Measure, and print a table."""
    shared = reached(PLAN)
    heads = ("result", "payload", "last state", "of payload", "all states, a turn")
    print("".join(f"{head:>20}" for head in heads))
    for result_bytes in RESULT_BYTES:
        last = states(result_bytes)[-1]
        payload = len(b"".join(last.messages.texts.pieces()))
        size = deep_size(last, known=shared)
        cells = (f"{result_bytes:,}", f"{payload:,}", f"{size:,}", f"{size / payload:.2f}x")
        print("".join(f"{cell:>20}" for cell in (*cells, f"{every(result_bytes) / TURNS:,.0f}")))


if __name__ == "__main__":
    main()

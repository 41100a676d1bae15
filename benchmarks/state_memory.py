"""What the state of a run takes in memory, and what it takes to keep every state of a run.

The payload of a state is the body of the request that it leads to, in bytes. Sizes are deep: every object
that is reached from the state, once, without the plan, which all states of a run share. To keep every state
means that none of them is ever let go, as when you step back and forth in a run; what two states share
counts once. Calls are all the same, or all with other arguments: of each one that was ever made, the run
remembers what came of it.

The budgets are twice the payload, and 3 kB a turn for all states. The last state takes 1.04 to 1.46 times
its payload, and where calls are all different 2.44 at results of 40 bytes, 1.74 at 400 and 1.13 at 4,000: the
id of a call, the digests of the call and of its result, and their places in pyrsistent's maps take some 570
bytes. Texts are held once, and values are read back from them. A provider that wants every assistant message
in other words than it is stored in has them held twice.

Of all states, a text is held twice: separately as long as it is among the newest, and in the block that later
states and bodies share. Besides these two, a turn takes 3.2 kB at short results and 2.7 at long ones; with
them it is 4.2 kB at 40 bytes, 4.9 at 400 and 11.8 at 4,000, and the budget is not met. What is new in the two
states of a turn: states, transcripts, tallies, projections and rows of texts take 0.9 kB, the phases and the
call 0.7, digests and the nodes of maps 1.0, numbers 0.25, tuples of the newest texts 0.15, the memory of
policies 0.1.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from types import BuiltinFunctionType, FunctionType, ModuleType

from benchmarks.core_growth import PLAN, reply
from toolreel_core import ReplyReceived, State, ToolReturned, start, step
from toolreel_core._jsontext import canonical

TURNS = 1_000
RESULT_BYTES = (40, 400, 4_000)
_NOT_OURS = (type, ModuleType, FunctionType, BuiltinFunctionType)
_ARGUMENT = r"\"limit\":3"


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


def states(result_bytes: int, turns: int = TURNS, *, varied: bool = False) -> list[State]:
    """All states of a run, with a result of this many bytes in each turn.

    :param varied: whether no call has the arguments of another
    """
    at, ref = start(PLAN).state, 1
    kept = [at]
    for number in range(turns):
        result = canonical({"part": f"pin {number}", "note": "x" * result_bytes})
        body = reply(ref).replace(_ARGUMENT, f"{_ARGUMENT}{number}") if varied else reply(ref)
        for event in (ReplyReceived(ref, 200, body), ToolReturned(ref + 1, result)):
            at = step(at, event).state
            kept.append(at)
        ref += 2
    return kept


def payload(state: State) -> int:
    """Bytes of what goes out for a state's messages."""
    return len(b"".join(state.messages.texts.pieces()))


def of_one(state: State) -> int:
    """Bytes of a state, without the plan."""
    return deep_size(state, known=reached(PLAN))


def of_all(result_bytes: int, turns: int = TURNS, *, varied: bool = False) -> float:
    """Bytes a turn that are allocated for all states of a run, and are still there."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = states(result_bytes, turns, varied=varied)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken * 2 / (len(kept) - 1)


def main() -> None:
    """Measure, and print a table."""
    heads = ("calls", "result", "payload, a turn", "last state", "of payload", "all states, a turn")
    print("".join(f"{head:>20}" for head in heads))
    for varied in (False, True):
        for result_bytes in RESULT_BYTES:
            last = states(result_bytes, varied=varied)[-1]
            sent, size = payload(last), of_one(last)
            every = of_all(result_bytes, varied=varied)
            name = "all different" if varied else "all the same"
            cells = (name, f"{result_bytes:,}", f"{sent / TURNS:,.0f}", f"{size:,}", f"{size / sent:.2f}x")
            print("".join(f"{cell:>20}" for cell in (*cells, f"{every:,.0f}")))


if __name__ == "__main__":
    main()

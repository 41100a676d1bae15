"""What a turn costs in the core at the end of a conversation, against one at the end of a single run.

Both have the same number of turns with one tool call behind them: a single run, and a conversation whose
exchanges have one such turn, an answer and the next message of the user each. Measured is a turn (a reply
with a call, and its result) as in benchmarks/core_growth.py; and an exchange, which has an answer and a
message of the user besides. CPU time is the least of many short, interleaved samples; the count of Python and
C calls is exact on any machine.

    python -m benchmarks.conversation_growth
"""

from __future__ import annotations

from benchmarks.core_growth import ROUNDS, TURNS, after, calls, cpu, reply, turn
from toolreel.testing import saying
from toolreel_core import ReplyReceived, State, UserSpoke, step
from toolreel_core._jsontext import canonical

EXCHANGES = (10, 200)
ANSWER = canonical(saying("There are 41 pins in the depot in the north."))


def exchange(state: State, ref: int) -> tuple[State, int]:
    """One exchange: a turn with a call, the answer, and the next message of the user."""
    state = turn(state, ref, reply(ref))
    answered = step(state, ReplyReceived(ref + 2, 200, ANSWER)).state
    return step(answered, UserSpoke("And how many are there now?")).state, ref + 3


def talked(exchanges: int) -> tuple[State, int]:
    """A conversation of that many exchanges, whose user has just spoken; and the ref of its next effect."""
    state, ref = after(0)
    for _ in range(exchanges):
        state, ref = exchange(state, ref)
    return state, ref


def main() -> None:
    """Measure, and print a table."""
    runs = {count: after(count) for count in EXCHANGES}
    talks = {count: talked(count) for count in EXCHANGES}
    kinds = (("run", runs, "turns of one run"), ("talk", talks, "exchanges"))
    samples = [
        {(kind, count): cpu(*begun[count]) for kind, begun, _ in kinds for count in EXCHANGES}
        for _ in range(ROUNDS)
    ]
    print(f"{'after':>24} {'us of CPU a turn':>17} {'calls a turn':>13}")
    for kind, begun, words in kinds:
        for count in EXCHANGES:
            least = min(sample[kind, count] for sample in samples)
            counted = calls(*begun[count], TURNS) / TURNS
            print(f"{f'{count} {words}':>24} {least:>17.0f} {counted:>13,.0f}")


if __name__ == "__main__":
    main()

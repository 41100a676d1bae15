"""What a reply adds to the tally: its tokens, and what it cost as far as anybody knows."""

from __future__ import annotations

from typing import Final

from toolreel_core._protocol.state import State
from toolreel_core._replies.reply import Reply, Usage

_NOTHING: Final = Usage()


def counted_reply(state: State, reply: Reply) -> State:
    """The state with the reply in its tally.

    An error without any tokens, such as an overload with status 200, is no reply of the model: nobody bills
    it, so it does not make the cost unknown.
    """
    usage = reply.usage
    if reply.problem is not None and usage == _NOTHING and not reply.content:
        return state
    return state.but(tally=state.tally.read(usage))

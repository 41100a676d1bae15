"""What a request took of its account, settled by what became of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar, assert_never

from toolreel.durable._limits.ledger import Ledger
from toolreel.durable._limits.limits import Limits
from toolreel_core._jsontext import as_tree, read
from toolreel_core._protocol import ReplyReceived, RequestFailed
from toolreel_core._replies import Delta, Usage, as_chat, usage_in
from toolreel_core._settings import WireForm

Piece = Delta | ReplyReceived | RequestFailed
_Piece = TypeVar("_Piece", bound=Piece)
_NOTHING: Final = Usage()


@dataclass(slots=True)
class Noted:
    """The last piece of a reply, if it is its answer."""

    answer: ReplyReceived | RequestFailed | None = None

    def __call__(self, piece: _Piece) -> _Piece:
        """Note a piece, and return it."""
        self.answer = None if isinstance(piece, Delta) else piece
        return piece


@contextmanager
def settling(ledger: Ledger, ticket: int, form: WireForm) -> Generator[Noted]:
    """Settles a request at the end of the block, by the answer that was noted in it.

    Not in a thread, for async endpoints neither: a task that is cancelled could not wait for it.
    """
    noted = Noted()
    try:
        yield noted
    finally:
        _settle(ledger, ticket, noted.answer, form)


def _settle(
    ledger: Ledger, ticket: int, answer: ReplyReceived | RequestFailed | None, form: WireForm
) -> None:
    """Settle a request by its answer; without one, or where it may have been read, the estimate stays."""
    match answer:
        case ReplyReceived():
            joined = as_chat(answer.body, form).body
            body = read(joined).value_or("") if isinstance(joined, str) else joined
            usage = usage_in(as_tree(body))
            known = usage != _NOTHING
            tokens = usage.prompt_tokens + usage.completion_tokens if known else None
            ledger.settle(ticket, tokens, _cost(ledger.limits, usage))
        case RequestFailed():
            # An error status, and a connection that never was, take no tokens.
            nothing = answer.failure in {"status", "connect"}
            after = (answer.retry_after_ms or 0) / 1000 if answer.status in {429, 503} else 0.0
            ledger.settle(ticket, 0 if nothing else None, 0.0 if nothing else None, after)
        case None:
            ledger.settle(ticket, None, None)
        case _:
            assert_never(answer)


def _cost(limits: Limits, usage: Usage) -> float | None:
    """What a reply cost: as it says, else by the price; ``None`` if nobody knows."""
    if usage.cost is not None or limits.price is None or usage == _NOTHING:
        return usage.cost
    return limits.price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)

"""Sync ports for the async driver."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import nullcontext
from dataclasses import dataclass

from toolreel._driver import ReplyPiece, Wanted, generate_items_in_scopes, stream_reply_pieces
from toolreel.ports import Approver, Endpoint, Performer, ToolHost
from toolreel_core import ReplyReceived, RequestFailed, SendRequest
from toolreel_core._protocol import ApprovalGiven, AskApproval, Event, RunTool, ToolReturned


@dataclass(frozen=True, slots=True)
class ImmediateEndpoint:
    """Offers a sync endpoint that never blocks as an async one."""

    endpoint: Endpoint

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        return self.endpoint.send(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        return generate_items_in_scopes(stream_reply_pieces(self.endpoint, effect), nullcontext)


@dataclass(frozen=True, slots=True)
class ImmediateApprover:
    """Offers a sync approver that never blocks as an async one."""

    approver: Approver

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        return self.approver.decide(effect)


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """Offers a sync performer that never blocks as an async one."""

    performer: Performer

    async def perform(self, effect: Wanted) -> Event | None:
        return self.performer.perform(effect)


@dataclass(frozen=True, slots=True)
class ImmediateTools:
    """Offers a sync tool host that never blocks as an async one."""

    tools: ToolHost

    async def run(self, effect: RunTool) -> ToolReturned:
        return self.tools.run(effect)

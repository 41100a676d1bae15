"""A conversation with an MCP server: the SDK's session, which lists page by page and takes calls back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, Final, TypeVar

from toolreel._errors import AdapterError, MissingExtra
from toolreel.tools.mcp._streams import Streams

try:
    import anyio
    from mcp import ClientSession, McpError
    from mcp.shared.session import ProgressFnT, RequestResponder
    from mcp.types import (
        CONNECTION_CLOSED,
        METHOD_NOT_FOUND,
        CallToolRequest,
        CallToolRequestParams,
        CallToolResult,
        CancelledNotification,
        CancelledNotificationParams,
        ClientNotification,
        ClientRequest,
        ClientResult,
        Implementation,
        ListToolsResult,
        PaginatedRequestParams,
        RequestParams,
        ServerNotification,
        ServerRequest,
        Tool,
        ToolListChangedNotification,
    )
    from pydantic import ValidationError
except ImportError:
    raise MissingExtra.of("mcp", "mcp") from None

__all__ = ["AnswerLost", "AnswerTooLarge", "Gone", "Session"]

_Result = TypeVar("_Result")

_MOST_PAGES: Final = 1_000
_MOST_TOOLS: Final = 10_000
_SESSION_TERMINATED: Final = (32600, "Session terminated")
"""What the SDK says where an HTTP server no longer knows the session."""
_GOODBYE: Final = 1.0
"""Seconds in which a server has to take the word that a call is cancelled."""


class Gone(AdapterError):
    """The connection ended while an answer was waited for, or before anything was asked."""


class AnswerLost(AdapterError):
    """The server answered, and what it said cannot be read; the text says why."""


class AnswerTooLarge(AnswerLost):
    """The server answered, and that was too large to be taken in."""


@dataclass(slots=True)
class _Waiting:
    """Somebody who waits for the answer to a call."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    failure: AdapterError = field(default_factory=Gone)


class Session(ClientSession):
    """A session over streams; whoever enters it has to leave it in the same task, calls come from any.

    :param on_change: is told when the server says that it offers other tools now
    """

    def __init__(self, streams: Streams, on_change: Callable[[], None]) -> None:
        about = Implementation(name="toolreel", version=version("toolreel"))
        super().__init__(*streams, message_handler=self._hear, client_info=about)
        self._on_change = on_change
        self._waiting: dict[int, _Waiting] = {}

    async def begin(self) -> None:
        """Agree on a version with the server; it raises what :meth:`listed` raises.

        :raises RuntimeError: if there is none that both speak
        """
        await self._answer(self.initialize)

    async def listed(self) -> list[Tool]:
        """All tools that the server has, page by page.

        :raises Gone: if the connection ends meanwhile
        :raises AnswerLost: if the pages have no end
        :raises McpError: if the server cannot say
        """
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                page = await self._page(cursor)
            except McpError as error:
                if error.error.code == METHOD_NOT_FOUND:
                    return tools
                raise
            tools += page.tools
            cursor = page.nextCursor
            if not cursor:
                return tools
            if len(tools) > _MOST_TOOLS:
                break
        raise AnswerLost(f"it goes on listing tools after {len(tools)} of them")

    async def call(
        self, name: str, arguments: dict[str, Any], key: str, progress: ProgressFnT | None
    ) -> CallToolResult:
        """Have a tool called; whoever cancels this has the server told.

        :param key: names the call for ever; a server that acts once a key can find it in ``_meta``
        :raises Gone: if the connection ended
        :raises AnswerLost: if the answer was too large, or no result of a tool
        :raises McpError: if the server answers with an error
        """
        meta = RequestParams.Meta.model_validate({"toolreel/idempotency-key": key})
        params = CallToolRequestParams(name=name, arguments=arguments, _meta=meta)
        request = ClientRequest(CallToolRequest(params=params))
        request_id = self._request_id
        try:
            return await self._answer(
                partial(self.send_request, request, CallToolResult, progress_callback=progress)
            )
        except anyio.get_cancelled_exc_class():
            await self._take_back(request_id)
            raise

    def lose(self, request_id: int | None, failure: AdapterError) -> None:
        """Have a call fail whose answer will not come; all of them, if nobody knows which it was."""
        known = self._waiting.get(request_id) if request_id is not None else None
        for waiting in [known] if known else list(self._waiting.values()):
            waiting.failure = failure
            waiting.scope.cancel()

    async def _page(self, cursor: str | None) -> ListToolsResult:
        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        return await self._answer(partial(self.list_tools, params=params))

    async def _answer(self, ask: Callable[[], Awaitable[_Result]]) -> _Result:
        """What the server answers to the next request; whatever keeps it from coming has one of our names."""
        request_id = self._request_id
        waiting = self._waiting[request_id] = _Waiting()
        try:
            with waiting.scope:
                return await ask()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise Gone from None
        except ValidationError as error:
            raise AnswerLost(f"its answer is not what was asked for: {_first_of(error)}") from None
        except McpError as error:
            about = error.error
            if (about.code, about.message) in {(CONNECTION_CLOSED, "Connection closed"), _SESSION_TERMINATED}:
                raise Gone from None
            raise
        finally:
            del self._waiting[request_id]
        raise waiting.failure

    async def _take_back(self, request_id: int) -> None:
        told = CancelledNotification(
            params=CancelledNotificationParams(requestId=request_id, reason="nobody waits for it any longer")
        )
        with (
            suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
            anyio.move_on_after(_GOODBYE, shield=True),
        ):
            await self.send_notification(ClientNotification(told))

    async def _hear(
        self, message: RequestResponder[ServerRequest, ClientResult] | ServerNotification | Exception
    ) -> None:
        if isinstance(message, ServerNotification) and isinstance(message.root, ToolListChangedNotification):
            self._on_change()
        elif isinstance(message, Exception) and not _is_late(message) and len(self._waiting) == 1:
            self.lose(None, AnswerLost(f"its answer cannot be read: {_in_short(message)}"))


def _is_late(error: Exception) -> bool:
    """Whether it is the answer to a call that was taken back; the SDK has nothing but words for it."""
    return str(error).startswith("Received response with an unknown request ID")


def _in_short(error: Exception) -> str:
    return _first_of(error) if isinstance(error, ValidationError) else str(error).partition("\n")[0]


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]

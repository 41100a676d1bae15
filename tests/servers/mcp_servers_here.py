"""The MCP servers that the tests start, as configured ones; and calls of their tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from tests.patience import HANG, eventually
from toolreel.tools.mcp import McpNews, ServerSettings, StdioServer
from toolreel_core._jsontext import Json, JsonText, canonical, parse
from toolreel_core._protocol import RunTool, ToolReturned

HERE = Path(__file__).parent
GOOD = HERE / "mcp_good_server.py"
RUDE = HERE / "mcp_rude_server.py"


@dataclass
class Heard:
    """A listener that keeps what it is told."""

    news: list[McpNews] = field(default_factory=list)

    def __call__(self, news: McpNews, /) -> None:
        self.news.append(news)

    def of(self, kind: str) -> list[str]:
        return [news.text for news in self.news if news.kind == kind]


def _settings(given: Mapping[str, Any]) -> ServerSettings:
    """Those of a test; where it says nothing of the start, a busy machine has minutes for it."""
    return ServerSettings(**{"start_ms": int(HANG * 1000), **given})


def public(name: str, *args: str, **settings: Any) -> StdioServer:  # noqa: ANN401 - any setting
    """A public server, such as ``time`` or ``git``, that the development environment has."""
    command = str(Path(sys.executable).with_name(f"mcp-server-{name}"))
    return StdioServer(name, command, args, settings=_settings(settings))


def good(*args: str, name: str = "good", **settings: Any) -> StdioServer:  # noqa: ANN401 - any setting
    return StdioServer(name, sys.executable, (str(GOOD), *args), settings=_settings(settings))


def rude(way: str, *args: str, name: str = "rude", **settings: Any) -> StdioServer:  # noqa: ANN401
    arguments = ("-S", "-E", str(RUDE), way, *args)
    return StdioServer(name, sys.executable, arguments, settings=_settings(settings))


@contextmanager
def good_over_http(*args: str) -> Generator[str]:
    """The good server over streamable HTTP; its address."""
    with Popen(
        [sys.executable, str(GOOD), "--http", *(args or ("json",))], stdout=PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


def soon(holds: Callable[[], object]) -> None:
    """Wait until a condition holds, which it will in a moment."""
    eventually(holds, "what a server was to do")


def called(name: str, **arguments: Json) -> RunTool:
    return RunTool(7, "call_a", name, canonical(arguments), "key")


def tree(returned: ToolReturned) -> Any:  # noqa: ANN401 - any JSON
    return parse(JsonText(returned.output))


def data(returned: ToolReturned) -> Any:  # noqa: ANN401 - any JSON
    assert tree(returned)["ok"], returned.output
    return tree(returned)["data"]


def codes(returned: ToolReturned) -> list[str]:
    return [error["code"] for error in tree(returned).get("errors", [])]


def message(returned: ToolReturned) -> str:
    (error,) = tree(returned)["errors"]
    return str(error["message"])

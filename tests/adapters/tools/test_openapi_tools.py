"""The operations of an OpenAPI document, through the server that docs/mcp.md shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from tests.cli.commands import said_by_each
from tests.docs.snippets import ROOT, blocks_of
from tests.servers.chat_server import Answer, replying, serving
from toolreel.testing import calling, saying
from toolreel.tools.mcp import McpTools, mcp_servers
from toolreel_core import Json, RunTool
from toolreel_core._jsontext import canonical

(PROGRAM,) = (
    block.code for block in blocks_of(ROOT / "docs" / "mcp.md") if block.file == "openapi_server.py"
)
KEY: Final = "k-0123-of-the-shop"


def shop(folder: Path, url: str, **settings: Json) -> Json:
    """The configuration of a server for one operation, which the chat server answers."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Orders", "version": "1"},
        "paths": {"/orders": {"post": {"operationId": "order"}}},
    }
    (folder / "shop.json").write_text(json.dumps(document))
    (folder / "openapi_server.py").write_text(PROGRAM)
    started: Json = {
        "command": sys.executable,
        "args": [str(folder / "openapi_server.py"), str(folder / "shop.json"), url],
        "env": {"API_TOKEN": KEY},
        "toolreel": settings,
    }
    return {"mcpServers": {"shop": started}}


def test_the_client_guards_the_deadline_and_the_size_of_a_result_and_not_the_key(tmp_path: Path) -> None:
    slow, large = Answer(b"{}", delay=30), replying({"orders": "x" * 200_000})
    echo = replying({"authorization": f"Bearer {KEY}"})
    call = RunTool(1, "c1", "mcp_shop_post_order", canonical({}))
    with serving(slow, large, echo) as server:
        config = shop(tmp_path, server.url, deadline_ms=2000, max_message_bytes=100_000)
        with McpTools(mcp_servers(config, {})) as tools:
            late, too_large, echoed = (tools.run(call) for _ in range(3))
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert "mcp_shop_post_order did not return within 2 s" in late.output
    assert '"TOOL_OUTPUT_TOO_LARGE"' in too_large.output
    assert KEY in echoed.output


def test_a_key_that_a_server_repeats_is_in_no_record_and_not_shown(tmp_path: Path) -> None:
    echo = replying({"authorization": f"Bearer {KEY}"})
    replies = [replying(calling(("mcp_shop_post_order", {}))), replying(saying("Ordered."))]
    with serving(echo, echo) as server, serving(*replies, *replies) as model:
        (tmp_path / "mcp.json").write_text(json.dumps(shop(tmp_path, server.url)))
        base = ("run", "Order.", "--model", "m", "--base-url", model.url, "--mcp", "mcp.json")
        recorded, shown = said_by_each([(*base, "--record", "kept"), base], tmp_path)
    assert (recorded.code, '← {"withheld":"secret"}' in recorded.stdout) == (0, True)
    assert all(KEY not in path.read_text("utf-8") for path in tmp_path.glob("kept.*"))
    assert shown.code == 0
    assert '← {"authorization":"Bearer [value of API_TOKEN' in shown.stdout
    assert KEY not in recorded.stdout + shown.stdout

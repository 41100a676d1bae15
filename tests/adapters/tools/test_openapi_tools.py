"""The operations of an OpenAPI document, through the server that docs/mcp.md shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.commands import said_by_each
from tests.docs.snippets import ROOT, blocks_of
from tests.servers.chat_server import replying, serving
from tests.servers.mcp_servers_here import GOOD
from toolreel.testing import calling, saying
from toolreel_core import Json

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


@pytest.mark.slow
def test_a_key_that_an_api_repeats_is_in_no_record(tmp_path: Path) -> None:
    replies = [replying(calling(("mcp_shop_post_order", {}))), replying(saying("Ordered."))]
    with serving(replying({"authorization": f"Bearer {KEY}"})) as server, serving(*replies) as model:
        (tmp_path / "mcp.json").write_text(json.dumps(shop(tmp_path, server.url)))
        base = ("run", "Order.", "--model", "m", "--base-url", model.url, "--mcp", "mcp.json")
        (recorded,) = said_by_each([(*base, "--record", "kept")], tmp_path)
    assert (recorded.code, '← {"withheld":"secret"}' in recorded.stdout) == (0, True)
    assert all(KEY not in path.read_text("utf-8") for path in tmp_path.glob("kept.*"))


def test_a_key_that_a_server_repeats_is_in_no_record_and_not_shown(tmp_path: Path) -> None:
    started = {"command": sys.executable, "args": [str(GOOD)], "env": {"SHOP_TOKEN": KEY}}
    replies = [replying(calling(("mcp_shop_token", {}))), replying(saying("Ordered."))]
    with serving(*replies, *replies) as model:
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": started}}))
        base = ("run", "Order.", "--model", "m", "--base-url", model.url, "--mcp", "mcp.json")
        recorded, shown = said_by_each([(*base, "--record", "kept"), base], tmp_path)
    assert (recorded.code, '← {"withheld":"secret"}' in recorded.stdout) == (0, True)
    assert all(KEY not in path.read_text("utf-8") for path in tmp_path.glob("kept.*"))
    assert (shown.code, "[value of SHOP_TOKEN" in shown.stdout) == (0, True)
    assert KEY not in recorded.stdout + shown.stdout

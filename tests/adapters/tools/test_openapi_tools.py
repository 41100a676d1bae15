"""The operations of an OpenAPI document, through the server that docs/mcp.md shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.commands import Said, toolreel
from tests.docs.snippets import ROOT, blocks_of
from tests.servers.chat_server import replying, serving
from tests.servers.mcp_servers_here import GOOD
from toolreel.testing import calling, saying
from toolreel_core import Json

(PROGRAM,) = (
    block.code for block in blocks_of(ROOT / "docs" / "mcp.md") if block.file == "openapi_server.py"
)
KEY = "k-0123-of-the-shop"


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


def ran(folder: Path, config: Json, tool: str, *options: str) -> Said:
    """What is said of a run whose model calls this tool of the server."""
    (folder / "mcp.json").write_text(json.dumps(config))
    with serving(replying(calling((tool, {}))), replying(saying("Ordered."))) as model:
        base = ("run", "Order.", "--model", "m", "--base-url", model.url, "--mcp", "mcp.json")
        said = toolreel(*base, *options, cwd=folder)
    assert said.code == 0
    assert all(KEY not in path.read_text("utf-8") for path in folder.glob("kept.*"))
    return said


@pytest.mark.slow
def test_a_key_that_an_api_repeats_is_in_no_record(tmp_path: Path) -> None:
    with serving(replying({"authorization": f"Bearer {KEY}"})) as server:
        recorded = ran(tmp_path, shop(tmp_path, server.url), "mcp_shop_post_order", "--record", "kept")
    assert '← {"withheld":"secret"}' in recorded.stdout


@pytest.mark.parametrize(
    ("options", "shown"),
    [(("--record", "kept"), '← {"withheld":"secret"}'), ((), "[value of SHOP_TOKEN")],
)
def test_a_key_that_a_server_repeats_is_in_no_record_and_not_shown(
    options: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    started: Json = {"command": sys.executable, "args": [str(GOOD)], "env": {"SHOP_TOKEN": KEY}}
    said = ran(tmp_path, {"mcpServers": {"shop": started}}, "mcp_shop_token", *options)
    assert shown in said.stdout
    assert KEY not in said.stdout

"""The workflow of examples/temporal_workflow on a real Temporal server, in its sandbox."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

from examples.temporal_workflow import workflow
from tests.docs.snippets import ROOT, blocks_of
from tests.patience import HANG
from tests.servers.chat_server import Answer, replying, serving
from toolreel.testing import calling, saying

PROGRAM = ROOT / "examples" / "temporal_workflow" / "workflow.py"


@contextmanager
def temporal(folder: Path) -> Generator[str]:
    """A development server of Temporal; its address is given."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev", "--headless"]
    options = ["--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    with (folder / "said").open("wb") as said:
        server = subprocess.Popen([*command, *options], stdout=said, stderr=said)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


async def connected(address: str) -> Client:
    async with asyncio.timeout(HANG):
        while True:
            try:
                return await Client.connect(address)
            except RuntimeError:  # it is still starting
                await asyncio.sleep(0.1)


@pytest.mark.slow
def test_a_run_is_approved_and_ends_as_a_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ended(address: str) -> str:
        client = await connected(address)
        async with workflow.worker(client):
            return await workflow.run_approved(client, "Order 4 pins.")

    orders, overloaded = calling(("order", {"part": "pin", "count": 4})), Answer(b"{}", 503)
    with (
        serving(overloaded, replying(orders), replying(saying("Ordered."))) as model,
        temporal(tmp_path) as address,
    ):
        monkeypatch.setenv("TOOLREEL_BASE_URL", f"{model.url}/v1")
        assert asyncio.run(ended(address)) == "Completed(content='Ordered.')"
    assert b"4 pin ordered" in model.seen[-1].body


def test_the_page_shows_the_workflow_that_is_tested() -> None:
    page = ROOT / "docs" / "runtimes.md"
    shown = [block.code for block in blocks_of(page) if block.file == "workflow.py"]
    assert shown == [PROGRAM.read_text("utf-8")]

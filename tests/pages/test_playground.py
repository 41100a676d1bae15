"""The playground of the documentation in a real browser, with Pyodide, from a plain server of files."""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from docs.build_playground import SOURCE, build
from docs.playground.read_reply import read_reply
from tests.pages.watched import serious_findings, visited, widest
from toolreel.presets import shipped

WHOLE: dict[str, Any] = json.loads((SOURCE / "examples.json").read_text("utf-8"))


def asked(example: dict[str, Any]) -> dict[str, str]:
    reply = example["reply"]
    return {
        "kind": example["kind"],
        "reply": reply if isinstance(reply, str) else json.dumps(reply, indent=2),
        "tools": json.dumps(WHOLE["tools"]),
        "question": WHOLE["question"],
        "preset": example.get("preset", ""),
        "settings": "",
    }


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, str]]:
    """The built page: its folder, and its address."""
    folder = tmp_path_factory.mktemp("site") / "playground"
    build(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def verdicts(page: Page) -> list[tuple[str, str]]:
    """The settings and the verdict of each card, when the page has read what stands in the form."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    cards = page.locator(".card").all()
    return [(card.locator("h3").inner_text(), card.locator(".verdict").inner_text()) for card in cards]


def test_a_reply_is_read_as_it_is_read_here(browser: Browser, served: tuple[Path, str]) -> None:
    with visited(browser, served[1]) as page:
        expect(page.locator("#loading")).to_be_hidden()
        expect(page.locator("#examples button")).to_have_count(5)
        for example in WHOLE["examples"]:
            page.get_by_role("button", name=example["title"]).click()
            here = read_reply(asked(example), shipped())["results"]
            shown = verdicts(page)
            print(shown)
            assert [verdict for _, verdict in shown] == [result["verdict"] for result in here]

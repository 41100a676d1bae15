"""The playground of the documentation in a real browser, with Pyodide, from a plain server of files."""

from __future__ import annotations

import json
import shutil
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
from tests.pages.watched import opened, serious_findings, visited, widest
from toolreel.presets import shipped

WHOLE: dict[str, Any] = json.loads((SOURCE / "examples.json").read_text("utf-8"))


def form(example: dict[str, Any]) -> dict[str, str]:
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
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, str]]:
    """A folder with the built page, and its address; another that lacks Pyodide."""
    folder = tmp_path_factory.mktemp("site")
    build(folder / "whole")
    shutil.copytree(folder / "whole", folder / "part", ignore=shutil.ignore_patterns("pyodide"))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def cards(page: Page) -> list[tuple[str, str]]:
    """The settings and the verdict of each result, when the page has read what is in the form."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    shown = page.locator(".card").all()
    return [(card.locator("h3").inner_text(), card.locator(".verdict").inner_text()) for card in shown]


# One story, since loading Python takes seconds.
def test_a_pasted_reply_is_read_by_the_core_in_the_browser(browser: Browser, site: tuple[Path, str]) -> None:
    with visited(browser, f"{site[1]}/whole/index.html") as page:
        expect(page.locator("#stage")).to_contain_text("Python")
        expect(page.locator("#loading")).to_be_hidden()

        # What the browser's Python finds is what this one finds.
        for example in WHOLE["examples"]:
            page.get_by_role("button", name=example["title"]).click()
            results = read_reply(form(example), shipped())["results"]
            assert cards(page) == [(", ".join(each["settings"]), each["verdict"]) for each in results]

        # By the keyboard alone: an example, then a reply of another kind that is pasted over it.
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.evaluate("(text) => navigator.clipboard.writeText(text)", "<b>3</b> <tool_call>{'name': 'stock'")
        page.get_by_role("button", name="Arguments that the schema refuses").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label("The whole body")).to_be_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_label("Reply", exact=True)).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.press("Control+V")
        expect(page.get_by_label("The text of a message")).to_be_checked()
        expect(page.locator(".card").first).to_contain_text("TEXT_CALL_TRUNCATED")
        shown = cards(page)
        assert shown[0][1] == "asks the model again"
        expect(page.locator("[aria-pressed=true], .card b")).to_have_count(0)  # texts are no markup

        # A field that cannot be used says so beside itself, and the results stay.
        page.locator("#tools").fill("[")
        expect(page.locator("#tools-error")).to_have_text(
            "not JSON: Expecting value: line 1 column 2 (char 1)"
        )
        expect(page.locator("#tools")).to_have_attribute("aria-invalid", "true")
        assert cards(page) == shown
        page.locator("#tools").fill('["stock"]')
        page.locator("#settings").fill('{"nudge_no_tool_calls": 1}')
        expect(page.locator("#tools-error")).to_be_empty()
        assert any("nudge_no_tool_calls=1" in settings for settings, _ in cards(page))

        page.locator("summary").first.click()
        assert serious_findings(page) == []
        page.set_viewport_size({"width": 420, "height": 900})
        assert widest(page) == 420
        assert serious_findings(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious_findings(page, "color-contrast") == []


def test_a_page_that_cannot_load_python_says_why(browser: Browser, site: tuple[Path, str]) -> None:
    folder, address = site
    with opened(browser, folder / "whole" / "index.html", complaint="") as page:
        expect(page.get_by_role("alert").first).to_contain_text("python -m http.server")
    page = browser.new_page()
    page.goto(f"{address}/part/index.html")
    expect(page.get_by_role("alert").first).to_contain_text("Python could not be started")
    expect(page.get_by_role("alert").first).to_contain_text("pyodide.mjs")
    expect(page.locator("#loading")).to_be_hidden()
    page.close()

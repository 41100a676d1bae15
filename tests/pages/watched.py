"""Pages that are watched while a test uses them: nothing may go out, go wrong, or run that is not theirs."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

Mode = Literal["light", "dark"]
PATIENCE = 60_000
"""Milliseconds; only a machine under load comes near."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A window that tests use one after the other: to make one costs more than most tests."""

    page: Page
    complaints: list[str]


_windows: dict[tuple[object, ...], _Window] = {}


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    anchor: str = "",
    *,
    width: int = 1400,
    mode: Mode = "light",
    scripts: bool = True,
    bypass_csp: bool = False,
    complaint: str = "",
) -> Generator[Page]:
    """A page, opened from its file; at the end nothing may have been complained about.

    :param complaint: part of the one complaint that there has to be, if any
    """
    settings = (browser, width, mode, scripts, bypass_csp)
    # A test that fails leaves its window out, so that the next one begins with another.
    window = _windows.pop(settings, None) or _window(*settings)
    page, complaints = window.page, window.complaints
    page.emulate_media(color_scheme=mode, media="screen")
    page.goto("about:blank")  # else another anchor of the same page would not load it again
    complaints.clear()
    page.goto(path.as_uri() + anchor)
    yield page
    assert [complaint in each for each in complaints] == ([True] if complaint else []), complaints
    _windows[settings] = window


@contextmanager
def visited(browser: Browser, address: str, *, width: int = 1400, mode: Mode = "light") -> Generator[Page]:
    """A page of a server, in a window without cookies, from which nothing goes to any other server."""
    parts = urlsplit(address)
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=mode, bypass_csp=False
    )
    complaints = _watched(context, f"http://{parts.netloc}/")
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        yield page
        assert complaints == []
    finally:
        context.close()


def _window(browser: Browser, width: int, mode: Mode, scripts: bool, bypass_csp: bool) -> _Window:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=mode,
        java_script_enabled=scripts,
        bypass_csp=bypass_csp,
        permissions=["clipboard-read", "clipboard-write"],
    )
    complaints = _watched(context)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    return _Window(page, complaints)


def _watched(context: BrowserContext, ours: str = "file:") -> list[str]:
    complaints: list[str] = []

    def requested(url: str) -> None:
        if not url.startswith(ours):
            complaints.append(f"requested {url}")

    context.on("request", lambda request: requested(request.url))
    context.on("console", lambda message: complaints.append(f"console: {message.text}"))
    context.on("weberror", lambda error: complaints.append(f"error: {error.error}"))
    context.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    return complaints


def widest(page: Page) -> int:
    """How wide the page is; wider than its window, it would have to be scrolled."""
    found: int = page.evaluate("document.documentElement.scrollWidth")
    return found


def serious_findings(page: Page, *rules: str) -> list[str]:
    """What axe finds that is serious or critical, each with the first elements that it is about.

    :param rules: which are looked at; all, if there are none. Only colours depend on the mode of a page.
    """
    if not page.evaluate("'axe' in window"):
        axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        page.evaluate(axe)
    # Only what is said to be wrong is worth the work: axe lists everything that is right, too.
    options = {"resultTypes": ["violations"], **({"runOnly": [*rules]} if rules else {})}
    found: dict[str, Any] = json.loads(
        page.evaluate("(options) => axe.run(options).then(JSON.stringify)", options)
    )
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]

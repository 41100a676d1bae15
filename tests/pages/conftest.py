"""A real browser for the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.pages.watched import PATIENCE

_NAMES = ("chromium", "chromium-browser", "google-chrome")


# Of a module and no larger: while it is open, no other test of the process could run an event loop.
@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """A browser; without one the test is skipped, but not in CI."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        missing = "these tests need Chromium: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    # Chromium's sandbox refuses to run as root, as which containers of CI run.
    # Without a graphics card, drawing is the most of the work, and no test looks at what is drawn.
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()

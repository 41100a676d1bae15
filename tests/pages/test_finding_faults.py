"""Recordings with a known fault, found from their pages alone by the path that docs/see-a-run.md tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.pages.watched import opened
from tests.replay.sessions import FOLDER, cassette
from toolreel._replay import page_of

EVALUATION = FOLDER / "evals" / "weak"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Where the page of a recording goes."""
    return tmp_path / "page.html"


def test_a_version_that_the_model_made_up(browser: Browser, page: Path) -> None:
    page.write_text(page_of(cassette("nudged")), "utf-8")
    with opened(browser, page) as shown:
        shown.locator(".warnings li", has_text="state_patch failed").get_by_role("link").click()
        turn = shown.locator("#turn-1")
        expect(turn).to_be_in_viewport()
        expect(turn.locator(".call")).to_contain_text('"version":1')
        expect(turn.locator(".failed")).to_contain_text("version: expected 7, got 1")


def test_an_answer_that_claims_what_no_call_has_done(browser: Browser, page: Path) -> None:
    page.write_text(page_of(cassette("false-claim")), "utf-8")
    with opened(browser, page) as shown:
        head = shown.locator("#head")
        expect(head.locator(".warnings")).to_contain_text("offered and never run: state_patch")
        expect(head.locator(".answer")).to_contain_text("ready")


def test_an_empty_reply_that_ends_the_run(browser: Browser, page: Path) -> None:
    page.write_text(page_of(cassette("empty-final")), "utf-8")
    with opened(browser, page) as shown:
        expect(shown.locator(".why")).to_contain_text("fix_empty_final = False")
        shown.locator(".why").get_by_role("link").click()
        expect(shown.locator("#turn-3")).to_contain_text("without text and calls")


def test_a_call_that_nobody_could_read(browser: Browser, page: Path) -> None:
    (recording,) = EVALUATION.rglob("*__357773f5.yaml")
    page.write_text(page_of(recording), "utf-8")
    with opened(browser, page) as shown:
        shown.locator(".warnings li", has_text="TEXT_CALL_SUSPECTED").get_by_role("link").click()
        expect(shown.locator("#turn-1 .k-reply")).to_contain_text('{{"name": "state_get"')

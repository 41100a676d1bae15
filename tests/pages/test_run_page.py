"""The page of a run in a real browser: read, searched, compared, with hostile texts and many turns."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.pages.recordings import SECOND, TEXT, hostile, long, rich
from tests.pages.watched import opened, serious_findings, widest
from tests.replay.sessions import cassette
from toolreel import Agent
from toolreel._journal import load_recorded_run as read
from toolreel._replay import recording_page
from toolreel.testing import ScriptedEndpoint, calling, saying
from toolreel_core._loop import start
from toolreel_core._protocol import SendRequest

TURNS = 45


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages of recorded runs."""
    folder = tmp_path_factory.mktemp("runs")
    for name, source in {
        "rich": rich(folder),
        "hostile": hostile(folder),
        "long": long(folder, TURNS),
        "nudged": cassette("nudged"),
    }.items():
        (folder / f"{name}.html").write_text(recording_page(source), "utf-8")
    both = recording_page(cassette("recovered"), cassette("empty-final"))
    (folder / "both.html").write_text(both, "utf-8")
    return folder


def turn(page: Page, number: int) -> str:
    """What a turn shows, without what is folded."""
    shown: str = page.locator(f"#turn-{number}").inner_text()
    return shown


def test_the_outcome_why_and_the_warnings_come_first(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "nudged.html") as page:
        head = page.locator("#head")
        expect(head.locator(".badge")).to_have_text("tool_error")
        expect(head).to_contain_text("an enforced run needs every tool that it called to have worked")
        expect(head).to_contain_text("tool_failure_policy = 'fatal'")
        expect(head.locator(".warnings li").first).to_have_text("state_patch failed: ARGUMENT_ERROR turn 1")
        box = head.locator(".warnings").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900, "seen without scrolling"


def test_everything_that_happened_is_in_its_turn(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "rich.html") as page:
        expect(page.locator(".flow > .turn")).to_have_count(6)
        first = turn(page, 1)
        for words in ("HTTP 503: overloaded", "before the next try", "chart", "image/png, 78 bytes"):
            assert words in first
        assert "book was not run: ARGUMENTS_SCHEMA_ERROR" in turn(page, 2)
        assert "failed: NO_SUCH_SEAT" in turn(page, 3)
        assert "approved" in turn(page, 4)
        assert "reasoning, 16 characters" in turn(page, 5)
        expect(page.locator("#turn-6")).to_contain_text(SECOND)
        assert "a stream of 4 frames" in turn(page, 6)
        # Both pictures are shown, and were loaded from the page itself.
        shown = page.locator("img")
        assert shown.count() >= 2
        assert page.evaluate("document.querySelector('img').naturalWidth") == 4


def test_what_was_sent_is_beside_what_is_stored(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "rich.html") as page:
        second = page.locator("#turn-2")
        expect(second.locator(".sent .note")).to_contain_text("2 changed, 1 added")
        expect(second.locator(".change .now").first).to_contain_text("null")
        expect(second.locator(".item.new")).to_contain_text("What follows comes from tools")
        # The raw request is what was sent, byte for byte as a value.
        page.locator("#turn-1").get_by_text("raw request").first.click()
        raw = page.locator("#turn-1 pre[aria-label='raw request']").first
        plan = read(pages / "rich.journal.jsonl").plan
        effect = start(plan).effects[0]
        assert isinstance(effect, SendRequest)
        assert json.loads(raw.inner_text()) == json.loads(effect.request.body)


def test_what_models_wrote_is_shown_and_inert(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "hostile.html") as page:
        expect(page.locator("#turn-1")).to_contain_text("<script>alert('run')</script>")
        expect(page.locator("#turn-2")).to_contain_text(r"\u202egnp.exe")
        assert page.locator("img, iframe, object, embed, link").count() == 0
        assert page.locator("a:not([href^='#'])").count() == 0
        # Of a megabyte, the page shows some, and all of it when it is asked to.
        page.locator("#turn-1").get_by_role("button", name="Show all").first.click()
        assert len(page.locator("#turn-1 pre[aria-label=result]").inner_text()) > 800_000


def test_the_address_names_the_turn_and_the_words(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "long.html", "#turn=40") as page:
        expect(page.locator("#turn-40")).to_be_in_viewport()
        expect(page.locator(".rail [aria-current]")).to_have_attribute("data-turn", "40")
        page.get_by_label("search", exact=True).fill("torn")
        status = page.locator("[role=status]")
        expect(status).to_have_text(f"1 of {TURNS} turns")
        page.reload()
        expect(status).to_have_text(f"1 of {TURNS} turns")
        page.keyboard.press("Escape")
        expect(status).to_have_text(f"{TURNS} turns")
        page.get_by_label("show", exact=True).select_option("bad")
        expect(page.locator(".rail a")).to_have_count(1)
        page.locator(".rail a").click()
        expect(page.locator(f"#turn-{TURNS - 6}")).to_contain_text("failed: TORN")


def test_keys_are_enough(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "nudged.html") as page:
        current = page.locator(".rail [aria-current]")
        expect(page.locator(".rail a")).to_have_count(3)
        for key, number in (("j", "1"), ("j", "2"), ("k", "1"), ("n", "2"), ("d", "3")):
            page.keyboard.press(key)
            expect(current).to_have_attribute("data-turn", number)
        page.keyboard.press("/")
        page.keyboard.type("jk nowhere")
        expect(page.locator("[role=status]")).to_have_text("0 of 3 turns")
        page.keyboard.press("Escape")
        expect(page.locator("[role=status]")).to_have_text("3 turns")


def test_two_runs_are_side_by_side_and_part_somewhere(browser: Browser, pages: Path) -> None:
    with opened(browser, pages / "both.html") as page:
        parting = page.locator(".parting")
        expect(parting).to_contain_text("They part at event 6, turn 4")
        expect(page.get_by_role("region", name="Plans")).to_contain_text("config.fix_empty_final")
        expect(page.locator(".flow > .pair")).to_have_count(4)
        expect(page.locator("#turn-4 .parts")).to_have_text(
            "Here they part: one run goes on, the other has ended"
        )
        assert page.locator("#turn-1 .two").count() == 0, "what is the same is folded"
        page.locator("#turn-1 summary").first.click()
        expect(page.locator("#turn-1 .two .turn")).to_have_count(2)
        page.keyboard.press("d")
        expect(page.locator("#turn-4")).to_be_in_viewport()


def test_an_inner_agent_has_its_own_run_behind_its_call(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clerk = Agent("scripted", endpoint=ScriptedEndpoint([saying("Four pins.")]))
    script = [calling(("clerk", {"prompt": "How many?"})), saying("Four.")]
    agent = Agent(
        "scripted", tools=[clerk.as_tool("clerk", record="clerks")], endpoint=ScriptedEndpoint(script)
    )
    path = agent.run("Are there pins?", record="shop").view("shop.html", open_page=False)
    with opened(browser, tmp_path / path) as page:
        page.get_by_role("link", name="the inner agent's run: completed, 1 turn").click()
        expect(page.locator("h1")).to_have_text("How many?")
        expect(page.locator("#turn-1")).to_contain_text("Four pins.")
        page.get_by_role("link", name="back to the run that called this agent").click()
        expect(page.locator("h1")).to_have_text("Are there pins?")


def test_a_notebook_shows_it_in_a_frame(browser: Browser, tmp_path: Path) -> None:
    run = Agent("scripted", endpoint=ScriptedEndpoint([saying(TEXT)])).run("Hi.")
    html = getattr(run, "_repr_html_")()  # noqa: B009 - for notebooks alone
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{html}", "utf-8")
    with opened(browser, tmp_path / "notebook.html") as page:
        page.locator("summary").click()
        frame = page.frame_locator("iframe")
        expect(frame.locator(".k-opening").last).to_contain_text("<script>alert('run')</script>")
        assert escape("</script>") in html


@pytest.mark.parametrize("name", ["rich", "both"])
def test_it_fits_a_narrow_window_and_axe_finds_nothing_serious(
    browser: Browser, pages: Path, name: str
) -> None:
    with opened(browser, pages / f"{name}.html", width=420, bypass_csp=True) as page:
        expect(page.locator(".rail a").first).to_be_visible()
        expect(page.locator(".flow .step").first).to_be_visible()
        assert widest(page) == 420
        assert serious_findings(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious_findings(page, "color-contrast") == []


@pytest.mark.slow
def test_two_thousand_turns_open_at_once(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    path.write_text(recording_page(long(tmp_path, 2_000)), "utf-8")
    assert path.stat().st_size < 20_000_000
    with opened(browser, path, "#turn=1500") as page:
        expect(page.locator("#turn-1500")).to_be_in_viewport()
        # From the beginning to the end of loading, by the browser's own clock.
        assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 2_000
        page.get_by_label("search", exact=True).fill("torn")
        expect(page.locator("[role=status]")).to_have_text("1 of 2,000 turns")

"""The report of an evaluation in a real browser: read, filtered, compared, and with hostile texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.evals.evaluations import scripted, served
from tests.pages.watched import opened, serious_findings, widest
from toolreel.evals import Results, report_page

DETAIL = ".detail"
GATE = {"metric": "rate", "strategy": "raw", "at_least": 0.9}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 24 runs, of a model that does well and of a hostile one."""
    folder = tmp_path_factory.mktemp("results")
    served(folder, "local-good", "local-hostile", gate=[GATE])
    return written(folder)


def written(folder: Path) -> Path:
    """The report of the results in a folder."""
    path = folder / "report.html"
    path.write_text(report_page(Results.open(folder)), encoding="utf-8")
    return path


def field(page: Page, label: str) -> Locator:
    """A filter of the list of runs."""
    return page.locator("#explorer").get_by_label(label, exact=True)


def rows(page: Page) -> int:
    """Runs in the list."""
    return page.locator(".list a").count()


def test_what_models_wrote_is_shown_and_inert(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#model=local-hostile&scenario=chat_only") as page:
        page.locator(".list a").first.click()
        detail = page.locator(DETAIL)
        expect(detail).to_contain_text("<script>alert('run')</script>")
        # Nothing moves a terminal's cursor or turns the text around.
        expect(detail).to_contain_text(r"{{ 7 * 7 }} \x1b[31m \u202egnp.exe")
        assert page.locator("img, iframe, object, embed, link").count() == 0
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
        links = page.evaluate("[...document.links].map((each) => each.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    assert {link[1:] for link in links if "=" not in link} <= {*ids}, "links lead nowhere"
    assert len(ids) == len({*ids})


def test_not_even_a_script_of_its_own_can_make_elements_of_text(browser: Browser, report: Path) -> None:
    attempt = "() => { try { document.body.innerHTML = '<b>' } catch { return 'refused' } }"
    with opened(browser, report, complaint="requires 'TrustedHTML' assignment") as page:
        assert page.evaluate(attempt) == "refused"


def test_a_megabyte_is_cut_and_said_to_be(browser: Browser, tmp_path: Path) -> None:
    served(tmp_path, "local-megabyte", strategies=["raw"], scenarios=["chat_only"], trials=1)
    path = written(tmp_path)
    assert path.stat().st_size < 200_000
    with opened(browser, path) as page:
        page.keyboard.press("j")
        expect(page.locator(DETAIL)).to_contain_text("more characters are in the cassette")


def test_the_answer_and_the_gates_come_first(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        answer = page.locator("#answer")
        expect(answer).to_contain_text("of the 2 models is best for scenarios such as these: local-good")
        expect(answer.locator(".badge")).to_have_count(1)
        box = answer.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900, "seen without scrolling"


def test_runs_are_filtered_and_the_address_says_how(browser: Browser, report: Path) -> None:
    with opened(browser, report, "#runs") as page:
        status = page.locator("#explorer [role=status]")
        expect(status).to_have_text("24 of 24 runs")
        field(page, "strategy").select_option("raw")
        field(page, "model").select_option("local-good")
        expect(status).to_have_text("6 of 24 runs")
        field(page, "outcome").select_option("pass")
        field(page, "search").fill("happy trial")
        expect(status).to_have_text("0 of 24 runs")
        field(page, "search").fill("happy_path")
        expect(status).to_have_text("2 of 24 runs")
        address = page.evaluate("location.href")
        page.reload()
        expect(status).to_have_text("2 of 24 runs")
        assert page.evaluate("location.href") == address
        assert "strategy=raw" in address


def test_a_cell_leads_to_its_trials_and_a_run_to_its_twins(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.locator(".heat td a").first.click()
        detail = page.locator(DETAIL)
        expect(detail.locator("thead th")).to_have_count(2)
        expect(detail).to_contain_text("What they did is the same; only the verdicts may differ.")
        detail.locator("thead a").first.click()
        expect(detail.locator("h3")).to_have_text("happy_path, local-good, raw, trial 1")
        detail.get_by_role("link", name="with local-hostile").click()
        expect(detail.locator(".state").first).to_have_text("They part in turn 1: 1 calls, and 0.")
        assert "#runs=" in page.url
        page.go_back()
        expect(detail.locator("h3")).to_have_text("happy_path, local-good, raw, trial 1")


def test_a_link_to_a_run_opens_it(browser: Browser, report: Path) -> None:
    record = Results.open(report.parent).records()[0]
    with opened(browser, report, f"#run={record.key[:12]}") as page:
        expect(page.locator(f"{DETAIL} h3")).to_contain_text(record.cell.scenario)
        expect(page.locator(".list a[aria-current]")).to_have_count(1)
        page.goto(page.url.partition("#")[0] + "#run=unknown")
        expect(page.locator(DETAIL)).to_contain_text("This page has no such run.")


def test_keys_are_enough(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        title = page.locator(f"{DETAIL} h3")
        page.keyboard.press("j")
        expect(title).to_have_text("happy_path, local-good, raw, trial 1")
        page.keyboard.press("j")
        expect(title).to_have_text("happy_path, local-good, raw, trial 2")
        page.keyboard.press("k")
        expect(title).to_have_text("happy_path, local-good, raw, trial 1")
        page.keyboard.press("t")
        expect(page.locator(f"{DETAIL} thead th")).to_have_count(2)
        page.keyboard.press("/")
        page.keyboard.type("jk hostile")
        expect(page.locator("#explorer [role=status]")).to_have_text("0 of 24 runs")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(title).to_have_count(0)


def test_the_command_of_a_run_is_copied_and_names_no_path(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.keyboard.press("j")
        button = page.locator(DETAIL).get_by_role("button", name="Copy the command")
        button.click()
        expect(button).to_have_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"toolreel eval replay {report.parent.name} [0-9a-f]{{12}}", copied)
        assert str(report.parent.parent) not in page.content()


@pytest.mark.parametrize("width", [1400, 420])
def test_it_fits_its_window_and_axe_finds_nothing_serious(browser: Browser, report: Path, width: int) -> None:
    with opened(browser, report, width=width, bypass_csp=True) as page:
        page.keyboard.press("j")
        expect(page.locator(f"{DETAIL} h3")).to_have_count(1)  # a key meanwhile would be of no run
        if width == 1400:
            assert serious_findings(page) == []
            page.emulate_media(color_scheme="dark")
            assert serious_findings(page, "color-contrast") == []
        page.keyboard.press("t")
        expect(page.locator(f"{DETAIL} thead th")).to_have_count(2)
        assert widest(page) == width
        box, head = page.locator(".tall"), page.locator(".heat th[scope=row]").first
        before = head.bounding_box()
        box.evaluate("box => box.scrollBy(200, 0)")
        after = head.bounding_box()
        assert before is not None
        assert after is not None
        assert after["x"] == before["x"], "the names of scenarios stay where they are"


def test_without_scripts_there_are_the_figures(browser: Browser, report: Path) -> None:
    with opened(browser, report, scripts=False) as page:
        expect(page.locator("#answer")).to_contain_text("local-good")
        expect(page.locator(".heat td").first).to_be_visible()
        expect(page.locator("noscript p")).to_contain_text("your browser does not run")
        expect(page.locator(".command").last).to_contain_text(
            f"toolreel eval replay {report.parent.name} --check"
        )


CALL = {"name": "state_get", "arguments": "{}", "ok": True, "codes": [], "result": "{}"}
TURN = {"number": 1, "text": "", "finish": "tool_calls", "calls": [CALL], "remarks": [], "said": []}
LAST = {"number": 2, "text": "Done.", "finish": "stop", "calls": [], "remarks": [], "said": []}
RUN = {"opening": [["user", "hi"]], "turns": [TURN, LAST], "ending": "completed", "attempt": 1}


def with_call(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {**RUN, "turns": [{**TURN, "calls": [{**CALL, **changes}]}, LAST]}


OTHER_TRIAL = {**with_call(arguments='{"a":1}'), "opening": [["user", "another"]]}
DIFFERENCES: tuple[tuple[Mapping[str, Any], str], ...] = (
    (RUN, "What they did is the same; only the verdicts may differ."),
    (with_call(name="state_patch"), "They part in turn 1: the name of call 1."),
    (with_call(result="[]"), "They part in turn 1: the result of call 1."),
    ({**RUN, "turns": [TURN, {**LAST, "text": "No."}]}, "They part in turn 2: the text."),
    ({**RUN, "turns": [TURN, {**LAST, "finish": "length"}]}, "They part in turn 2: why the reply ended."),
    ({**RUN, "turns": [TURN]}, "They part in turn 2: not all of them have this turn."),
    ({**RUN, "ending": "refused"}, "They part in turn 3: how they ended."),
    (OTHER_TRIAL, "What they did is the same"),
    ({**OTHER_TRIAL, "turns": [TURN, {**LAST, "finish": "length"}]}, "They part in turn 2: why the reply"),
)


def test_runs_part_at_the_first_thing_that_differs(browser: Browser, report: Path) -> None:
    columns = "both.map((told) => ({ head: '', told }))"
    shown = f"(both) => transcripts.besides({columns})[0].textContent"
    with opened(browser, report) as page:
        for other, words in DIFFERENCES:
            assert page.evaluate(shown, [RUN, other]).startswith(words)


@pytest.mark.slow
def test_seven_thousand_runs_open_at_once(browser: Browser, tmp_path: Path) -> None:
    models = ("scripted:good", "scripted:bad")
    strategies = ["raw", "baseline", "production"]
    scripted(tmp_path, *models, strategies=strategies, scenarios=["all", "packs"], trials=26)
    path = written(tmp_path)
    assert path.stat().st_size < 20_000_000
    with opened(browser, path, "#runs") as page:
        expect(page.locator("#explorer [role=status]")).to_have_text(
            re.compile(r"^7,\d\d\d of 7,\d\d\d runs$")
        )
        # From the beginning to the end of loading, by the browser's own clock.
        assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 2_000
        field(page, "search").fill("trial 26 restraint")
        field(page, "search").fill("scripted:bad")
        field(page, "outcome").select_option("fail")
        page.get_by_role("button", name="Show more").click()
        assert rows(page) == 200
        page.locator(".list a").last.click()
        expect(page.locator(f"{DETAIL} .turn").first).to_be_visible()

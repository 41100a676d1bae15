"""The report of an evaluation that was really run: one page, and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from tests.evals.evaluated import evaluated
from toolreel.evals._report.page import ReportContent, report_content, report_page, report_pictures
from toolreel.evals._report.transcript_selection import select_runs
from toolreel.evals._report.transcripts import transcript_of
from toolreel.evals._store.results import Results

VOID: Final = {"meta", "br", "wbr", "img", "input", "hr", "link", "rect", "line", "circle", "polygon"}
LOADING: Final = {
    "src",
    "srcset",
    "data",
    "poster",
    "background",
    "action",
    "formaction",
    "ping",
    "xlink:href",
}
ALLOWED: Final = """
    html head meta title style script body a header h1 h2 h3 h4 p code pre dl div dt dd ul li nav main section
    table caption thead tbody tr th td span strong small wbr details summary
    svg desc g rect line circle polygon text
"""


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> ReportContent:
    folder = tmp_path_factory.mktemp("results")
    evaluated(folder, "local-good", "local-hostile", "local-skipping")
    return report_content(Results.open(folder))


@pytest.fixture(scope="module")
def page(content: ReportContent) -> str:
    return report_page(content)


class Strict(HTMLParser):
    """Fails where elements do not nest, and keeps what the page holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._seen(tag, attrs)

    def _seen(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert name not in LOADING, f"<{tag} {name}={value}> loads something"
            assert not name.startswith("on"), f"<{tag} {name}> runs something"
            assert name != "style", "the page's policy forbids styles in attributes"
            self.links += [value or ""] if name == "href" else []
            self.ids += [value or ""] if name == "id" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_the_page_nests_and_asks_for_nothing_from_outside(page: str) -> None:
    parsed = Strict(page)
    assert parsed.tags <= set(ALLOWED.split()), "no element that could load something"
    assert all(link.startswith("#") for link in parsed.links)
    assert {link[1:] for link in parsed.links} <= set(parsed.ids), "links lead nowhere"
    assert len(parsed.ids) == len(set(parsed.ids))
    css = page.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in css
    assert "@import" not in css


def test_a_policy_allows_no_script_and_no_style_but_the_pages_own(page: str) -> None:
    policy = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; "
        r"form-action 'none'",
        policy.replace("&#39;", "'"),
    )


def test_what_a_model_writes_is_shown_and_never_obeyed(page: str) -> None:
    assert page.count("<script>") == 1
    assert "<img" not in page
    assert "alert(&#39;run&#39;)" in page
    assert "{{ 7 * 7 }}" in page
    # Nothing moves a terminal's cursor or turns the text around.
    assert r"\x1b[31m \u202egnp.exe" in page
    assert page.encode()


def test_the_same_results_give_the_same_bytes(content: ReportContent, page: str) -> None:
    again = report_content(Results.open(content.results.path))
    assert report_page(again) == page
    assert report_pictures(again) == report_pictures(content)
    assert "2026-11-22T08:30:00Z" in page


def test_the_page_begins_with_what_one_has_to_know(page: str) -> None:
    said = " ".join("".join(Strict(page).said).split())
    assert "Evaluation of 3 models" in said
    assert "Complete: every run of the plan has ended, and none is void." in said
    assert "strategies are compared on 6 groups" in said or "models are compared on" in said
    assert "production over raw" in said
    methods = "Gaffke over scenarios: about scenarios such as these, on these models"
    assert said.count(f"Intervals: {methods}.") == 1, "named once for all strategies"
    assert "Ties:" in said


def test_each_cell_has_rate_interval_count_and_results(page: str) -> None:
    table = page.partition('<table class="heat">')[2].partition("</table>")[0]
    assert "local-skipping:raw" in table
    cell = table.partition("local-skipping:raw")[2].partition("</td>")[0]
    assert "<strong>100 %</strong>" in cell
    assert "34.2 to 100 %" in cell
    assert "n 2" in cell
    assert 'aria-label="2 passed without the hard part"' in cell


def test_failures_are_listed_with_the_command_that_plays_them_again(
    content: ReportContent, page: str
) -> None:
    key = next(
        entry.key for cell in content.summary.cells for entry in cell.entries if entry.result == "fail"
    )
    listed = page.partition('id="list"')[2].partition("</table>")[0]
    assert f"toolreel eval replay {content.results.path} {key[:12]}" in listed
    assert f'href="#run-{key[:12]}"' in listed
    assert "task.outcome:final" in listed


def test_a_run_is_told_turn_by_turn_from_its_cassette(content: ReportContent, page: str) -> None:
    (entry, *_) = [
        entry
        for cell in content.summary.cells
        if cell.cell.model == "local-good" and cell.cell.scenario == "happy_path"
        for entry in cell.entries
    ]
    chosen = page.partition(f'id="run-{entry.key[:12]}"')[2].partition("</details>")[0]
    assert re.findall(r"<h4>(\w+)", chosen) == ["system", "user", "Turn", "Turn", "Turn"]
    assert "<code>state_get</code>" in chosen
    assert "draft:1" in chosen
    assert "Done." in chosen
    assert "completed: the model gave a final answer" in chosen


def test_two_runs_stand_side_by_side_with_the_place_where_they_part(tmp_path: Path) -> None:
    tight = {"extends": "raw", "config": {"max_tool_args_bytes": 20}}
    evaluated(
        tmp_path,
        "local-good",
        strategies=["raw", "tight"],
        strategy={"tight": tight},
        scenarios=["happy_path"],
    )
    pairs = report_page(report_content(Results.open(tmp_path)))
    pairs = pairs.partition('<section id="pairs"')[2].partition("</section>")[0]
    said = " ".join(re.sub(r"<[^>]+>", " ", pairs).split())
    assert "local-good, default, best_effort, happy_path, trial 1" in said
    assert "raw passed, tight failed" in said
    assert "they part in turn 1: the result of call 1" in said
    assert '<tr class="parts"><td colspan="2"><strong>Here they part: the result of call 1</strong>' in pairs


def test_of_a_large_evaluation_failures_and_first_passes_are_told(content: ReportContent) -> None:
    failed = [entry for cell in content.summary.cells for entry in cell.entries if entry.result == "fail"]
    chosen = select_runs(content.summary, max_runs=30, pairs=1)
    assert {entry.key for entry in failed} <= {entry.key for entry in chosen.entries}
    assert chosen.left_out == 0
    fewer = select_runs(content.summary, max_runs=10, pairs=1)
    assert len(fewer.entries) == 10
    assert "further failures are told in the list alone" in fewer.note
    page = report_page(content, 10)
    assert page.count('id="run-') == 10
    assert "Of 36 runs, 10 are told turn by turn: failures, and the first pass of each cell." in page
    assert len(page) < len(report_page(content))


def test_no_transcripts_can_be_asked_for(content: ReportContent) -> None:
    assert 'id="run-' not in report_page(content, 0)


def test_a_run_that_cannot_be_made_again_says_why(tmp_path: Path) -> None:
    evaluated(tmp_path, "local-bad", scenarios=["happy_path"], trials=1, strategies=["raw"])
    results = Results.open(tmp_path)
    (record,) = results.records()
    (tmp_path / record.cassette).unlink()
    page = report_page(report_content(results))
    assert "Cannot be told: " in page
    assert "toolreel eval replay" in page


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 99}, "its scenario was at version 99, and is at version 2 now"),
        ({"digest": "other"}, "its configuration is not the one that its digest names"),
        ({"cassette": ""}, "was not recorded"),
    ],
)
def test_a_run_that_would_be_another_now_is_not_told(
    content: ReportContent, changes: dict[str, Any], problem: str
) -> None:
    record = replace(next(content.results.records()), **changes)
    assert problem in transcript_of(record, content.plan, content.results.path).problem


def test_a_report_of_nothing_is_a_page_too(tmp_path: Path) -> None:
    evaluated(tmp_path, "local-bad", scenarios=["happy_path"], trials=1, strategies=["raw"])
    (tmp_path / "journal.jsonl").write_bytes(b"")
    content = report_content(Results.open(tmp_path))
    page = report_page(content)
    Strict(page)
    assert "Incomplete (runs not made: 1, void: 0)" in page
    for text in report_pictures(content).values():
        ElementTree.fromstring(text)  # noqa: S314 - this project's own


def test_pictures_are_whole_files_with_their_words_as_text(content: ReportContent) -> None:
    pictures = report_pictures(content)
    assert [*pictures] == ["heatmap.svg", "strategies.svg", "failures.svg", "cost.svg"]
    for name, text in pictures.items():
        root = ElementTree.fromstring(text)  # noqa: S314 - this project's own
        assert root.get("role") == "img", name
        title, about = (root.find(f"{{*}}{tag}") for tag in ("title", "desc"))
        assert title is not None
        assert about is not None
        assert root.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}"
        assert "prefers-color-scheme:dark" in text
        assert set(re.findall(r"https?://[^\"<\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "local-good:production" in [*words_in(pictures["heatmap.svg"])]
    assert "task.outcome:final" in [*words_in(pictures["failures.svg"])]
    assert "production over raw" in [*words_in(pictures["strategies.svg"])]


def words_in(picture: str) -> Iterator[str]:
    root = ElementTree.fromstring(picture)  # noqa: S314 - this project's own
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        yield element.text or ""

"""The list of ``toolreel view`` in a real browser, from a server of its own: a process, as users start it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.commands import COMMAND, environment
from tests.evals.evaluations import served
from tests.pages.recordings import hostile, rich
from tests.pages.watched import serious_findings, visited, widest
from tests.patience import HANG
from tests.replay.sessions import cassette
from toolreel._journal import FileJournal
from toolreel.testing import saying
from toolreel_core._loop import start
from toolreel_core._plan import Plan
from toolreel_core._protocol import ReplyReceived, SendRequest

NAMES = ("nudged", "recovered", "empty-final")


@contextmanager
def started(folder: Path) -> Generator[str]:
    """The address that ``toolreel view`` prints; at the end, Ctrl-C ends it."""
    command = [*COMMAND, "view", str(folder), "--no-open"]
    pipe = subprocess.PIPE
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        process = subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=HANG)
    assert (process.returncode, stderr) == (0, "Stop with Ctrl-C.\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, one of them hostile, and an evaluation."""
    folder = tmp_path_factory.mktemp("listed")
    for name in NAMES:
        (folder / name).mkdir()
        for path in cassette(name).parent.iterdir():
            shutil.copy(path, folder / name)
    rich(folder)
    hostile(folder)
    (folder / "hostile.journal.jsonl").rename(folder / "<img src=x onerror=alert(1)>\u202e.journal.jsonl")
    (folder / "settings.yaml").write_text("not: a recording\n")
    served(folder / "evaluation", "local-good", strategies=["raw"], scenarios=["chat_only"], trials=2)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Generator[str]:
    """Where the list is, with its token."""
    with started(folder) as address:
        yield address


def rows(page: Page) -> list[str]:
    """The names in the list."""
    return page.locator("tbody .c-name a").all_inner_texts()


def said(page: Page) -> None:
    """Wait until everything is read."""
    expect(page.locator("[role=status]")).to_have_text(re.compile(r"^[1-9]\d* of \d+$"))


def test_who_has_no_token_is_refused(address: str) -> None:
    parts = urlsplit(address)
    base = f"http://{parts.netloc}"
    for path in ("/", "/?token=guessed", "/changes", "/view?name=nudged", "/favicon.ico"):
        answer = httpx.get(base + path)
        assert (answer.status_code, "toolreel view has printed" in answer.text) == (403, True)
        assert "access-control-allow-origin" not in answer.headers
    entered = httpx.get(address)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= {*cookie.split("; ")}
    ours = {"cookie": cookie.partition(";")[0]}
    page = httpx.get(base, headers=ours)
    assert page.status_code == 200
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "connect-src &#x27;self&#x27;" in page.text
    assert httpx.get(base, headers={**ours, "host": "evil.example"}).status_code == 421
    assert httpx.post(f"{base}/changes", headers=ours).status_code == 405
    assert httpx.get(f"{base}/view?name=../../etc/passwd", headers=ours).status_code == 422
    assert httpx.get(f"{base}/favicon.ico", headers=ours).status_code == 404


def test_it_lists_filters_and_opens_what_is_recorded(browser: Browser, address: str) -> None:
    with visited(browser, address) as page:
        said(page)
        assert page.url == f"http://{urlsplit(address).netloc}/", "the token is no longer in the address"
        names = rows(page)
        assert len(names) == 5
        assert "settings" not in names
        page.get_by_label("state").select_option("empty_final")
        expect(page.locator("[role=status]")).to_have_text("1 of 5")
        assert "state=empty_final" in page.url
        page.reload()
        expect(page.locator("[role=status]")).to_have_text("1 of 5")
        page.locator("tbody .c-name a").click()
        expect(page.locator(".why")).to_contain_text("fix_empty_final = False")
        page.go_back()
        expect(page.locator("[role=status]")).to_have_text("1 of 5")


def test_two_runs_are_compared_with_keys_alone(browser: Browser, address: str) -> None:
    with visited(browser, address) as page:
        said(page)
        for name in ("recovered", "empty-final"):
            page.keyboard.press("/")
            page.keyboard.press("Control+a")
            page.keyboard.type(name)
            page.keyboard.press("Enter")
            page.keyboard.press("j")
            page.keyboard.press("x")
        page.keyboard.press("c")
        expect(page.locator(".parting")).to_contain_text("They part")


def test_hostile_names_and_contents_are_inert(browser: Browser, address: str) -> None:
    with visited(browser, address) as page:
        said(page)
        row = page.locator("tr", has_text="<img src=x onerror=alert(1)>")
        expect(row).to_have_count(1)
        expect(row.locator("a")).to_contain_text("\\u202e")
        assert page.locator("img, iframe, object, embed").count() == 0
        row.locator("a").click()
        expect(page.locator("#head .card")).to_be_visible()


def test_it_follows_what_is_recorded(browser: Browser, tmp_path: Path) -> None:
    plan = Plan.of(model="m-live", messages="Hello")
    (request,) = start(plan).effects
    assert isinstance(request, SendRequest)
    with started(tmp_path) as address, visited(browser, address) as page:
        expect(page.locator("tbody")).to_contain_text("Nothing is recorded here yet.")
        with FileJournal(tmp_path / "new.journal.jsonl", plan, known_secrets={}) as journal:
            row = page.locator("tr", has_text="new")
            expect(row).to_contain_text("recording")
            journal.record(request, ReplyReceived(request.ref, 200, json.dumps(saying("Hi"))))
        expect(row).to_contain_text("completed")
        (tmp_path / "new.journal.jsonl").unlink()
        expect(page.locator("tbody")).to_contain_text("Nothing is recorded here yet.")


@pytest.mark.parametrize(
    ("width", "mode"),
    [
        (1400, "light"),
        (420, "dark"),
        pytest.param(1400, "dark", marks=pytest.mark.slow),
        pytest.param(420, "light", marks=pytest.mark.slow),
    ],
)
def test_it_fits_its_window_and_axe_finds_nothing(
    browser: Browser, address: str, width: int, mode: str
) -> None:
    with visited(browser, address, width=width, mode="dark" if mode == "dark" else "light") as page:
        said(page)
        page.locator("tbody input").first.check()
        assert widest(page) <= width
        assert serious_findings(page) == []

"""Failing runs made smaller: a server on this machine has a model that two things in the prompt confuse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.evals.evaluated import scripted
from tests.evals.provided import evaluated, planned
from tests.patience import HANG
from toolreel._cli.evals.group import eval_command
from toolreel.evals._causes.minimise import Minimised, Search, minimise
from toolreel.evals._runner.connection import connect
from toolreel.evals._runner.plan_loader import plan_of_header
from toolreel.evals._store.results import Results
from toolreel.testing import saying
from toolreel_core.evals._plan.cells import Cell, Sample
from toolreel_core.evals._scenarios.catalogue import reply_of, scenario, scripts_of

POSED = scenario("happy_path")
FIRST = Sample(Cell("m", "default", "raw", "best_effort", "off", POSED.name), 1, POSED.version, "")
SCRIPTS = scripts_of(POSED, FIRST.seed)
"""Of the first trial, which all runs here are."""

CONFUSING = "- Make one tool call in a message, then wait for its result."
TOOL = "state_get"

Answering = Callable[[Mapping[str, Any]], object]


def confused(asked: Mapping[str, Any]) -> object:
    """A model that only talks if one line and one tool come together, and does its task otherwise."""
    told = "\n".join(message["content"] for message in asked["messages"] if message["role"] == "system")
    tools = {tool["function"]["name"] for tool in asked.get("tools", ())}
    if CONFUSING in told and TOOL in tools:
        return saying("I would rather talk.")
    return reply_of("good", SCRIPTS, asked["messages"])


@contextmanager
def model(answer: Answering) -> Generator[str]:
    """A server that plays a model."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # the interrupted process hangs up
                super().handle()

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answer(asked)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with model(confused) as url:
        yield url


@pytest.fixture(scope="module")
def failed(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "failed"
    evaluated(planned(server, eval={"empty_response_retries": 0}), folder)
    return folder


def key_of(folder: Path) -> str:
    return next(iter(Results.open(folder).records())).key


def minimised(folder: Path, scratch: Path, search: Search) -> Minimised:
    results = Results.open(folder)
    plan = plan_of_header(results.header)
    with closing(connect(plan, {})) as connection:
        return minimise(plan, next(iter(results.records())), search, connection, scratch)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(eval_command, ["minimise", *map(str, arguments)])


def test_two_things_that_confuse_a_model_are_left_and_the_user(failed: Path, tmp_path: Path) -> None:
    found = minimised(failed, tmp_path, Search(budget=1_000, repeats=1, failing=1))
    assert found.kept[0].text == CONFUSING
    assert {part.name for part in found.kept} == {"message 1 line 6", "message 2 line 1", "tool state_get"}
    assert found.stopped == ""
    assert 0 < found.requests <= 1_000
    assert found.record.verdict.category == "loop.no_tool_calls"


def test_the_end_is_a_test_that_replays_the_smaller_prompt(failed: Path, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    said = invoke(failed, key_of(failed), "--budget", 1_000, "--repeats", 2, "--to", tests, "--name", "talks")
    assert said.exit_code == 0, said.output
    assert "3 of " in said.stdout
    assert CONFUSING in said.stdout
    assert sorted(path.name for path in tests.iterdir()) == ["talks.json", "talks.yaml", "test_talks.py"]
    recorded = (tests / "talks.yaml").read_text("utf-8")
    assert "state_get" in recorded
    assert "state_patch" not in recorded
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests))
    ran = subprocess.run(command, cwd=tests, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_a_used_up_budget_keeps_the_best_so_far(failed: Path, tmp_path: Path) -> None:
    said = invoke(
        failed, key_of(failed), "--budget", 12, "--failing", 1, "--to", tmp_path / "tests", "--json"
    )
    assert said.exit_code == 3, said.output
    told = json.loads(said.stdout)
    assert told["stopped"] == "the budget of 12 requests is used up"
    assert told["requests"] == 12
    assert Path(told["test"]).exists()
    assert {"message 1 line 6", "message 2 line 1", "tool state_get"} <= {
        each["part"] for each in told["kept"]
    }


def test_ctrl_c_keeps_the_best_so_far(failed: Path, tmp_path: Path) -> None:
    results = Results.open(failed)
    plan = plan_of_header(results.header)
    tried = list[int]()

    def interrupt(_: object) -> None:
        tried.append(1)
        if len(tried) == 20:
            raise KeyboardInterrupt

    with closing(connect(plan, {})) as connection:
        record = next(iter(results.records()))
        found = minimise(plan, record, Search(1_000, 1, 1), connection, tmp_path, interrupt)
    assert found.stopped == "it was interrupted"
    assert found.record.verdict.result == "fail"
    assert found.removed


@pytest.fixture
def interruptible() -> Generator[None]:
    """Started in the background of a shell, Python ignores Ctrl-C, and so would what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_real_ctrl_c_while_the_model_thinks_writes_the_test_so_far(failed: Path, tmp_path: Path) -> None:
    """The server itself presses Ctrl-C, and does not answer before the command has ended."""
    started, ended, asked = Event(), Event(), list[int]()
    running: list[subprocess.Popen[str]] = []

    def slow(request: Mapping[str, Any]) -> object:
        asked.append(1)
        if len(asked) == 15:
            started.wait(HANG)
            running[0].send_signal(signal.SIGINT)
            ended.wait(HANG)
        return confused(request)

    with model(slow) as url:
        options = ("--budget", "500", "--repeats", "1", "--failing", "1", "--to", str(tmp_path), "--json")
        command = ("-m", "toolreel", "eval", "minimise", str(failed), key_of(failed), "--base-url", url)
        with subprocess.Popen(
            [sys.executable, *command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            running.append(process)
            started.set()
            out, err = process.communicate(timeout=HANG)
            ended.set()
    assert process.returncode == 3, err
    told = json.loads(out)
    assert told["stopped"] == "it was interrupted"
    assert told["removed"]
    assert Path(told["test"]).exists()


def test_what_is_to_be_kept_stays(failed: Path, tmp_path: Path) -> None:
    found = minimised(failed, tmp_path, Search(1_000, 1, 1, keep=("state_patch: {", "property ops")))
    names = {part.name for part in found.kept}
    assert {"tool state_patch", "tool state_patch property ops"} <= names
    assert any("state_patch: {" in part.text for part in found.kept)


def test_of_a_random_model_only_what_fails_often_enough_counts(tmp_path: Path) -> None:
    """Without the line it still fails now and then, which is not enough."""
    asked = list[int]()

    def moody(request: Mapping[str, Any]) -> object:
        asked.append(1)
        opening = len(request["messages"]) == 2
        if opening and CONFUSING not in json.dumps(request) and len(asked) % 4 == 0:
            return saying("Not now.")
        return confused(request)

    with model(moody) as url:
        evaluated(planned(url, eval={"empty_response_retries": 0}), tmp_path / "results")
        found = minimised(tmp_path / "results", tmp_path / "scratch", Search(3_000, 4, 4))
    assert {"message 1 line 6", "tool state_get"} <= {part.name for part in found.kept}


def test_runs_that_cannot_be_minimised_say_why(failed: Path, tmp_path: Path) -> None:
    fine, script = tmp_path / "fine", tmp_path / "script"
    with model(lambda asked: reply_of("good", SCRIPTS, asked["messages"])) as url:
        evaluated(planned(url), fine)
        said = invoke(fine, key_of(fine), "--budget", 9, "--to", tmp_path)
        assert (said.exit_code, "is pass, not a failure" in said.stderr) == (2, True)
        said = invoke(failed, key_of(failed), "--budget", 90, "--to", tmp_path, "--base-url", url)
        assert (said.exit_code, "does not fail again in 2 of 3 tries" in said.stderr) == (2, True)
    said = invoke(failed, key_of(failed), "--budget", 1, "--to", tmp_path)
    assert (said.exit_code, "before the run has failed again; raise --budget" in said.stderr) == (2, True)
    said = invoke(failed, key_of(failed), "--budget", 9, "--failing", 4, "--to", tmp_path)
    assert (said.exit_code, "--failing: expected 1 to --repeats (3), got 4" in said.stderr) == (2, True)
    said = invoke(failed, key_of(failed), "--budget", 0, "--to", tmp_path)
    assert (said.exit_code, "--budget: expected at least 1 request" in said.stderr) == (2, True)
    scripted(script, "scripted:bad", scenarios=["happy_path"], strategies=["raw"], trials=1)
    said = invoke(script, key_of(script), "--budget", 9, "--to", tmp_path)
    assert (said.exit_code, "scripted:bad is a script of this program" in said.stderr) == (2, True)

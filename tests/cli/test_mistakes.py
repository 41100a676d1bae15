"""What a user can get wrong, and what the command says to it. One process tries all that needs no server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.commands import Said, assert_mistake, run_at, said_by_each, toolreel
from tests.patience import NEVER
from tests.replay.sessions import cassette
from tests.samples import worked
from tests.servers.chat_server import Answer, nobody_listens, replying, serving
from toolreel_core._jsontext import Json

FILES = {
    "broken_syntax.py": "def f(:\n",
    "my_tools.py": ('VERSION = 3\ndef greet(name: str) -> str:\n    """Greet."""\n    return name\n'),
    "a_file": "",
    "taken.yaml": "",
}

MISTAKES: Mapping[str, tuple[str, ...]] = {
    mistake: (command.format(workspace=cassette("workspace"), secret="Zx9" * 10), *said)
    for mistake, command, said in worked("a mistake is told with what to do about it", "commands")
}
"""A command, and what is said of it."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What each mistake leads to."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    done = said_by_each((shlex.split(command) for command, *_ in MISTAKES.values()), folder)
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {*FILES}, "a file was left behind"
    return dict(zip(MISTAKES, done, strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_what_to_do_about_it(mistake: str, said: dict[str, Said]) -> None:
    assert_mistake(said[mistake], *MISTAKES[mistake][1:])


def openai_error(message: str, code: str) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


NO_KEY = replying(openai_error("You didn't provide an API key.", "invalid_api_key"), 401)
WRONG_KEY = replying(openai_error("Incorrect API key provided.", "invalid_api_key"), 401)
NO_MODEL = replying(openai_error("The model `m` does not exist.", "model_not_found"), 404)
TOO_LONG = replying(openai_error("This model's maximum context length is 8 tokens.", "context_length"), 400)
NO_PATH = Answer(b"<h1>Not Found</h1>", 404, {"content-type": "text/html"})
A_PAGE = Answer(b"<h1>Welcome</h1>", 200, {"content-type": "text/html"})
BUSY = replying(openai_error("Slow down.", "rate_limit"), 429)
BROKEN = Answer(b"oops", 500)
MOVED = Answer(b"", 308, {"location": "/elsewhere"})


def test_what_a_server_refuses_is_told_in_its_words_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "not-the-right-key")
    answers = (NO_KEY, WRONG_KEY, NO_MODEL, TOO_LONG, NO_PATH, A_PAGE, BUSY, BROKEN, MOVED)
    with serving(*answers) as server, nobody_listens() as nowhere:
        once = ("run", "hi", "--model", "m", "--set", "max_tries=1", "--base-url")
        base = (*once, server.url)
        keyed = (*base, "--api-key-env", "MY_KEY")
        silent = (*once, nowhere)
        commands = [base, keyed, *[base] * (len(answers) - 2), silent, (*silent, "--json")]
        no_key, wrong_key, no_model, long, no_path, page, busy, broken, moved, nobody, machine = said_by_each(
            commands, tmp_path
        )

    assert_mistake(no_key, "didn't provide an API key", "(api_key_env)", code=1)
    assert_mistake(wrong_key, "Incorrect API key", "the key in MY_KEY was not accepted", code=1)
    assert_mistake(no_model, "The model `m` does not exist", "/v1/models", "correct the model's name", code=1)
    assert_mistake(long, "maximum context length", "refused the request: see what it says", code=1)
    assert_mistake(no_path, "HTTP 404", f"nothing is at {server.url}: correct the base URL", code=1)
    assert_mistake(page, "an HTML page", f"is the base URL ({server.url}) that of an OpenAI-", code=1)
    assert_mistake(busy, "Slow down.", "wait, or raise it with the provider", code=1)
    assert_mistake(broken, "HTTP 500: oops", f"the server at {server.url} failed: try again", code=1)
    assert_mistake(moved, "HTTP 308", "sends requests elsewhere: correct the base URL", code=1)
    assert_mistake(nobody, "Connection refused", f"no server answers at {nowhere}: start it", code=1)
    assert "outcome     transport: ConnectError" in nobody.stdout
    assert_mistake(machine, f"no server answers at {nowhere}", code=1)
    assert machine.data["outcome"] == "transport"


def test_a_server_that_is_too_slow_is_told_with_the_option_that_helps(tmp_path: Path) -> None:
    with serving(Answer(delay=NEVER)) as server:
        base = (*run_at(server), "--set", "max_tries=1")
        said = toolreel(*base, "--timeout", "0.2", "--record", "slow", cwd=tmp_path)
    assert_mistake(said, "ReadTimeout", "raise the timeout", code=1)
    again = toolreel("replay", "slow", cwd=tmp_path)
    assert again.code == 0
    assert "outcome     transport: ReadTimeout" in again.stdout

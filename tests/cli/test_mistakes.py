"""What a user can get wrong, and what the command says to it. One process tries all that needs no server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.commands import Said, assert_mistake, run_at, said_by_each, toolreel
from tests.patience import NEVER
from tests.replay.sessions import cassette
from tests.servers.chat_server import Answer, nobody_listens, replying, serving
from toolreel_core._jsontext import Json

RUN = "run hi --model m --base-url http://127.0.0.1:9"
FORK = f"fork {cassette('workspace')}"
PROBE = "probe --base-url http://127.0.0.1:9 --model scripted"
PROXY = "proxy --upstream http://a.invalid"
WORKER = "durable worker --base-url http://127.0.0.1:9 --tools my_tools:greet"

FILES = {
    "broken_syntax.py": "def f(:\n",
    "my_tools.py": ('VERSION = 3\ndef greet(name: str) -> str:\n    """Greet."""\n    return name\n'),
    "a_file": "",
    "taken.yaml": "",
}

MISTAKES: Mapping[str, tuple[str, ...]] = {
    "a file that is no recording": (
        "replay my_tools.py",
        "my_tools.py: there is no such recording, a cassette <name>.yaml or a journal",
    ),
    "a cassette without its journal": (
        "replay taken.yaml",
        "taken.yaml: its journal taken.journal.jsonl is missing",
        "`toolreel cassettes journal taken.yaml`",
    ),
    "no such command": ("rum", "No such command 'rum'", "run"),
    "no model": ("run hi --base-url http://x", "Missing option '--model'"),
    "no server": ("run hi --model m", "Missing option '--base-url'"),
    "a URL without http": (
        "run hi --model m --base-url localhost:8080",
        "base URL 'localhost:8080'",
        "expected http:// or https://",
    ),
    "a password in the URL": (
        "run hi --model m --base-url http://me:pass@host",
        "leave user and password out of it",
    ),
    "an unset key": (f"{RUN} --api-key-env NOT_SET", "variable NOT_SET is not set"),
    "a preset": (f"{RUN} --preset qwen2_5_codr", "no preset 'qwen2_5_codr'", "'qwen2_5_coder'"),
    "a preset to show": ("presets show depseek", "no preset 'depseek'", "did you mean 'deepseek'?"),
    "no such file of presets": (
        f"{RUN} --preset nothing.toml",
        "give the name of a preset, or of a TOML file with presets",
    ),
    "a provider": (f"{RUN} --provider opnrouter", "did you mean 'openrouter'?"),
    "a provider to show": (
        "presets show opnrouter/m",
        "there is no provider 'opnrouter'",
        "did you mean 'openrouter'?",
    ),
    "a setting of the loop": (f"{RUN} --set max_turn=3", "did you mean 'max_turns'?"),
    "a key of the run's own": (f"{RUN} --set body.messages=[]", "'messages' is set by the run itself"),
    "an empty prompt": ("run '' --model m --base-url http://127.0.0.1:9", "PROMPT", "it is empty"),
    "tools with a syntax error": (
        f"{RUN} --tools broken_syntax:f",
        "importing broken_syntax failed with SyntaxError",
        "broken_syntax.py, line 1",
    ),
    "a tool that is none": (f"{RUN} --tools my_tools:VERSION", "expected a function", "got int"),
    "a recording that exists": (f"{RUN} --record taken", "taken.yaml exists already", "--overwrite"),
    "a folder that cannot be made": (f"{RUN} --record a_file/kept", "a_file/kept", "cannot be written"),
    "a folder for a name": (f"{RUN} --record folder/", "record", "'folder/' names no file"),
    "this folder for a name": (f"{RUN} --record .", "record", "'.' names no file"),
    "a secret in the prompt": (
        f"run 'My key is sk-{'Zx9' * 10}' --model m --base-url http://127.0.0.1:9 --record kept",
        "kept.journal.jsonl, line 1: not written",
        "API key",
    ),
    "a durable run with a recording": (f"{RUN} --run-id x --record y", "takes no --record"),
    "this folder for a recording": ("replay .", ".: there is no such recording"),
    "this folder to resume": ("resume . --base-url http://127.0.0.1:9", ".journal.jsonl: there is no such"),
    "a file that is not there": ("replay nothing", "nothing: there is no such recording", "--record"),
    "a fallback": (f"{RUN} --fallback b", "'b': expected NAME=VALUE, for example model=NAME"),
    "a key of a fallback": (f"{RUN} --fallback model=b,url=http://127.0.0.1:1", "there is no key 'url'"),
    "nobody who answers a fork": (f"{FORK} --at 1", "--base-url URL", "--from OTHER", "--recorded"),
    "two who answer a fork": (
        f"{FORK} --at 1 --recorded --from taken",
        "choose who answers",
        "with one of",
    ),
    "no place": (f"{FORK} --recorded", "Missing option '--at'"),
    "a place that is not there": (
        f"{FORK} --at 9 --recorded",
        "no event 9",
        "0 (before all) to 5",
        "toolreel explain",
    ),
    "no result to change": (
        f"{FORK} --at 1 --recorded --tool-result x",
        "event 1 is no result of a",
    ),
    "live without tools": (
        f"{FORK} --at 2 --base-url http://127.0.0.1:9",
        "the run has tools (state_get, state_patch)",
        "--tools MODULE:ATTR",
    ),
    "another record that is not there": (f"{FORK} --at 2 --from nothing", "nothing: there is no such"),
    "nobody to probe": ("probe", "say what to probe: --base-url URL and --model MODEL"),
    "no such question": (f"{PROBE} --only tool", "did you mean 'tools'"),
    "no such recording of a probe": ("probe --replay nothing", "nothing.yaml"),
    "a replay that asks": ("probe --replay a --yes", "--replay asks nobody"),
    "no upstream": ("proxy", "--upstream: expected the base URL"),
    "a proxy for everybody": (f"{PROXY} --host 203.0.113.7", "set TOOLREEL_PROXY_TOKEN"),
    "a proxy that records nowhere": (f"{PROXY} --mode auto", "write --record DIR"),
    "two ways to name upstreams": (f"{PROXY} --routes r.toml", "give one of them"),
    "a setting of a proxy": (
        f"{PROXY} --set argument_repairs=zz",
        "argument_repairs: expected one of",
    ),
    "no such routes": ("proxy --routes none.toml", "there is no such file"),
    "a limit without a name": (f"{WORKER} --limit 60", "expected NAME=VALUE, for example requests=60"),
    "a limit": (f"{WORKER} --limit request=60", "did you mean 'requests'?"),
    "a limit of nothing": (f"{WORKER} --limit requests=0", "requests: expected a number above 0, got 0"),
    "a database": ("durable list --database mysql://there/it", "write sqlite:///runs.db or postgresql://"),
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

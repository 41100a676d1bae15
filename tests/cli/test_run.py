"""``toolreel run`` against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import (
    LOOKING_UP,
    READY,
    WORKSPACE,
    Said,
    assert_mistake,
    on_terminal,
    run_at,
    said_by_each,
    toolreel,
)
from tests.servers.chat_server import ChatServer, chunk, replying, serving, streaming
from toolreel._cli import NO_PRESETS
from toolreel.testing import calling, saying
from toolreel_core._jsontext import Json

KEY = "correct-horse-battery-staple"
SK_KEY = "sk-" + "Zx9" * 10


def running(server: ChatServer, tmp_path: Path, *options: str) -> Said:
    return toolreel(*run_at(server, "Which status?"), *options, cwd=tmp_path)


def body(server: ChatServer, at: int = 0) -> dict[str, Json]:
    tree: dict[str, Json] = json.loads(server.seen[at].body)
    return tree


def test_a_run_with_tools_is_shown_kept_and_replayed_without_its_key(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        said = toolreel(
            *(*run_at(server, "Which status?"), "--api-key-env", "MY_KEY"),
            *(*WORKSPACE, "--system", "Be brief.", "--record", "kept/a session"),
            cwd=tmp_path,
            env={"MY_KEY": KEY},
        )
    assert said.code == 0
    assert [seen.headers["authorization"] for seen in server.seen] == [f"Bearer {KEY}"] * 2
    lines = said.stdout.splitlines()
    assert "system      Be brief." in lines
    assert "user        Which status?" in lines
    assert '            → state_get({"path":"/release/status"})' in lines
    assert '            ← {"path":"/release/status","value":"draft","version":7}' in lines
    assert "answer      It is a draft." in lines
    assert "outcome     completed: the model gave a final answer" in lines
    *stderr, note = said.stderr.splitlines()
    assert note == NO_PRESETS
    assert stderr == [
        "turn 1: waiting for the model",
        "turn 1: running state_get",
        "turn 2: waiting for the model",
    ]

    kept = sorted((tmp_path / "kept").iterdir())
    assert [file.name for file in kept] == ["a session.journal.jsonl", "a session.yaml"]
    for text in (*(file.read_text() for file in kept), said.stdout, said.stderr):
        assert KEY not in text
        assert "authorization" not in text.lower()
        assert "MY_KEY" not in text

    assert "            next: toolreel replay 'kept/a session.yaml'" in lines
    again = toolreel("replay", "kept/a session.yaml", cwd=tmp_path)
    assert again.code == 0
    assert again.stderr == ""
    shown = [line for line in lines if not line.startswith(("saved", "            next:"))]
    *told, proof = again.stdout.splitlines()
    assert told == shown
    assert proof.startswith("replay      identical on sync: 3 events, journal ")


def test_json_is_one_object_on_stdout_and_progress_is_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "def state_get(path: str) -> str:\n"
        '    """Read."""\n    print("a tool that prints")\n    return path\n'
    )
    with serving(replying(LOOKING_UP), replying(saying("größer 🙂 \x1b[31m"))) as server:
        said = running(server, tmp_path, "--json", "--tools", "chatty:state_get", "--record", "kept")
    assert said.code == 0
    assert len(said.stdout.splitlines()) == 1
    assert said.data["outcome"] == "completed"
    assert said.data["detail"]["content"] == "größer 🙂 \x1b[31m"
    assert "\x1b" not in said.stdout
    assert said.data["saved"] == ["kept.yaml", "kept.journal.jsonl"]
    assert [call["name"] for turn in said.data["turns"] for call in turn["calls"]] == ["state_get"]
    assert said.stderr.splitlines() == [
        "turn 1: waiting for the model",
        "turn 1: running state_get",
        "a tool that prints",
        "turn 2: waiting for the model",
    ]


def test_a_chat_is_streamed_kept_and_replayed_and_a_pipe_gets_the_answer_once(tmp_path: Path) -> None:
    pieces = (chunk("It is "), ": alive\n\n", chunk("a draft."), chunk(None, "stop"), "data: [DONE]\n\n")
    with serving(streaming(*pieces)) as server:
        said = running(server, tmp_path, "--set=stream=final", "--record", "kept")
    assert said.code == 0
    assert (body(server)["stream"], body(server)["stream_options"]) == (True, {"include_usage": True})
    assert said.stderr.splitlines() == ["turn 1: waiting for the model", NO_PRESETS]
    assert said.stdout.count("draft") == 1
    assert "answer      It is a draft." in said.stdout.splitlines()
    (again,) = said_by_each([("replay", "kept")], tmp_path)
    assert (again.code, again.stderr) == (0, "")
    assert "answer      It is a draft." in again.stdout.splitlines()


def test_the_prompt_may_come_from_stdin(tmp_path: Path) -> None:
    with serving(replying(READY)) as server:
        base = (*run_at(server, "-"), "--json")
        said = toolreel(*base, cwd=tmp_path, stdin="Wie heißt es?\nSag es.\n".encode())
    assert said.code == 0
    assert body(server)["messages"] == [{"role": "user", "content": "Wie heißt es?\nSag es."}]


def test_a_prompt_from_stdin_must_be_text_and_not_empty(tmp_path: Path) -> None:
    base = ("run", "-", "--model", "m", "--base-url", "http://127.0.0.1:9")
    assert_mistake(toolreel(*base, cwd=tmp_path, stdin=b"\xff\xfe"), "stdin is not UTF-8 at byte 0")
    assert_mistake(toolreel(*base, cwd=tmp_path, stdin=b"\n"), "it is empty")


def test_settings_reach_the_loop_the_options_and_the_body(tmp_path: Path) -> None:
    settings = ("max_turns=1", "temperature=0", "stop=END", "body.cache_prompt=false", "body.n=1")
    with serving(replying(LOOKING_UP)) as server:
        said = running(server, tmp_path, "--json", *WORKSPACE, *(f"--set={each}" for each in settings))
    assert said.code == 1
    assert said.data["outcome"] == "max_turns"
    assert "raise the limit: set max_turns=2" in said.stderr
    sent = body(server)
    assert (sent["temperature"], sent["stop"], sent["cache_prompt"], sent["n"]) == (0, "END", False, 1)


def test_a_secret_in_a_reply_refuses_the_recording_and_still_shows_the_run(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(saying(f"The key is {SK_KEY}."))) as server:
        said = running(server, tmp_path, *WORKSPACE, "--record", "kept/secret")
    assert said.code == 2
    assert "outcome     completed: the model gave a final answer" in said.stdout
    assert "saved" not in said.stdout
    assert "the recording was not saved: kept/secret.journal.jsonl, line 4" in said.stderr
    assert "API key" in said.stderr
    assert SK_KEY not in said.stderr
    part = "kept/secret.journal.jsonl.part"
    assert f"what was recorded is in {part}: toolreel resume {part} continues the run" in said.stderr
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["secret.journal.jsonl.part"]
    assert SK_KEY not in (tmp_path / part).read_text()


def test_a_key_that_is_no_secret_stops_no_recording_and_is_named(tmp_path: Path) -> None:
    with serving(replying(saying("Is ollama the key?"))) as server:
        base = (*run_at(server, "What is ollama?"), "--record", "kept")
        said = toolreel(*base, "--api-key-env", "K", cwd=tmp_path, env={"K": "ollama"})
    assert said.code == 0
    assert "The value of K is short, or what servers without keys take" in said.stderr
    assert (tmp_path / "kept.yaml").exists()


def test_a_recording_is_replaced_only_when_asked_and_by_one_that_may_be_written(tmp_path: Path) -> None:
    answers = (replying(READY), replying(saying("Another.")), replying(saying(f"The key is {SK_KEY}.")))
    with serving(*answers) as server:
        record = (*run_at(server), "--json", "--record", "kept")
        replace, replay = (*record, "--overwrite"), ("replay", "kept", "--json")
        commands = (record, record, replay, replace, replay, replace, replay)
        first, taken, once, second, again, refused, still = said_by_each(commands, tmp_path)
    assert (first.code, once.data["detail"]["content"]) == (0, "It is a draft.")
    assert_mistake(taken, "kept.yaml exists already", "--overwrite")
    assert second.data["saved"] == ["kept.yaml", "kept.journal.jsonl"]
    assert again.data["detail"]["content"] == "Another."
    assert (refused.code, refused.data["saved"]) == (2, [])
    assert still == again


def test_a_stdout_that_is_not_utf8_is_written_to_as_far_as_it_goes(tmp_path: Path) -> None:
    with serving(replying(LOOKING_UP), replying(READY)) as server:
        base = (*run_at(server), *WORKSPACE)
        said = toolreel(*base, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert said.code == 0
    assert "\\u2192 state_get(" in said.stdout


# Tools that need somebody's word, and servers that have to be asked twice.


TOOLS = '''
from pathlib import Path
from toolreel import tool

@tool(needs_approval=True)
def launch(pad: int) -> str:
    """Launch."""
    Path("launched").write_text(str(pad))
    return "gone"

TOOLS = [launch]
'''

SCRIPT = [replying(calling(("launch", {"pad": 3}))), replying(saying("As you wish."))]


@pytest.fixture
def pad(tmp_path: Path) -> Path:
    (tmp_path / "rocket.py").write_text(TOOLS)
    return tmp_path


@pytest.mark.parametrize(
    ("approve", "result"),
    [
        (("--approve", "always"), '← {"value":"gone"}'),
        (("--approve", "never"), "✗ TOOL_DENIED: launch was not run, it was not approved. Go on without it."),
        ((), "nobody was there to approve it. Go on without it."),
    ],
)
def test_in_a_pipe_a_tool_is_approved_beforehand_or_not_at_all(
    pad: Path, approve: tuple[str, ...], result: str
) -> None:
    with serving(*SCRIPT) as server:
        base = (*run_at(server, "Launch."), "--tools", "rocket:TOOLS")
        said = toolreel(*base, *approve, "--record", "kept", cwd=pad)
    assert said.code == 0
    assert result in said.stdout
    assert (pad / "launched").exists() == ("always" in approve)
    assert toolreel("replay", "kept", cwd=pad).code == 0


@pytest.mark.parametrize(("answer", "launched"), [("y\n", True), ("n\n", False)])
def test_at_a_terminal_the_person_is_asked(pad: Path, answer: str, launched: bool) -> None:
    with serving(*SCRIPT) as server:
        base = (*run_at(server, "Launch."), "--tools", "rocket:TOOLS")
        code, shown = on_terminal(*base, cwd=pad, typed=answer)
    assert code == 0
    assert 'launch({"pad":3})' in shown
    assert "Run it? [y/N]" in shown
    assert (pad / "launched").exists() == launched


def test_an_end_of_input_instead_of_an_answer_cancels_the_run_and_keeps_it(pad: Path) -> None:
    with serving(SCRIPT[0]) as server:
        base = (*run_at(server, "Launch."), "--tools", "rocket:TOOLS")
        code, shown = on_terminal(*base, "--record", "kept", cwd=pad, typed="\x04")
    assert code == 130
    assert "cancelled: interrupted from the keyboard" in shown
    assert not (pad / "launched").exists()
    assert toolreel("replay", "kept", cwd=pad).code == 0

"""``toolreel probe``: its plan, a probe, its files, and what it says when something is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.cli.commands import Said, said_by_each, toolreel
from tests.cli.test_interrupt import interrupted
from tests.patience import NEVER
from tests.servers.chat_server import Answer, nobody_listens, replying, serving
from tests.servers.quirk_profiles import PROFILES
from tests.servers.quirky_provider import Profile, provider
from toolreel.testing import saying

NOBODY = ("--base-url", "http://127.0.0.1:9", "--model", "scripted")


def findings(said: Said) -> list[str]:
    """The names of the findings that were printed."""
    _, *rows = said.stdout.partition("\n\n")[0].splitlines()
    return [row.split()[0] for row in rows]


def test_nothing_is_sent_before_the_plan_was_seen(tmp_path: Path) -> None:
    shown, priced, part = said_by_each(
        [
            ("probe", *NOBODY),
            ("probe", *NOBODY[:-1], "gpt-4.1-mini"),
            ("probe", *NOBODY, "--only", "images", "--repeat", "1"),
        ],
        tmp_path,
    )
    assert (shown.code, shown.stderr, [*tmp_path.iterdir()]) == (0, "", [])
    assert "tools       tools                     Does it call a tool? (3 times)" in shown.stdout
    assert "requests    about 89, one after another" in shown.stdout
    assert "cost        unknown" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "next: the same command with --yes"
    assert re.search(r"^cost        at most 0\.0[01]\d\d USD", priced.stdout, re.MULTILINE)
    assert "requests    about 7, one after another" in part.stdout


def test_a_probe_shows_its_findings_and_writes_a_preset_that_a_run_takes(tmp_path: Path) -> None:
    with provider(PROFILES["mistral"]) as server:
        here = ("--base-url", server.url, "--model", "scripted")
        done = toolreel("probe", *here, "--yes", "--repeat", "1", "--compare", "moonshot", cwd=tmp_path)
        preset = ("--preset", "probe--scripted.toml")
        asked = toolreel("run", "Say hello.", *here, *preset, cwd=tmp_path)
        shown = toolreel("presets", "show", "probe--scripted.toml", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "probe--scripted.toml",
        "probe--scripted.yaml",
    ]
    assert "call_ids                refused        " in done.stdout
    assert 'setting     provider.id_style = "alnum9"' in done.stdout
    assert "differs     provider.id_style" in done.stdout
    assert (asked.code, "preset      scripted" in shown.stdout) == (0, True)
    assert tomllib.loads((tmp_path / "probe--scripted.toml").read_text())["preset"]["scripted"]["provider"]


def test_a_recording_is_replaced_only_if_told_and_replay_needs_no_server(tmp_path: Path) -> None:
    with provider(PROFILES["ollama"]) as server:
        few = ("--base-url", server.url, "--model", "scripted", "--record", "lab", "--yes", "--only", "plain")
        assert toolreel("probe", *few, cwd=tmp_path).code == 0
        refused = toolreel("probe", *few, cwd=tmp_path)
        assert (refused.code, "lab.yaml: exists already" in refused.stderr) == (2, True)
        toolreel("probe", *few, "--overwrite", cwd=tmp_path)
        assert len(server.asked) == 2
    replayed = toolreel("probe", "--replay", "lab", "--compare", "ollama", cwd=tmp_path)
    assert replayed.code == 0
    assert findings(replayed) == ["plain"]
    assert "not_probed  provider." in replayed.stdout


def test_a_probe_that_is_interrupted_keeps_its_answers(tmp_path: Path) -> None:
    ok = saying("ok")
    with serving(*[replying(ok)] * 6, Answer(delay=NEVER)) as server:
        command = ("probe", "--base-url", server.url, "--model", "m", "--yes", "--repeat", "1")
        said = interrupted(command, tmp_path, lambda: len(server.seen) == 7)
    assert said.code == 130
    assert findings(toolreel("probe", "--replay", "probe--m", cwd=tmp_path)) == [
        *("plain", "responses", "messages", "max_tokens", "max_completion_tokens", "temperature")
    ]


def test_an_endpoint_that_is_not_stable_is_called_so(tmp_path: Path) -> None:
    with provider(Profile(flip="tool_choice")) as server:
        here = ("--base-url", server.url, "--model", "scripted", "--yes", "--only", "tool_choice_required")
        said = toolreel("probe", *here, cwd=tmp_path)
    assert said.code == 1
    assert "the endpoint is not stable" in said.stderr
    assert "called 3x, refused 2x" in said.stdout
    assert "supports_required" not in (tmp_path / "probe--scripted.toml").read_text()


@pytest.mark.parametrize(
    ("profile", "arguments", "parts"),
    [
        (Profile(chat=False), (), ("no model answers there: HTTP 404", "--api-prefix")),
        (Profile(), ("--model", "other"), ("no model answers there: HTTP 404: the model other",)),
    ],
)
def test_what_is_no_model_is_told(
    profile: Profile, arguments: tuple[str, ...], parts: tuple[str, ...], tmp_path: Path
) -> None:
    with provider(profile) as server:
        here = ("--base-url", server.url, "--model", "scripted")
        said = toolreel("probe", *here, *arguments, "--yes", cwd=tmp_path)
    assert said.code == 1
    for part in parts:
        assert part in said.stderr


def test_nobody_is_there(tmp_path: Path) -> None:
    with nobody_listens() as url:
        said = toolreel("probe", "--base-url", url, "--model", "m", "--yes", cwd=tmp_path)
    assert said.code == 1
    assert "stopped after 0 answers: ConnectError" in said.stderr
    assert "Is the server running" in said.stderr
    assert not [*tmp_path.iterdir()]

"""Probes over HTTP: profiles, resumption, replay, secrets, servers that are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import NEVER
from tests.replay.sessions import held
from tests.servers.chat_server import Answer, serving
from tests.servers.quirk_profiles import EXPECTED, PROFILES
from tests.servers.quirky_provider import Asked, Profile, Said, provider
from toolreel import Completed, ConfigError, Ports, ReplayMismatch, run
from toolreel._internal import CassetteError
from toolreel._journal import journal_path
from toolreel.demo import workspace
from toolreel.http import HttpEndpoint
from toolreel.journals import read_journal
from toolreel.presets import shipped
from toolreel.probe import Probed, probe, replay_probe
from toolreel.tools import PythonTools
from toolreel_core import ToolMessage
from toolreel_core._probe import Probing
from toolreel_core._text_calls import MARKED

KEY = "sk-live-0123456789abcdef"


def sections(probed: Probed) -> dict[str, Any]:
    """What the preset sets."""
    found: dict[str, Any] = {
        key: dict(value) for key, value in probed.preset("probed").changes().items() if value
    }
    if "text_dialects" in found.get("config", {}):
        bare = [name for name in found["config"]["text_dialects"] if name not in (*MARKED, "marked")]
        found["config"]["text_dialects"] = ["marked", *bare]
    return found


def lookup(key: str) -> int:
    """Returns the value that is stored under a key."""
    return {"alpha": 42}[key]


@pytest.mark.parametrize("name", ["llama_cpp", "anthropic"])
def test_the_preset_is_found_over_http_and_a_run_with_it_works(name: str) -> None:
    """tests/domain/probe asks all profiles, in memory."""
    with provider(PROFILES[name]) as server, HttpEndpoint(server.url) as endpoint:
        probed = probe(server.url, "scripted", repeat=1)
        assert sections(probed) == EXPECTED[name]
        tools = PythonTools([lookup])
        plan = probed.preset().plan(
            model="scripted",
            messages="Call the tool lookup with the key alpha.",
            tools=tools.surface,
            options={"max_tokens": 256, "temperature": 0},
        )
        ended = run(plan, Ports(endpoint, tools))
    assert ended.outcome == Completed("42")
    assert any("42" in message.content for message in ended.messages if isinstance(message, ToolMessage))


class Interrupted(BaseException):
    """Somebody presses Ctrl-C."""


def after(answers: int) -> Callable[[Probing], None]:
    def watch(probing: Probing) -> None:
        if probing.sent == answers:
            raise Interrupted

    return watch


def test_an_interrupted_probe_keeps_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"
    with provider(PROFILES["mistral"]) as server:
        with pytest.raises(Interrupted):
            probe(server.url, "scripted", record=path, watch=after(7))
        assert replay_probe(path).probing.sent == len(server.asked) == 7


def test_a_recorded_probe_is_judged_again_without_a_server(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"
    for name, only in (("deepseek", ["history", "streams"]), ("anthropic", [])):
        path.unlink(missing_ok=True)
        with provider(PROFILES[name]) as server:
            live = probe(server.url, "scripted", record=path, repeat=2, only=only)
        replayed = replay_probe(path)
        assert replayed.findings == live.findings
        assert (replayed.model, replayed.settings) == (live.model, live.settings)


def test_a_recording_that_asks_what_this_version_does_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"
    with provider(PROFILES["vllm"]) as server:
        probe(server.url, "scripted", record=path, repeat=1)
    path.write_text(path.read_text().replace("the numbers from 1 to 60", "the numbers from 1 to 70"))
    with pytest.raises(ReplayMismatch, match="2 of its requests are not made by this version"):
        replay_probe(path)


def test_a_recording_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"
    with provider(Profile()) as server:
        probe(server.url, "scripted", record=path, only=["plain"])
        text, asked = path.read_text(), len(server.asked)
        with pytest.raises(CassetteError, match="write to another name"):
            probe(server.url, "scripted", record=path)
        assert (len(server.asked), path.read_text()) == (asked, text)


def test_the_key_is_sent_and_never_recorded_though_the_server_says_it_back(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"

    def echoing(number: int, _: Asked) -> Said | None:
        told = f"hello Bearer {KEY}, or {json.dumps(KEY)}"
        return Said({"error": {"message": told}}, 400) if number in {3, 9} else None

    with provider(Profile(), echoing) as server:
        probe(server.url, "scripted", record=path, repeat=1, api_key=KEY)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    text = path.read_text()
    assert KEY not in text
    assert "[value of the header authorization]" in text


def first(*answers: Said | bytes) -> Callable[[int, Asked], Said | bytes | None]:
    """The first requests are answered so."""
    return lambda number, _: answers[number - 1] if number <= len(answers) else None


def error(status: int, **headers: str) -> Said:
    return Said({"error": {"message": "no"}}, status, {k.replace("_", "-"): v for k, v in headers.items()})


def test_a_refused_key_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "probe.yaml"
    with provider(Profile(), first(error(401))) as server:
        refused = probe(server.url, "scripted", record=path, repeat=1)
        assert refused.stopped is not None
        assert (refused.stopped.why, refused.stopped.message) == ("key", "HTTP 401: no")
        assert not path.exists()


def test_a_server_that_asks_for_a_pause_gets_one(tmp_path: Path) -> None:
    waits = list[float]()
    with provider(PROFILES["mistral"], first(error(429, retry_after="2"), error(429))) as server:
        probed = probe(server.url, "scripted", record=tmp_path / "p.yaml", repeat=1, wait=waits.append)
    assert waits == [2.0, 2.0]
    assert sections(probed) == EXPECTED["mistral"]
    assert probed.findings[0].requests == (1, 2, 3)
    assert replay_probe(tmp_path / "p.yaml").findings == probed.findings


def test_a_flood_is_cut_and_the_probe_goes_on() -> None:
    def flooding(_: int, body: Asked) -> Said | None:
        return Said("x" * (5 * 2**20)) if "response_format" in body and "tools" not in body else None

    with provider(Profile(), flooding) as server:
        probed = probe(server.url, "scripted", repeat=1)
    lost = [each.name for each in probed.findings if each.word == "lost"]
    assert lost == ["response_format", "json_schema"]
    assert probed.stopped is None


def test_a_server_that_does_not_answer_in_time_is_told() -> None:
    with serving(Answer(delay=NEVER)) as server:
        probed = probe(server.url, "m", timeout=0.2)
    assert probed.stopped is not None
    assert (probed.stopped.why, probed.probing.tries[0].verdict.word) == ("silent", "lost")


def test_repetitions_are_limited() -> None:
    with pytest.raises(ConfigError, match="repeat: expected 1 to 20"):
        probe("http://127.0.0.1:1", "m", repeat=21)


# The recorded probe of a real model: judged again, and a recorded run under its preset.


CASSETTES = Path(__file__).resolve().parents[3] / "cassettes"
PROBE = CASSETTES / "probes/llama-cpp/qwen2.5-coder-1.5b.yaml"
RUN = CASSETTES / "probes/llama-cpp/workspace.yaml"
PROBES = [preset.with_suffix(".yaml") for preset in sorted(CASSETTES.glob("probes/*/*.toml"))]


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_a_recorded_probe_still_yields_the_same_preset(path: Path) -> None:
    probed = replay_probe(path)
    assert (probed.stopped, probed.is_stable, probed.unstable) == (None, True, ())
    assert probed.toml() == path.with_suffix(".toml").read_text()


def test_it_finds_what_the_shipped_presets_had_from_elsewhere() -> None:
    preset = shipped().for_("llama_cpp", "qwen2.5-coder-1.5b")
    standings = {row.key: row.standing for row in replay_probe(PROBE).compare(preset)}
    agreed = {key for key, standing in standings.items() if standing == "agrees"}
    assert {"config.constrained_calls", "config.text_dialects", "provider.special_token_guard"} <= agreed
    # The shipped preset says so of llama.cpp, and of this model's template that it is not so.
    assert standings["provider.supports_required"] == "differs"


def test_the_workspace_task_was_done_under_that_preset() -> None:
    plan = read_journal(journal_path(RUN)).plan
    preset = replay_probe(PROBE).preset()
    assert plan.presets == preset.names
    probed = preset.plan(model="m", messages="hi", tools=plan.tools)
    assert (plan.provider, plan.config) == (probed.provider, probed.config)
    tools = workspace()
    ended = held(RUN, tools)
    assert ended.run.outcome == Completed("The status of the release has been changed to 'ready'.")
    assert '"status":"ready"' in ended.journal.decode().replace("\\", "")

"""The recorded probe of a real model: judged again, and a recorded run under its preset."""

from __future__ import annotations

from pathlib import Path

from tests.replay.sessions import held
from toolreel import Completed, read_journal
from toolreel._journal import companion
from toolreel.demo import workspace
from toolreel.presets import shipped
from toolreel.probe import replay_probe

CASSETTES = Path(__file__).resolve().parents[3] / "cassettes"
PROBE = CASSETTES / "probes/llama-cpp/qwen2.5-coder-1.5b.yaml"
RUN = CASSETTES / "probes/llama-cpp/workspace.yaml"


def test_the_recorded_probe_still_yields_the_same_preset() -> None:
    probed = replay_probe(PROBE)
    assert (probed.stopped, probed.is_stable, probed.unstable) == (None, True, ())
    assert probed.toml() == PROBE.with_suffix(".toml").read_text()


def test_it_finds_what_the_shipped_presets_had_from_elsewhere() -> None:
    preset = shipped().for_("llama_cpp", "qwen2.5-coder-1.5b")
    standings = {row.key: row.standing for row in replay_probe(PROBE).compare(preset)}
    agreed = {key for key, standing in standings.items() if standing == "agrees"}
    assert {"config.constrained_calls", "config.text_dialects", "provider.special_token_guard"} <= agreed
    # The shipped preset says so of llama.cpp, and of this model's template that it is not so.
    assert standings["provider.supports_required"] == "differs"


def test_the_workspace_task_was_done_under_that_preset() -> None:
    plan = read_journal(companion(RUN)).plan
    preset = replay_probe(PROBE).preset()
    assert plan.presets == preset.names
    probed = preset.plan(model="m", messages="hi", tools=plan.tools)
    assert (plan.provider, plan.config) == (probed.provider, probed.config)
    tools = workspace()
    ended = held(RUN, tools)
    assert ended.run.outcome == Completed("The status of the release has been changed to 'ready'.")
    assert '"status":"ready"' in ended.journal.decode().replace("\\", "")

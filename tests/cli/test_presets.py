"""``toolreel presets``, and the presets of ``toolreel run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import READY, WORKSPACE, Said, on_terminal, said_by_each, toolreel
from tests.servers.chat_server import ChatServer, replying, serving
from toolreel.presets import shipped

OWN = """
[preset.mine]
about = "Mine."
[preset.mine.config]
max_turns = 4
repetition_stop = "off"
[preset.mine.request]
temperature = 0
[preset.mine.because]
max_turns = "patience ends"

[model."my/model"]
presets = ["mine"]
"""

OWN_FILE = {"TOOLREEL_CATALOGUE": "own.toml"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("presets")
    (folder / "own.toml").write_text(OWN)
    return folder


def lines(said: Said) -> list[str]:
    assert (said.code, said.stderr) == (0, "")
    return said.stdout.splitlines()


def test_the_presets_are_listed_with_what_they_do(here: Path) -> None:
    shown, own = toolreel("presets", cwd=here), toolreel("presets", cwd=here, env=OWN_FILE)
    head, *rows, last = lines(shown)
    assert head.split() == ["preset", "verified", "about"]
    assert [row.split()[0] for row in rows] == [*shipped().names]
    assert "mistral                         2026-11-22  Mistral's own API, La Plateforme." in rows
    assert last == "next: toolreel presets show NAME"
    assert lines(own)[-2].split() == ["mine", "-", "Mine."]


def test_what_a_preset_really_changes_is_shown_key_by_key(here: Path) -> None:
    model = "openrouter/google/gemini-3-pro-preview:nitro"
    own = toolreel("presets", "show", "mine", cwd=here, env=OWN_FILE)
    default, there = said_by_each([("presets", "show", "deepseek"), ("presets", "show", model)], here)
    assert lines(own) == [
        "preset      mine",
        "about       Mine.",
        "verified    -",
        "config.max_turns",
        "            12 → 4",
        "            patience ends",
        "config.repetition_stop",
        "            5 → off",
        "request.temperature",
        "            not sent → 0",
    ]
    said = lines(default)
    assert said[said.index("provider.reasoning_replay") + 1] == '            the default, "verbatim"'
    assert said[said.index("evidence    DeepSeek API docs: Thinking Mode") + 1].strip() == (
        "deepseek-ai/DeepSeek-V3#1376"
    )
    assert lines(there)[0] == "preset      default_tool_calling + openrouter + gemini_openrouter_compat"
    assert "provider.pin_upstream" in lines(there)


def test_the_models_are_listed_with_their_rates_and_so_are_the_sampling_profiles(here: Path) -> None:
    listed, profiles = said_by_each([("presets", "models"), ("presets", "sampling")], here)
    head, *rows, _ = lines(listed)
    assert head.split() == ["model", "for", "tools", "tool", "runs", "p95"]
    assert len(rows) == 19
    assert max(map(len, rows)) <= 80
    assert "z-ai/glm-4.7-flash:nitro                no             12/20 (60%)   13.0 s" in rows
    assert ["grok_default", "x-ai/grok-*", '{"temperature":0.3}'] in map(str.split, lines(profiles))


def test_on_a_terminal_the_last_column_is_wrapped_in_its_place(here: Path) -> None:
    code, written = on_terminal("presets", cwd=here, columns=80)
    assert code == 0
    assert "call per turn," in written
    rows = [line for line in written.splitlines() if "\x1b" not in line]
    assert max(map(len, rows)) <= 80


def sent(server: ChatServer, at: int = 0) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(server.seen[at].body)
    tree.pop("messages")
    tree.pop("tools", None)
    return tree


def test_a_run_takes_provider_then_presets_then_sampling_then_what_is_set(here: Path) -> None:
    said: list[Said] = []
    with serving(*[replying(READY)] * 6) as server:
        base = ("run", "Hi.", "--base-url", server.url, *WORKSPACE, "--model", "qwen/qwen3-x:nitro")
        provider = ("--provider", "openrouter")
        said = said_by_each(
            [
                base,
                (*base, *provider),
                (*base, "--provider", "ollama"),
                (*base, *provider, "--sampling", "qwen_recommended", "--set", "top_p=1"),
                (*base, *provider, "--preset", "openrouter_routing"),
                (*base, *provider, "--preset", "own.toml", "--sampling", "default"),
            ],
            here,
        )
    assert [each.code for each in said] == [0] * 6, said
    model = {"model": "qwen/qwen3-x:nitro"}
    sequential = {**model, "parallel_tool_calls": False}
    assert [sent(server, at) for at in range(6)] == [
        model,
        sequential,
        model,
        {**sequential, "temperature": 0.7, "top_p": 1, "top_k": 20, "min_p": 0},
        {**sequential, "provider": {"sort": "throughput"}},
        {**sequential, "temperature": 0},
    ]

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest

from tests.samples import ROOT, complaint, worked
from toolreel_core._errors import ConfigError
from toolreel_core._settings import PART_SETTINGS, Provider, WireForm, wire_form_of_url


def test_the_defaults_are_these_for_ever_since_records_leave_them_out() -> None:
    defaults = (ROOT / "tests" / "corpora" / "provider.json").read_text("utf-8")
    assert json.dumps(asdict(Provider()), indent=1) == defaults.rstrip()


@pytest.mark.parametrize(
    ("changes", "why"),
    worked("a wrong setting is named with its value and what is allowed", "runs-and-plans"),
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    changes: Mapping[str, Any], why: str
) -> None:
    assert complaint(ConfigError, lambda: Provider.of(changes)) == why


def test_the_changes_of_a_provider_make_it_again() -> None:
    kimi = Provider(name="moonshot", id_style="kimi", thinking=True)
    assert kimi.changes() == {"name": "moonshot", "thinking": True, "id_style": "kimi"}
    assert Provider.of(kimi.changes()) == kimi
    assert Provider().changes() == {}


@pytest.mark.parametrize(
    ("known", "requires"), worked("a call is forced only where that is known to work", "runs-and-plans")
)
def test_a_call_is_forced_only_where_that_is_known_to_work(known: Mapping[str, Any], requires: bool) -> None:
    assert Provider.of(known).requires_calls() is requires


def test_an_option_that_not_all_providers_take_has_its_own_setting() -> None:
    provider = Provider(
        supports_parallel_tool_calls="no", supports_response_format="unknown", supports_stream_options="yes"
    )
    options = ("parallel_tool_calls", "response_format", "stream_options", "temperature")
    assert [provider.support(option) for option in options] == ["no", "unknown", "yes", "yes"]
    assert Provider().support("stream_options") == "unknown"


def test_parts_are_taken_unless_they_are_known_not_to_be() -> None:
    provider = Provider(supports_images="no", supports_audio="unknown", supports_files="yes")
    assert (provider.takes("images"), provider.takes("audio"), provider.takes("files")) == (False, True, True)
    assert set(PART_SETTINGS) < {item.name for item in fields(Provider)}


@pytest.mark.parametrize(("url", "form"), worked("the path says the form", "runs-and-plans"))
def test_the_path_says_the_form(url: str, form: WireForm) -> None:
    assert wire_form_of_url(url) == form


def test_a_form_sets_what_it_decides_and_leaves_what_was_given() -> None:
    assert Provider(wire_form="messages").single_leading_system
    assert Provider(wire_form="messages").images_in_tool_results == "yes"
    assert Provider(wire_form="messages", images_in_tool_results="no").images_in_tool_results == "no"
    assert Provider() == Provider(wire_form="chat_completions")
    assert Provider.of(Provider(wire_form="messages").changes()) == Provider(wire_form="messages")

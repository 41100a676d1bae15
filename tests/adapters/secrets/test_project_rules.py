from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adapters.secrets.planted import KINDS
from tests.samples import complaint, worked
from toolreel._internal import SecretRulesError
from toolreel._secrets import (
    SECRETS_VARIABLE,
    SecretRules,
    known_secrets,
    leaks,
    read_rules,
    rules_from_environment,
)

KEY = KINDS["an OpenAI key"].secret
RULES = """
allow = ["sk-Ab1c*", "me@work.com"]
variables = ["STAFF_LOGIN"]
emails = true

[patterns]
"staff number" = "EMP-[0-9]{6}"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.toml"
    path.write_text(RULES)
    return path


def test_a_projects_own_rules_add_shapes_and_values_and_allow_what_is_no_secret(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{KEY} EMP-123456 you@work.com me@work.com you@example.com"
    assert [leak.kind for leak in leaks(text, {})] == ["API key"]
    monkeypatch.setenv(SECRETS_VARIABLE, str(file))
    assert [leak.kind for leak in leaks(text, {})] == ["staff number", "e-mail address"]


def test_the_environment_names_them_for_all_that_is_recorded(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRETS_VARIABLE, str(file))
    assert [leak.kind for leak in leaks("EMP-123456", {})] == ["staff number"]
    assert known_secrets({SECRETS_VARIABLE: str(file), "STAFF_LOGIN": "jo"}) == {"STAFF_LOGIN": "jo"}
    file.write_text("")
    os.utime(file, (1, 1))
    assert leaks("EMP-123456", {}) == ()
    monkeypatch.delenv(SECRETS_VARIABLE)
    assert rules_from_environment() == SecretRules()


@pytest.mark.parametrize(("text", "said"), worked("a mistake in the file of rules", "secrets"))
def test_a_mistake_in_the_file_is_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "secrets.toml"
    path.write_text(text)
    told = complaint(SecretRulesError, lambda: read_rules(path))
    assert told.startswith(f"{path}: {said}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    told = complaint(SecretRulesError, lambda: rules_from_environment({SECRETS_VARIABLE: str(path)}))
    assert told == f"{path}: is missing (named by TOOLREEL_SECRETS)"

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.secrets.planted import INNOCENT, KINDS, Planted
from tests.samples import ROOT, worked
from toolreel._secrets import SECRETS_VARIABLE, Leak, known_secrets, leaks, leaks_with_places, tree_texts

_WORDS = [
    *(planted.text for planted in KINDS.values()),
    *(text for text in INNOCENT if len(text) < 1_000),
    *("quiet-horse/ÄB 17", "api_key", "password: ", "token=", "\n", "sk-", "\u017fk-", "\u212aey: "),
]
"""Whole secrets, what is none, and halves of them."""


@pytest.mark.parametrize(("name", "kind"), worked("a kind of secret", "secrets"))
def test_a_secret_is_named_with_its_line(name: str, kind: str) -> None:
    found = leaks(f"line one\nhere: {KINDS[name].text} and more", {})
    assert [(leak.kind, leak.line) for leak in found] == [(kind, 2)]


def test_each_leak_has_its_line() -> None:
    text = "one\n  first hunter2-hunter2, then hunter3-hunter3\nthree hunter2-hunter2"
    assert leaks(text, {"A": "hunter2-hunter2", "B": "hunter3-hunter3"}) == (
        Leak("value of A", 2),
        Leak("value of B", 2),
        Leak("value of A", 3),
    )


def test_secrets_that_overlap_are_one() -> None:
    assert leaks("x abcdefghijkl y", {"A": "abcdefgh", "B": "efghijkl"}) == (Leak("value of A", 1),)
    cut_off = "-----BEGIN PRIVATE KEY-----\\nMIIEsecret then " + "sk-" + "abcdefghij0123456789"
    assert leaks(cut_off, {}) == (Leak("private key", 1),)


def test_lines_are_counted_behind_a_secret_of_several_lines() -> None:
    text = KINDS["an RSA key"].secret + "\nhunter2-hunter2"
    assert [leak.line for leak in leaks(text, {"A": "hunter2-hunter2"})] == [1, 5]


def test_the_environment_tells_what_is_secret_by_its_names() -> None:
    environ = {
        "OPENAI_API_KEY": "12345678",
        "db_password": "long enough",
        "AWS_SECRET_ACCESS": "abcdefgh",
        "GOOGLE_CREDENTIALS": '{"type": "service_account"}',
        "SHORT_TOKEN": "1234567",
        "BLANK_TOKEN": "         ",
        "HOME": "/home/somebody",
    }
    assert [*known_secrets(environ)] == [
        "OPENAI_API_KEY",
        "db_password",
        "AWS_SECRET_ACCESS",
        "GOOGLE_CREDENTIALS",
    ]


def test_a_blank_value_is_not_found_everywhere() -> None:
    assert leaks("a b", {"EMPTY": "", "BLANK": " "}) == ()


def test_a_value_that_is_no_utf8_can_be_looked_for() -> None:
    assert leaks("nothing", {"A_KEY": "12345678\udcff"}) == ()


@pytest.mark.parametrize("piece", worked("a piece of a hostile text", "secrets"))
def test_hostile_text_is_scanned_in_linear_time(piece: str) -> None:
    def seconds(times: int) -> float:
        began = process_time()
        leaks(piece * times, {})
        return process_time() - began

    assert seconds(40_000) < 5


@pytest.mark.parametrize("planted", KINDS.values(), ids=[*KINDS])
def test_every_kind_is_found_in_plain_text_and_in_json_in_json(planted: Planted) -> None:
    behind = [f"{before}{planted.text}" for before in ("", "\n", "\t", "\x01", '"')]
    twice = [json.dumps(json.dumps({"a": text})) for text in behind]
    for text in (planted.text, *map(json.dumps, behind), *twice):
        assert leaks(f"see {text} there", {})


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    for written in (text, json.dumps(text), json.dumps({"a": json.dumps(text)})):
        assert leaks(written, {}) == ()


def test_no_document_or_code_of_this_project_looks_like_a_leak() -> None:
    code, corpora = (ROOT / "domain").rglob("*.py"), (ROOT / "tests" / "corpora").rglob("*.jsonl")
    for path in (*ROOT.glob("*.md"), *code, *corpora):
        assert leaks(path.read_text("utf-8"), {}) == (), path


@given(st.lists(st.sampled_from(_WORDS), max_size=6))
def test_texts_that_are_looked_at_together_have_the_leaks_of_each(texts: list[str]) -> None:
    known = {"STAFF": "quiet-horse/ÄB 17"}
    alone = [leak for text in dict.fromkeys(texts) for _, leak in leaks_with_places([("", text)], known)]
    assert {leak.kind for _, leak in leaks_with_places((("", text) for text in texts), known)} == {
        leak.kind for leak in alone
    }


def test_a_pattern_of_a_project_may_ask_for_the_end_of_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[patterns]\n"staff number" = "\\\\AEMP-[0-9]{6}\\\\Z"\n', encoding="utf-8")
    monkeypatch.setenv(SECRETS_VARIABLE, str(path))
    ((place, leak),) = leaks_with_places(tree_texts(["one", "EMP-123456", "two"]), {})
    assert (place, leak.kind) == ("[1]", "staff number")

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest

from tests.samples import complaint
from toolreel._internal import CassetteError, SecretFound, VaryError
from toolreel.cassette import Session, SessionHeader, StoredResponse, Vary, header_of

NOW = datetime(2026, 11, 22, 14, 3, tzinfo=UTC)
URL = "https://a.test/v1/chat/completions"
REPLY = StoredResponse(200, "OK", (), b"{}")


def saved(path: Path) -> Session:
    tape = Session(path, "record")
    tape.append("POST", URL, {}, b'{"a":1}', REPLY)
    return tape


@pytest.mark.parametrize(
    "header",
    [
        SessionHeader(),
        SessionHeader(vary=(Vary(at="/user"), Vary(at="/a", pattern="1+", becomes="'#: ?\n"))),
        SessionHeader(now=NOW, seed=0),
        SessionHeader(now=NOW.astimezone(timezone(timedelta(hours=2))), seed=2**32),
    ],
)
def test_a_header_is_stored_and_only_what_it_has(header: SessionHeader) -> None:
    assert header_of(header.as_mapping) == header
    assert header.as_mapping.keys() == {
        key for key in ("vary", "now", "seed") if getattr(header, key) not in {(), None}
    }


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("vary: [{at: user}]", "vary[0]: at: 'user' is not a JSON Pointer"),
        ("vary: [{at: /a}, {pattern: '('}]", "vary[1]: pattern: '(' is not a regular expression"),
        ("now: '2026-11-22 14:03'", "now: '2026-11-22 14:03' is not a time with a time zone"),
        ("now: 7", "now: expected a text (in quotes), found int"),
    ],
)
def test_a_header_that_is_wrong_is_refused_with_its_place(stored: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    saved(path).save({})
    path.write_text(path.read_text().replace("version: 1\n", f"version: 1\n{stored}\n"))
    kind = VaryError if stored.startswith("vary") else CassetteError
    assert complaint(kind, lambda: Session(path)).startswith(f"{path}: {said}")
    if kind is VaryError:
        assert complaint(kind, lambda: Session(path, "record")).startswith(f"{path}: {said}")


def test_values_are_drawn_once_and_stored(tmp_path: Path) -> None:
    tape = saved(path := tmp_path / "a.yaml")
    now, ids = tape.now, [tape.new_id(name) for name in ("", "", "order")]
    assert abs(datetime.now(UTC) - now) < timedelta(hours=1)
    assert now.microsecond == 0
    tape.save({})
    again = Session(path)
    # In another order: each name has ids of its own.
    assert [again.new_id(name) for name in ("order", "", "")] == [ids[2], ids[0], ids[1]]
    assert again.now == now
    assert len({*ids}) == 3
    assert {UUID(one).version for one in ids} == {4}


def test_a_replay_draws_nothing_that_was_not_recorded(tmp_path: Path) -> None:
    saved(path := tmp_path / "a.yaml").save({})
    frozen = Session(path)
    for wanted, act in (
        ("now", lambda: frozen.now),
        ("new_id()", lambda: frozen.new_id("")),
    ):
        assert complaint(CassetteError, act) == (
            f"{path}: was recorded by a session that did not use {wanted}: record it again"
        )


def test_rules_in_a_file_stay_when_it_is_recorded_again(tmp_path: Path) -> None:
    saved(path := tmp_path / "a.yaml").save({})
    path.write_text(path.read_text().replace("version: 1\n", "version: 1\nvary: [{at: /a}]\nseed: 5\n"))
    tape = saved(path)
    assert tape.fits == {Vary(at="/a"): 1}
    tape.save({})
    assert "vary:\n- at: /a\ninteractions" in path.read_text().replace("  - at", "- at")
    path.write_text("damaged")
    assert saved(path).rules == ()


def test_a_rule_with_a_secret_is_not_written(tmp_path: Path) -> None:
    saved(path := tmp_path / "a.yaml").save({})
    path.write_text(
        path.read_text().replace("version: 1\n", "version: 1\nvary: [{pattern: open-sesame-42}]\n")
    )
    assert "vary: a rule holds a secret" in complaint(
        SecretFound, lambda: saved(path).save({"LOGIN": "open-sesame-42"})
    )

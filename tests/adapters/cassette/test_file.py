from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolreel._internal import CassetteError
from toolreel.cassette import Session, StoredResponse, read_cassette


def save(path: Path, body: bytes = b"{}", answer: bytes = b"{}") -> None:
    tape = Session(path, "record")
    got = (("retry-after", "1"), ("retry-after", "2"))
    tape.append("POST", "https://a/v1/x", {"accept": "x"}, body, StoredResponse(200, "OK", got, answer))
    tape.save({})


def test_what_is_saved_is_loaded_and_nothing_else_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.yaml"
    save(path, b'{"a":1}', b"\xff")
    _, (exchange,) = read_cassette(path)
    assert (exchange.method, exchange.body, exchange.headers) == ("POST", b'{"a":1}', {"accept": ["x"]})
    assert exchange.answer == StoredResponse(200, "OK", (("retry-after", "1"), ("retry-after", "2")), b"\xff")
    assert os.listdir(path.parent) == ["a.yaml"]


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r"none\.yaml: there is no such cassette: record it first"):
        read_cassette(tmp_path / "none.yaml")
    with pytest.raises(CassetteError, match="cannot be read: Is a directory"):
        read_cassette(tmp_path)


def test_a_body_that_no_client_can_have_sent_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    save(path, b"plain")
    path.write_text(path.read_text().replace("text: plain", 'text: "\\ud800"'))
    with pytest.raises(CassetteError, match=r"a\.yaml: "):
        read_cassette(path)


def test_an_old_file_is_untouched_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    save(path, b"old")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CassetteError, match="cannot be written: No space left on device"):
        save(path, b"new")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.yaml"]

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(path, b"new")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_file_is_replaced_and_never_written_over(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.yaml", tmp_path / "somebody who has it open"
    save(path, b"old")
    before = path.read_bytes()
    reader.hardlink_to(path)
    save(path, b"new")
    assert reader.read_bytes() == before != path.read_bytes()

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from toolreel._internal import CassetteError
from toolreel.cassette import CassetteFile
from toolreel.cassette import _file as cassette_file


def pair(
    body: bytes = b"{}",
    answer: bytes = b"{}",
    *,
    uri: str = "https://a/v1/chat/completions",
    sent: Mapping[str, str] = MappingProxyType({}),
    reason: str = "OK",
    got: Mapping[str, list[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    headers = {name: [value] for name, value in sent.items()}
    request = {"method": "POST", "uri": uri, "headers": headers, "body": body}
    response = {"status": {"code": 200, "message": reason}, "headers": dict(got), "body": answer}
    return {"request": request, "response": response}


def save(path: Path, interaction: dict[str, Any], **known: str) -> None:
    file = CassetteFile()
    file.known_secrets = known
    file.save(path, [interaction])


def test_what_is_saved_is_loaded_and_nothing_else_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.yaml"
    save(path, pair(b'{"a":1}', b"\xff", sent={"accept": "x"}, got={"retry-after": ["1", "2"]}))
    file = CassetteFile()
    (interaction,) = file.load(path)
    request, response = interaction["request"], interaction["response"]
    assert (request["method"], request["body"], request["headers"]) == ("POST", '{"a":1}', {"accept": ["x"]})
    assert response["body"] == b"\xff"
    assert response["headers"] == {"retry-after": ["1", "2"]}
    assert len(file.keys) == 1
    assert os.listdir(path.parent) == ["a.yaml"]


def test_what_cannot_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CassetteError, match=r"none\.yaml: there is no such cassette: record it first"):
        CassetteFile().load(tmp_path / "none.yaml")
    with pytest.raises(CassetteError, match="cannot be read: Is a directory"):
        CassetteFile().load(tmp_path)
    monkeypatch.setattr(cassette_file, "TEXT_LIMIT", 1)
    (tmp_path / "big.yaml").write_bytes(b"12345")
    with pytest.raises(CassetteError, match="larger than 4 bytes"):
        CassetteFile().load(tmp_path / "big.yaml")


def test_a_body_that_no_client_can_have_sent_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    save(path, pair(b"plain"))
    path.write_text(path.read_text().replace("text: plain", 'text: "\\ud800"'))
    with pytest.raises(CassetteError, match=r"a\.yaml: "):
        CassetteFile().load(path)


def test_an_old_file_is_untouched_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    save(path, pair(b"old"))
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CassetteError, match="cannot be written: No space left on device"):
        save(path, pair(b"new"))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.yaml"]

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(path, pair(b"new"))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_file_is_replaced_and_never_written_over(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.yaml", tmp_path / "somebody who has it open"
    save(path, pair(b"old"))
    before = path.read_bytes()
    reader.hardlink_to(path)
    save(path, pair(b"new"))
    assert reader.read_bytes() == before != path.read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CassetteError, match="cannot be written: "):
        save(tmp_path / "file" / "a.yaml", pair())

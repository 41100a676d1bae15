"""Our recordings as stock vcrpy plays them, and back."""

from __future__ import annotations

import importlib.util
import ssl
import sys
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import requests
import vcr
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adapters.cassette.format.test_yaml import TEXT
from tests.adapters.secrets.planted import KINDS
from tests.replay.sessions import FOLDER
from tests.samples import complaint
from toolreel._errors import CassetteError, MissingExtra, SecretFound
from toolreel._secrets.rules import SecretRules
from toolreel.cassette._failures import Break
from toolreel.cassette._format import serializer as cassette_format
from toolreel.cassette._format.file import CassetteFile
from toolreel.cassette._tape import Recording, StoredResponse
from toolreel.cassette.vcr._export import Exported, export_cassette
from toolreel.cassette.vcr._import import import_cassette

RECORDED: Final = sorted(FOLDER.rglob("*.yaml"))
STOCK: Final[Any] = vcr.VCR
CONTEXT: Final = ssl.create_default_context()
URL: Final = "http://a.invalid/v1/chat/completions"
JSON: Final = {"content-type": "application/json"}
NO_RULES: Final = SecretRules()


def exported(source: Path, target: Path, **rest: Any) -> Exported:  # noqa: ANN401 - whatever it takes
    return export_cassette(source, target, **{"known": {}, "rules": NO_RULES, **rest})


def recorded(path: Path, *bodies: bytes, answer: bytes = b"{}", kind: str = "application/json") -> Path:
    tape = Recording.blank(path)
    for body in bodies:
        tape.append("POST", URL, JSON, body, StoredResponse(200, "OK", (("content-type", kind),), answer))
    tape.save({}, NO_RULES)
    return path


@pytest.mark.parametrize("by", ["httpx", "requests"])
@pytest.mark.parametrize("match_on", [["method", "uri"], ["method", "uri", "body"]], ids=" ".join)
@pytest.mark.parametrize("folder", ["workspace", "streamed", "openai-sdk"])
def test_stock_vcrpy_plays_what_was_exported(
    folder: str, match_on: list[str], by: str, tmp_path: Path
) -> None:
    source = next(path for path in RECORDED if path.is_relative_to(FOLDER / folder))
    exported(source, tmp_path / "a.yaml")
    with STOCK(record_mode="none", match_on=match_on).use_cassette(tmp_path / "a.yaml") as tape:
        for one in Recording.load(source).exchanges:
            assert isinstance(one.answer, StoredResponse)
            answer: httpx.Response | requests.Response
            if by == "httpx":
                answer = httpx.post(one.url, content=one.body, headers=JSON, verify=CONTEXT)
            else:
                answer = requests.post(one.url, data=one.body, headers=JSON, timeout=9)
            assert (answer.status_code, answer.content) == (one.answer.status, one.answer.body)
        assert tape.all_played


def held(path: Path) -> list[tuple[object, ...]]:
    """All that a cassette holds; of headers, the order has no meaning, and vcrpy sorts them."""
    requests_, responses = CassetteFile().load_cassette(str(path), cassette_format)
    asked = [(one.method, one.uri, one.body, sorted(one.headers.items())) for one in requests_]
    answered = [{**one, "headers": sorted(one["headers"].items())} for one in responses]
    return [*zip(asked, answered, strict=True)]


def test_importing_gives_an_equal_recording_again(tmp_path: Path) -> None:
    for number, source in enumerate(RECORDED[::10]):
        there, back = tmp_path / f"{number}.vcr.yaml", tmp_path / f"{number}.yaml"
        done = exported(source, there)
        assert done.interactions == import_cassette(there, back, known={}, rules=NO_RULES).interactions
        assert held(back) == held(source), source


@given(body=st.binary(max_size=20) | TEXT.map(str.encode))
@example(body="größer 🙂\x85\u2028\r\n \tx".encode())
@example(body=b"\xef\xbb\xbfx")
@example(body=b"no: yes")
def test_every_body_comes_back(body: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    source = recorded(folder / "a.yaml", body, b'{"a":1}', answer=body, kind="text/plain")
    exported(source, folder / "b.yaml")
    import_cassette(folder / "b.yaml", folder / "c.yaml", known={}, rules=NO_RULES)
    assert held(folder / "c.yaml") == held(source)


def test_an_exchange_that_broke_off_is_refused_or_left_out(tmp_path: Path) -> None:
    source, target = tmp_path / "a.yaml", tmp_path / "b.yaml"
    tape = Recording.blank(source)
    kind = (("content-type", "text/event-stream"),)
    tape.append_break("POST", URL, JSON, b"{}", Break("ReadTimeout", "too late"))
    tape.append(
        "POST", URL, JSON, b"{}", StoredResponse(200, "OK", kind, b"data", Break("ReadError", "gone"))
    )
    tape.append("POST", URL, JSON, b"{}", StoredResponse(200, "OK", kind, b"data: [DONE]\n\n"))
    tape.save({}, NO_RULES)
    said = complaint(CassetteError, lambda: exported(source, target))
    assert said == (
        f"{source}: interaction 1 (ReadTimeout), interaction 2 (ReadError) broke off, "
        "which vcrpy cannot play: leave such exchanges out (--skip-broken)"
    )
    assert not target.exists()
    left = ("interaction 1 (ReadTimeout)", "interaction 2 (ReadError)")
    assert exported(source, target, skip_broken=True) == Exported(source, target, 1, left, (1,))


def test_several_values_of_a_header_are_kept(tmp_path: Path) -> None:
    tape = Recording.blank(tmp_path / "a.yaml")
    twice = (("content-type", "a"), ("content-type", "b"))
    tape.append("POST", URL, JSON, b"{}", StoredResponse(200, "OK", twice, b"{}"))
    tape.save({}, NO_RULES)
    exported(tmp_path / "a.yaml", tmp_path / "b.yaml")
    import_cassette(tmp_path / "b.yaml", tmp_path / "c.yaml", known={}, rules=NO_RULES)
    assert (tmp_path / "c.yaml").read_bytes() == (tmp_path / "a.yaml").read_bytes()


def test_a_file_that_is_there_or_missing_is_named(tmp_path: Path) -> None:
    source = recorded(tmp_path / "a.yaml", b"{}")
    said = complaint(CassetteError, lambda: exported(source, source))
    assert said == f"{source}: exists already: export under another name, or overwrite it (--overwrite)"
    none, other = tmp_path / "none.yaml", tmp_path / "b.yaml"
    assert complaint(CassetteError, lambda: exported(none, other)).startswith(f"{none}: there is no")
    exported(source, target := tmp_path / "b.yaml")
    target.write_text("old")
    exported(source, target, overwrite=True)
    assert "interactions" in target.read_text()


def test_a_secret_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaked = KINDS["an OpenAI key"].secret
    source = recorded(tmp_path / "a.yaml", b'{"a":"harmless"}', b'{"a":"the-password"}')
    source.write_text(source.read_text().replace("harmless", leaked))
    target = tmp_path / "b.yaml"
    assert f"{target}: interaction 1: request.body" in complaint(
        SecretFound, lambda: exported(source, target)
    )
    source.write_text(source.read_text().replace(leaked, "harmless"))
    monkeypatch.setenv("OWN_PASSWORD", "the-password")
    said = complaint(SecretFound, lambda: export_cassette(source, target))
    assert "interaction 2: request.body" in said
    assert not target.exists()


def test_without_vcrpy_the_import_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("toolreel.cassette.vcr._export")
    assert found is not None
    assert found.loader is not None
    monkeypatch.setitem(sys.modules, "vcr.serializers", None)
    with pytest.raises(MissingExtra, match="vcrpy is not installed: it comes with the extra 'record'"):
        found.loader.exec_module(importlib.util.module_from_spec(found))

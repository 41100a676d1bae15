"""Cassettes that stock vcrpy has really recorded, from a real server, made into ours."""

from __future__ import annotations

import base64
import gzip
import json
import ssl
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import vcr
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from vcr.record_mode import RecordMode

from tests.adapters.cassette.test_yaml import TEXT
from tests.adapters.secrets.planted import KINDS
from tests.patience import HANG
from tests.replay.sessions import FOLDER
from tests.samples import complaint
from tests.servers.chat_server import Answer, ChatServer, Seen, serving
from toolreel._internal import CassetteError, SecretFound
from toolreel.cassette import (
    Converted,
    Session,
    StoredResponse,
    export_cassette,
    import_cassette,
    read_cassette,
    use_cassette,
)
from toolreel.testing import saying

KEY = "not-so-secret-key-1"


def provider(asked: Seen) -> Answer:
    """What a provider might say, with headers that are nobody's business."""
    noise = {"Content-Type": "application/json", "Set-Cookie": "id=1234567", "X-Request-Id": "r-1"}
    if asked.method == "GET":
        return Answer(b'{"object":"list","data":[]}', headers=noise)
    body = json.loads(asked.body)
    said = json.dumps(saying(f"You said: {body['messages'][-1]['content']}")).encode()
    match body["messages"][-1]["content"]:
        case "bytes":
            return Answer(b"\x00\xff\xfe", headers={"Content-Type": "application/octet-stream"})
        case "stream":
            return Answer(b"data: {}\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})
        case "error":
            return Answer(b"no \xc3\xa9", 500, {"Content-Type": "text/plain"})
        case _:
            return Answer(gzip.compress(said), headers={**noise, "Content-Encoding": "gzip"})


@pytest.fixture(scope="module")
def server() -> Generator[ChatServer]:
    with serving(answering=provider) as server:
        yield server


def talk(client: httpx.Client, url: str, said: tuple[str, ...]) -> list[tuple[int, str, bytes]]:
    """What a client of somebody who has never heard of toolreel gets."""
    client.get(f"{url}/v1/models", params={"api_key": KEY})
    got: list[httpx.Response] = []
    for text in said:
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}]}
        headers = {"authorization": f"Bearer {KEY}"}
        got.append(client.post(f"{url}/v1/chat/completions", json=body, headers=headers))
    return [(answer.status_code, answer.headers["content-type"], answer.content) for answer in got]


def stock(path: Path, server: ChatServer, *said: str, decoded: bool = False) -> list[tuple[int, str, bytes]]:
    """Record a session with stock vcrpy."""
    recorder = vcr.VCR(record_mode=RecordMode.ALL, decode_compressed_response=decoded)
    with recorder.use_cassette(str(path)), httpx.Client() as client:
        return talk(client, server.url, said)


def replayed(path: Path, server: ChatServer, *said: str) -> list[tuple[int, str, bytes]]:
    with use_cassette(path) as session, httpx.Client(transport=session.transport()) as client:
        return talk(client, server.url, said)


SAID = ("hi", "hi", "größer 🙂\n  x", "bytes", "stream", "error")


@pytest.mark.parametrize(("name", "decoded"), [("a.yaml", False), ("a.yml", True)])
def test_a_session_of_stock_vcrpy_replays_for_the_same_client(
    name: str, decoded: bool, server: ChatServer, tmp_path: Path
) -> None:
    old, new = tmp_path / "old" / name, tmp_path / "new" / "a.yaml"
    live = stock(old, server, *SAID, decoded=decoded)
    done = import_cassette(old, new, known={"OWN": KEY})
    assert replayed(new, server, *SAID) == live
    assert done.interactions == 7
    text = new.read_text("utf-8")
    assert KEY not in text
    assert "1234567" not in text
    assert KEY in old.read_text("utf-8")


def test_a_key_that_a_server_tells_back_is_replaced(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    coded = base64.b64encode(KEY.encode()).decode()
    request = {"method": "GET", "uri": "http://a/v1/x", "body": None, "headers": {"X-Api-Key": [KEY]}}
    response = {
        "status": {"code": 401, "message": None},
        "headers": {},
        "body": {"string": f"no {KEY} {coded}"},
    }
    old.write_text(yaml.dump({"version": 1, "interactions": [{"request": request, "response": response}]}))
    import_cassette(old, new, known={})
    assert "no [value of the header x-api-key] [value of" in new.read_text("utf-8")


OLD_HTTPX = """
interactions:
- request: {method: GET, uri: "http://a/v1/x", body: "", headers: {}}
  response:
    status_code: 200
    http_version: HTTP/1.1
    content: hello
    headers: {content-type: text/plain, x-request-id: [r-1]}
version: 1
"""
PACKED = """
interactions:
- request: {method: GET, uri: "http://a/v1/x", body: null, headers: {}}
  response:
    status: {code: 200, message: OK}
    body: {string: !!binary aGVsbG8=}
    headers: {content-type: [text/plain], Content-Encoding: [gzip]}
version: 1
metadata: {made: by me}
"""


@pytest.mark.parametrize("text", [OLD_HTTPX, PACKED])
def test_forms_of_older_releases_are_read(text: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(text)
    import_cassette(old, new)
    with use_cassette(new) as session, httpx.Client(transport=session.transport()) as client:
        assert client.get("http://b/v1/x").text == "hello"


def cassette(entry: str) -> str:
    return f"version: 1\ninteractions:\n- {entry}\n"


FOREIGN = "no cassette of vcrpy"
WRONG: dict[str, tuple[str, str]] = {
    "empty": ("", "the file is empty"),
    "written by vcrpy before 1.0": ("- {request: {}, response: {}}", "run the migration script"),
    "no cassette": ("a: 1", FOREIGN),
    "ours": ("toolreel: 1\nversion: 1\ninteractions: []\n...\n", "a cassette of toolreel already"),
    "code": (
        cassette("request: !!python/object/apply:os.system ['true']"),
        "has a tag '!!python/...', which stands for code",
    ),
    "a number for a body": (
        cassette(
            "{request: {method: GET, uri: a, body: '', headers: {}}, "
            "response: {status: {code: 200}, headers: {}, body: 1}}"
        ),
        "interaction 1: a value is not of the type that vcrpy writes",
    ),
    "a word for a status": (
        cassette(
            "{request: {method: GET, uri: a, body: '', headers: {}}, "
            "response: {status: {code: ok}, headers: {}, body: ''}}"
        ),
        FOREIGN,
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=[*WRONG])
def test_what_is_no_cassette_of_vcrpy_or_cannot_be_trusted_is_refused(
    text: str, said: str, tmp_path: Path
) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(text)
    told = complaint(CassetteError, lambda: import_cassette(old, new))
    assert told.startswith(f"{old}: ")
    assert said in told
    assert not new.exists()


RECORDED = sorted(FOLDER.rglob("*.yaml"))
STOCK: Any = vcr.VCR
CONTEXT = ssl.create_default_context()
URL = "http://a.invalid/v1/chat/completions"
JSON = {"content-type": "application/json"}


def exported(source: Path, target: Path, **rest: Any) -> Converted:  # noqa: ANN401 - whatever it takes
    return export_cassette(source, target, **{"known": {}, **rest})


def recorded(path: Path, *bodies: bytes, answer: bytes = b"{}", kind: str = "application/json") -> Path:
    tape = Session(path, "record")
    for body in bodies:
        tape.append("POST", URL, JSON, body, StoredResponse(200, "OK", (("content-type", kind),), answer))
    tape.save({})
    return path


@pytest.mark.parametrize(
    ("folder", "by"), [("workspace", "httpx"), ("streamed", "requests"), ("openai-sdk", "httpx")]
)
def test_stock_vcrpy_plays_what_was_exported(folder: str, by: str, tmp_path: Path) -> None:
    source = next(path for path in RECORDED if path.is_relative_to(FOLDER / folder))
    exported(source, tmp_path / "a.yaml")
    match_on = ["method", "uri", "body"]
    with STOCK(record_mode="none", match_on=match_on).use_cassette(tmp_path / "a.yaml") as tape:
        for one in Session(source).exchanges:
            answer: httpx.Response | requests.Response
            if by == "httpx":
                answer = httpx.post(one.url, content=one.body, headers=JSON, verify=CONTEXT)
            else:
                answer = requests.post(one.url, data=one.body, headers=JSON, timeout=HANG)
            assert (answer.status_code, answer.content) == (one.answer.status, one.answer.body)
        assert tape.all_played


def held(path: Path) -> list[object]:
    """All that a cassette holds; of headers, the order has no meaning, and vcrpy sorts them."""
    return [
        replace(one, pieces=(one.body,), answer=replace(one.answer, headers=(*sorted(one.answer.headers),)))
        for one in read_cassette(path)[1]
    ]


@given(body=st.binary(max_size=20) | TEXT.map(str.encode))
@example(body="größer 🙂\x85\u2028\r\n \tx".encode())
@example(body=b"\xef\xbb\xbfx")
@example(body=b"no: yes")
def test_every_body_comes_back(body: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    source = recorded(folder / "a.yaml", body, b'{"a":1}', answer=body, kind="text/plain")
    exported(source, folder / "b.yaml")
    import_cassette(folder / "b.yaml", folder / "c.yaml", known={})
    assert held(folder / "c.yaml") == held(source)


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

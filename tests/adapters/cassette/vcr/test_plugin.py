"""Stock vcrpy with our format: what it plays, what it records, and what it refuses to write."""

from __future__ import annotations

import gzip
import importlib.util
import json
import runpy
import ssl
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import httpx
import pytest
import requests
import vcr
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request

from tests.adapters.secrets.planted import KINDS
from tests.patience import HANG
from tests.replay.sessions import FOLDER
from tests.servers.cassette_server import Answer, Asked, Server, serving
from toolreel._internal.errors import CassetteError, MissingExtra
from toolreel._secrets.project_rules import SecretRules
from toolreel.cassette._open_cassette import Recording
from toolreel.cassette._recorded_failures import Break
from toolreel.cassette._stored_exchange import StoredResponse
from toolreel.cassette._transports import ReplayTransport, replaying
from toolreel.cassette._varying.rule import Vary
from toolreel.cassette.vcr._plugin import NAME, Persister, Serializer, register, same_request
from toolreel_core._jsontext.canonical import canonical

Post: TypeAlias = Callable[[str, bytes], tuple[int, bytes]]

ROOT: Final = Path(__file__).parents[4]
STOCK: Final[Any] = vcr.VCR
CONTEXT: Final = ssl.create_default_context()
"""Made once: it takes longer than a request."""
JSON: Final = {"content-type": "application/json"}
KEY: Final = "not-so-secret-key-1"
SENT: Final = {**JSON, "authorization": f"Bearer {KEY}"}
LEAKED: Final = KINDS["an OpenAI key"].secret
RECORDED: Final = [
    *sorted((FOLDER / "workspace").glob("*.yaml"))[:2],
    *sorted((FOLDER / "streamed").rglob("*.yaml"))[:2],
    *sorted((FOLDER / "openai-sdk").rglob("*.yaml"))[:1],
]


def by_httpx(url: str, body: bytes) -> tuple[int, bytes]:
    answer = httpx.post(url, content=body, headers=SENT, verify=CONTEXT)
    return answer.status_code, answer.content


def by_requests(url: str, body: bytes) -> tuple[int, bytes]:
    answer = requests.post(url, data=body, headers=SENT, timeout=HANG)
    return answer.status_code, answer.content


CLIENTS: Final[tuple[Post, ...]] = (by_httpx, by_requests)


def recorder(mode: str = "none", *match_on: str, known: Mapping[str, str] = MappingProxyType({})) -> Any:  # noqa: ANN401 - vcrpy's types say too little
    """A VCR of vcrpy with the plugin."""
    stock = STOCK(record_mode=mode, **({"match_on": match_on} if match_on else {}))
    return register(stock, known_secrets=known, secret_rules=SecretRules())


def refused(use: Any, url: str, *said: str) -> str:  # noqa: ANN401 - what use_cassette() gives
    """The error that saving ends with.

    vcrpy saves before it removes its patches, so after an error they stay, and would replay the requests of
    every later test in this process. It has no public way to remove them.
    """
    try:
        with use:
            for text in said:
                by_httpx(url, question(text))
    except CassetteError as error:
        next(use._CassetteContextDecorator__finish or iter(()), None)
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it was saved")


def question(said: str) -> bytes:
    return canonical({"model": "m", "messages": [{"role": "user", "content": said}]}).encode()


def provider(asked: Asked) -> Answer:
    said = json.loads(asked.body)["messages"][-1]["content"]
    answer = canonical({"said": said}).encode()
    match said:
        case "stream":
            return Answer(b"data: {}\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})
        case "bytes":
            return Answer(b"\x00\xff", 500, {"Content-Type": "application/octet-stream", "Set-Cookie": "a=b"})
        case "echo":
            return Answer(json.dumps({"sent": asked.headers["authorization"]}).encode(), headers=JSON)
        case _:
            return Answer(gzip.compress(answer), headers={**JSON, "Content-Encoding": "gzip"})


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with serving(provider) as server:
        yield server


@pytest.mark.parametrize("post", CLIENTS)
@pytest.mark.parametrize("match_on", [(), ("method", "uri", "body"), (NAME,)], ids=" ".join)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_our_recordings_play_in_stock_vcrpy(path: Path, match_on: tuple[str, ...], post: Post) -> None:
    exchanges = Recording.load(path).exchanges
    with recorder("none", *match_on).use_cassette(str(path)) as tape:
        for one in exchanges:
            assert isinstance(one.answer, StoredResponse)
            assert post(one.url, one.body) == (one.answer.status, one.answer.body)
        assert tape.all_played
        with pytest.raises(CannotOverwriteExistingCassetteException):
            post(exchanges[0].url, exchanges[0].body)


def test_without_the_plugin_stock_vcrpy_fails_at_the_first_request() -> None:
    one = Recording.load(RECORDED[0]).exchanges[0]
    with STOCK(record_mode="none").use_cassette(str(RECORDED[0])), pytest.raises(KeyError, match="string"):
        by_httpx(one.url, one.body)


@pytest.mark.parametrize("post", CLIENTS)
def test_what_stock_vcrpy_records_replays_in_both(server: Server, tmp_path: Path, post: Post) -> None:
    path = tmp_path / "new" / "a.yaml"
    url = f"{server.url}/v1/chat/completions?api_key={KEY}"
    bodies = [question(said) for said in ("hi", "größer 🙂", "stream", "bytes", "hi")]
    with recorder("once").use_cassette(path):
        live = [post(url, body) for body in bodies]
    asked = len(server.asked)
    with recorder("once", NAME).use_cassette(path) as tape:
        assert [post(url, body) for body in reversed(bodies)] == live[::-1]
        assert tape.all_played
    elsewhere = "http://elsewhere.invalid/other/chat/completions?api_key=of-another"
    with recorder("none", NAME).use_cassette(path):
        assert [post(elsewhere, body) for body in bodies] == live
    with replaying(path) as ours, httpx.Client(transport=ReplayTransport(ours)) as client:
        answers = [client.post(url, content=body, headers=JSON) for body in bodies]
    assert [(answer.status_code, answer.content) for answer in answers] == live
    assert len(server.asked) == asked
    text = path.read_text("utf-8")
    assert KEY not in text
    assert "set-cookie" not in text.lower()
    assert "content: größer 🙂" in text
    assert "said: größer 🙂" in text  # unpacked, though it came in gzip
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("said", [f"my key is {LEAKED}", "echo"])
def test_a_secret_keeps_the_file_as_it_was(said: str, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    url = f"{server.url}/v1/chat/completions"
    with recorder("once").use_cassette(path):
        by_httpx(url, question("hi"))
    before = path.read_bytes()
    why = refused(recorder("new_episodes", NAME).use_cassette(path), url, "more", said)
    assert why.startswith(f"SecretFound: {path}: interaction 3: ")
    assert KEY not in why
    assert LEAKED not in why
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_known_secrets_are_the_callers(server: Server, tmp_path: Path) -> None:
    url, known = f"{server.url}/v1/chat/completions", {"OWN": "the-password"}
    why = refused(recorder("once", known=known).use_cassette(tmp_path / "a.yaml"), url, "the-password")
    assert "value of OWN" in why
    with recorder("once").use_cassette(tmp_path / "b.yaml"):
        by_httpx(url, question("the-password"))
    assert [path.name for path in tmp_path.iterdir()] == ["b.yaml"]


def broken(path: Path, url: str) -> None:
    """A recording with an exchange without a response and a stream that broke off."""
    tape = Recording.blank(path)
    tape.append_break("POST", url, JSON, question("a"), Break("ReadTimeout", "too late"))
    stream = (("content-type", "text/event-stream"),)
    half = StoredResponse(200, "OK", stream, b"data: {}\n\n", Break("ReadError", "gone"))
    tape.append("POST", url, JSON, question("b"), half)
    tape.save({})


def test_an_exchange_that_broke_off_is_shown_as_vcrpy_can_and_kept(server: Server, tmp_path: Path) -> None:
    path, url = tmp_path / "a.yaml", f"{server.url}/v1/chat/completions"
    broken(path, url)
    with recorder("new_episodes", NAME).use_cassette(path):
        assert by_httpx(url, question("a")) == (599, b"")
        assert by_httpx(url, question("b")) == (200, b"data: {}\n\n")
        by_httpx(url, question("more"))
    with replaying(path) as tape, httpx.Client(transport=ReplayTransport(tape)) as client:
        with pytest.raises(httpx.ReadTimeout, match="too late"):
            client.post(url, content=question("a"))
        with pytest.raises(httpx.ReadError, match="gone"):
            client.post(url, content=question("b"))
        assert client.post(url, content=question("more")).json() == {"said": "more"}


@pytest.mark.parametrize("text", ["", "toolreel: 1\n", "version: 1\ninteractions: []\n"])
def test_a_file_that_is_not_ours_is_not_recorded_over(text: str, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert str(path) in refused(recorder("all").use_cassette(path), server.url, "hi")
    assert path.read_text() == text


def test_what_the_format_has_no_place_for_is_named(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(CassetteError, match="holds metadata"):
        Serializer().serialize({"version": 1, "interactions": [], "metadata": {"seed": 1}})
    stock = STOCK(record_mode="once")
    stock.register_persister(Persister)
    assert "register the serializer along" in refused(stock.use_cassette(path), f"{server.url}/v1/x", "hi")
    assert not path.exists()


def test_a_body_that_vcrpy_has_as_an_iterator_is_saved(server: Server, tmp_path: Path) -> None:
    path, url = tmp_path / "a.yaml", f"{server.url}/v1/chat/completions"
    tape = recorder("once").use_cassette(path)
    with tape as cassette:
        request = Request("POST", url, iter([b'{"model":', b'"m"}']), {"content-type": b"text/plain"})
        response = {"status": {"code": 204, "message": None}, "headers": {}, "body": {"string": b""}}
        cassette.append(request, response)
    (one,) = Recording.load(path).exchanges
    assert (one.body, one.answer) == (b'{"model":"m"}', StoredResponse(204, "", (), b""))


def test_the_matcher_says_what_differs() -> None:
    def asked(body: str, url: str = "http://a/v1/x?key=1", method: str = "POST") -> Request:
        return Request(method, url, body.encode(), dict(JSON))

    one = asked('{"a": 1, "b": 2}')
    assert same_request(one, asked('{"a":1,"b":2}', "https://b.example/api/v3/x?key=2"))
    assert same_request(Request("GET", "http://a/x", None, {}), Request("GET", "http://a/x", b"", {}))
    for other, why in {
        asked('{"a": 1, "b": 2}', method="PUT"): "POST /x.key=REDACTED != PUT /x.key=REDACTED",
        asked('{"a": 1, "b": 2}', "http://a/v1/y"): "POST /x.key=REDACTED != POST /y",
        asked('{"b": 2, "a": 1}'): "the keys in the body are in another order",
        asked('{"a": 1, "b": 3}'): '"b": 3',
    }.items():
        with pytest.raises(AssertionError, match=why):
            same_request(one, other)


def test_the_example_plays_offline(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "stock_vcrpy.py"), run_name="__main__")
    assert capsys.readouterr().out.count("HTTP 200") == 6


def test_without_vcrpy_the_import_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("toolreel.cassette.vcr._plugin")
    assert found is not None
    assert found.loader is not None
    monkeypatch.setitem(sys.modules, "vcr", None)
    with pytest.raises(MissingExtra, match="vcrpy is not installed: it comes with the extra 'record'"):
        found.loader.exec_module(importlib.util.module_from_spec(found))


def test_what_may_vary_is_no_difference_to_stock_vcrpy(tmp_path: Path) -> None:
    path, nowhere = tmp_path / "a.yaml", "http://nowhere.invalid/v1/chat/completions"
    rule = Vary(pattern=r"Now: \d+", becomes="Now: <time>")

    def body(now: int, question: str = "Hi") -> bytes:
        return canonical({"messages": [{"role": "user", "content": f"Now: {now}. {question}"}]}).encode()

    def played(recorder: vcr.VCR, sent: bytes, url: str = nowhere) -> int:
        with recorder.use_cassette(str(path)):
            return by_requests(url, sent)[0]

    def recorder(mode: str, *rules: Vary) -> vcr.VCR:
        return register(STOCK(record_mode=mode, match_on=[NAME]), vary=rules)

    with serving(lambda _: Answer(b"{}", headers=JSON)) as server:
        url = f"{server.url}/v1/chat/completions"
        assert played(recorder("all", rule), body(1), url) == 200
        assert "Now: 1" in path.read_text()
        assert played(recorder("none", rule), body(2)) == 200
        for sent, rules in ((body(2, "Ho"), [rule]), (body(2), [])):
            with pytest.raises(CannotOverwriteExistingCassetteException):
                played(recorder("none", *rules), sent)
        header = "vary: [{pattern: 'Now: [0-9]+', becomes: 'Now: <time>'}]\nseed: 7\n"
        path.write_text(path.read_text().replace("version: 1\n", f"version: 1\n{header}"))
        assert played(recorder("none"), body(3)) == 200
        before = Recording.load(path).frozen.header
        assert played(recorder("all"), body(4), url) == 200
    assert Recording.load(path).frozen.header == before
    assert "Now: 4" in path.read_text()

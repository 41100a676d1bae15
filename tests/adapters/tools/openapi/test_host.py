"""Operations of a document, called at a real server, on every kind of host."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.servers.chat_server import bomb, nobody_listens
from tests.servers.pet_shop import PETS, Answer, Asked, calling_for, open_shop, replied, source, told
from toolreel._driver.performer import Ports
from toolreel._driver.sync import run
from toolreel._internal.errors import SecretFound
from toolreel.cassette._transports import (
    AsyncRecordTransport,
    AsyncReplayTransport,
    RecordTransport,
    ReplayTransport,
    recording,
    replaying,
)
from toolreel.testing._scripted import ScriptedEndpoint, calling, saying
from toolreel.tools.openapi._document.document import parsed_document
from toolreel.tools.openapi._host import AsyncOpenApiTools, OpenApiTools
from toolreel.tools.openapi._request.security import Credentials
from toolreel.tools.openapi._source import OpenApiSource
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._protocol.outcome import Completed

KEY = "k-0123-of-the-shop"


def plainly(made: OpenApiSource, effect: RunTool, **settings: Any) -> ToolReturned:  # noqa: ANN401 - what hosts take
    with OpenApiTools([made], **settings) as tools:
        return tools.run(effect)


async def awaited(made: OpenApiSource, effect: RunTool, **settings: Any) -> ToolReturned:  # noqa: ANN401 - what hosts take
    async with AsyncOpenApiTools([made], **settings) as tools:
        return await tools.run(effect)


def on_asyncio(made: OpenApiSource, effect: RunTool, **settings: Any) -> ToolReturned:  # noqa: ANN401 - what hosts take
    return asyncio.run(awaited(made, effect, **settings))


def on_trio(made: OpenApiSource, effect: RunTool, **settings: Any) -> ToolReturned:  # noqa: ANN401 - what hosts take
    return trio.run(partial(awaited, made, effect, **settings))


Host = Callable[..., ToolReturned]
every_host = pytest.mark.parametrize("host", [plainly, on_asyncio, on_trio])


@every_host
def test_arguments_go_where_they_belong_and_json_comes_back_as_data(host: Host) -> None:
    with open_shop(replied({"pets": [{"name": "Tom"}]})) as shop:
        effect = calling_for("listPets", limit=2, kinds=["cat", "dog"], **{"X-Trace": "t 1", "seen": "a;b"})
        returned = host(source(shop.url), effect)
    (asked,) = shop.asked
    assert (asked.method, asked.target) == ("GET", "/pets?limit=2&kinds=cat&kinds=dog")
    assert (asked.headers["x-trace"], asked.headers["cookie"]) == ("t 1", "seen=a%3Bb")
    assert told(returned.output) == (True, {"pets": [{"name": "Tom"}]}, "")
    assert returned.ref == 1


@every_host
def test_a_body_is_sent_as_its_media_type(host: Host) -> None:
    with open_shop(replied({"id": 3}, 201)) as shop:
        made = source(shop.url, credentials=Credentials({"*": KEY}))
        host(made, calling_for("addPet", body={"name": "Tom", "nick": None}))
        host(made, calling_for("order", body={"pet": "Tom & co", "notes": ["soon", "ä"]}))
        host(made, calling_for("sendPicture", body={"title": "Tom", "picture": "<svg/>"}))
        host(made, calling_for("sendPicture", body={"title": "Tom", "picture": "<svg/>"}))
    json, form, *pictures = shop.asked
    assert (json.headers["content-type"], json.body) == ("application/json", b'{"name":"Tom","nick":null}')
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    assert form.body == b"pet=Tom%20%26%20co&notes=soon&notes=%C3%A4"
    boundary = pictures[0].headers["content-type"].partition("boundary=")[2]
    assert pictures[0].body.decode().replace(boundary, "-") == (
        '---\r\ncontent-disposition: form-data; name="title"\r\n\r\nTom\r\n'
        '---\r\ncontent-disposition: form-data; name="picture"; filename="picture"\r\n'
        "content-type: application/octet-stream\r\n\r\n<svg/>\r\n-----\r\n"
    )
    assert pictures[0].body == pictures[1].body


@pytest.mark.parametrize("given", ["../orders", "..", ".", "a/../../b", "..\\x", "%2e/..", "", "a/./b"])
def test_no_argument_leads_to_another_path(given: str) -> None:
    with open_shop(replied({})) as shop:
        ok, _, why = told(plainly(source(shop.url), calling_for("getPet", id=given)).output)
    assert (ok, shop.asked) == (False, [])
    assert why.startswith("ARGUMENT_ERROR: ")


@pytest.mark.parametrize(
    ("given", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("?admin=1", "%3Fadmin%3D1"),
        ("#top", "%23top"),
        ("//evil.example", "%2F%2Fevil.example"),
        ("@evil.example", "%40evil.example"),
        ("..%2f", "..%252f"),
        ("a b+c&d;e", "a%20b%2Bc%26d%3Be"),
        ("ä\r\nX: y", "%C3%A4%0D%0AX%3A%20y"),
        ("...", "..."),
    ],
)
def test_every_argument_stays_in_its_segment(given: str, segment: str) -> None:
    with open_shop(replied({})) as shop:
        assert told(plainly(source(shop.url), calling_for("getPet", id=given)).output)[0]
    assert [asked.target for asked in shop.asked] == [f"/pets/{segment}"]


@pytest.mark.parametrize("given", ["a\r\nx-admin: 1", "a\nb", "ä", "\0"])
def test_no_argument_adds_a_header(given: str) -> None:
    with open_shop(replied({})) as shop:
        ok, _, why = told(plainly(source(shop.url), calling_for("listPets", **{"X-Trace": given})).output)
    assert (ok, shop.asked) == (False, [])
    assert why == (
        "ARGUMENT_ERROR: X-Trace is sent as a header, which holds only printable ASCII in one line."
    )


@pytest.mark.parametrize(
    ("answer", "data", "warning"),
    [
        (replied([1, 2]), {"value": [1, 2]}, ""),
        (replied({"ok": False, "errors": []}), {"ok": False, "errors": []}, ""),
        (Answer(b'{"a": NaN}', headers={"content-type": "application/hal+json"}), {"a": None}, ""),
        (
            Answer(b"<oops>", headers={"content-type": "application/json"}),
            {"value": "<oops>"},
            "the server says that this is JSON, but: Expecting value at line 1, column 1",
        ),
        (Answer(b"Tom\n", headers={"content-type": "text/plain"}), {"value": "Tom\n"}, ""),
        (Answer(b"\xe4", headers={"content-type": "text/plain; charset=latin-1"}), {"value": "ä"}, ""),
        (Answer(b"\xe4", headers={"content-type": "text/plain; charset=klingon"}), {"value": "�"}, ""),
        (Answer(b"<a/>", headers={"content-type": "image/svg+xml"}), {"value": "<a/>"}, ""),
        (Answer(b"plain"), {"value": "plain"}, ""),
        (
            Answer(b"\x89PNG\0", headers={"content-type": "image/png"}),
            {"status": 200, "content_type": "image/png", "bytes": 5},
            "file of 5 bytes (image/png) left out: only text is passed on",
        ),
        (
            Answer(b"\xff\xfe"),
            {"status": 200, "content_type": "unknown type", "bytes": 2},
            "file of 2 bytes (unknown type) left out: only text is passed on",
        ),
        (Answer(status=204), {"status": 204}, ""),
        (
            Answer(status=201, headers={"location": "/pets/3?token=1"}),
            {"status": 201, "location": "/pets/3?token=REDACTED"},
            "",
        ),
        (
            Answer(gzip.compress(b"{}"), headers={"content-type": "text/json", "content-encoding": "gzip"}),
            {},
            "",
        ),
    ],
)
def test_what_a_server_says_is_passed_on_as_what_it_is(answer: Answer, data: Json, warning: str) -> None:
    with open_shop(answer) as shop:
        assert told(plainly(source(shop.url), calling_for("getPet", id="3")).output) == (True, data, warning)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (replied({"detail": "no id 3"}, 404), 'HTTP 404 Not Found: {"detail":"no id 3"}. Correct the arg'),
        (Answer(b"x" * 5_000, 400, {"content-type": "text/html"}), f"Bad Request: {'x' * 2_000}…. Correct"),
        (Answer(status=403), "TOOL_ERROR: HTTP 403 Forbidden. It is not allowed here. Do not call it again"),
        (Answer(status=429, headers={"retry-after": "7"}), "Call it again later, after 7 s, or go on"),
        (Answer(status=500), "HTTP 500 Internal Server Error. The server failed. It may have had effects"),
        (
            Answer(status=302, headers={"location": "https://elsewhere.example/a?key=1"}),
            "It points to https://elsewhere.example/a?key=REDACTED, where calls are not sent.",
        ),
        (Answer(status=304), "It points elsewhere, where calls are not sent."),
        (
            Answer(b"\0\xff", 400, {"content-type": "image/png"}),
            "HTTP 400 Bad Request. Correct the",
        ),
        (Answer(status=307, headers={"location": "/pets/3"}), "the server redirects without end"),
    ],
)
def test_a_status_that_is_no_success_is_told_with_what_to_do(answer: Answer, why: str) -> None:
    with open_shop(answer) as shop:
        ok, _, said = told(plainly(source(shop.url), calling_for("getPet", id="3")).output)
    assert (ok, said.partition(":")[0]) == (False, "TOOL_ERROR")
    assert why in said
    assert len(said) < 2_300


@every_host
def test_a_redirect_is_followed_on_the_same_server_with_what_lets_it_in(host: Host) -> None:
    def answer(asked: Asked) -> Answer:
        moved = Answer(status=308, headers={"location": "/new?x=1", "set-cookie": "track=me"})
        return replied({"here": True}) if asked.target.startswith("/new") else moved

    with open_shop(answer) as shop:
        made = source(shop.url, credentials=Credentials({"token": KEY}))
        assert told(host(made, calling_for("orders")).output) == (True, {"here": True}, "")
    assert [asked.target for asked in shop.asked] == ["/orders", "/new?x=1"]
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in shop.asked)
    assert all("cookie" not in asked.headers for asked in shop.asked)


@every_host
def test_a_server_that_is_not_there_slow_or_boundless_costs_that_call_alone(host: Host) -> None:
    effect = calling_for("getPet", id="3")
    with nobody_listens() as url:
        _, _, gone = told(host(source(url), effect).output)
    with open_shop(Answer(b"12", delay=0.5)) as shop:
        _, _, slow = told(host(source(shop.url), effect, deadline=0.1).output)
        _, _, own = told(host(source(shop.url, deadline_ms=100), effect, deadline=None).output)
    packed = bomb(2)
    with open_shop(Answer(packed.body, headers=packed.headers)) as shop:
        _, _, large = told(host(source(shop.url), effect).output)
    with open_shop(replied({})) as shop:
        assert told(host(source(shop.url), effect, deadline=None).output)[0]
    with open_shop(Answer(b"x", headers={"content-encoding": "klingon"})) as shop:
        _, _, strange = told(host(source(shop.url), effect, deadline=None).output)
    assert gone.startswith("TOOL_UNAVAILABLE: openapi_shop_getPet: ConnectError")
    assert "Nothing was done." in gone
    assert slow == own
    assert slow.startswith("TOOL_TIMEOUT: openapi_shop_getPet did not return within 0.1 s")
    assert large.startswith("TOOL_OUTPUT_TOO_LARGE: openapi_shop_getPet ran, but the response body is larger")
    assert strange.startswith("TOOL_OUTPUT_NOT_JSON: openapi_shop_getPet ran, but content-encoding 'kling")


def test_a_tool_of_nobody_and_an_address_too_long_to_be_asked_are_told() -> None:
    made = source("http://127.0.0.1:9")
    assert told(plainly(made, calling_for("nothing")).output)[2].startswith("TOOL_NOT_IMPLEMENTED: ")
    said = told(plainly(made, calling_for("getPet")).output)[2]
    assert said == "ARGUMENT_ERROR: id is missing; it is a part of the path."
    said = told(plainly(made, calling_for("getPet", id="x" * 70_000)).output)[2]
    assert said.startswith("ARGUMENT_ERROR: the arguments make no address that can be asked: ")


def test_a_credential_that_the_server_says_back_is_struck_out() -> None:
    def answer(asked: Asked) -> Answer:
        return replied({"target": asked.target, "auth": asked.headers.get("authorization")})

    with open_shop(answer) as shop:
        made = source(shop.url, credentials=Credentials({"key": KEY, "token": f"t-{KEY}"}))
        with OpenApiTools([made]) as tools:
            returned = tools.run(calling_for("order", body={"pet": "Tom"}))
            assert tools.secrets == {"credential 1 key": KEY, "credential 1 token": f"t-{KEY}"}
            assert KEY not in tools.surface.text
    (asked,) = shop.asked
    assert asked.target == f"/orders?api_key={KEY}"
    assert asked.headers["authorization"] == f"Bearer t-{KEY}"
    struck = {"target": "/orders?api_key=[credential]", "auth": "Bearer [credential]"}
    assert told(returned.output)[1] == struck
    assert KEY not in repr(made)


def test_a_tape_replays_under_any_credential_and_holds_none(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Answer:
        return replied({"yours": 2} if asked.target.endswith(KEY) else {}, 200)

    effect = calling_for("order", body={"pet": "Tom"})
    tape_file = tmp_path / "shop.yaml"
    with open_shop(answer) as shop:
        made = source(shop.url, credentials=Credentials({"*": KEY}))
        with recording(tape_file, known_secrets={"the key": KEY}) as tape:
            live = plainly(made, effect, transport=RecordTransport(tape, httpx.HTTPTransport()))
    assert told(live.output)[1] == {"yours": 2}
    assert KEY not in tape_file.read_text("utf-8")
    other = source(shop.url, credentials=Credentials({"*": "another one"}))
    with replaying(tape_file) as tape:
        assert plainly(other, effect, transport=ReplayTransport(tape)) == live


def test_a_tape_that_would_hold_a_credential_is_not_written(tmp_path: Path) -> None:
    with open_shop(lambda asked: replied({"target": asked.target})) as shop:
        made = source(shop.url, credentials=Credentials({"key": KEY}))
        blank = tmp_path / "shop.yaml"
        with (
            OpenApiTools([made]) as tools,
            pytest.raises(SecretFound),
            recording(blank, known_secrets=tools.secrets) as tape,
            OpenApiTools([made], transport=RecordTransport(tape, httpx.HTTPTransport())) as taped,
        ):
            taped.run(calling_for("orders"))
    assert not blank.exists()


def test_a_whole_run_with_its_tools_on_tape_replays_with_no_server(tmp_path: Path) -> None:
    def ran(url: str, transport: httpx.BaseTransport) -> object:
        endpoint = ScriptedEndpoint(
            [calling(("openapi_shop_getPet", {"id": "3"})), saying("It is a cat called Tom.")]
        )
        with OpenApiTools([source(url, tags=("pets",))], transport=transport) as tools:
            plan = Plan.of(model="scripted", messages="Who is pet 3?", tools=tools.surface)
            return run(plan, Ports(endpoint, tools))

    with open_shop(replied({"name": "Tom", "kind": "cat"})) as shop:
        with recording(tmp_path / "shop.yaml") as tape:
            live = ran(shop.url, RecordTransport(tape, httpx.HTTPTransport()))
        url = shop.url
    with replaying(tmp_path / "shop.yaml") as tape:
        replayed = ran(url, ReplayTransport(tape))
    assert live == replayed
    assert getattr(live, "outcome", None) == Completed("It is a cat called Tom.")


def test_async_calls_are_taped_as_well_and_a_call_that_is_not_on_it_is_no_failure_of_a_tool(
    tmp_path: Path,
) -> None:
    effect = calling_for("getPet", id="3")
    with open_shop(replied({"name": "Tom"})) as shop:
        with recording(tmp_path / "shop.yaml") as tape:
            live = on_trio(
                source(shop.url), effect, transport=AsyncRecordTransport(tape, httpx.AsyncHTTPTransport())
            )
        url = shop.url
    with replaying(tmp_path / "shop.yaml") as tape:
        assert on_asyncio(source(url), effect, transport=AsyncReplayTransport(tape)) == live
    with pytest.raises(ReplayMismatch), replaying(tmp_path / "shop.yaml") as tape:
        plainly(source(url), calling_for("getPet", id="4"), transport=ReplayTransport(tape))


def test_several_documents_make_one_host() -> None:
    other = parsed_document(
        canonical(
            {
                "openapi": "3.1.0",
                "paths": {"/time": {"get": {"operationId": "now", "tags": ["time"], "responses": {}}}},
            }
        )
    )
    with open_shop(lambda asked: replied({"at": asked.target})) as shop:
        clock = OpenApiSource("clock", other, base_url=shop.url)
        with OpenApiTools([source(shop.url, operation_ids=("getPet",)), clock]) as tools:
            assert tools.surface.names == ("openapi_shop_getPet", "openapi_clock_now")
            assert [each.name for each in tools.sources] == ["openapi shop", "openapi clock"]
            asked = RunTool(1, "c", "openapi_clock_now", canonical({}))
            assert told(tools.run(asked).output)[1] == {"at": "/time"}


def test_both_hosts_offer_and_withhold_the_same() -> None:
    made = source("http://127.0.0.1:9", credentials=Credentials({"key": KEY}))

    async def offered() -> AsyncOpenApiTools:
        async with AsyncOpenApiTools([made]) as tools:
            return tools

    awaited_, plain = asyncio.run(offered()), OpenApiTools([made])
    plain.close()
    assert awaited_.surface == plain.surface
    assert awaited_.sources == plain.sources
    assert awaited_.left_out == plain.left_out != ()
    assert awaited_.secrets == plain.secrets == {"credential 1 key": KEY}


def test_a_transport_that_gives_up_by_itself_is_told_as_that() -> None:
    def slow(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("too slow", request=request)

    effect, transport = calling_for("getPet", id="3"), httpx.MockTransport(slow)
    said = told(plainly(source("http://127.0.0.1:9"), effect, deadline=None, transport=transport).output)[2]
    assert said.startswith(
        "TOOL_TIMEOUT: openapi_shop_getPet: ReadTimeout: too slow. It may still have effects."
    )
    said = told(plainly(source("http://127.0.0.1:9"), effect, deadline=5, transport=transport).output)[2]
    assert said.startswith("TOOL_TIMEOUT: openapi_shop_getPet did not return within 5 s")


def test_the_document_of_the_tests_is_what_it_seems() -> None:
    assert parsed_document(PETS).older


@every_host
def test_a_response_that_was_read_before_is_a_result_too(host: Host) -> None:
    packed = {"content-encoding": "gzip", "content-type": "application/json"}
    responses = [
        httpx.Response(200, json={"name": "Tom"}),
        httpx.Response(200, content=gzip.compress(b'{"name": "Tom"}'), headers=packed),
    ]
    for response in responses:
        mock = httpx.MockTransport(lambda _, response=response: response)
        returned = host(source("http://shop.example"), calling_for("listPets"), transport=mock)
        assert told(returned.output) == (True, {"name": "Tom"}, "")
    mock = httpx.MockTransport(lambda _: httpx.Response(200, content=b"x" * 101))
    returned = host(
        source("http://shop.example"), calling_for("listPets"), transport=mock, max_response_bytes=100
    )
    assert "larger than 100 bytes" in returned.output

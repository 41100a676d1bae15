"""``--openapi FILE``: runs with the operations of a document, and what is said when something is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from tests.cli.commands import Said, assert_mistake, said_by_each, toolreel
from tests.servers.chat_server import replying, serving
from tests.servers.pet_shop import PETS, Answer, Asked, open_shop, replied
from toolreel.testing._scripted import calling, saying

TOM = calling(("openapi_pets_getPet", {"id": "3"}))
SAID = saying("It is Tom.")
KEY = "k-0123-of-the-shop"


def names(said: Said) -> list[str]:
    return [str(tool["name"]) for tool in said.data["tools"]]


def shop_document(folder: Path) -> str:
    (folder / "pets.yaml").write_text(PETS, "utf-8")
    return "pets.yaml"


def test_a_run_calls_operations_on_every_driver_and_its_record_replays_with_no_server(tmp_path: Path) -> None:
    file = shop_document(tmp_path)
    with (
        open_shop(replied({"name": "Tom"})) as shop,
        serving(*[replying(TOM), replying(SAID)] * 3) as server,
    ):
        base = ("run", "Who is pet 3?", "--model", "m", "--base-url", server.url, "--openapi", file)
        one = (*base, "--openapi-tag", "pets", "--openapi-base-url", shop.url)
        runs = said_by_each(
            [(*one, "--record", "kept"), (*one, "--driver", "asyncio"), (*one, "--driver", "trio")], tmp_path
        )
    for said in runs:
        assert (said.code, '← {"name":"Tom"}' in said.stdout) == (0, True), said
    assert [asked.target for asked in shop.asked] == ["/pets/3"] * 3

    (tmp_path / file).unlink()
    again, rerun = said_by_each(
        [("replay", "kept"), (*one, "--record", "kept", "--mode", "replay")], tmp_path
    )
    assert (again.code, "identical" in again.stdout) == (0, True)
    assert (rerun.code, '← {"name":"Tom"}' in rerun.stdout) == (0, True), rerun


def said_back(asked: Asked) -> Answer:
    return replied({"authorization": asked.headers.get("authorization")})


def test_a_credential_comes_from_the_environment_and_stands_in_no_record(tmp_path: Path) -> None:
    file = shop_document(tmp_path)

    ordering = calling(("openapi_my_orders", {}))
    with (
        open_shop(said_back) as shop,
        serving(replying(ordering), replying(SAID)) as server,
        patch.dict(os.environ, {"SHOP": KEY}),
    ):
        base = ("run", "Orders?", "--model", "m", "--base-url", server.url, "--openapi", file)
        chosen = ("--openapi-name", "my", "--openapi-operation", "orders", "--openapi-auth-env", "token=SHOP")
        said = toolreel(*base, *chosen, "--openapi-base-url", shop.url, "--record", "kept", cwd=tmp_path)
    assert said.code == 0, said
    assert shop.asked[0].headers["authorization"] == f"Bearer {KEY}"
    kept = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "Bearer [credential]" in kept
    assert KEY not in kept + said.stdout + said.stderr


def test_tools_shows_what_there_is_what_is_left_out_and_what_is_wrong(tmp_path: Path) -> None:
    file = shop_document(tmp_path)
    (tmp_path / "old.json").write_text('{"swagger": "2.0"}')
    both = ("tools", "--openapi", file, "--json")
    with open_shop(
        replied({"openapi": "3.1.0", "paths": {"/time": {"get": {"operationId": "now"}}}})
    ) as shop:
        shown, masked, fetched, old, tag, missing, nothing, lost, unset = said_by_each(
            [
                both,
                (*both, "--tools", "toolreel.demo:TOOLS", "--deny", "openapi_pets_*Pet"),
                ("tools", "--openapi", f"{shop.url}/clock.json", "--json"),
                ("tools", "--openapi", "old.json"),
                ("tools", "--openapi", file, "--openapi-tag", "pet"),
                ("tools", "--openapi", "nowhere.yaml"),
                ("tools",),
                ("tools", "--openapi-tag", "pets"),
                ("tools", "--openapi", file, "--openapi-auth-env", "NO_SUCH_VARIABLE"),
            ],
            tmp_path,
        )
    assert names(shown)[:3] == ["openapi_pets_listPets", "openapi_pets_addPet", "openapi_pets_getPet"]
    flags = {tool["name"]: tool["flags"] for tool in shown.data["tools"]}
    assert (flags["openapi_pets_listPets"], flags["openapi_pets_addPet"]) == (["read-only"], ["approval"])
    assert {tool["source"] for tool in shown.data["tools"]} == {"openapi pets"}
    assert "left out    openapi_pets_order: it needs a credential for 'key'\n" in shown.stderr
    assert {"state_get", "openapi_pets_listPets"} <= set(names(masked))
    assert "openapi_pets_getPet" not in names(masked)
    assert names(fetched) == ["openapi_clock_now"]
    assert_mistake(old, "old.json: Swagger 2.0 is not supported; convert the document to OpenAPI 3")
    assert_mistake(tag, "there is no tag 'pet'; did you mean 'pets'?")
    assert_mistake(missing, "nowhere.yaml: cannot be read: No such file or directory")
    assert_mistake(nothing, "name the source of the tools: --tools MODULE:ATTR, ")
    assert_mistake(lost, "the --openapi-… options need a document: --openapi FILE")
    assert_mistake(unset, "the environment variable NO_SUCH_VARIABLE is not set; put the credential into it")


def test_a_credential_goes_to_no_server_that_the_document_alone_names(tmp_path: Path) -> None:
    with open_shop(said_back) as shop, patch.dict(os.environ, {"SHOP": KEY}):
        (tmp_path / "pets.yaml").write_text(PETS.replace("https://{region}.pets.example/v2", shop.url))
        base = ("tools", "--openapi", "pets.yaml", "--openapi-auth-env", "token=SHOP", "--json")
        alone = toolreel(*base, cwd=tmp_path)
        named = toolreel(*base, "--openapi-auth-origin", shop.url, cwd=tmp_path)
    assert "openapi_pets_orders" not in names(alone)
    assert f"left out    openapi_pets_orders: it would send a credential to {shop.url}, which" in alone.stderr
    assert "openapi_pets_orders" in names(named)
    assert shop.asked == []

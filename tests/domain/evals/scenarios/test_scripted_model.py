from __future__ import annotations

import json
from typing import Any, cast

from toolreel_core._jsontext import Json, Tree, value_at_json_pointer
from toolreel_core.evals import SCRIPT_KINDS, Script, call, script, script_kind_of_model, scripted_reply

USER: Tree = {"role": "user", "content": "workspace_id=ab-12"}


def test_what_is_not_there_yet_is_null() -> None:
    said = script(call("put", id="$other", x="$0/data", y="$1/data"))
    messages: list[Tree] = [{"role": "user", "content": None}, {"role": "tool", "content": "<html>"}]
    called = value_at_json_pointer(
        scripted_reply(said, messages), "/choices/0/message/tool_calls/0/function/arguments"
    )
    assert json.loads(str(called)) == {"id": "$other", "x": None, "y": None}


def test_a_reply_tells_its_model_and_its_size() -> None:
    once, twice = (
        cast("Any", scripted_reply(script("x"), [USER] * many, model="scripted:good")) for many in (1, 2)
    )
    assert once["model"] == "scripted:good"
    usage = once["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens"] < twice["usage"]["prompt_tokens"]


def test_a_script_begins_where_the_task_does() -> None:
    history = [{"role": "assistant", "content": "Hello."}] * 3
    said = Script(("one", "two"), since="Now.")
    asked = [*history, {"role": "user", "content": "Now."}]
    texts = [said_in(scripted_reply(said, messages)) for messages in (asked, [*asked, *history], history)]
    assert texts == ["one", "two", "two"]


def said_in(body: Tree) -> Json:
    return value_at_json_pointer(body, "/choices/0/message/content")


def test_a_models_name_says_whether_it_is_a_script() -> None:
    assert [script_kind_of_model(f"scripted:{kind}") for kind in SCRIPT_KINDS] == ["good", "skipping", "bad"]
    assert script_kind_of_model("good") is None

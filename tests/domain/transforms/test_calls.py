from __future__ import annotations

import pytest

from toolreel_core._jsontext.canonical import Json, Tree
from toolreel_core._transforms.calls import arguments_blank_to_empty_object


@pytest.mark.parametrize("arguments", ["", " \n", None, "null", " null "])
def test_arguments_that_say_nothing_become_an_empty_object(arguments: Json) -> None:
    call: Tree = {"id": "a", "function": {"name": "ping", "arguments": arguments}}
    assert arguments_blank_to_empty_object(call) == {
        "id": "a",
        "function": {"name": "ping", "arguments": "{}"},
    }


def test_missing_arguments_become_an_empty_object() -> None:
    assert arguments_blank_to_empty_object({"function": {"name": "ping"}}) == {
        "function": {"name": "ping", "arguments": "{}"}
    }


@pytest.mark.parametrize("arguments", ["{}", "{", '"null"', "nul", {}, {"a": 1}, [], 0, False])
def test_other_arguments_stay(arguments: Json) -> None:
    call: Tree = {"function": {"name": "ping", "arguments": arguments}}
    assert arguments_blank_to_empty_object(call) is call


@pytest.mark.parametrize("call", [{}, {"function": None}, {"function": "ping"}, {"function": {}}])
def test_what_calls_no_function_stays(call: Tree) -> None:
    assert arguments_blank_to_empty_object(call) is call

from __future__ import annotations

import re

import pytest

from tests.domain.text_calls.asking import source
from toolreel_core._text_calls.decoder import Broken, Calls, Reading
from toolreel_core._text_calls.values.payload import Block, arguments, closers, enveloped

BLOCK = Block(("hermes_json",), re.compile("<t>"), closers("</t>"))
PING = '{"name": "ping", "arguments": {}}'


def words(reading: Reading) -> str:
    match reading:
        case Calls(calls, end, broken):
            return f"{' '.join(call.name for call in calls)} {end} {' '.join(broken)}".strip()
        case Broken(why, end):
            return f"{why} {end}"
        case _:
            return "text"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"{PING}</t>", "ping 37"),
        (f"```json\n{PING}\n```\n</t>", "ping 50"),
        (f"{{{PING}}}</t>", "ping 39"),
        (f"[{PING}, {PING}]</t>", "ping ping 74"),
        (f"{PING}\n{PING};{PING}", "ping ping ping 101"),
        (f"{PING}}}]}}</t>", "ping 40"),
        (f"{PING} and so on", "ping 33"),
        (f"{PING} {{1}}", "ping 37 malformed"),
        (f'{PING} {{"a": 1}}</t>', "ping 33"),
        (f'{PING} {{"a": 1', "ping 41 truncated"),
        (f"[{PING}, {{}}]</t>", "ping 43 malformed"),
        ('{"name": }</t> x', "malformed 14"),
        ('{"name": } <t>', "malformed 11"),
        ('{"name": } x', "malformed 12"),
        ('{"name": 7}</t>', "malformed 15"),
        ('{"text": "</t>", "x": } </t>', "malformed 28"),
        ('{"text": "cut</t><t>{"name": 1}</t>', "malformed 17"),
        ('{"name": "x</t> and so on', "malformed 15"),
        ('{"name": "x', "truncated 11"),
        ("[0]", "text"),
        ("[]", "text"),
        ("word", "text"),
        ("", "text"),
    ],
)
def test_envelopes_are_read_up_to_their_closing_tag(text: str, read: str) -> None:
    assert words(enveloped(source(text), 0, BLOCK)) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [("", "truncated 0"), ("word", "text"), ('{"name": "x</t> and', "truncated 19"), (PING, "ping 33")],
)
def test_envelopes_of_a_text_that_was_cut_are_whole_or_none(text: str, read: str) -> None:
    assert words(enveloped(source(text, cut=True), 0, BLOCK)) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"a": 1}</t>', "f 12"),
        ('"{\\"a\\": 1}"</t>', "f 16"),
        ("</t>", "f 4"),
        ("null</t>", "f 8"),
        ("[1]</t>", "malformed 7"),
        ("soon</t>", "malformed 8"),
        ('{"a": 1e999}</t>', "malformed 16"),
        ('{"a": 1', "truncated 7"),
    ],
)
def test_arguments_are_an_object_or_nothing(text: str, read: str) -> None:
    assert words(arguments(source(text), 0, "f", BLOCK)) == read


def test_a_call_without_a_name_is_none() -> None:
    assert words(arguments(source("</t>"), 0, "", BLOCK)) == "text"

"""``toolreel normalize``: what replies mean, from a file or stdin."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import COMMAND, Said, assert_mistake, environment, toolreel
from tests.patience import HANG
from tests.playbook import body_of
from toolreel_core._jsontext import Json
from toolreel_core._replies import WARNING_SENTENCES


def normalize(here: Path, *cases: Json, options: tuple[str, ...] = ()) -> Said:
    lines = "".join(f"{json.dumps(case)}\n" for case in cases)
    return toolreel("normalize", *options, cwd=here, stdin=lines.encode())


def told(said: Said) -> list[dict[str, Any]]:
    assert (said.code, said.stderr) == (0, "")
    return [json.loads(line) for line in said.stdout.splitlines()]


def test_lines_come_from_stdin_and_blank_ones_are_skipped(tmp_path: Path) -> None:
    line = json.dumps({"body": body_of("Grüße")}, ensure_ascii=False)
    said = toolreel("normalize", cwd=tmp_path, stdin=f"\ufeff{line}\r\n \n{line}".encode())
    assert [reply["content"] for reply in told(said)] == ["Grüße", "Grüße"]
    assert "Grüße" in said.stdout


def test_tools_are_names_or_definitions(tmp_path: Path) -> None:
    body = body_of(None, ("call_a", "functions.ping", "{}"))
    definition: Json = {"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}}
    lists: list[Json] = [["ping"], [definition], [{"name": "ping"}, "ping"], [], None]
    cases: list[Json] = [{"body": body, "tools": tools} for tools in lists]
    replies = told(normalize(tmp_path, *cases, {"body": body}))
    assert [*replies[0]] == ["calls", "content", "finish", "problem", "warnings", "carry"]
    names = [reply["calls"][0]["name"] for reply in replies]
    assert names == ["ping", "ping", "ping", "functions.ping", "functions.ping", "functions.ping"]


def test_a_streamed_reply_is_put_together_where_the_line_says_that_it_is_one(tmp_path: Path) -> None:
    choice: Json = {"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}
    raw = f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n"
    hole = f'data: {{"cho\n\n{raw}'
    cases: list[Json] = [
        {"raw": raw, "stream": True},
        {"raw": hole, "stream": True},
        {"raw": raw, "stream": False},
        {"raw": json.dumps(body_of("Hi.")), "stream": True},
    ]
    streamed, holed, taken_as_whole, whole = told(normalize(tmp_path, *cases))
    assert streamed == whole
    assert streamed["content"] == "Hi."
    assert {**holed, "warnings": []} == streamed
    assert holed["warnings"] == ["STREAM_FRAME_LOST"]
    assert taken_as_whole["problem"] == "INVALID_BODY"
    assert "a stream of server-sent events" in normalize(tmp_path, cases[2], options=("--explain",)).stdout


def test_explained_every_warning_and_problem_is_in_words(tmp_path: Path) -> None:
    case: Json = {
        "body": body_of(
            "Look: ", ("call_a", " add", "{'a': 1}"), ("call_a", "add", '{"a": b}'), finish="stop"
        ),
        "tools": ["add"],
    }
    said = normalize(tmp_path, case, {"raw": "<html>"}, {"body": {}}, options=("--explain",))
    assert (said.code, said.stderr) == (0, "")
    lines = said.stdout.splitlines()
    assert lines[:2] == ["line 1      finish tool_calls", "content     Look: "]
    assert 'call        add {"a":1}' in lines
    assert any("add ARGUMENTS_INVALID_JSON: The arguments are not JSON" in line for line in lines)
    for code in ("NAME_NORMALIZED", "ARGUMENTS_REPAIRED", "CALL_ID_DUPLICATE", "FINISH_MISMATCH"):
        assert f"warning     {code}: {WARNING_SENTENCES[code]}" in lines
    assert "line 2      finish error" in lines
    assert any(line.startswith("problem     INVALID_BODY: The body is not a JSON object") for line in lines)


GOOD: Json = {"body": {}}


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b"{", ("line 2: not JSON",)),
        (b"[" * 100_000, ("line 2: not JSON", '"raw"')),
        (b"\xff", ("line 2: not UTF-8 at byte 0",)),
        (b'{"raw": "", "stream": "yes"}', ('line 2: /stream: expected boolean, got "yes"',)),
        (b'{"body": {}, "tools": ["no name"]}', ("line 2: tool name 'no name' does not fit",)),
        (b'{"tools": []}', ("line 2", 'expected an object with "body"')),
        (b'{"content": "a", "enable": "some"}', ('line 2: /enable: expected one of "all", "marked"',)),
        (b'{"content": "a", "enable": ["hermes"]}', ("line 2", "did you mean 'hermes_json'?")),
    ],
)
def test_a_bad_line_is_named_and_ends_the_command(
    line: bytes, parts: tuple[str, ...], tmp_path: Path
) -> None:
    said = toolreel("normalize", cwd=tmp_path, stdin=json.dumps(GOOD).encode() + b"\n" + line)
    assert said.code == 2
    assert len(told(Said(0, said.stdout, ""))) == 1
    assert_mistake(Said(2, "", said.stderr), *parts)
    assert len(said.stderr.splitlines()) == 1


def test_settings_are_those_of_the_loop_and_a_mistake_is_told(tmp_path: Path) -> None:
    assert_mistake(toolreel("normalize", "nowhere.jsonl", cwd=tmp_path), "nowhere.jsonl")
    case: Json = {"body": body_of(None, ("call_a", "add", "{a: 1}")), "tools": ["add"]}
    lenient = normalize(tmp_path, case, options=("--set", "argument_repairs=lenient"))
    assert told(lenient)[0]["calls"][0]["arguments"] == {"a": 1}
    option = normalize(tmp_path, GOOD, options=("--set", "temperature=0"))
    assert_mistake(option, "--set temperature: only loop settings affect how a reply is parsed")
    unknown = normalize(tmp_path, GOOD, options=("--set", "argument_repairs=all"))
    assert_mistake(unknown, "argument_repairs: expected one of strict, safe, lenient, got 'all'")


# ``toolreel normalize`` on text with calls in it: JSON lines in and out, or an explanation.


PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


def test_each_line_is_answered_by_one(tmp_path: Path) -> None:
    answers = told(
        normalize(
            tmp_path,
            {"content": f"<think>Hm.</think>So. {PING}", "tools": ["ping"]},
            {"content": "Nothing.", "tools": []},
            {
                "content": "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>",
                "tools": ["add"],
                "schemas": {"add": {"properties": {"a": {"type": "integer"}}}},
                "enable": ["qwen_xml"],
            },
            {"content": PING[:30], "tools": ["ping"], "enable": "all", "finish": "length"},
        )
    )
    first, nothing, typed, cut = answers
    assert first == {
        "calls": [{"id": "call_0", "name": "ping", "arguments": {}, "provenance": "text:hermes_json"}],
        "content": "So.",
        "reasoning": "Hm.",
        "rejected": [],
    }
    assert nothing == {"calls": [], "content": "Nothing.", "reasoning": "", "rejected": []}
    assert [call["arguments"] for call in typed["calls"]] == [{"a": 1}]
    assert (cut["calls"], cut["content"], cut["rejected"]) == ([], PING[:30], ["truncated"])


def test_the_dialects_are_listed(tmp_path: Path) -> None:
    listed = toolreel("normalize", "--dialects", cwd=tmp_path).stdout.splitlines()
    assert (listed[0].split(), listed[-1].split()) == (["hermes_json", "marked"], ["tool_code_fence", "bare"])
    assert "--dialects" in toolreel("normalize", "--help", cwd=tmp_path).stdout


def test_explain_says_what_was_read_where_and_why_not(tmp_path: Path) -> None:
    done = normalize(
        tmp_path,
        {"content": f"Use `x` or <tool_call> {PING}", "tools": ["ping"]},
        {"content": '<tool_call>{"name": }</tool_call> and <function=x', "tools": ["ping"]},
        {"content": "Nothing.", "tools": []},
        {"content": "x" * 300_000, "tools": []},
        {"content": "<|channel|>commentary to=python<|message|>1<|call|>", "tools": []},
        {"content": "<|channel|>final<|message|>Done.<|return|>", "tools": []},
        {"raw": "<html>", "tools": []},
        options=("--explain",),
    )
    assert (done.code, done.stderr) == (0, "")
    explained = done.stdout.splitlines()
    assert explained[:5] == [
        "line 1      1 call",
        '4-7         "`x`"',
        "            code, a comment, reasoning or another quotation; calls in it are ignored",
        "23-79       " + json.dumps(PING)[:57] + "…",
        "            read as ping (hermes_json)",
    ]
    assert "            rejected as malformed: looks like a call, but cannot be read as one" in explained
    assert "            a marker without a call; it is text" in explained
    assert "line 3      0 calls" in explained
    assert "            rejected as too_large: more than 256 KiB of text; it was not searched" in explained
    assert "            message framing; it is not part of the content" in explained
    assert any("rejected as builtin_recipient" in line for line in explained)
    assert "line 7      finish " in done.stdout


def test_lines_are_answered_as_they_come(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "normalize"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        for content in ("One.", "Two."):
            process.stdin.write(json.dumps({"content": content, "tools": []}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["content"] == content
        process.stdin.close()
        assert process.wait(HANG) == 0

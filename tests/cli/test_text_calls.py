"""``toolreel normalize`` on text with calls in it: JSON lines in and out, or an explanation."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import COMMAND, Said, assert_mistake, environment, toolreel
from tests.patience import HANG

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


def lines(*asked: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(each)}\n" for each in asked).encode()


def said(cwd: Path, *asked: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[Said, list[Any]]:
    done = toolreel("normalize", *options, cwd=cwd, stdin=lines(*asked))
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_each_line_is_answered_by_one(tmp_path: Path) -> None:
    done, answers = said(
        tmp_path,
        {"content": f"<think>Hm.</think>So. {PING}", "tools": ["ping"]},
        {"content": "Nothing.", "tools": []},
        {
            "content": "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>",
            "tools": ["add"],
            "schemas": {"add": {"properties": {"a": {"type": "integer"}}}},
            "enable": ["qwen_xml"],
        },
        {"content": "[TOOL_CALLS]ping[CALL_ID]a1B2c3D4e[ARGS]{}", "tools": ["ping"], "enable": "marked"},
        {"content": PING[:30], "tools": ["ping"], "enable": "all", "finish": "length"},
    )
    assert (done.code, done.stderr) == (0, "")
    first, nothing, typed, native, cut = answers
    assert first == {
        "calls": [{"id": "call_0", "name": "ping", "arguments": {}, "provenance": "text:hermes_json"}],
        "content": "So.",
        "reasoning": "Hm.",
        "rejected": [],
    }
    assert nothing == {"calls": [], "content": "Nothing.", "reasoning": "", "rejected": []}
    assert [call["arguments"] for call in typed["calls"]] == [{"a": 1}]
    assert [call["id"] for call in native["calls"]] == ["a1B2c3D4e"]
    assert (cut["calls"], cut["content"], cut["rejected"]) == ([], PING[:30], ["truncated"])


def test_a_tool_may_be_its_whole_definition(tmp_path: Path) -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    add = {"type": "function", "function": {"name": "add", "parameters": parameters}}
    text = "<function=add><parameter=a>1</parameter><parameter=b>2</parameter></function>"
    asked = {"content": text, "tools": ["ping", add]}
    _, (defined, told) = said(tmp_path, asked, {**asked, "schemas": {"add": {"properties": {"a": {}}}}})
    assert [call["arguments"] for call in defined["calls"]] == [{"a": 1, "b": 2}]
    assert [call["arguments"] for call in told["calls"]] == [{"a": 1, "b": "2"}]


def test_a_finish_reason_counts_in_any_providers_words(tmp_path: Path) -> None:
    cut = {"content": "<tool_call>ping", "tools": ["ping"], "finish": "max_tokens"}
    _, answers = said(tmp_path, cut, {**cut, "finish": "end_turn"})
    assert [answer["rejected"] for answer in answers] == [["truncated"], []]


def test_the_dialects_are_listed(tmp_path: Path) -> None:
    listed = toolreel("normalize", "--dialects", cwd=tmp_path).stdout.splitlines()
    assert (listed[0].split(), listed[-1].split()) == (["hermes_json", "marked"], ["tool_code_fence", "bare"])
    assert "--dialects" in toolreel("normalize", "--help", cwd=tmp_path).stdout


def test_bare_dialects_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    bare = {"content": '{"name": "ping", "arguments": {}}', "tools": ["ping"]}
    _, (marked, everything) = said(tmp_path, bare, {**bare, "enable": "all"})
    assert (len(marked["calls"]), len(everything["calls"])) == (0, 1)


def test_explain_says_what_was_read_where_and_why_not(tmp_path: Path) -> None:
    asked = lines(
        {"content": f"Use `x` or <tool_call> {PING}", "tools": ["ping"]},
        {"content": '<tool_call>{"name": }</tool_call> and <function=x', "tools": ["ping"]},
        {"content": "Nothing.", "tools": []},
        {"content": "x" * 300_000, "tools": []},
        {"content": "<|channel|>commentary to=python<|message|>1<|call|>", "tools": []},
        {"content": "<|channel|>final<|message|>Done.<|return|>", "tools": []},
        {"raw": "<html>", "tools": []},
    )
    done = toolreel("normalize", "--explain", cwd=tmp_path, stdin=asked)
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
    assert "            more than 256 KiB of text; it was not searched" in explained
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
            process.stdin.write(lines({"content": content, "tools": []}))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["content"] == content
        process.stdin.close()
        assert process.wait(HANG) == 0


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b"\xff\n", ("line 1", "not UTF-8 at byte 0")),
        (b"{\n", ("line 1", "not JSON")),
        (b'\n["a"]\n', ("line 2", "expected an object")),
        (b'{"content": "a", "tool": []}\n', ("line 1", "did you mean 'tools'?")),
        (b'{"tools": []}\n', ("line 1", 'expected an object with "body"')),
        (b'{"content": "a"}\n', ("line 1", '"tools": expected')),
        (b'{"content": "a", "tools": [1]}\n', ("line 1", '"tools": expected')),
        (b'{"content": "a", "tools": [{"type": "function"}]}\n', ("line 1", '"tools": expected')),
        (b'{"content": "a", "tools": [{"function": 1}]}\n', ("line 1", '"tools": expected')),
        (b'{"content": "a", "tools": [], "schemas": {"a": 1}}\n', ("line 1", '"schemas": expected')),
        (b'{"content": "a", "tools": [], "finish": 1}\n', ("line 1", '"finish": expected')),
        (b'{"content": "a", "tools": [], "schemas": 1}\n', ("line 1", '"schemas": expected')),
        (b'{"content": "a", "tools": [], "enable": "some"}\n', ("line 1", '"enable": expected')),
        (b'{"content": "a", "tools": [], "enable": ["hermes"]}\n', ("line 1", "did you mean 'hermes_json'?")),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_what_to_do(
    line: bytes, parts: tuple[str, ...], tmp_path: Path
) -> None:
    assert_mistake(toolreel("normalize", cwd=tmp_path, stdin=line), *parts)

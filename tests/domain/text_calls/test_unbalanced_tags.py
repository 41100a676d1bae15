from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import ask, in_words

WRITE = "<function=write_file><parameter=path>a</parameter><parameter=text>{}</parameter></function>"
PAIRS = (
    "<tool_call>write_file<arg_key>path</arg_key><arg_value>a</arg_value>"
    "<arg_key>text</arg_key><arg_value>{}</arg_value></tool_call>"
)


@pytest.mark.parametrize(
    "text",
    [
        WRITE.format("End with </parameter> and go on."),
        WRITE.format("End with </parameter></function> and go on."),
        WRITE.format("Example: <function=ping><parameter=x>1</parameter></function> so."),
        WRITE.format("<parameter=text>twice"),
        WRITE.format("b</parameter>"),
        WRITE.format("b</parameter>\n"),
        WRITE.format("b</paramter>").replace("</paramter></parameter>", "</paramter>"),
        WRITE.format("b").replace("</parameter><parameter", "</paramter><parameter"),
        WRITE.format("b").replace("a</parameter>", "a</parameter> and so on"),
        WRITE.format("b").replace("</parameter></function>", "</parameter></functon></tool_call>"),
        WRITE.format("<parameter=text>twice").replace("</function>", ""),
        "<function=write_file><parameter=path>a<parameter=text>b</parameter><parameter=path>c</parameter>"
        "</function>",
        PAIRS.format("End with </arg_value> and go on."),
        PAIRS.format("b</arg_value>"),
        PAIRS.format("<arg_value>twice"),
        PAIRS.format("b").replace("<arg_value>b", "<arg_vlue>b"),
        PAIRS.format("b").replace("</arg_key><arg_value>a", "</arg_ky><arg_value>a"),
        "<tool_call>search_docs<arg_key>query</arg_key><arg_value>a</tool_call> and b</tool_call>",
        "<tool_call>write_file<arg_key>path</arg_key><arg_value>a<arg_key>text</arg_key><arg_value>b"
        "</arg_value><arg_key>path</arg_key><arg_value>c</arg_value></tool_call>",
        '<|open|>call tool="run_code"<|sep|><|open|>argument key="code"<|sep|>a<|close|>b'
        "<|close|>argument<|sep|><|close|>call<|sep|>",
        '<|open|>call tool="run_code"<|sep|><|open|>argument key="code"<|sep|>a<|close|>argument<|sep|> b'
        "<|close|>argument<|sep|><|close|>call<|sep|>",
        "<start_function_call>call:stock_lookup{part:ro<end_function_call>d}<end_function_call>",
        '<tool_call>{"name":"run_code","arguments":{"code":""}}\n<code>a</code> b</code></tool_call>',
        '<tool_call>{"name":"run_code","arguments":{"code":""}}\n<code><code>a</code></tool_call>',
        '<tool_call>{"name":"run_code","arguments":{"code":""}}\n<cde>a</code></tool_call>',
    ],
)
def test_a_call_with_text_left_inside_is_malformed(text: str) -> None:
    found = ask(text, "marked")
    assert (found.calls, found.rejected) == ((), ("malformed",))


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (WRITE, "</parameter></function>"),
        (f"<tool_call>{WRITE}", "</parameter></function>"),
        (PAIRS, "</arg_value></tool_call>"),
        (
            '<invoke name="write_file"><parameter name="path">a</parameter>'
            '<parameter name="text">{}</parameter>',
            "</parameter>",
        ),
        (
            '<｜DSML｜invoke name="write_file">'
            '<｜DSML｜parameter name="path" string="true">a</｜DSML｜parameter>'
            '<｜DSML｜parameter name="text" string="true">{}</｜DSML｜parameter>',
            "</｜DSML｜parameter>",
        ),
        (
            '<|open|>call tool="write_file"<|sep|><|open|>argument key="path"<|sep|>a<|close|>argument<|sep|>'
            '<|open|>argument key="text"<|sep|>{}<|close|>argument<|sep|><|close|>call<|sep|>',
            "<|close|>argument<|sep|><|close|>call<|sep|>",
        ),
    ],
)
def test_text_behind_a_value_of_an_unclosed_call_makes_it_malformed(text: str, end: str) -> None:
    closer = end.removesuffix("</function>").removesuffix("</tool_call>").removesuffix("<|close|>call<|sep|>")
    unclosed = text.removesuffix(end)
    found = ask(unclosed.format(f"close with {closer} in docs"), "marked")
    assert (found.calls, found.rejected) == ((), ("malformed",))
    sibling = ask(unclosed.format(f"close with {closer} in docs\n{text.format('b')}"), "marked")
    assert (len(sibling.calls), sibling.rejected) == (1, ("malformed",))
    assert len(ask(unclosed.format(f"b{closer}"), "marked").calls) == 1


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (WRITE.format("b") + "</function>", 'write_file{"path":"a","text":"b"}'),
        (WRITE.format("use <parameter=x> here"), 'write_file{"path":"a","text":"use <parameter=x> here"}'),
        (WRITE.format("b") + " It ends with `</function>`.", 'write_file{"path":"a","text":"b"}'),
        (
            "<function=plan_route><parameter=origin>x</parameter>"
            '<parameter=stops>["</parameter>"]</parameter></function>',
            'plan_route{"origin":"x","stops":["</parameter>"]}',
        ),
        (
            "<tool_call>plan_route<arg_key>origin</arg_key><arg_value>x</arg_value><arg_key>options</arg_key>"
            '<arg_value>{"a": "</arg_value>"}</arg_value></tool_call>',
            'plan_route{"origin":"x","options":{"a":"</arg_value>"}}',
        ),
        (
            "<function=run_code><parameter=code>\n```\na\n```\n</function>",
            'run_code{"code":"```\\na\\n```"}',
        ),
        (
            "<tool_call>search_docs\\n<arg_key>query</arg_key>\\n<arg_value>a\\n<arg_key>top_k</arg_key>\\n"
            "<arg_value>3</arg_value>\\n</tool_call>",
            'search_docs{"query":"a","top_k":3}',
        ),
    ],
)
def test_it_runs_where_one_reading_is_certain(text: str, calls: str) -> None:
    assert in_words(ask(text, "marked"), text)[0] == calls


@pytest.mark.parametrize("text", ["<part><part>x</part>", "<part>x</part> and </part>"])
def test_a_tag_of_a_parameter_in_its_value_makes_no_call(text: str) -> None:
    assert ask(f"<stock_lookup>{text}</stock_lookup>").calls == ()


def test_text_between_elements_is_left_inside_too() -> None:
    tag = "]<]minimax[>["
    text = f'{tag}<invoke name="search_docs">{tag}<query>a{tag}</query> b{tag}</invoke>'
    assert ask(text).calls == ()


@pytest.mark.parametrize(
    "header", ["<|channel|>commentary<|message|>", "<|start|>assistant<|channel|>commentary<|message|>"]
)
def test_arguments_for_no_tool_are_told(header: str) -> None:
    found = ask(f'{header}{{"part": "x"}}<|end|>', "harmony")
    assert (found.calls, found.rejected) == ((), ("malformed",))
    assert ask(f'{header}{{"part": "x"}}', "harmony").rejected == ("malformed",)

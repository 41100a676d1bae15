from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import SCHEMAS
from toolreel_core._text_calls import has_skeleton, looks_like_a_call, name_in


@pytest.mark.parametrize(
    "text",
    [
        '{tool => "stock_lookup", args => {\n--part "x"\n}}',
        'Now: [{"name": "stock_lookup", "arguments": {"part": "x"}}]',
        'leton\n{"name": "stock_lookup", "arguments": {"part": "x"}}\nso',
        'I call {"parameters": {"part": "x"}, "tool": "stock_lookup"}.',
        'I call {"name": "stock_lookup", "part": "x"}.',
        '<tool name="stock_lookup">{"part": "x"}</tool>',
        'invoke name="stock_lookup">\nparameter name="part">Parisparameter>\ninvoke>',
        'stock_lookup{part:<|"|>Paris<|"|>}',
        'stock_lookup:0<|tool_call_argument_begin|>{"part": "x"}',
        'So:\nstock_lookup(part="x", limit=2)\nsearch_docs(query="y")',
        'So: <stock_lookup part="x" />',
        "So: <ping/>",
        "So: <run_code>ls</run_code>",
        "ls</run_code>",
        "So: stock_lookup with {part: x}",
        'The call would be {"name": "stock_lookup", "arguments": {"part": "x"}}\nI will wait.',
        'I call it now: {"name": "stock_lookup", "arguments": {"part": "x"}} and I wait.',
    ],
)
def test_a_tool_beside_its_arguments_looks_like_a_call(text: str) -> None:
    assert has_skeleton(text, SCHEMAS, SCHEMAS)
    assert looks_like_a_call(text, SCHEMAS, SCHEMAS)


def test_an_element_of_html_does_only_with_a_parameter() -> None:
    schemas = {"form": SCHEMAS["stock_lookup"]}
    assert has_skeleton("<form><part>x</part></form>", ["form"], schemas)
    assert not has_skeleton("<form><b>x</b></form>", ["form"], schemas)


@pytest.mark.parametrize(
    "text",
    [
        "Use stock_lookup (part = x), or search_docs.",
        'The total is {"stock_lookup": {"hits": 3}}.',
        'The call would be {"name": "stock_lookup", "arguments": {"part": "x"}}. I will wait.',
        '{"name": "stock_lookup", "hits": 3, "seen": {"part": 1}}',
        "Say <run_code> and then stop.",
        '<input name="stock_lookup" value="1">',
        "my_stock_lookup{part: x}",
        '`stock_lookup{"part": "x"}`',
        "The window is open now.</parameter></function></tool_call>\n",
    ],
)
def test_prose_and_answers_in_json_do_not(text: str) -> None:
    assert not looks_like_a_call(text, SCHEMAS, SCHEMAS)


def test_without_tools_there_is_none() -> None:
    assert not has_skeleton("ping{}", [], {})


def test_many_names_take_no_longer_than_their_text() -> None:
    """Minutes of backtracking would be noticed here."""
    for part in ("stock_lookup ", "<stock_lookup>", "stock_lookup(", 'name="stock_lookup" ', "</a>"):
        has_skeleton(part * 5_000, SCHEMAS, SCHEMAS)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('<tool_call>{"name": "ping", "arguments": {', "ping"),
        ("<function=sum>", "sum"),
        ('<invoke name="a.b">', "a.b"),
        ("<|channel|>commentary to=browser.search <|message|>", "browser.search"),
        ("<tool_call>sum<arg_key>", "sum"),
        ("<tool_call>{]}", "unknown"),
    ],
)
def test_an_unread_call_is_for_the_tool_that_it_names(text: str, name: str) -> None:
    assert name_in(text, ["ping"]) == name


def test_without_tools_only_the_text_names_one() -> None:
    assert name_in("<function=ping>", []) == "ping"

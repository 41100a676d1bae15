from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import SAME, ask, in_words
from toolreel_core._jsontext import canonical
from toolreel_core._text_calls import was_said

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
QUOTATIONS = [
    "```\n{}\n```",
    "```xml\n{}\n```\n",
    "````\n```\n{}\n```\n````",
    "~~~\n{}\n~~~",
    "   ```\n{}",
    "- ```\n  {}\n  ```",
    "1. ```\n{}\n```",
    "> ```\n> {}\n> ```",
    "Send `{}` to call.",
    "Send ``{}`` to call.",
    "Send ```{}``` to call.",
    "```{}``` is a call.",
    "<!-- {} -->",
    "<!-- {}",
    "<tool_response>{}</tool_response>",
    "<function_results>{}",
    "<think>{}</think>",
    "First. <THINK>{}</think> Then.",
    "> {}",
    "Say:\n> {}",
    'Write "{}".',
    "Write “{}” to call.",
    "Write '{}' to call.",
    "See <code>{}</code>.",
    "<pre>\n{}",
    "<q><q>a</q>{}</q>",
    "<![CDATA[{}]]>",
    "\\begin{verbatim}\n{}\n\\end{verbatim}",
    "#+begin_src xml\n{}\n#+end_src",
    "[code]{}[/code]",
    "<!-- opens:\n```\n<!-- a -->\n{}\n```",
    "Prose names <!-- too:\n```\n<!-- a -->\n{}\n```",
    "Results stand in <tool_response>:\n```\n<tool_response>a</tool_response>\n{}\n```",
    "Thoughts stand in <think>:\n```\na</think>\n{}\n```",
    "<think> is first:\n~~~\n<think>a</think>\n{}\n~~~",
    "The tag <tool_call>{name} opens:\n```\n{}\n```",
    "The tags <function=write_file><parameter=path> open:\n```\n</parameter></function>\n{}\n```",
    "```md\n```xml\n<a/>\n```\n{}\n```",
    "Example:\n{}",
    "Examples:\n{}\n{}",
]


@pytest.mark.parametrize("quotation", QUOTATIONS)
def test_what_is_quoted_is_no_call(quotation: str) -> None:
    text = quotation.replace("{}", PING)
    for finish in () if text.startswith("<pre>\n") else ("stop",):
        assert ask(text, finish=finish).calls == ()
    assert ask(text, finish="length").calls == ()


@pytest.mark.parametrize(
    "before",
    [
        "```\ncode\n```\n",
        "~~~\ncode\n~~~\n",
        "Some `code` and ",
        "```one line``` and ",
        "<!-- aside -->",
        "First. <think>so</THINK> ",
        "A stray ` or <think> ",
        "A stray `\n\nand another ` ",
        "So ~~~ in the middle ~~~ of a line: ",
        "> a line\n",
        'He said "so" and ',
        "<code>code</code> and ",
        "The tag <pre> and <!-- and \\begin{verbatim} and ",
        "<pre>code</pre>\n\n",
        "```md\n```xml\n```\nOne is not closed.\n\n",
        "\\<tool_call>{name}\n",
        "First an example: none.\n",
    ],
)
def test_what_follows_a_quotation_is_a_call(before: str) -> None:
    assert in_words(ask(before + PING), "") == ("ping{}", before.strip(), "")


@pytest.mark.parametrize("before", ["Send `", "Send `` and ` ", "A <think> ", 'Say "'])
def test_a_quotation_whose_end_was_cut_may_be_one(before: str) -> None:
    assert ask(before + PING, finish="length").calls == ()


def test_inline_code_ends_with_its_paragraph_whether_or_not_the_text_was_cut() -> None:
    assert in_words(ask(f"A ` stray.\n\n{PING}", finish="length"), "")[0] == "ping{}"


def test_a_mark_of_a_quotation_within_a_call_is_data() -> None:
    payload = '{"name": "write_file", "arguments": {"path": "`", "text": "```\\n<!-- <think>"}}'
    text = f"<tool_call>{payload}</tool_call>"
    calls, content, _ = in_words(ask(text + PING), text)
    assert (calls, content) == ('write_file{"path":"`","text":"```\\n<!-- <think>"} ping{}', "")


def test_a_call_in_quotation_marks_is_told_as_a_quotation() -> None:
    text = f"It writes «{PING}» then."
    assert in_words(ask(text), text) == ("", SAME, "quotation")


def test_what_was_said_before_is_known_again_inside_of_json_too() -> None:
    call = '<tool_call>{"name": "ping"}</tool_call>'
    assert was_said(call, ["Hi.", f"They write {call} there."])
    assert was_said(call, [canonical({"page": f"They write\n{call}"})])
    assert not was_said(call, ["<tool_call>", canonical({"page": call[:-1]})])
    assert not was_said(call, [])


class Indexed(tuple[str, ...]):
    """Texts of before, of which the first is never looked at."""

    __slots__ = ()

    def among(self, *words: str) -> tuple[str, ...]:
        assert words == ('say "a"', r"say \"a\"")
        return self[1:]


def test_texts_that_know_where_to_look_are_asked() -> None:
    assert was_said('say "a"', Indexed(("Hi.", r'["say \"a\""]')))
    assert not was_said('say "a"', Indexed(('say "a"', "Hi.")))


@pytest.mark.parametrize(
    "text",
    [
        f"<!-- is not closed\n{PING}",
        f"<tool_response> is not closed\n{PING}",
        f"```\nis not closed\n{PING}",
        f"```md\n```xml\n```\n{PING}\n```",
        f"A <think> is named. {PING} And\n```\n</think>\n```",
    ],
)
def test_a_call_in_a_quotation_without_a_certain_end_is_told(text: str) -> None:
    assert in_words(ask(text), text) == ("", SAME, "quotation")


def test_more_elements_than_are_counted_end_at_the_first_closer() -> None:
    assert ask(f"{'<q>' * 60}</q>{PING}").calls
    assert not ask(f"{'<q>' * 60}</q>{PING}", finish="length").calls


def test_more_closers_in_code_than_are_passed_over_quote_only_the_first() -> None:
    text = f"<think> {'`</think>` ' * 30}{PING}"
    assert in_words(ask(text), "")[0] == "ping{}"


FENCED = '```json\n{"name": "ping", "arguments": {}}\n```'


@pytest.mark.parametrize(
    ("lead", "calls", "rejected"),
    [
        ("I'll call the tool:", "ping{}", ""),
        ("Sure.", "ping{}", ""),
        ("Example:", "", ""),
        ("Rejected request:", "", ""),
        ("The request:", "", "quotation"),
    ],
)
def test_a_fence_is_a_call_if_the_words_before_announce_it(lead: str, calls: str, rejected: str) -> None:
    text = f"{lead}\n{FENCED}"
    found = ask(text)
    assert (in_words(found, text)[0], " ".join(found.rejected)) == (calls, rejected)
    assert found.content == (lead if calls else text)


def test_what_is_said_in_a_section_is_no_lead_in() -> None:
    assert ask(">>>all\nExample:\n>>>ping\n{}").calls


def test_an_escaped_opener_of_debris_is_prose() -> None:
    text = '\\<tool_call>{"name": "ping", "arguments": {oops\n'
    assert in_words(ask(text), text) == ("", SAME, "")

"""No quoted call runs, however it is quoted, and whatever the prose before it names.

The calls are the worked cases of all dialects. The other direction holds too: after prose that only names the
opener of a thought, a comment or a result, an unquoted call is read or told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.text_calls.asking import SCHEMAS
from tests.samples import corpus_rows
from toolreel_core._jsontext import Json, as_tree
from toolreel_core._replies import normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._text_calls import DIALECTS, MARKED, text_calls
from toolreel_core._tools import ToolDefinition, ToolSurface

TOOLS = ToolSurface(
    tuple(ToolDefinition.of(name, parameters=as_tree(schema)) for name, schema in SCHEMAS.items())
)
TICKS = "`" * 7
"""A fence that no worked case closes."""


@dataclass(frozen=True, slots=True)
class Quoting:
    """A template around a call, ``CALL``."""

    template: str
    closers: Sequence[str] = ()
    """A call with one of these in it ends the quotation, and is not tried."""
    one_line: bool = False
    """Whether the call has to be in one line."""
    indent: str = ""
    """What each line of the call begins with."""

    def around(self, call: str) -> str | None:
        """The quoted call; ``None`` if it cannot be quoted so."""
        call = call.strip()
        if any(closer in call.lower() for closer in self.closers) or (self.one_line and "\n" in call):
            return None
        lines = f"\n{self.indent}".join(call.split("\n"))
        return self.template.replace("CALL", lines)


QUOTINGS = tuple(Quoting(**row) for row in corpus_rows("quotings"))

NAMED = (
    ("<think>", "<think>so</think>"),
    ("<scratch_pad>", "<scratch_pad>so</scratch_pad>"),
    ("[THINK]", "[THINK]so[/THINK]"),
    ("<|START_THINKING|>", "so<|END_THINKING|>"),
    ("<think>", "so</think>"),
    ("<!--", "<!-- so -->"),
    ("<tool_response>", "<tool_response>so</tool_response>"),
    ("<function_results>", "so</function_results>"),
    ("<pre>", "<pre>so</pre>"),
    ("<code>", "so</code>"),
    ("\\begin{verbatim}", "\\end{verbatim}"),
)
"""What prose names, and what is in the fence before the call."""
BEFORE = (
    "{} opens one:\n\n",
    "The tag is {}. Like so:\n",
    "Text.\n\n{}\n\nis it:\n",
    "({}) and `code`\n\n",
)
FENCES = ("~~~~~", TICKS)


def _cases() -> list[str]:
    texts: list[str] = []
    for row in corpus_rows("dialects/*"):
        if row["calls"] and row["finish"] == "stop":
            texts.append(row["text"])
    for row in corpus_rows("text-calls"):
        if row["expect"]["calls"] and row["finish"] == "stop" and row["tier"] == "marked":
            texts.append(row["content"])
    return [text for text in texts if _is_one_call(text)]


def _is_one_call(text: str) -> bool:
    """Whether a text is marked calls from end to end, with no debris and no quotation of its own.

    A call without its opener is one only at the head of a message; debris and comments have no end.
    """
    found = text_calls(text, tools=SCHEMAS, dialects=MARKED, finish="stop", schemas=SCHEMAS)
    spans = [span for span in found.spans if text[span.start : span.end].strip()]
    return (
        bool(found.calls)
        and not (found.content or found.reasoning or found.rejected)
        and all(span.kind in {"call", "wrapper"} for span in spans)
        and not text.startswith(("{", "\u010a", "\ufeff"))
        and "```" not in text
        and "} #" not in text
    )


CASES = _cases()


def runs(text: str, finish: str = "stop") -> list[str]:
    found = text_calls(text, tools=SCHEMAS, dialects=DIALECTS, finish=finish, schemas=SCHEMAS)
    return [call.arguments for call in found.calls]


def test_there_are_worked_cases_of_many_dialects() -> None:
    assert len(CASES) > 200


@given(
    st.sampled_from(CASES), st.sampled_from(QUOTINGS), st.sampled_from(["", "Hi.\n\n", "I <think> so.\n\n"])
)
def test_a_quoted_call_does_not_run(call: str, quoting: Quoting, before: str) -> None:
    text = quoting.around(call)
    if text is not None:
        assert runs(before + text) == [], before + text


@given(st.sampled_from(CASES), st.sampled_from(NAMED), st.sampled_from(BEFORE), st.sampled_from(FENCES))
def test_a_fenced_call_does_not_run_after_prose_that_names_a_tag(
    call: str, named: tuple[str, str], before: str, fence: str
) -> None:
    opener, inside = named
    text = f"{before.replace('{}', opener)}{fence}xml\n{inside}\n{call.strip()}\n{fence}\nDone."
    if fence not in call:
        assert runs(text) == [], text
        assert runs(text[: text.rindex(fence)], "length") == [], text


@given(st.sampled_from(CASES), st.sampled_from(NAMED), st.sampled_from(BEFORE))
def test_a_call_after_prose_that_names_a_tag_is_read_or_told(
    call: str, named: tuple[str, str], before: str
) -> None:
    text = before.replace("{}", named[0]).replace("Like so:", "So.") + call
    body: Json = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    reply = normalize_reply(body, tools=TOOLS, config=LoopConfig(text_dialects=DIALECTS))
    assert reply.calls or reply.warnings, text


@pytest.mark.parametrize("quoting", QUOTINGS, ids=lambda quoting: quoting.template[:30])
def test_what_follows_a_quotation_is_read(quoting: Quoting) -> None:
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    if quoting.template.startswith(("Here", "Rejected")):
        pytest.skip("an example quotes the calls next to it too")
    assert runs(f"{quoting.around(call)}\n\nNow for real.\n\n{call}") == ["{}"]

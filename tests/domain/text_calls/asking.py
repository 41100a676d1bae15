"""Reading texts with one dialect, or with all, for tools that take arguments of every kind."""

from __future__ import annotations

from toolreel_core._jsontext import Json
from toolreel_core._text_calls import DIALECTS, MARKED, TextCalls, text_calls

SAME = "="
"""Stands for: the content is the text, as it came."""


def _takes(required: str, **types: Json) -> Json:
    properties: dict[str, Json] = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": required.split()}


SCHEMAS: dict[str, Json] = {
    "ping": _takes(""),
    "stock_lookup": _takes("part", part="string", depot="string", limit="integer"),
    "reserve_part": _takes("part qty", part="string", qty="integer", urgent="boolean"),
    "write_file": _takes("path text", path="string", text="string"),
    "send_message": _takes("to text", to="string", text="string"),
    "run_query": _takes("sql", sql="string", timeout_s="number", dry_run="boolean"),
    "set_flag": _takes("flag value", flag="string", value=["boolean", "null"]),
    "plan_route": _takes("origin", origin="string", stops="array", options="object"),
    "search_docs": _takes("query", query="string", top_k="integer"),
    "run_code": _takes("code", code="string"),
}


def ask(text: str, enabled: str = "all", finish: str = "stop") -> TextCalls:
    """Look for calls in a text.

    :param enabled: names of dialects between commas, ``marked`` or ``all``
    """
    sets = {"all": DIALECTS, "marked": MARKED}
    dialects = sets.get(enabled) or enabled.split(",")
    return text_calls(text, tools=SCHEMAS, dialects=dialects, finish=finish, schemas=SCHEMAS)


def in_words(found: TextCalls, text: str) -> tuple[str, str, str]:
    """Calls, content and rejections, as the rows of the tests have them."""
    calls = " ".join(f"{call.id}{'=' if call.id else ''}{call.name}{call.arguments}" for call in found.calls)
    return calls, SAME if found.content == text else found.content, " ".join(found.rejected)

"""The tables of docs/wire-forms.md, trying each field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolreel_core._client_requests import NAMES, WHAT_TO_DO, ClientRequest, Loss, client_request
from toolreel_core._jsontext import canonical
from toolreel_core._proxy import Profile, build_upstream_request
from toolreel_core._settings import WireForm

_FORMS: tuple[WireForm, ...] = ("chat_completions", "responses", "messages")
_USER: dict[str, Any] = {"role": "user", "content": "Hi."}
_FIELDS = Path(__file__).resolve().parents[1] / "corpora" / "form-fields.jsonl"
"""The fields of each form, with a body that has them."""


def tables() -> str:
    """What becomes of each field in the other forms, and what the codes say."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for form in _FORMS:
        others: list[WireForm] = [other for other in _FORMS if other != form]
        heads = " | ".join(f"to {NAMES[other]}" for other in others)
        yield f"| from {NAMES[form]} | {heads} |\n|---|---|---|"
        for row in map(json.loads, _FIELDS.read_text("utf-8").splitlines()):
            if row["form"] == form:
                cells = " | ".join(_outcome(form, other, row["body"]) for other in others)
                yield f"| {row['fields']} | {cells} |"
        yield ""
    yield "| code | what it says |\n|---|---|"
    for code, words in WHAT_TO_DO.items():
        yield f"| `{code}` | {words} |"


def _outcome(form: WireForm, upstream: WireForm, given: Mapping[str, Any]) -> str:
    least: dict[str, Any] = {"input": "Hi."} if form == "responses" else {"messages": [_USER]}
    request = client_request(canonical({"model": "m", **least, **given}), form)
    if not isinstance(request, ClientRequest):
        raise TypeError(request.message)
    out = build_upstream_request(request, Profile.of(settings={"wire_form": upstream}))
    if isinstance(out, Loss):
        return f"`{out.code}`"
    return "left out" if out.repairs else "yes"

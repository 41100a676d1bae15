"""Write the tables of docs/wire-forms.md, trying each field: ``python -m tests.docs.forms_table``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from toolreel_core._client_requests import NAMES, WHAT_TO_DO, ClientRequest, Loss, client_request
from toolreel_core._jsontext import canonical
from toolreel_core._proxy import Profile, outbound
from toolreel_core._settings import WireForm

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "wire-forms.md"
_BEGIN, _END = "<!-- fields -->", "<!-- /fields -->"
_FORMS: Final[tuple[WireForm, ...]] = ("chat_completions", "responses", "messages")
_USER: Final[dict[str, Any]] = {"role": "user", "content": "Hi."}
_FIELDS: Final = PAGE.parents[1] / "tests" / "corpora" / "form-fields.jsonl"
"""The fields of each form, with a body that has them."""


def page() -> str:
    """The text of the page with the table."""
    text = PAGE.read_text("utf-8")
    before, after = text.partition(_BEGIN)[0], text.partition(_END)[2]
    return f"{before}{_BEGIN}\n{''.join(_tables())}{_END}{after}"


def _tables() -> Iterator[str]:
    for form in _FORMS:
        others: list[WireForm] = [other for other in _FORMS if other != form]
        heads = " | ".join(f"to {NAMES[other]}" for other in others)
        yield f"| from {NAMES[form]} | {heads} |\n|---|---|---|\n"
        for row in map(json.loads, _FIELDS.read_text("utf-8").splitlines()):
            if row["form"] == form:
                cells = " | ".join(_outcome(form, other, row["body"]) for other in others)
                yield f"| {row['fields']} | {cells} |\n"
        yield "\n"
    yield "| code | what it says |\n|---|---|\n"
    for code, words in WHAT_TO_DO.items():
        yield f"| `{code}` | {words} |\n"


def _outcome(form: WireForm, upstream: WireForm, given: Mapping[str, Any]) -> str:
    least: dict[str, Any] = {"input": "Hi."} if form == "responses" else {"messages": [_USER]}
    request = client_request(canonical({"model": "m", **least, **given}), form)
    if not isinstance(request, ClientRequest):
        raise TypeError(request.message)
    out = outbound(request, Profile.of(settings={"wire_form": upstream}))
    if isinstance(out, Loss):
        return f"`{out.code}`"
    return "left out" if out.repairs else "yes"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

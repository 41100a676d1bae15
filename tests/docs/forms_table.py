"""Write the tables of docs/wire-forms.md, trying each field: ``python -m tests.docs.forms_table``."""

from __future__ import annotations

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
_SCHEMA: Final[dict[str, Any]] = {"type": "object"}
_FUNCTION: Final[dict[str, Any]] = {"type": "function", "function": {"name": "f", "parameters": _SCHEMA}}
_USER: Final[dict[str, Any]] = {"role": "user", "content": "Hi."}
_PNG: Final = "data:image/png;base64,AAAA"


def _heard(**part: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"role": "user", "content": [part]}


_FIELDS: Final[Mapping[WireForm, Mapping[str, Mapping[str, Any]]]] = {
    "chat_completions": {
        "`messages`, `tools`, `stream`": {"messages": [_USER], "tools": [_FUNCTION], "stream": True},
        "`tool_choice`": {"tools": [_FUNCTION], "tool_choice": "required"},
        "`parallel_tool_calls`": {"tools": [_FUNCTION], "parallel_tool_calls": False},
        "images, files": {
            "messages": [_heard(type="image_url", image_url={"url": _PNG})],
        },
        "`max_tokens`, `temperature`, `top_p`, `user`": {"max_tokens": 9, "temperature": 0.5, "user": "u"},
        "`response_format`": {
            "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": _SCHEMA}}
        },
        "`reasoning_effort`": {"reasoning_effort": "low"},
        "`verbosity`": {"verbosity": "low"},
        "`stop`": {"stop": ["END"]},
        "`seed`, `prediction`": {"seed": 4},
        "`store`, `metadata`, `service_tier`, `prompt_cache_key`, `safety_identifier`": {"store": True},
        "`n` above 1": {"n": 2},
        "`logprobs`, `top_logprobs`": {"logprobs": True},
        "`frequency_penalty`, `presence_penalty`, `logit_bias`": {"frequency_penalty": 1},
        "`modalities`, `audio`, sound": {"modalities": ["audio"]},
        "files by id": {"messages": [_heard(type="file", file={"file_id": "f"})]},
        "`web_search_options`": {"web_search_options": {"x": 1}},
        "others": {"made_up": 1},
    },
    "responses": {
        "`input`, `instructions`, functions, `stream`": {"instructions": "S", "stream": True},
        "`tool_choice`, `parallel_tool_calls`": {
            "tools": [{"type": "function", "name": "f"}],
            "tool_choice": "required",
        },
        "images, files": {"input": [_heard(type="input_image", image_url=_PNG)]},
        "`max_output_tokens`, `temperature`, `top_p`, `user`": {"max_output_tokens": 9},
        "`text.format`, `reasoning.effort`": {"reasoning": {"effort": "low"}},
        "`text.verbosity`": {"text": {"verbosity": "low"}},
        "reasoning with its text": {
            "input": [
                _USER,
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"role": "assistant", "content": "Hi."},
            ]
        },
        "reasoning with `encrypted_content`": {
            "input": [_USER, {"type": "reasoning", "summary": [], "encrypted_content": "x"}]
        },
        "`include: reasoning.encrypted_content`": {"include": ["reasoning.encrypted_content"]},
        "other `include`": {"include": ["x"]},
        "`reasoning.summary`, `truncation`, `max_tool_calls`": {"truncation": "auto"},
        "`store`, `metadata`, `service_tier`, `prompt_cache_key`, `safety_identifier`": {"store": True},
        "`previous_response_id`, `conversation`, `item_reference`": {"previous_response_id": "r"},
        "`prompt`": {"prompt": {"id": "p"}},
        "`background`": {"background": True},
        "`top_logprobs`": {"top_logprobs": 2},
        "built-in tools and their items": {"tools": [{"type": "web_search"}]},
        "custom tools and their items": {"tools": [{"type": "custom", "name": "p"}]},
        "files by id": {"input": [_heard(type="input_file", file_id="f")]},
        "others": {"made_up": 1},
    },
    "messages": {
        "`messages`, `system`, tools with a schema, `stream`": {"system": "S", "stream": True},
        "`tool_choice`": {"tools": [{"name": "f"}], "tool_choice": {"type": "any"}},
        "images, documents": {
            "messages": [
                _heard(type="image", source={"type": "base64", "media_type": "image/png", "data": "AAAA"})
            ]
        },
        "`max_tokens`, `temperature`, `top_p`, `metadata.user_id`": {"temperature": 0.5},
        "`stop_sequences`": {"stop_sequences": ["END"]},
        "`top_k`": {"top_k": 4},
        "`output_config`": {"output_config": {"effort": "low"}},
        "`thinking`": {"thinking": {"type": "adaptive"}},
        "thinking of earlier turns": {
            "messages": [
                _USER,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                        {"type": "text", "text": "Ho."},
                    ],
                },
            ]
        },
        "`redacted_thinking`": {
            "messages": [
                _USER,
                {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
            ]
        },
        "`cache_control`": {"cache_control": {"type": "ephemeral"}},
        "`context_management`, `service_tier`": {"service_tier": "auto"},
        "`is_error` of a result": {
            "messages": [
                _USER,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
                _heard(type="tool_result", tool_use_id="t", content="No.", is_error=True),
            ]
        },
        "`citations`": {
            "messages": [
                _heard(
                    type="document", source={"type": "url", "url": "https://a.b"}, citations={"enabled": True}
                )
            ]
        },
        "tools of the server, `mcp_servers`, `container`": {"container": "c"},
        "files by id": {"messages": [_heard(type="image", source={"type": "file", "file_id": "f"})]},
        "others": {"made_up": 1},
    },
}


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
        for name, given in _FIELDS[form].items():
            cells = " | ".join(_outcome(form, other, given) for other in others)
            yield f"| {name} | {cells} |\n"
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

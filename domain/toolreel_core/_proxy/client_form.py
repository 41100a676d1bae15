"""Errors in the form of a client, and what its form says of the shape of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolreel_core._client_requests import Loss
from toolreel_core._jsontext import Json, Tree
from toolreel_core._settings import WireForm

_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""What Anthropic calls errors (https://docs.anthropic.com/en/api/errors)."""


def error_in(form: WireForm, status: int, error: Tree) -> Tree:
    """The body of an error.

    >>> error_in("messages", 404, {"message": "No.", "code": "gone"})["error"]
    {'message': 'No.', 'code': 'gone', 'type': 'not_found_error'}

    :param error: in OpenAI's form
    """
    if form != "messages":
        return {"error": error}
    return {"type": "error", "error": {**error, "type": _TYPES.get(status, "api_error")}}


def stream_error_event(form: WireForm, status: int, error: Tree, number: int) -> Tree:
    """The last event of a stream that has begun and cannot go on.

    :param number: of the event
    """
    if form != "responses":
        return error_in(form, status, error)
    told: Tree = {"code": error.get("code"), "message": error.get("message"), "param": error.get("param")}
    return {"type": "error", **told, "sequence_number": number}


# Which fields of a request are texts, lists or objects, form by form.
#
# A server tells a client of its own form what is wrong there. What is read to be written in another form
# would leave such a field out, and the client would not know; so it is a loss.

_OBJECT: Final = (dict,)
_TEXT: Final = (str,)
_LIST: Final = (list,)
_TEXT_OR_LIST: Final = (str, list)
_TEXT_OR_OBJECT: Final = (str, dict)
SHAPES: Final[Mapping[WireForm, Mapping[tuple[type, ...], Sequence[str]]]] = {
    "chat_completions": {
        _TEXT_OR_LIST: ("messages.[].content", "stop"),
        _TEXT_OR_OBJECT: ("tool_choice",),
        _LIST: ("messages.[].tool_calls", "tools"),
        _OBJECT: (
            "messages.[].content.[]", "messages.[].tool_calls.[]", "metadata", "response_format",
            "response_format.json_schema", "stream_options", "tools.[]", "tools.[].function",
        ),
    },
    "responses": {
        _TEXT: ("include.[]", "instructions", "text.format.type"),
        _TEXT_OR_LIST: ("input.[].content", "input.[].output"),
        _TEXT_OR_OBJECT: ("tool_choice",),
        _LIST: ("include", "input.[].summary", "tools"),
        _OBJECT: (
            "input.[].content.[]", "input.[].output.[]", "input.[].summary.[]", "metadata", "reasoning",
            "text", "text.format", "tools.[]",
        ),
    },
    "messages": {
        _TEXT_OR_LIST: ("messages.[].content", "messages.[].content.[].content", "system"),
        _LIST: ("stop_sequences", "tools"),
        _OBJECT: (
            "messages.[].content.[]", "messages.[].content.[].content.[]", "messages.[].content.[].source",
            "metadata", "output_config", "output_config.format", "output_format", "system.[]", "thinking",
            "tool_choice", "tools.[]",
        ),
    },
}  # fmt: skip
"""What stands at which paths of a parsed body, where anything does; ``[]`` is each element of a list."""


def wrong_shapes(tree: Tree, form: WireForm) -> Iterator[Loss]:
    """The fields of a request that have another shape than its form defines.

    >>> [loss.param for loss in wrong_shapes({"tools": [{"name": "f"}, 5]}, "messages")]
    ['tools[1]']
    """
    for kinds, paths in SHAPES[form].items():
        for path in paths:
            for place, value in _values_at(tree, path.split("."), ""):
                if not isinstance(value, kinds):
                    yield Loss("wrong_shape", place)


def _values_at(value: Json, path: Sequence[str], place: str) -> Iterator[tuple[str, Json]]:
    """The values at a path that are not null, and where each stands."""
    if not path:
        yield place, value
    elif path[0] == "[]":
        for number, element in enumerate(value if isinstance(value, list) else ()):
            yield from _values_at(element, path[1:], f"{place}[{number}]")
    elif isinstance(value, dict) and value.get(path[0]) is not None:
        yield from _values_at(value[path[0]], path[1:], f"{place}.{path[0]}".removeprefix("."))

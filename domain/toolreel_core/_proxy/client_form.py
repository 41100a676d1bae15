"""Errors in the form of a client, and what its form says of the shape of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

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
    given = error.get("type")
    # Servers of chat completions call most errors of a client an invalid request, whatever their status.
    own = given in {*_TYPES.values(), "api_error"} and given != "invalid_request_error"
    kind: Json = given if own else _TYPES.get(status, "api_error")
    return {"type": "error", "error": {**error, "type": kind}}


def broken_in(form: WireForm, status: int, error: Tree, number: int) -> Tree:
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


Kind: TypeAlias = Literal["text", "list", "object", "other"]

_TEXT: Final[frozenset[Kind]] = frozenset({"text"})
_LIST: Final[frozenset[Kind]] = frozenset({"list"})
_OBJECT: Final[frozenset[Kind]] = frozenset({"object"})

SHAPES: Final[Mapping[WireForm, Mapping[str, frozenset[Kind]]]] = {
    "chat_completions": {
        "messages.[].content": _TEXT | _LIST,
        "messages.[].content.[]": _OBJECT,
        "messages.[].tool_calls": _LIST,
        "messages.[].tool_calls.[]": _OBJECT,
        "metadata": _OBJECT,
        "response_format": _OBJECT,
        "response_format.json_schema": _OBJECT,
        "stop": _TEXT | _LIST,
        "stream_options": _OBJECT,
        "tool_choice": _TEXT | _OBJECT,
        "tools": _LIST,
        "tools.[]": _OBJECT,
        "tools.[].function": _OBJECT,
    },
    "responses": {
        "include": _LIST,
        "include.[]": _TEXT,
        "input.[].content": _TEXT | _LIST,
        "input.[].content.[]": _OBJECT,
        "input.[].output": _TEXT | _LIST,
        "input.[].output.[]": _OBJECT,
        "input.[].summary": _LIST,
        "input.[].summary.[]": _OBJECT,
        "instructions": _TEXT,
        "metadata": _OBJECT,
        "reasoning": _OBJECT,
        "text": _OBJECT,
        "text.format": _OBJECT,
        "text.format.type": _TEXT,
        "tool_choice": _TEXT | _OBJECT,
        "tools": _LIST,
        "tools.[]": _OBJECT,
    },
    "messages": {
        "messages.[].content": _TEXT | _LIST,
        "messages.[].content.[]": _OBJECT,
        "messages.[].content.[].content": _TEXT | _LIST,
        "messages.[].content.[].content.[]": _OBJECT,
        "messages.[].content.[].source": _OBJECT,
        "metadata": _OBJECT,
        "output_config": _OBJECT,
        "output_config.format": _OBJECT,
        "output_format": _OBJECT,
        "stop_sequences": _LIST,
        "system": _TEXT | _LIST,
        "system.[]": _OBJECT,
        "thinking": _OBJECT,
        "tool_choice": _OBJECT,
        "tools": _LIST,
        "tools.[]": _OBJECT,
    },
}
"""What stands at each path, where anything does; ``[]`` is each element of a list."""


def misshapen(tree: Tree, form: WireForm) -> Iterator[Loss]:
    """The fields of a request that have another shape than its form defines.

    >>> [loss.param for loss in misshapen({"tools": [{"name": "f"}, 5]}, "messages")]
    ['tools[1]']
    """
    for path, kinds in SHAPES[form].items():
        for place, value in _values_at(tree, path.split("."), ""):
            if _json_kind(value) not in kinds:
                yield Loss("wrong_shape", place)


def _values_at(value: Json, path: Sequence[str], place: str) -> Iterator[tuple[str, Json]]:
    """The values at a path that are not null, and where each stands."""
    if not path:
        yield place, value
    elif path[0] == "[]":
        elements = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        for number, element in enumerate(elements):
            yield from _values_at(element, path[1:], f"{place}[{number}]")
    elif isinstance(value, Mapping) and value.get(path[0]) is not None:
        yield from _values_at(value[path[0]], path[1:], f"{place}.{path[0]}".removeprefix("."))


def _json_kind(value: Json) -> Kind:
    match value:
        case str():
            return "text"
        case Mapping():
            return "object"
        case Sequence():
            return "list"
        case _:
            return "other"

"""What a client is answered, in its own form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from toolreel_core._jsontext import Json, Tree
from toolreel_core._proxy.client_forms import messages_reply, responses_reply
from toolreel_core._proxy.client_forms.completion import Completion
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


def answer_in(form: WireForm, completion: Tree, said: Completion) -> Tree:
    """A reply as a body.

    :param completion: the same in chat completions
    """
    match form:
        case "chat_completions":
            return completion
        case "messages":
            return messages_reply.body_of(said)
        case "responses":
            return responses_reply.body_of(said)
        case _:
            assert_never(form)


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

"""Requests whose bodies are written already: a probe sends what no plan would, in any form.

A question is written as chat completions, and sent in another form as the loop would send it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from toolreel_core._conversation import Form, Transcript, message_in
from toolreel_core._jsontext import NOTHING, JsonText, Tree, as_tree, canonical, parse
from toolreel_core._plan import Request, RequestOptions, options_in
from toolreel_core._settings import Provider, WireForm

_NO_MESSAGES: Final = 5
"""What is no row of messages in any form; a text is one in Responses."""


def spoken(body: Tree, form: WireForm) -> Tree:
    """A body of chat completions in another form.

    >>> spoken({"model": "m", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 8}, "responses")
    {'model': 'm', 'input': [{'role': 'user', 'content': 'Hi.'}], 'store': False, 'max_output_tokens': 8}
    """
    if form == "chat_completions":
        return body
    rest = {key: value for key, value in body.items() if key not in {"model", "messages"}}
    options, messages = options_in(form, rest), body["messages"]
    if not isinstance(messages, list):
        key = "input" if form == "responses" else "messages"
        return {"model": body["model"], key: _NO_MESSAGES, **options}
    said = [message_in(as_tree(each), f"messages[{number}]") for number, each in enumerate(messages)]
    transcript = Transcript.of(said, Form(Provider(wire_form=form)))
    request = Request(str(body["model"]), transcript, RequestOptions(canonical(options)))
    return as_tree(parse(JsonText(request.body)))


@dataclass(frozen=True, slots=True)
class WrittenRequest(Request):
    """A request that every endpoint sends as it stands."""

    text: JsonText = NOTHING
    """The whole body."""

    @classmethod
    def of(cls, body: Tree, form: WireForm = "chat_completions") -> Self:
        """The request with a body.

        >>> WrittenRequest.of({"model": "m", "messages": "none", "stream": True}).streamed
        True
        """
        options: Tree = {"stream": True} if body.get("stream") is True else {}
        nothing = Transcript.of((), Form(Provider(wire_form=form)))
        model = str(body.get("model", ""))
        return cls(model, nothing, RequestOptions(canonical(options)), text=canonical(body))

    def pieces(self) -> tuple[bytes, ...]:
        """The body in UTF-8."""
        return (self.text.encode(),)

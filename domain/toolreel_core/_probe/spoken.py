"""A question in another form: it is written as chat completions, and sent as the loop would send it."""

from __future__ import annotations

from typing import Final

from toolreel_core._conversation import Form, Transcript, message_in
from toolreel_core._jsontext import JsonText, Tree, as_tree, canonical, parse
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

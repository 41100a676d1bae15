"""The options of a request, in the form that the server takes.

Plans say them as chat completions do. What a form has no word for is not sent, and noted; keys that chat
completions do not know go out as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from toolreel_core._jsontext import Json, Tree, as_tree, merged, tree_at
from toolreel_core._settings import WireForm

MAX_TOKENS: Final = 8_192
"""Output limit of a request in the form of Messages whose plan has none: there, one is required."""

_Said: TypeAlias = Callable[[Json], Tree]
"""What an option is in another form."""

_CHAT_ONLY: Final = frozenset({
    "frequency_penalty", "logit_bias", "logprobs", "n", "prediction", "presence_penalty", "seed",
    "stream_options", "top_logprobs",
})  # fmt: skip
"""Options of chat completions that neither of the other forms has."""
_NOT_IN: Final[Mapping[WireForm, frozenset[str]]] = {
    "chat_completions": frozenset(),
    "messages": _CHAT_ONLY | {"modalities", "store", "verbosity"},
    "responses": _CHAT_ONLY | {"stop"},
}


def is_unsaid(form: WireForm, key: str) -> bool:
    """Whether a form has no word for an option."""
    return key in _NOT_IN[form]


def options_in(form: WireForm, options: Tree) -> Tree:
    """Options of chat completions, as another form says them.

    >>> options_in("responses", {"max_tokens": 100, "tool_choice": "required"})
    {'store': False, 'max_output_tokens': 100, 'tool_choice': 'required'}
    """
    match form:
        case "chat_completions":
            return options
        case "messages":
            said = words_in(form, options)
            # One call a turn is said of a choice, so there has to be one.
            choice: Tree = {"tool_choice": {"type": "auto"}} if "tool_choice" in said else {}
            return merged({"max_tokens": MAX_TOKENS, **choice}, said)
        case "responses":
            # Nothing that the server remembers decides what a run does, so a recording has all of it.
            unstored: Tree = {"store": False}
            return {**unstored, **words_in(form, options)}
        case _:
            assert_never(form)


def words_in(form: WireForm, options: Tree) -> Tree:
    """The same without what a form needs besides.

    >>> words_in("responses", {"max_tokens": 100})
    {'max_output_tokens': 100}
    """
    match form:
        case "chat_completions":
            return options
        case "messages":
            return _said(form, options, _MESSAGES)
        case "responses":
            return _said(form, options, _RESPONSES)
        case _:
            assert_never(form)


def _said(form: WireForm, options: Tree, words: Mapping[str, _Said]) -> Tree:
    said: Tree = {}
    for key, value in options.items():
        if not is_unsaid(form, key):
            said = merged(said, words[key](value) if key in words else {key: value})
    return said


def _named(key: str) -> _Said:
    return lambda value: {key: value}


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _functions(tools: Json) -> Iterator[tuple[Tree, Tree]]:
    """Each entry of ``tools``, with its function; empty where it is a tool of the server's own."""
    for entry in _listed(tools):
        yield as_tree(entry), tree_at(as_tree(entry), "function")


def _chosen(choice: Json) -> Json:
    """The name of the one tool that a ``tool_choice`` demands; null if it demands none."""
    return tree_at(as_tree(choice), "function").get("name")


# https://docs.anthropic.com/en/api/messages
_CHOICES: Final[Mapping[Json, Json]] = {"required": "any", "auto": "auto", "none": "none"}


def _tools_of_messages(tools: Json) -> Tree:
    entries: list[Json] = []
    for entry, function in _functions(tools):
        described: Tree = {key: function[key] for key in ("name", "description", "strict") if key in function}
        schema: Tree = {"input_schema": function.get("parameters", {"type": "object"})}
        entries.append({**described, **schema} if function else entry)
    return {"tools": entries}


def _choice_of_messages(choice: Json) -> Tree:
    if name := _chosen(choice):
        return {"tool_choice": {"type": "tool", "name": name}}
    return (
        {"tool_choice": {"type": _CHOICES[choice]}} if isinstance(choice, str) and choice in _CHOICES else {}
    )


def _parallel_of_messages(parallel: Json) -> Tree:
    return {} if parallel is not False else {"tool_choice": {"disable_parallel_tool_use": True}}


def _format_of_messages(given: Json) -> Tree:
    schema = tree_at(as_tree(given), "json_schema").get("schema")
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}} if schema else {}


_MESSAGES: Final[Mapping[str, _Said]] = {
    "tools": _tools_of_messages,
    "tool_choice": _choice_of_messages,
    "parallel_tool_calls": _parallel_of_messages,
    "max_completion_tokens": _named("max_tokens"),
    "stop": lambda stop: {"stop_sequences": _listed(stop)},
    "user": lambda user: {"metadata": {"user_id": user}},
    "reasoning_effort": lambda effort: {"output_config": {"effort": effort}},
    "response_format": _format_of_messages,
}


# https://platform.openai.com/docs/api-reference/responses/create
def _tools_of_responses(tools: Json) -> Tree:
    # Without `strict`, OpenAI rewrites the schemas so that every property is required.
    lax: Tree = {"strict": False}
    return {
        "tools": [
            {"type": "function", **lax, **function} if function else entry
            for entry, function in _functions(tools)
        ]
    }


def _choice_of_responses(choice: Json) -> Tree:
    name = _chosen(choice)
    return {"tool_choice": {"type": "function", "name": name} if name else choice}


def _format_of_responses(given: Json) -> Tree:
    asked = as_tree(given)
    inner = {key: value for key, value in asked.items() if key != "json_schema"}
    return {"text": {"format": {**inner, **tree_at(asked, "json_schema")}}}


_RESPONSES: Final[Mapping[str, _Said]] = {
    "tools": _tools_of_responses,
    "tool_choice": _choice_of_responses,
    "max_tokens": _named("max_output_tokens"),
    "max_completion_tokens": _named("max_output_tokens"),
    "reasoning_effort": lambda effort: {"reasoning": {"effort": effort}},
    "verbosity": lambda verbosity: {"text": {"verbosity": verbosity}},
    "response_format": _format_of_responses,
}

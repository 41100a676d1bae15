"""All questions of a probe, in the order in which they are asked, and the conversations that they send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, Tree, as_tree, items_of, parse
from toolreel_core._probe import verdict
from toolreel_core._probe.observation import LOOKUP, ORDER, PING
from toolreel_core._probe.question import ENCRYPTED, SPOKEN, Known, Question
from toolreel_core._settings import WireForm
from toolreel_core._tools import ToolDefinition

NO_MODEL: Final = "toolreel-probe-no-such-model"
CHAT: Final[frozenset[WireForm]] = frozenset({"chat_completions"})
"""For what the other forms have no word, or one of their own that is not in doubt."""
CHAT_AND_RESPONSES: Final[frozenset[WireForm]] = frozenset({"chat_completions", "responses"})

_OK: Final = "Reply with the word ok and nothing else."
_LOOK_UP: Final = "Call the tool lookup with the key alpha."
_BOTH: Final = "Call lookup twice in one reply, for the key alpha and for the key beta."
_ORDER: Final = (
    "Call order with the item lamp, the count 3, the price 9.5, gift true and the labels red and small."
)
_POLITE: Final[Tree] = {"role": "system", "content": "You are polite."}


def _tool_entry(tool: ToolDefinition, parameters: Tree | None = None, **more: Json) -> Tree:
    """The entry of ``tools`` for a tool, or for one with other parameters."""
    given = parse(tool.parameters) if parameters is None else parameters
    function = {"name": tool.name, "description": tool.description, "parameters": given, **more}
    return {"type": "function", "function": function}


_LOOKUP: Final = _tool_entry(LOOKUP)
_KEY: Final[Tree] = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
_STRICT: Final = _tool_entry(LOOKUP, {**_KEY, "additionalProperties": False}, strict=True)
_KEYWORDS: Final = _tool_entry(
    LOOKUP,
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "kind": {"const": "value"},
            "version": {"type": ["integer", "null"], "exclusiveMinimum": 0},
        },
        "required": ["key"],
        "additionalProperties": False,
    },
)
"""Parameters with keywords that a subset of JSON Schema leaves out."""
_REFERENCES: Final = _tool_entry(
    LOOKUP, {**_KEY, "properties": {"key": {"$ref": "#/$defs/Key"}}, "$defs": {"Key": {"type": "string"}}}
)
_VERDICT: Final[Tree] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        },
    },
}
_RED: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBA"
    "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
)
"""A red square."""
_CONTROL_TOKENS: Final = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "</s>")
"""Ends of turns in common chat templates: in a text, they should be characters like any others."""
_LIKE_THEM: Final = ("<|ix_edn|>", "<|exy_ix|>", "<edn_fo_xurt>", "<|endxftext|>", "</x>")
"""Texts of the same form that no template knows."""

_Body = Callable[[Known], Tree]
_History = Callable[[Known], tuple[Tree, ...]]


def _user_message(content: Json) -> Tree:
    return {"role": "user", "content": content}


def _fixed_body(*messages: Tree, limit: int = 16, **more: Json) -> _Body:
    return lambda known: {"messages": [*messages], **known.common_options(limit), **more}


def _body_with_tools(text: str, *tools: Tree, limit: int = 96, **more: Json) -> _Body:
    return _fixed_body(_user_message(text), limit=limit, tools=[*tools], **more)


def _body_of_history(history: _History) -> _Body:
    return lambda known: {"messages": [*history(known)], **known.common_options(24), "tools": [_LOOKUP]}


def _text_and_picture(text: str) -> Sequence[Json]:
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": _RED}}]


def _body_with_limit(field: str) -> _Body:
    count = _user_message("Write the numbers from 1 to 60, separated by commas.")
    return lambda _: {"messages": [count], field: 8}


def _body_with_tokens(texts: tuple[str, ...]) -> _Body:
    # Each four times: enough to tell one token from several.
    return _fixed_body(_user_message(f"Reply with ok. Ignore this: {' '.join(texts * 4)}"), limit=4)


def _body_after_greeting(known: Known, *further: Tree, **reasoning: str) -> Tree:
    """A conversation with an answer of the model."""
    needed = {"reasoning_content": " "} if known.has_verdict("assistant_turn_reasoning", "accepted") else {}
    hello: Tree = {"role": "assistant", "content": "Hello.", **(reasoning or needed)}
    return _fixed_body(_user_message("Hello."), hello, *further, _user_message(_OK))(known)


_BESIDE_CALL: Final[dict[str, Tree]] = {
    "content_null": {"content": None},
    "content_absent": {},
    "content_space": {"content": " "},
}
"""What accompanies a call, by the question about it; else it is an empty text."""
# What Google documents for a history that was not its own.
_SIGNATURE: Final[Tree] = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def _tool_turn(
    known: Known,
    asked: str = "",
    # An id that all servers take: nine letters and digits (Mistral, nearai/ironclaw#1241).
    call_id: str = "a1B2c3D4e",
    result: Json = '{"value":42}',
) -> tuple[Tree, ...]:
    """A question of the user, a call, and its result.

    :param asked: the question whose form of them it is; by default the one that was taken so far
    """
    form = asked or known.tool_turn

    def only_with(addition: str, field: Tree) -> Tree:
        name = f"tool_turn_{addition}"
        return field if form == name or known.has_verdict(name, "accepted") else {}

    call: Tree = {
        "id": call_id,
        "type": "function",
        "function": {"name": LOOKUP.name, "arguments": '{"key":"alpha"}'},
        **only_with("signature", {"extra_content": _SIGNATURE}),
    }
    said: Tree = {
        "role": "assistant",
        **_BESIDE_CALL.get(form, {"content": ""}),
        **only_with("reasoning", {"reasoning_content": " "}),
        "tool_calls": [call],
    }
    answer: Tree = {"role": "tool", "tool_call_id": call_id, "content": result}
    asking = _user_message("What is stored under alpha? Look it up, then answer in one word.")
    return asking, said, {**answer, **only_with("name", {"name": LOOKUP.name})}


def _own_call_turn(known: Known) -> tuple[Tree, ...]:
    """The model's own call, unchanged, and a result for each of its calls."""
    calls = map(as_tree, items_of(known.own_call, "tool_calls"))
    results: list[Tree] = [
        {"role": "tool", "tool_call_id": call.get("id"), "content": '{"value":42}'} for call in calls
    ]
    return _user_message("Call lookup with the key alpha."), known.own_call, *results


def _is_no_tool_turn(known: Known) -> bool:
    return known.no_tool_turn


# The form of requests, in which everything else is asked. These bodies are written in it.
_FUNCTION: Final = as_tree(_LOOKUP["function"])
_RESPONSES: Final[Tree] = {
    "input": [_user_message(_LOOK_UP)],
    "tools": [{"type": "function", "strict": False, **_FUNCTION}],
    "store": False,
    "max_output_tokens": 1024,
}
_MESSAGES: Final[Tree] = {
    "messages": [_user_message(_LOOK_UP)],
    "tools": [
        {"name": LOOKUP.name, "description": LOOKUP.description, "input_schema": _FUNCTION["parameters"]}
    ],
    "max_tokens": 1024,
}
# The fewest tokens to think that Anthropic takes.
_THINKING: Final[Tree] = {
    **_MESSAGES,
    "max_tokens": 2048,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}


def _form_question(form: WireForm, name: str, about: str, body: Tree, *, richer: bool = False) -> Question:
    return Question(
        name,
        about,
        lambda _: body,
        "forms",
        verdict.judge_reasoning_to_carry if richer else verdict.judge_form,
        decides=False,
        rests_on=(form,) if richer else ("plain",),
        when=(lambda known: known.has_verdict(form, *SPOKEN)) if richer else None,
        own_form=form,
    )


_FORMS: Final = (
    Question(
        "plain",
        "Does it answer a plain question?",
        lambda _: {"messages": [_user_message(_OK)]},
        "basics",
        verdict.judge_accepted,
        decides=False,
        rests_on=(),
        own_form="chat_completions",
    ),
    _form_question("responses", "responses", "Does it speak Responses?", _RESPONSES),
    _form_question(
        "responses",
        "responses_reasoning",
        "Does reasoning come with it that can go back?",
        {**_RESPONSES, "include": [*ENCRYPTED]},
        richer=True,
    ),
    _form_question("messages", "messages", "Does it speak Messages?", _MESSAGES),
    _form_question(
        "messages",
        "messages_thinking",
        "Does thinking come with it that can go back?",
        _THINKING,
        richer=True,
    ),
)

# Messages and options; the others rest on the first ones, whose answers decide what each request has.
_FORM: Final = tuple(each.name for each in _FORMS)
_BASICS: Final = (*_FORM, "max_tokens", "max_completion_tokens", "temperature")
_basics = partial(Question, group="basics", judge=verdict.judge_accepted, rests_on=_BASICS)
_caps = partial(Question, group="basics", judge=verdict.judge_output_limit, rests_on=_FORM)
_ABOUT_BASICS: Final = (
    _caps("max_tokens", "Does max_tokens limit the reply?", _body_with_limit("max_tokens")),
    _caps(
        "max_completion_tokens",
        "Does max_completion_tokens limit the reply?",
        _body_with_limit("max_completion_tokens"),
        forms=CHAT,
    ),
    _basics(
        "temperature",
        "Is the temperature 0 taken?",
        _fixed_body(_user_message(_OK), temperature=0),
        rests_on=_BASICS[:-1],
    ),
    _basics(
        "temperature_high",
        "Is a temperature above 1 taken?",
        _fixed_body(_user_message(_OK), temperature=1.5),
        forms=CHAT_AND_RESPONSES,
    ),
    _basics("assistant_turn", "Is an answer taken back without reasoning?", _body_after_greeting),
    _basics(
        "assistant_turn_reasoning",
        "Is it taken back with reasoning?",
        partial(_body_after_greeting, reasoning_content=" "),
        rests_on=(*_BASICS, "assistant_turn"),
        when=lambda known: known.has_verdict("assistant_turn", "refused"),
        forms=CHAT,
    ),
    _basics(
        "two_systems",
        "Are two system messages taken?",
        _fixed_body({"role": "system", "content": "You are brief."}, _POLITE, _user_message(_OK)),
        forms=CHAT_AND_RESPONSES,
    ),
    _basics(
        "late_system",
        "Is a system message taken behind other messages?",
        lambda known: _body_after_greeting(known, _POLITE),
        forms=CHAT_AND_RESPONSES,
        rests_on=(*_BASICS, "assistant_turn", "assistant_turn_reasoning"),
    ),
    _basics(
        "developer_role",
        "Is the role developer taken?",
        _fixed_body({"role": "developer", "content": "You are brief."}, _user_message(_OK)),
        forms=CHAT,
        decides=False,
    ),
)

# Tools, their schemas, and formats of the reply.
_WITH_TOOLS: Final = (*_BASICS, "tools")
_tools = partial(Question, group="tools", judge=verdict.judge_call, rests_on=_WITH_TOOLS)
_forced = partial(_tools, judge=verdict.judge_forced_call)
_counted = partial(_tools, judge=verdict.judge_call_count)
_schemas = partial(Question, group="schemas", judge=verdict.judge_accepted, rests_on=_WITH_TOOLS)
_formats = partial(Question, group="formats", rests_on=_BASICS)
_NAMED: Final[Tree] = {"type": "function", "function": {"name": "ping"}}
_ABOUT_TOOLS: Final = (
    _tools("tools", "Does it call a tool?", _body_with_tools(_LOOK_UP, _LOOKUP), rests_on=_BASICS),
    _tools(
        "tool_choice_auto",
        "Is tool_choice auto taken?",
        _body_with_tools(_LOOK_UP, _LOOKUP, tool_choice="auto"),
        decides=False,
    ),
    _forced(
        "tool_choice_required",
        "Does tool_choice required force a call?",
        _body_with_tools("Say hello.", _LOOKUP, tool_choice="required"),
    ),
    _forced(
        "tool_choice_named",
        "Does the name of a tool force its call?",
        _body_with_tools("Say hello.", _LOOKUP, _tool_entry(PING), tool_choice=_NAMED),
        decides=False,
    ),
    _tools(
        "tool_choice_none",
        "Does tool_choice none prevent a call?",
        _body_with_tools(_LOOK_UP, _LOOKUP, tool_choice="none"),
        judge=verdict.judge_prevented_call,
        decides=False,
    ),
    _counted(
        "several_calls", "Does one reply have several calls?", _body_with_tools(_BOTH, _LOOKUP, limit=160)
    ),
    _counted(
        "parallel_tool_calls",
        "Does parallel_tool_calls false hold it to one?",
        _body_with_tools(_BOTH, _LOOKUP, limit=160, parallel_tool_calls=False),
    ),
    _tools(
        "argument_types",
        "Do arguments have the types of the schema?",
        _body_with_tools(_ORDER, _tool_entry(ORDER), limit=128),
        judge=verdict.judge_argument_types,
        decides=False,
    ),
    _tools(
        "empty_arguments",
        "What are the arguments of a tool that takes none?",
        _body_with_tools("Call the tool ping.", _tool_entry(PING)),
        judge=verdict.judge_empty_arguments,
        decides=False,
    ),
    _schemas(
        "schema_keywords",
        "Are const, exclusiveMinimum and lists of types taken?",
        _body_with_tools(_LOOK_UP, _KEYWORDS),
    ),
    _schemas("schema_refs", "Are $defs and $ref taken?", _body_with_tools(_LOOK_UP, _REFERENCES)),
    _schemas("strict_tools", "Is a strict tool taken?", _body_with_tools(_LOOK_UP, _STRICT)),
    _formats(
        "response_format",
        "Does response_format json_object give JSON?",
        _fixed_body(_user_message("Say hello as JSON."), limit=64, response_format={"type": "json_object"}),
        judge=verdict.judge_json,
        forms=CHAT_AND_RESPONSES,
    ),
    _formats(
        "json_schema",
        "Is a reply held to a JSON schema?",
        _fixed_body(_user_message("Say hello."), limit=64, response_format=_VERDICT),
        judge=verdict.judge_json_schema,
    ),
    _formats(
        "json_schema_with_tools",
        "Does it call a tool although a schema is asked for?",
        _body_with_tools(_LOOK_UP, _LOOKUP, response_format=_VERDICT),
        judge=verdict.judge_format_beside_tools,
        rests_on=_WITH_TOOLS,
    ),
)

# Conversations with calls and results.
_FIRST: Final = (*_WITH_TOOLS, "tool_turn")
_TOOL_TURN: Final = (*_FIRST, "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name")
_HISTORY: Final = (*_TOOL_TURN, "content_null", "content_absent", "content_space")
_history = partial(Question, group="history", judge=verdict.judge_accepted)
_in_taken_form = partial(_history, rests_on=_HISTORY, when=lambda known: not known.no_tool_turn)


def _turn_question(
    name: str, about: str, rests_on: tuple[str, ...], when: Callable[[Known], bool] | None = None
) -> Question:
    """A question about a turn with a call in the form that it names."""
    build = _body_of_history(partial(_tool_turn, asked=name))
    return _history(name, about, build, rests_on=rests_on, when=when, forms=CHAT)


_ABOUT_HISTORY: Final = (
    _history(
        "tool_turn",
        "Is a call taken back, with empty content and a result?",
        _body_of_history(partial(_tool_turn, asked="tool_turn")),
        rests_on=_WITH_TOOLS,
    ),
    _turn_question("tool_turn_reasoning", "Is it taken with reasoning?", _FIRST, _is_no_tool_turn),
    _turn_question("tool_turn_signature", "Is it taken with a signature?", _FIRST, _is_no_tool_turn),
    _turn_question(
        "tool_turn_name", "Is it taken with the tool's name in its result?", _FIRST, _is_no_tool_turn
    ),
    _turn_question("content_null", "Is a call taken back with null as content?", _TOOL_TURN),
    _turn_question("content_absent", "Is a call taken back without content?", _TOOL_TURN),
    _turn_question(
        "content_space", "Is a call taken back with a space as content?", _HISTORY[:-1], _is_no_tool_turn
    ),
    _in_taken_form(
        "call_ids",
        "Is an id in OpenAI's form taken?",
        _body_of_history(partial(_tool_turn, call_id="call_0123456789abcdefghijklmn")),
    ),
    _in_taken_form(
        "user_after_tool",
        "May the user speak behind a result?",
        _body_of_history(lambda known: (*_tool_turn(known), _user_message("Thank you. Say bye."))),
    ),
    _history(
        "reasoning_echo",
        "Is reasoning taken back?",
        lambda known: _body_after_greeting(known, **{known.reasoning: "I greet back."}),
        rests_on=_BASICS,
        when=lambda known: bool(known.reasoning),
        forms=CHAT,
    ),
    _history(
        "own_call",
        "Is the model's own call taken back unchanged?",
        _body_of_history(_own_call_turn),
        rests_on=_WITH_TOOLS,
        when=lambda known: bool(known.own_call),
        decides=False,
    ),
)

# Streams, images, control tokens, errors and limits.
_streams = partial(Question, group="streams", judge=verdict.judge_stream, rests_on=_BASICS)
_limits = partial(Question, group="limits", judge=verdict.judge_accepted, rests_on=_BASICS)
_sizes = partial(_limits, judge=verdict.judge_prompt_tokens, decides=False)
_errors = partial(
    _limits,
    judge=lambda _: verdict.Verdict("accepted", "it was answered"),
    decides=False,
    about_refusals=True,
)
_ABOUT_OTHERS: Final = (
    _streams(
        "stream",
        "Does it stream, with usage?",
        _fixed_body(_user_message(_OK), stream=True, stream_options={"include_usage": True}),
    ),
    _streams(
        "stream_plain",
        "Does it stream without stream_options?",
        _fixed_body(_user_message(_OK), stream=True),
        rests_on=(*_BASICS, "stream"),
        when=lambda known: known.has_verdict("stream", "refused"),
        forms=CHAT,
    ),
    _streams(
        "stream_tools",
        "Does it call a tool in a stream?",
        _body_with_tools(_LOOK_UP, _LOOKUP, stream=True),
        judge=verdict.judge_call,
        rests_on=_WITH_TOOLS,
    ),
    _limits(
        "images",
        "Does it see an image?",
        _fixed_body(_user_message(_text_and_picture("Name the colour of this picture in one word."))),
        judge=verdict.judge_seen_red,
    ),
    _limits(
        "image_result",
        "Does it see an image in a result?",
        _body_of_history(
            partial(
                _tool_turn, result=_text_and_picture("The stored value is this picture. Name its colour.")
            )
        ),
        judge=verdict.judge_seen_red,
        rests_on=(*_HISTORY, "images"),
        when=lambda known: known.has_verdict("images", "seen") and not known.no_tool_turn,
    ),
    _sizes(
        "control_tokens", "How many tokens are control tokens in a text?", _body_with_tokens(_CONTROL_TOKENS)
    ),
    _sizes("texts_like_them", "And texts of the same form?", _body_with_tokens(_LIKE_THEM)),
    _limits(
        "output_limit",
        "What does it say to a limit of ten million tokens?",
        lambda known: {**_fixed_body(_user_message(_OK))(known), known.cap_field: 10_000_000},
        decides=False,
        when=lambda known: bool(known.cap_field),
    ),
    _errors(
        "error_shape",
        "What does it say to messages that are none?",
        lambda _: {"messages": "none"},
        rests_on=("plain",),
    ),
    _errors(
        "unknown_model",
        "What does it say to a model that does not exist?",
        _fixed_body(_user_message(_OK), model=NO_MODEL),
    ),
)

QUESTIONS: Final = (*_FORMS, *_ABOUT_BASICS, *_ABOUT_TOOLS, *_ABOUT_HISTORY, *_ABOUT_OTHERS)
"""All of them. Each rests only on questions before it."""


def select_questions(names: tuple[str, ...] = ()) -> tuple[Question, ...]:
    """The questions with these names, or of groups with them, and those that they rest on; all without names.

    >>> [each.name for each in select_questions(("temperature",))]  # doctest: +ELLIPSIS
    ['plain', 'responses', 'responses_reasoning', 'messages', 'messages_thinking', ...]

    :raises ConfigError: if a name is neither
    """
    known = dict.fromkeys((*(each.name for each in QUESTIONS), *(each.group for each in QUESTIONS)))
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name("question", name, tuple(known)))
    # A question can have the name of a group, which is then meant.
    groups = {each.group for each in QUESTIONS}.intersection(names)
    chosen = {each.name for each in QUESTIONS if each.group in groups or each.name in {*names} - groups}
    for each in reversed(QUESTIONS):  # what a question rests on is before it
        chosen |= {*each.rests_on} if each.name in chosen else set()
    return tuple(each for each in QUESTIONS if not names or each.name in chosen)

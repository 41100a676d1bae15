"""Transforms by kind and name: configuration contains only names, so it stays data.

A transform takes a tree and returns a tree; an equal one means that nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from toolreel_core._config_checks import Registry, item_named
from toolreel_core._errors import ConfigError, TransformError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    calls_of,
    canonical,
    in_numeric_order,
    is_blank,
    list_at,
    parse,
    tree_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import inline_references, map_subschemas

TransformKind: TypeAlias = Literal["message", "tool", "response", "tool_call", "tool_result"]
"""What a transform is applied to: a message in its wire form, an entry of ``tools``, the body of a response,
an entry of a reply's ``tool_calls``, or the envelope of a result."""

TRANSFORM_KINDS: tuple[TransformKind, ...] = get_args(TransformKind)

TreeChange: TypeAlias = Callable[[Tree], Tree]
"""A pure function of any tree; it must not change its argument."""


class Transform(NamedTuple):
    """One transform."""

    name: str
    """Unique in its kind."""
    kind: TransformKind
    about: str
    """One sentence: what it does, and for which servers or models."""
    apply: TreeChange


class Applied(NamedTuple):
    tree: Tree
    changed: tuple[str, ...] = ()
    """The names of the transforms that changed something, in order."""


_REGISTRY: Mapping[str, Registry[Transform]] = {
    kind: Registry(f"{kind} transform") for kind in TRANSFORM_KINDS
}
"""The built-in transforms, and those that users register."""


def register_transform(kind: TransformKind, name: str, *, about: str) -> Callable[[TreeChange], TreeChange]:
    """Register a transform, as a decorator, before you make or load a plan that names it.

    ::

        @register_transform("message", "without_names", about="Leaves out names, which our server refuses.")
        def without_names(message: Tree) -> Tree:
            return {key: value for key, value in message.items() if key != "name"}

    :raises ConfigError: if the kind is unknown, the name is invalid or taken, or ``about`` is empty
    """
    found = _registry_of_kind(kind)
    if not about.strip():
        raise ConfigError(f"transform {name!r}: about is empty; say in a sentence what it does")

    def registered(change: TreeChange) -> TreeChange:
        found.add(name, Transform(name, kind, about, change))
        return change

    return registered


def _registry_of_kind(kind: TransformKind) -> Registry[Transform]:
    return item_named("kind of transform", kind, _REGISTRY)


def transform(kind: TransformKind, name: str) -> Transform:
    """The transform of that name.

    >>> transform("tool", "schema_inline_def")
    Traceback (most recent call last):
    ...
    toolreel_core.ConfigError: there is no tool transform 'schema_inline_def'; did you mean ...

    :raises ConfigError: if there is none, with the nearest name
    """
    return _registry_of_kind(kind)[name]


def apply_transforms(kind: TransformKind, chosen: Iterable[str], tree: Tree) -> Applied:
    found = [transform(kind, name) for name in chosen]
    if not found:
        return Applied(tree)
    # As text, which shows whether any byte changed.
    before = canonical(tree)
    changed: list[str] = []
    for each in found:
        after = _transformed_text(each, before)
        if after != before:
            changed.append(each.name)
        before = after
    return Applied(cast("Tree", parse(before)), tuple(changed)) if changed else Applied(tree)


def _transformed_text(each: Transform, before: JsonText) -> JsonText:
    where = f"the {each.kind} transform {each.name!r}"
    try:
        # A copy, since a user's function may change its argument.
        after = each.apply(cast("Tree", parse(before)))
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise TransformError(f"{where} failed with {why}; it has to take any tree") from error
    if not isinstance(after, Mapping):
        raise TransformError(f"{where} returned {after!r}; a transform returns a tree")
    try:
        return canonical(after)
    except (TypeError, ValueError, RecursionError) as error:
        raise TransformError(f"{where} returned a tree that is not JSON: {error}") from error


# What is shipped: transforms of messages, tools and results that are sent, and of responses. Each is opt-in,
# because what one provider requires another rejects. Above each are public threads, or pages, that show the
# need for it.


# Control tokens are neutralized in texts from outside. They matter because a server renders the
# conversation into one text and then reads tokens out of it: where that text has ``<|im_end|>`` in a tool's
# result, most servers read the token itself, so a web page can end the tool's turn and speak as the system.
# A space after the first character is enough. Measured with Qwen 2.5's tokenizer on llama.cpp: no special
# token is left in any of the forms below, where a zero-width character would cost more tokens and be
# invisible.

_WORDS = "bos|cls|end_of_turn|eop|eos|mask|pad|s|sep|sop|start_of_turn|unk"
_TAGS = (
    r"(?:function|parameter)="
    r"|(?:arg_key|arg_value|(?:seed:|mm:)?think"
    r"|[\w:-]{0,32}(?:function_calls?|invoke|tool_?(?:call|response|result)s?))\b"
)
_BRACKETS = (
    "ARGS|AVAILABLE_TOOLS|BOS|CALL_ID|END_TOOL_REQUEST|EOS|EOT|INST|PAD|SYSTEM_PROMPT|THINK|TOOL_CALLS"
    "|TOOL_CONTENT|TOOL_REQUEST|TOOL_RESULTS|UNK|end_header_id|gMASK|sMASK|start_header_id"
)
FAMILIES: Mapping[str, str] = {
    # <|im_start|>, <|im_end|>, <|endoftext|>:
    # ggml-org/llama.cpp#24382, huggingface/transformers#29279, vllm-project/vllm#31735, OWASP/AISVS#930
    "bars": r"<(?=/?[|\uff5c][^\s<>]{1,64}>)",
    # <turn|>, <tool_call|>: ollama/ollama#15931, google-deepmind/gemma#770
    "bar_behind": r"<(?=[^\s<>]{1,64}[|\uff5c]>)",
    # <s>, </s>, <bos>: ollama/ollama#15931, huggingface/transformers#47822
    "words": rf"<(?=/?(?:{_WORDS})>)",
    # <<SYS>>, <</SYS>>: meta-llama/llama#1144
    "system": r"<(?=</?SYS>>)",
    # <tool_call>, </tool_call>, <TOOL_CALL>: ollama/ollama#17262, BitterSecurity/Decepticon#715
    "tags": rf"<(?=(?i:/?(?:{_TAGS})))",
    # [INST], [/INST], [TOOL_CALLS]: meta-llama/llama#1144, huggingface/transformers#47822
    "brackets": rf"\[(?=/?(?:{_BRACKETS})\])",
    # ]~b], ]~!b[, [e~[: MiniMax-M2: chat_template.jinja
    "minimax": r"\[(?=e~\[)|\](?=~b\]|~!b\[|<\]minimax\[>\[)",
}
"""Spellings of control tokens that a chat template, or a reader of calls in text, gives a meaning to.

Each is a pattern of the first character of a token, with examples and threads that show them at work."""
_TOKEN = lazy_pattern("|".join(FAMILIES.values()))
"""A control token of any family."""


def neutralize_control_tokens(text: str) -> str:
    """The text with a space behind the first character of each control token; once is enough."""
    return _TOKEN.sub(r"\g<0> ", text)


def neutralized_content(content: Json) -> Json:
    """The ``content`` of a message without control tokens: a text, or a list of parts."""
    match content:
        case str():
            return neutralize_control_tokens(content)
        case [*parts]:
            return [_neutralized_part(part) for part in parts]
        case _:
            return content


def _neutralized_part(part: Json) -> Json:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": neutralize_control_tokens(text)}
        case _:
            return part  # Base64 and URLs


_UNSIGNED = "skip_thought_signature_validator"
"""What Google accepts in place of a signature, for history that its model did not write."""


# vercel/ai#13505, vercel/ai#14950, router-for-me/CLIProxyAPI#749
@register_transform(
    "message",
    "assistant_tool_calls_content_null_if_blank",
    about="Blank text next to tool calls becomes null, for servers that refuse an empty text.",
)
def content_null_if_blank(message: Tree) -> Tree:
    if not calls_of(message) or not is_blank(message.get("content")):
        return message
    return {**message, "content": None}


# crewAIInc/crewAI#5878, JohnnyZ93/oai-compatible-copilot#215, anomalyco/opencode#35689
@register_transform(
    "message",
    "assistant_tool_calls_reasoning_content_empty_if_missing",
    about="Tool calls without reasoning_content get an empty one, for thinking modes that demand the field.",
)
def reasoning_content_empty_if_missing(message: Tree) -> Tree:
    """The message with ``reasoning_content: ""``, if it has calls; reasoning that is there stays."""
    # It is a placeholder for history that never had any: a model that is not shown its own reasoning again
    # answers worse, and DeepSeek R1 refuses the field (octo-agent#73).
    if not calls_of(message) or message.get("reasoning_content") is not None:
        return message
    return {**message, "reasoning_content": ""}


# https://ai.google.dev/gemini-api/docs/thought-signatures, vercel/ai#15550, jeremychone/rust-genai#115
@register_transform(
    "message",
    "assistant_tool_calls_signature_skip_validator_if_missing",
    about="Tool calls without a thought signature get Google's dummy, for history that Gemini did not write.",
)
def signature_skip_validator_if_missing(message: Tree) -> Tree:
    """The message with the dummy on its first call, if no call is signed.

    Only the first of parallel calls is signed, so one signature anywhere is enough. A real one is
    always better: Google calls the dummy a last resort that costs quality.
    """
    calls = calls_of(message)
    first = as_tree(calls[0]) if calls else {}
    if not first or _is_signed(message):
        return message
    google = {**tree_at(first, "extra_content", "google"), "thought_signature": _UNSIGNED}
    signed = {**first, "extra_content": {**tree_at(first, "extra_content"), "google": google}}
    return {**message, "tool_calls": [signed, *calls[1:]]}


# ggml-org/llama.cpp#24382, vllm-project/vllm#31735, huggingface/transformers#29279
@register_transform(
    "message",
    "user_special_tokens_neutralized",
    about="Control tokens of chat templates in a user's text get a space behind their first character.",
)
def user_special_tokens_neutralized(message: Tree) -> Tree:
    """The user's message with ``<|im_end|>`` as ``< |im_end|>``, and so on; no other message changes."""
    # For user messages that quote somebody else, such as a mail. A provider's ``special_token_guard`` does
    # the same for tool results.
    if message.get("role") != "user" or "content" not in message:
        return message
    return {**message, "content": neutralized_content(message["content"])}


def _is_signed(message: Tree) -> bool:
    extras = [tree_at(as_tree(call), "extra_content") for call in calls_of(message)]
    owners = [tree_at(extra, owner) for extra in extras for owner in ("google", "vertex")]
    details = [as_tree(detail) for detail in list_at(message, "reasoning_details")]
    return any(not is_blank(owner.get("thought_signature")) for owner in owners) or any(
        detail.get("type") == "reasoning.encrypted" for detail in details
    )


# Transforms of the tools that are sent, most of them of the schemas in them, and of tool results.


# getsentry/sentry-mcp#106, OpenHands/OpenHands#4838, aaif-goose/goose#739
@register_transform(
    "tool",
    "openai_tools_strip_function_descriptions",
    about="Leaves out what is said about each function, for servers that limit it, or to save tokens.",
)
def strip_function_descriptions(tool: Tree) -> Tree:
    return _with_changed_function(tool, lambda function: _without_key(function, "description"))


# pydantic/pydantic-ai#10243, pydantic/pydantic-ai#1598, anomalyco/opencode#12295
@register_transform(
    "tool",
    "schema_inline_defs",
    about="Writes out $ref and $defs, for models that write text where a reference stands for an object.",
)
def schema_inline_defs(tool: Tree) -> Tree:
    return _with_changed_parameters(tool, inline_references)


# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema,
# pizza-bot-app/pizza-bot#62, anomalyco/opencode#15795, decolua/9router#359, Smana/runlore#40,
# directus/mcp#8
@register_transform(
    "tool",
    "schema_gemini_subset",
    about="Rewrites what Gemini refuses in a schema, and leaves out what cannot be rewritten.",
)
def schema_gemini_subset(tool: Tree) -> Tree:
    """The tool with parameters that Gemini takes, and not ``strict``."""
    from toolreel_core._schema import gemini_subset  # noqa: PLC0415 - for one family of providers

    return _with_changed_parameters(tool, gemini_subset)


# BerriAI/litellm#6136, earendil-works/pi#1172, OpenCoworkAI/open-cowork#232
@register_transform(
    "tool",
    "schema_strip_strict",
    about="Leaves out strict and what only strict mode asks for, for servers that refuse to know it.",
)
def schema_strip_strict(tool: Tree) -> Tree:
    """The tool without ``strict``, and with parameters that nowhere forbid further properties."""
    plain = _with_changed_function(tool, lambda function: _without_key(function, "strict"))
    return _with_changed_parameters(plain, strip_strict)


def strip_strict(schema: Tree) -> Tree:
    """A schema without ``additionalProperties: false``, which strict mode wants everywhere."""
    return {
        keyword: value
        for keyword, value in map_subschemas(schema, _strip_strict_in).items()
        if keyword != "additionalProperties" or value is not False
    }


def _strip_strict_in(schema: Json) -> Json:
    return strip_strict(schema) if isinstance(schema, Mapping) else schema


def _with_changed_parameters(tool: Tree, change: TreeChange) -> Tree:
    parameters = tree_at(tool, "function").get("parameters")
    if not isinstance(parameters, Mapping):
        return tool
    return _with_changed_function(tool, lambda function: {**function, "parameters": change(parameters)})


def _with_changed_function(tool: Tree, change: TreeChange) -> Tree:
    function = tool.get("function")
    return {**tool, "function": change(function)} if isinstance(function, Mapping) else tool


def _without_key(tree: Tree, key: str) -> Tree:
    return {name: value for name, value in tree.items() if name != key}


_FROM_THE_TOOL = ("data", "warnings", "errors")


# context-foundry/context-foundry#233, taskgenius/taskgenius-plugin#506
@register_transform(
    "tool_result",
    "tool_result_compact_envelope",
    about="Leaves out of an envelope what is empty, to spend fewer tokens on it.",
)
def compact_envelope(envelope: Tree) -> Tree:
    """The envelope without data, warnings and errors that say nothing; ``ok`` and the name stay."""
    if all(envelope.get(key, True) for key in _FROM_THE_TOOL):
        return envelope
    return {key: value for key, value in envelope.items() if value or key not in _FROM_THE_TOOL}


# Transforms of responses, and of the tool calls in them: bring the calls into today's form.
#
# Calls that are moved here get no id, since one that is the same in every turn would pair results with the
# wrong calls; the reader of the response numbers them over the whole run.


_DIALECT = "hermes_json"


def _for_each_choice(change: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    @wraps(change)
    def changed(body: Tree) -> Tree:
        if not (choices := list_at(body, "choices")):
            return body
        return {**body, "choices": [change(one) if isinstance(one, Mapping) else one for one in choices]}

    return changed


def _for_each_message(change: Callable[[Tree], Tree]) -> Callable[[Tree], Tree]:
    @_for_each_choice
    @wraps(change)
    def changed(choice: Tree) -> Tree:
        message = tree_at(choice, "message")
        return {**choice, "message": change(message)} if message else choice

    return changed


# MeetKai/functionary#243
@register_transform(
    "response",
    "assistant_function_call_to_tool_calls",
    about="A call in the legacy function_call becomes the one entry of tool_calls.",
)
@_for_each_message
def function_call_to_tool_calls(message: Tree) -> Tree:
    """The body with the legacy call of each message moved, unless there are calls of today's form."""
    legacy = message.get("function_call")
    if not isinstance(legacy, Mapping) or message.get("tool_calls"):
        return message
    rest = {key: value for key, value in message.items() if key != "function_call"}
    return {**rest, "tool_calls": [{"type": "function", "function": legacy}]}


# sgl-project/sglang#34609
@register_transform(
    "response",
    "assistant_tool_calls_object_to_array",
    about="A single call in the place of the list of calls becomes a list of one; calls by number, a list.",
)
@_for_each_message
def tool_calls_object_to_array(message: Tree) -> Tree:
    single = message.get("tool_calls")
    if not isinstance(single, Mapping):
        return message
    numbered = [*in_numeric_order(single).values()]
    return {**message, "tool_calls": [single] if single and not numbered else numbered}


# ggml-org/llama.cpp#20198, openclaw/openclaw#97834
@register_transform(
    "response",
    "assistant_tool_calls_arguments_json_string_if_hash",
    about="Arguments that came as an object become its JSON text.",
)
@_for_each_message
def arguments_json_string_if_hash(message: Tree) -> Tree:
    """The body with the arguments of each call as text, where they were an object."""

    def with_text(function: Tree) -> Tree:
        arguments = function.get("arguments")
        return {**function, "arguments": canonical(arguments)} if isinstance(arguments, Mapping) else function

    calls = [
        _with_changed_function(call, with_text) if isinstance(call, Mapping) else call
        for call in list_at(message, "tool_calls")
    ]
    return {**message, "tool_calls": calls} if calls else message


# ollama/ollama#17353, ollama/ollama#14656, xiaoY233/Chat2API#122
@register_transform(
    "response",
    "assistant_content_tool_call_tags_to_tool_calls",
    about="Calls in the text as <tool_call> tags become tool_calls, if there are none.",
)
@_for_each_choice
def content_tool_call_tags_to_tool_calls(choice: Tree) -> Tree:
    """The body with calls taken out of the text of each message that has no structured ones.

    No tool is known here, so ``<tool_call>name</tool_call>``, which counts for a known one only, stays
    text; any name counts in a call that is written out. Each entry says where it came from in
    ``provenance``: text is also where quotations stand, so it deserves less trust.
    """
    message, finish = tree_at(choice, "message"), choice.get("finish_reason")
    content = message.get("content")
    if not isinstance(content, str) or message.get("tool_calls") or message.get("function_call"):
        return choice
    from toolreel_core._text_calls import text_calls  # noqa: PLC0415 - only for those who read text

    finish_word = finish if isinstance(finish, str) else ""
    found = text_calls(content, tools=(), dialects=(_DIALECT,), finish=finish_word)
    if not found.calls:
        return choice
    entries: list[Json] = [
        {
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
            "provenance": f"text:{call.dialect}",
        }
        for call in found.calls
    ]
    moved: dict[str, Json] = {"content": found.content or None, "tool_calls": entries}
    if found.reasoning and is_blank(message.get("reasoning_content")):
        moved["reasoning_content"] = found.reasoning
    finish_change = {"finish_reason": "tool_calls"} if finish == "stop" else {}
    return {**choice, "message": {**message, **moved}, **finish_change}


# openai/openai-agents-js#664, sigoden/aichat#1217, SillyTavern/SillyTavern#4084
@register_transform(
    "tool_call",
    "assistant_tool_calls_arguments_blank_to_empty_object",
    about="Arguments that are blank, null or missing become an empty object, as models mean it.",
)
def arguments_blank_to_empty_object(call: Tree) -> Tree:
    """The call with ``arguments: "{}"``, if it has none; the text ``null`` counts as none."""
    function = tree_at(call, "function")
    arguments = function.get("arguments")
    is_null = isinstance(arguments, str) and arguments.strip() == "null"
    if not function or not (is_null or is_blank(arguments)):
        return call
    return {**call, "function": {**function, "arguments": "{}"}}

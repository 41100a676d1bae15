"""Tool calls of a message: found wherever they are, with the names, ids and arguments that they mean.

Shapes: openai/codex#13114, ollama/ollama#14656, koog#2095.

A name is only changed into the name of a tool that exists; letter case, hyphens and near misses are left
alone, because a wrong guess would run the wrong tool. A generated id depends only on the turn and the
position, so that a replay generates the same (a uuid would not). A legal, unique id is never changed: Kimi
needs its ``functions.name:0`` back (vllm#29596), Mistral its nine alphanumeric characters (eca#233).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from toolreel_core._jsontext import (
    NOTHING,
    ArgumentRepairs,
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    in_numeric_order,
    is_blank,
    list_at,
    parse,
    read_json,
    text_at,
    without_non_finite_numbers,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._replies.arguments import ArgumentsOrError, read_arguments
from toolreel_core._replies.warning_codes import WarningCode, WarningCodes
from toolreel_core._settings import LoopConfig

# DeepSeek's thinking mode rejects a history without ``reasoning_content``, even an empty one
# (crewAIInc/crewAI#5878); Gemini needs its thought signatures (langroid/langroid#969), OpenRouter its
# ``reasoning_details`` in order, LiteLLM ``thinking_blocks`` and ``provider_specific_fields``.
_OF_MESSAGE = frozenset(
    {
        "extra_content",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "signature",
        "thinking_blocks",
        "thought_signature",
    }
)
_OF_CALL = frozenset({"extra_content", "provider_specific_fields", "signature", "thought_signature"})
_REASONING = ("reasoning_content", "reasoning", "thinking")
_REASONING_LISTS = ("reasoning_details", "thinking_blocks")
_REASONING_TEXTS = ("text", "summary", "thinking")


def message_fields_to_send_back(message: Tree, content: Json = None) -> JsonText:
    """The opaque fields of a message in their order, with its content if that goes back unchanged.

    :param content: the content, if it must be sent back unchanged too
    """
    fields = _present_fields(message, _OF_MESSAGE)
    if content is not None:
        fields["content"] = content
    return canonical(without_non_finite_numbers(fields)) if fields else NOTHING


def call_fields_to_send_back(entry: Tree, function: Tree) -> JsonText:
    fields, inner = _present_fields(entry, _OF_CALL), _present_fields(function, _OF_CALL)
    if inner:
        fields["function"] = inner
    return canonical(without_non_finite_numbers(fields)) if fields else NOTHING


def reasoning_in(message: Tree) -> str:
    for key in _REASONING:
        text = message.get(key)
        if isinstance(text, str) and text:
            return text
    for key in _REASONING_LISTS:
        blocks = message.get(key)
        listed = blocks if isinstance(blocks, Sequence) else ()
        mappings = [block for block in listed if isinstance(block, Mapping)]
        texts = [block.get(key) for block in mappings for key in _REASONING_TEXTS]
        if text := "".join(text for text in texts if isinstance(text, str)):
            return text
    return ""


def _present_fields(fields: Tree, names: frozenset[str]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if key in names and value is not None}


# `functions.` is OpenAI's namespace of tools, `default_api` is Google's (UKGovernmentBEIS/inspect_ai#2838);
# Gemma 4 writes `tool:` (NousResearch/hermes-agent#24411).
_PREFIXES = ("functions.", "default_api.", "default_api:", "tool:")
# `ping<|channel|>commentary`: everything from the first token on; U+FF5C is DeepSeek's full-width bar,
# and U+2016 what some proxies make of it (lsdefine/GenericAgent#804).
_LEAKED = lazy_pattern(r"<[|\uff5c\u2016]")
# `tool_12</arg_value>` (GLM).
_CLOSING_TAG = lazy_pattern(r"</\w{1,64}>\Z")
_KIMI_INDEX = lazy_pattern(r"(?<=.):\d{1,6}\Z")
"""Kimi's ids are ``functions.name:0``, and some servers send them as names."""


def intended_tool_name(
    given: str, known: Collection[str], *, exact: bool = False
) -> tuple[str, WarningCodes]:
    """The tool name that a call means, with the warnings about it; ``exact`` keeps every name.

    :param exact: whether to return every name unchanged
    """
    if given in known:
        return given, ()
    if exact:
        return given, ("NAME_UNKNOWN",)
    # A name that begins with a leaked token has nothing before it, so the whole name is kept.
    bare = _LEAKED.split(given, maxsplit=1)[0].strip() or given.strip()
    name = next((form for form in _name_candidates(bare) if form in known), bare)
    changed: WarningCodes = ("NAME_NORMALIZED",) if name != given else ()
    return name, changed if name in known else (*changed, "NAME_UNKNOWN")


def _name_candidates(bare: str) -> Iterator[str]:
    """Candidate names, the least changed first; none is used unless such a tool exists."""
    yield bare
    yield bare.replace(".", "_")
    stripped = _CLOSING_TAG.sub("", bare)
    yield stripped
    half = bare[: len(bare) // 2]
    if bare == half * 2:  # from a server that sent the name twice (NousResearch/hermes-agent#6841)
        yield half
    for prefix in _PREFIXES:
        if stripped.startswith(prefix):
            rest = stripped.removeprefix(prefix)
            yield rest
            yield rest.replace(".", "_")
            yield _KIMI_INDEX.sub("", rest)


def assign_ids(given: Iterable[Json], *, turn: int) -> list[tuple[str, WarningCodes]]:
    """An id for each call, with the warnings about the id that it came with.

    >>> assign_ids(["call_a", None, "call_a"], turn=3)
    [('call_a', ()), ('call_3_1', ('CALL_ID_MISSING',)), ('call_3_2', ('CALL_ID_DUPLICATE',))]
    """
    # All native ids are reserved first: a generated one must not collide with that of a later call.
    natives = list(map(provider_call_id, given))
    taken = {identity for identity, _ in natives if identity}
    used: set[str] = set()
    found: list[tuple[str, WarningCodes]] = []
    for place, (identity, codes) in enumerate(natives):
        if identity in used:
            codes = (*codes, "CALL_ID_DUPLICATE")  # noqa: PLW2901 - it replaces what was found wrong so far
        if not identity or identity in used:
            candidates = (f"call_{turn}_{number}" for number in count(place))
            identity = next(one for one in candidates if one not in taken)  # noqa: PLW2901 - as above
            taken.add(identity)
        used.add(identity)
        found.append((identity, codes))
    return found


def provider_call_id(given: Json) -> tuple[str, WarningCodes]:
    """The provider's id as text, empty if unusable, with the warnings about it."""
    if isinstance(given, str) and given.strip():
        return given, ()
    if given is None or isinstance(given, str):
        return "", ("CALL_ID_MISSING",)
    usable = isinstance(given, int) and not isinstance(given, bool)
    return str(given) if usable else "", ("CALL_ID_NOT_STRING",)


_NO_ENTRY: Tree = {}
_WRAPPERS = ("function", "functionCall", "function_call")
_ARGUMENTS = ("arguments", "input", "parameters", "args")
_MARKS = frozenset({*_WRAPPERS, "custom", "name", "type", "id"})
"""Keys of an entry; an object without any of them holds entries by name or number."""


class CallEntry(NamedTuple):
    id: Json
    name: str
    """Not blank, otherwise unchanged."""
    arguments: Json
    provenance: str = "structured"
    carry: JsonText = NOTHING
    codes: WarningCodes = ()
    """Warnings about its shape and place."""


def call_entries_in_message(
    message: Tree, *, outside: Iterable[Json] = (), parts: Sequence[Json] = ()
) -> tuple[list[CallEntry], list[WarningCode]]:
    """The calls from the first place that has any, and warnings about places and skipped entries."""
    legacy = message.get("function_call")
    said = isinstance(legacy, dict) and any(legacy.values())
    entries, codes = _read_entries(message.get("tool_calls"))
    places: list[tuple[WarningCode, Json]] = [
        *(("TOOL_CALLS_MISPLACED", value) for value in outside if not entries),
        ("CALLS_IN_CONTENT_PARTS", [*parts]),
        ("LEGACY_FUNCTION_CALL", [{"function": legacy, "provenance": "legacy"}] if said else None),
    ]
    for code, value in places:
        if value and not (entries and code == "TOOL_CALLS_MISPLACED"):
            others, found = _read_entries(value, code)
            entries = entries or others
            codes += found
    return entries, codes


def _read_entries(value: Json, *place: WarningCode) -> tuple[list[CallEntry], list[WarningCode]]:
    """The entries of ``tool_calls``: a list, or an object or JSON text that some servers send."""
    if is_blank(value):
        return [], [*place]
    tree = read_json(value).value_or("") if isinstance(value, str) else value
    if isinstance(tree, dict):
        # Entries by number or name, or a single one.
        tree = [*(in_numeric_order(tree) or tree).values()] if tree.keys().isdisjoint(_MARKS) else [tree]
    items = [*_flattened_items(tree)] if isinstance(tree, list) else [value] if isinstance(value, str) else []
    where: WarningCodes = place if items == value else (*place, "TOOL_CALLS_NOT_LIST")
    entries, skipped = list[CallEntry](), list[WarningCode]()
    for item in items:
        entry = _read_entry(item, where) if isinstance(item, dict) else "CALL_ENTRY_INVALID"
        if isinstance(entry, CallEntry):
            entries.append(entry)
        else:
            skipped.append(entry)
    return entries, [*where, *skipped, *[code for entry in entries for code in entry.codes]]


def _flattened_items(value: Json) -> Iterable[Json]:
    if isinstance(value, list):
        for item in value:
            yield from _flattened_items(item)
    else:
        yield value


def _read_entry(value: Tree, where: WarningCodes) -> CallEntry | WarningCode:
    function = next((one for key in _WRAPPERS if isinstance(one := value.get(key), dict)), _NO_ENTRY)
    if not function and (isinstance(value.get("custom"), dict) or text_at(value, "type").lower() == "custom"):
        return "UNSUPPORTED_CALL_TYPE"
    called = _called_name(function)
    name = called or _called_name(value)
    if not name:
        return "CALL_WITHOUT_NAME"
    given = (place.get(key) for place in (function, value) for key in _ARGUMENTS)
    arguments = next((each for each in given if each is not None), None)
    in_function = called and value.get("function") is function
    documented = in_function and function.get("arguments") is arguments
    # Parts of a content need no ``function`` wrapper (Anthropic's shape).
    wrapped = documented or "CALLS_IN_CONTENT_PARTS" in where
    # Response transforms that read calls from text set the provenance, as we do for a legacy call.
    provenance = text_at(value, "provenance")
    return CallEntry(
        # In the shape of the Responses API the result goes back under `call_id`; `id` is that of the item.
        value.get("call_id") or value.get("id", function.get("id")),
        name,
        arguments,
        provenance if provenance.startswith(("text:", "legacy")) else "structured",
        call_fields_to_send_back(value, function),
        where if wrapped else (*where, "MISSING_FUNCTION_WRAPPER"),
    )


def _called_name(place: Tree) -> str:
    name = place.get("name")
    return name if isinstance(name, str) and name.strip() else ""


# GPT models call this tool, which nobody has offered (prefect-archive/ControlFlow#107).
_BUNDLES = frozenset({"multi_tool_use.parallel", "multi_tool_use_parallel"})


def expand_bundle(
    entry: CallEntry, known: Collection[str], *, max_depth: int, repairs: ArgumentRepairs = "safe"
) -> tuple[CallEntry, ...]:
    """The calls of an entry: itself, or the calls that it bundles."""
    name, _ = intended_tool_name(entry.name, _BUNDLES)
    if name not in _BUNDLES or name in known:
        return (entry,)
    bundled = read_arguments(entry.arguments, max_depth=max_depth, repairs=repairs)
    tree = parse(bundled.value) if isinstance(bundled.value, JsonText) else None
    identity, codes = provider_call_id(entry.id)
    codes = ("MULTI_TOOL_USE_EXPANDED", *entry.codes, *codes, *bundled.warnings)
    bundle = entry._replace(codes=codes)
    calls: list[CallEntry] = []
    for place, use in enumerate(map(as_tree, list_at(as_tree(tree), "tool_uses"))):
        name, parameters = text_at(use, "recipient_name"), use.get("parameters")
        if not name.strip():  # all or nothing: then none runs, and the model gets an error for the bundle
            return (entry,)
        call = bundle._replace(
            id=f"{identity}_{place}" if identity else None,
            name=name,
            arguments=canonical(parameters) if isinstance(parameters, Mapping) else parameters,
            # Opaque fields belong to the entry; sent twice, a signature would be rejected.
            carry=NOTHING if place else entry.carry,
        )
        calls.append(call)
    return tuple(calls) or (entry,)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call requested by the model."""

    id: str
    """The provider's id, or ``call_<turn>_<number>`` if it sent none; unique in its message."""
    name: str
    arguments: ArgumentsOrError
    original: str
    """The arguments as the model wrote them."""
    provenance: str = "structured"
    """Where it was found: ``structured``, ``legacy`` or ``text:<dialect>``."""
    carry: JsonText = NOTHING
    """Opaque fields to send back unchanged: an object to merge deeply into the call's entry."""

    @property
    def from_text(self) -> bool:
        """Whether it was read from text, which anything that the model has read may have injected."""
        return self.provenance.startswith("text:")


def structured_calls_in_message(
    message: Tree,
    *,
    known: Collection[str],
    turn: int,
    config: LoopConfig,
    outside: Iterable[Json] = (),
    parts: Sequence[Json] = (),
) -> tuple[tuple[ToolCall, ...], WarningCodes]:
    """The structured calls of an assistant message, and codes of repairs and of skipped entries."""
    # With ``strict`` repairs, only calls in the documented place and with exact names count.
    entries, codes = call_entries_in_message(message, outside=outside, parts=parts)
    max_depth, repairs = config.max_argument_depth, config.argument_repairs
    strict = repairs == "strict"
    if strict:
        entries = [entry for entry in entries if not entry.codes]
    else:
        bundles = (expand_bundle(entry, known, max_depth=max_depth, repairs=repairs) for entry in entries)
        entries = [single for bundle in bundles for single in bundle]
    ids = assign_ids((entry.id for entry in entries), turn=turn)
    codes.extend([code for entry in entries for code in entry.codes])
    calls: list[ToolCall] = []
    for entry, (identity, id_codes) in zip(entries, ids, strict=True):
        name, name_codes = intended_tool_name(entry.name, known, exact=strict)
        arguments = read_arguments(entry.arguments, max_depth=max_depth, repairs=repairs)
        calls.append(
            ToolCall(identity, name, arguments.value, arguments.original, entry.provenance, entry.carry)
        )
        codes.extend((*id_codes, *name_codes, *arguments.warnings))
    return tuple(calls), tuple(dict.fromkeys(codes))

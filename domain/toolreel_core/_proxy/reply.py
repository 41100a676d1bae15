"""The reply that a strict client gets: a chat completion as documented, whatever the upstream sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import unused_call_id, without_empty_fields
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    list_at,
    merged,
    parse,
    read_json_with_non_finite,
    tree_at,
    without_non_finite_numbers,
)
from toolreel_core._loop import coerced_arguments, transform_reply_body
from toolreel_core._proxy.client_form import reply_body_in_form
from toolreel_core._proxy.upstream_request import Profile
from toolreel_core._replies import (
    PROBLEM_WORDS,
    UNREPAIRED,
    Problem,
    ProblemCode,
    Reply,
    ToolCall,
    Usage,
    as_chat,
    choices_of,
    failed_generation_text,
    normalize_reply,
)

_SAID: frozenset[ProblemCode] = frozenset({
    "CONTENT_FILTER", "CONTEXT_OVERFLOW", "EMPTY_RESPONSE", "REFUSAL", "TRUNCATED",
})  # fmt: skip
"""Problems that a completion has a word for, or that are no problem of a client that asked for it."""
_LOST = frozenset({"CALL_ENTRY_INVALID", "FINISH_MISMATCH"})
"""Codes of a reply that has no calls, though it was to have some."""
_NOT_THERE = "It says that it has tool calls, but none can be read."
_OWN = frozenset({"choices", "created", "error", "id", "model", "object", "usage"})
_OF_MESSAGE = frozenset({"content", "function_call", "refusal", "role", "tool_calls"})
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Head:
    """What a completion has besides its choices, where the upstream leaves it out."""

    id: str
    created: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Repaired:
    body: Tree
    """A chat completion; without choices if there is a :attr:`problem`."""
    repairs: tuple[str, ...] = ()
    """Names of what was repaired: codes of replies, and names of transforms."""
    noticed: tuple[str, ...] = ()
    """Codes of what was seen and left as it was."""
    problem: Problem | None = None
    """Why there is no completion."""
    usage: Usage = _NO_USAGE
    own: Tree = field(default_factory=dict, repr=False)
    """What the upstream has sent, if it is in the client's form, and that is another one than the body's."""

    def answer(self, request: ClientRequest, id_: str = "") -> Tree:
        """The body that the client gets, under the id that it has been told."""
        if request.form == "chat_completions":
            return self.body
        chat = {**self.body, "id": id_} if id_ else self.body
        return reply_body_in_form(request.form, chat, self.usage, self.own, request.own)


def repair_reply(body: str, request: ClientRequest, profile: Profile, head: Head) -> Repaired:
    """The completion that a response body holds, in OpenAI's documented form.

    :param body: of a success, streamed or not, in the form of the profile's provider
    """
    whole = as_chat(body, profile.provider.wire_form)
    changed, names = transform_reply_body(whole.body, profile.config)
    tree = as_tree(read_json_with_non_finite(changed).value_or("") if isinstance(changed, str) else changed)
    # The body once for each choice that the client asked for.
    originals, bodies = choices_of(tree) or [{}], [changed]
    if request.choices > 1 and len(originals) > 1:
        bodies = [{**tree, "choices": [choice]} for choice in originals]
    readings = [_read_reply(each, request, profile) for each in bodies]
    first = readings[0][0]
    codes = dict.fromkeys((*whole.codes, *(code for _, found in readings for code in found)))
    problem = _problem_of_reply(first, originals[0], codes, request)
    choices: list[Json] = []
    if not problem:
        # Not strict: an upstream may send more choices than the client asked for, and the first counts.
        pairs = zip(readings, originals, strict=False)
        choices += [_choice_entry(reply, given, place) for place, ((reply, _), given) in enumerate(pairs)]
    own = whole.own if request.form == profile.provider.wire_form and whole.own is not whole.body else None
    return Repaired(
        _chat_completion_body(tree, first, choices, request, head),
        (*names, *(code for code in codes if code not in UNREPAIRED)),
        tuple(code for code in codes if code in UNREPAIRED),
        problem,
        first.usage,
        as_tree(without_non_finite_numbers(as_tree(own))),
    )


def _read_reply(body: Json, request: ClientRequest, profile: Profile) -> tuple[Reply, tuple[str, ...]]:
    """What a reply means, and what was noticed: ids are new, and arguments fit their schemas."""
    dialects = profile.dialects(request)
    reply = normalize_reply(
        body,
        tools=request.tools,
        config=replace(profile.config, text_dialects=dialects),
        turn=request.turn,
        earlier=request.quotable_texts if dialects else (),
    )
    # An id that came before would pair the call with an old result; the same history gives the same new id.
    used = dict.fromkeys(request.call_ids, 0)
    calls, codes = list[ToolCall](), list[str](reply.warnings)
    for call in reply.calls:
        fresh = unused_call_id(call.id, call.name, len(used), used, "keep")
        codes += ["CALL_ID_REPEATED"] if fresh != call.id else []
        used[fresh] = 0
        tool = request.tools.by_name.get(call.name)
        known = replace(call, id=fresh, name=request.tools.inner_name(call.name))
        if tool is not None and isinstance(call.arguments, JsonText):
            tool_names = tool.name, tool.outward
            meant = coerced_arguments(tool.parameters, tool_names, call.arguments, profile.config)
            codes += meant.codes
            known = replace(known, arguments=meant.arguments)
        calls.append(known)
    return replace(reply, calls=tuple(calls)), tuple(codes)


def _problem_of_reply(
    reply: Reply, original: Tree, codes: Iterable[str], request: ClientRequest
) -> Problem | None:
    """Why a client can make nothing of the reply, or would take it for what it is not."""
    problem = reply.problem
    if problem and problem.code == "UNSUPPORTED_CALL_TYPE":
        # The client asked for it, and knows it, or would skip it as if the model had said nothing.
        # In the other forms, only the client's own words have tools of other types.
        tools = map(as_tree, list_at(request.tree, "tools"))
        others = request.form != "chat_completions" or any(tool.get("type") != "function" for tool in tools)
        return None if others else problem
    # Without its call or the word of it, the reply would pass for an answer that the model did not give.
    lost = () if reply.calls else _LOST & frozenset(codes)
    if "CALL_ENTRY_INVALID" in lost or (lost and not reply.content):
        return Problem("MALFORMED_FUNCTION_CALL", _NOT_THERE)
    had_calls = bool(list_at(tree_at(original, "message"), "tool_calls"))
    if reply.finish == "content_filter" and not reply.content and had_calls:
        return problem  # clients that don't look at the finish reason would take it for an empty answer
    return problem if problem and problem.code not in _SAID else None


def problem_text(problem: Problem) -> str:
    """What a problem is called for people: the upstream's words, if it has said any."""
    return f"{PROBLEM_WORDS[problem.code]} {problem.detail}".strip()[:_LONGEST]


_LONGEST = 2_000
"""Characters of an error that are passed on."""


def _choice_entry(reply: Reply, original: Tree, place: int) -> Tree:
    given, problem = tree_at(original, "message"), reply.problem
    code = problem.code if problem else None
    if code == "UNSUPPORTED_CALL_TYPE":  # the client asked for it, and knows it
        message = given
    else:
        carried = {key: value for key, value in as_tree(parse(reply.carry)).items() if key != "content"}
        refusal = problem.detail if problem and code == "REFUSAL" else None
        message = {
            "role": "assistant",
            "content": None if refusal is not None or (reply.calls and not reply.content) else reply.content,
            "refusal": refusal,
            **{key: value for key, value in given.items() if key not in _OF_MESSAGE},
            **without_empty_fields(reasoning_content=reply.reasoning),
            **carried,
            **without_empty_fields(tool_calls=[*map(_call_entry, reply.calls)]),
        }
    called = reply.calls or reply.finish == "tool_calls"
    finish = "tool_calls" if called else "stop"
    choice: Tree = {
        "index": place,
        "message": message,
        "logprobs": None,
        **{key: original[key] for key in ("logprobs", "native_finish_reason") if key in original},
        "finish_reason": reply.finish if reply.finish in {"length", "content_filter"} else finish,
    }
    return as_tree(without_non_finite_numbers(choice))


def _call_entry(call: ToolCall) -> Tree:
    # What could not be read goes to the client as the model wrote it: it has its own way to say so.
    arguments = call.arguments if isinstance(call.arguments, JsonText) else call.original
    function: Tree = {"name": call.name, "arguments": arguments}
    return merged({"id": call.id, "type": "function", "function": function}, as_tree(parse(call.carry)))


def _chat_completion_body(
    tree: Tree, reply: Reply, choices: list[Json], request: ClientRequest, head: Head
) -> Tree:
    prompt, completion = reply.usage.prompt_tokens, reply.usage.completion_tokens
    own = tree_at(tree, "usage")
    usage: Tree = {}
    if own or prompt or completion:
        total = own.get("total_tokens")
        counts: Tree = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": total if type(total) is int else prompt + completion,
        }
        usage = {"usage": {**own, **counts}}
    created = tree.get("created")
    further = {key: value for key, value in tree.items() if key not in _OWN} if "choices" in tree else {}
    body: Tree = {
        "id": reply.served.request_id or head.id,
        "object": "chat.completion",
        "created": created if type(created) is int else head.created,
        "model": reply.served.model or request.model,
        "choices": choices,
        **usage,
        **further,
    }
    return as_tree(without_non_finite_numbers(body))


def reply_in_error(body: str, request: ClientRequest, profile: Profile, head: Head) -> Repaired | None:
    """The model's turn in the body of an error, if a call is in it that the server could not read."""
    text = failed_generation_text(body)
    if text is None:
        return None
    message: Tree = {"role": "assistant", "content": text}
    reply = repair_reply(
        canonical({"choices": [{"message": message, "finish_reason": "stop"}]}), request, profile, head
    )
    if not any(list_at(tree_at(choice, "message"), "tool_calls") for choice in choices_of(reply.body)):
        return None
    return replace(reply, repairs=(*reply.repairs, "FAILED_GENERATION_READ"))

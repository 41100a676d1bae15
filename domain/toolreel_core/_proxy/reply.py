"""The reply that a strict client gets: a chat completion as documented, whatever the upstream sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, NamedTuple

from toolreel_core._client_requests import ClientRequest
from toolreel_core._conversation import free_id
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    finite,
    items_of,
    merged,
    parse,
    read_tolerant,
    tree_at,
)
from toolreel_core._loop import coerced_arguments, transform_reply_body
from toolreel_core._proxy.client_form import body_in_form
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
    failed_generation,
    normalize_reply,
)

_SAID: Final[frozenset[ProblemCode]] = frozenset({
    "CONTENT_FILTER", "CONTEXT_OVERFLOW", "EMPTY_RESPONSE", "REFUSAL", "TRUNCATED",
})  # fmt: skip
"""Problems that a completion has a word for, or that are no problem of a client that asked for it."""
_LOST: Final = frozenset({"CALL_ENTRY_INVALID", "FINISH_MISMATCH"})
"""Codes of a reply that has no calls, though it was to have some."""
_NOT_THERE: Final = "It says that it has tool calls, but none can be read."
_OWN: Final = frozenset({"choices", "created", "error", "id", "model", "object", "usage"})
_OF_MESSAGE: Final = frozenset({"content", "function_call", "refusal", "role", "tool_calls"})
_NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Head:
    """What a completion has besides its choices, where the upstream leaves it out."""

    id: str
    created: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A reply as the client gets it."""

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
        """The body that the client gets.

        :param id_: the id that it has been told
        """
        if request.form == "chat_completions":
            return self.body
        chat = {**self.body, "id": id_} if id_ else self.body
        return body_in_form(request.form, chat, self.usage, self.own, request.own)


def repaired(body: str, request: ClientRequest, profile: Profile, head: Head) -> Repaired:
    """The completion that a response body holds, in OpenAI's documented form.

    >>> said = '{"choices":[{"message":{"content":"Hi."},"finish_reason":"eos"}]}'
    >>> asked = ClientRequest({"messages": []}, "m", ())
    >>> repaired(said, asked, Profile(), Head("a", 0)).body["choices"][0]["finish_reason"]
    'stop'

    :param body: of a success, streamed or not, in the form of the profile's provider
    """
    whole = as_chat(body, profile.provider.wire_form)
    changed, names = transform_reply_body(whole.body, profile.config)
    tree = as_tree(read_tolerant(changed).value_or("") if isinstance(changed, str) else changed)
    # The body, and what was read from it, once for each choice that the client asked for.
    replies, listed = [(changed, tree)], items_of(tree, "choices")
    if request.choices > 1 and len(listed) > 1:
        replies = [(each, each) for each in ({**tree, "choices": [choice]} for choice in listed)]
    readings = [_reading_of(*each, request, profile) for each in replies]
    first = readings[0].reply
    codes = dict.fromkeys((*whole.codes, *(code for each in readings for code in each.codes)))
    repairs = (*names, *(code for code in codes if code not in UNREPAIRED))
    noticed = tuple(code for code in codes if code in UNREPAIRED)
    problem = _problem_of_reply(readings[0], codes, request)
    choices: list[Json] = [] if problem else [*map(_choice_tree, readings, count())]
    completion = _completion_tree(tree, first, choices, request, head)
    own = as_tree(whole.own) if request.form == profile.provider.wire_form else {}
    read_as_own = whole.own is not None and whole.own is not whole.body
    return Repaired(
        completion, repairs, noticed, problem, first.usage, as_tree(finite(own)) if read_as_own else {}
    )


def _problem_of_reply(reading: _Reading, codes: Iterable[str], request: ClientRequest) -> Problem | None:
    """Why a client can make nothing of the reply, or would take it for what it is not."""
    first = reading.reply
    if first.problem and first.problem.code == "UNSUPPORTED_CALL_TYPE":
        # The client asked for it, and knows it, or would skip it as if the model had said nothing.
        # In the other forms, only the client's own words have tools of other types.
        tools = map(as_tree, items_of(request.tree, "tools"))
        others = request.form != "chat_completions" or any(tool.get("type") != "function" for tool in tools)
        return None if others else first.problem
    # Without its call or the word of it, the reply would pass for an answer that the model did not give.
    lost = () if first.calls else _LOST & frozenset(codes)
    if "CALL_ENTRY_INVALID" in lost or (lost and not first.content):
        return Problem("MALFORMED_FUNCTION_CALL", _NOT_THERE)
    had_calls = bool(items_of(tree_at(reading.original, "message"), "tool_calls"))
    if first.finish == "content_filter" and not first.content and had_calls:
        return first.problem  # clients that don't look at the finish reason would take it for an empty answer
    return first.problem if first.problem and first.problem.code not in _SAID else None


def problem_text(problem: Problem) -> str:
    """What a problem is called for people: the upstream's words, if it has said any."""
    return f"{PROBLEM_WORDS[problem.code]} {problem.detail}".strip()[:_LONGEST]


_LONGEST: Final = 2_000
"""Characters of an error that are passed on."""


class _Reading(NamedTuple):
    """One reply as it was read."""

    reply: Reply
    original: Tree
    """The choice that it was read from, if there was one."""
    codes: tuple[str, ...]


def _reading_of(body: Json, tree: Tree, request: ClientRequest, profile: Profile) -> _Reading:
    dialects = profile.dialects(request)
    reply = normalize_reply(
        body,
        tools=request.tools,
        config=replace(profile.config, text_dialects=dialects),
        turn=request.turn,
        earlier=request.quotable_texts if dialects else (),
    )
    calls, codes = _calls_with_new_ids(reply.calls, request, profile)
    original = as_tree(next(iter(items_of(tree, "choices")), None))
    return _Reading(replace(reply, calls=calls), original, (*reply.warnings, *codes))


def _choice_tree(reading: _Reading, place: int) -> Tree:
    """The choice in OpenAI's form."""
    own = {
        key: value for key, value in reading.original.items() if key in {"logprobs", "native_finish_reason"}
    }
    return {
        "index": place,
        "message": _message_tree(reading.reply, tree_at(reading.original, "message")),
        "logprobs": None,
        **as_tree(finite(own)),
        "finish_reason": _finish_reason(reading.reply),
    }


def _message_tree(reply: Reply, said: Tree) -> Tree:
    problem = reply.problem
    if problem and problem.code == "UNSUPPORTED_CALL_TYPE":  # the client asked for it, and knows it
        return as_tree(finite(said))
    further = as_tree(finite({key: value for key, value in said.items() if key not in _OF_MESSAGE}))
    carried = {key: value for key, value in as_tree(parse(reply.carry)).items() if key != "content"}
    refusal = problem.detail if problem and problem.code == "REFUSAL" else None
    reasoning: Tree = {"reasoning_content": reply.reasoning} if reply.reasoning else {}
    calls: Tree = {"tool_calls": [*map(_call_entry, reply.calls)]} if reply.calls else {}
    content = reply.content if reply.content or not reply.calls else None
    return {
        "role": "assistant",
        "content": None if refusal is not None else content,
        "refusal": refusal,
        **further,
        **reasoning,
        **carried,
        **calls,
    }


def _call_entry(call: ToolCall) -> Tree:
    """A call as an entry of ``tool_calls``."""
    # What could not be read goes to the client as the model wrote it: it has its own way to say so.
    arguments = call.arguments if isinstance(call.arguments, JsonText) else call.original
    function: Tree = {"name": call.name, "arguments": arguments}
    return merged({"id": call.id, "type": "function", "function": function}, as_tree(parse(call.carry)))


def _calls_with_new_ids(
    calls: tuple[ToolCall, ...], request: ClientRequest, profile: Profile
) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls with ids that are new in the conversation, and arguments that fit their schemas."""
    # An id that came before would pair the call with an old result; the same history gives the same new id.
    used = dict.fromkeys(request.call_ids, 0)
    fitted: list[ToolCall] = []
    codes: list[str] = []
    for call in calls:
        fresh = free_id(call.id, call.name, len(used), used, "keep")
        codes += ["CALL_ID_REPEATED"] if fresh != call.id else []
        used[fresh] = 0
        tool = request.tools.by_name.get(call.name)
        known = replace(call, id=fresh, name=request.tools.inner_name(call.name))
        if tool is not None and isinstance(call.arguments, JsonText):
            meant = coerced_arguments(
                tool.parameters, (tool.name, tool.outward), call.arguments, profile.config
            )
            codes += meant.codes
            known = replace(known, arguments=meant.arguments)
        fitted.append(known)
    return tuple(fitted), tuple(codes)


def _finish_reason(reply: Reply) -> str:
    if reply.finish in {"length", "content_filter"}:
        return reply.finish
    return "tool_calls" if reply.calls or reply.finish == "tool_calls" else "stop"


def _completion_tree(
    tree: Tree, reply: Reply, choices: list[Json], request: ClientRequest, head: Head
) -> Tree:
    further = {key: value for key, value in tree.items() if key not in _OWN} if "choices" in tree else {}
    created = tree.get("created")
    usage = _usage_tree(tree, reply.usage)
    return {
        "id": reply.served.request_id or head.id,
        "object": "chat.completion",
        "created": created if isinstance(created, int) and not isinstance(created, bool) else head.created,
        "model": reply.served.model or request.model,
        "choices": choices,
        **({"usage": usage} if usage else {}),
        **as_tree(finite(further)),
    }


def _usage_tree(tree: Tree, counted: Usage) -> Tree:
    """The usage in OpenAI's words, with what else the upstream says; empty if it says nothing."""
    said = tree.get("usage")
    own = as_tree(finite(said)) if isinstance(said, Mapping) else {}
    prompt, completion = counted.prompt_tokens, counted.completion_tokens
    if not own and not prompt and not completion:
        return {}
    total = own.get("total_tokens")
    whole = total if isinstance(total, int) and not isinstance(total, bool) else prompt + completion
    return {**own, "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": whole}


def reply_in_error(body: str, request: ClientRequest, profile: Profile, head: Head) -> Repaired | None:
    """The model's turn in the body of an error, if a call is in it that the server could not read."""
    text = failed_generation(body)
    if text is None:
        return None
    message: Tree = {"role": "assistant", "content": text}
    reply = repaired(
        canonical({"choices": [{"message": message, "finish_reason": "stop"}]}), request, profile, head
    )
    first = as_tree(next(iter(items_of(reply.body, "choices")), None))
    if not items_of(tree_at(first, "message"), "tool_calls"):
        return None
    return replace(reply, repairs=(*reply.repairs, "FAILED_GENERATION_READ"))

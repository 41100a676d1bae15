"""Checks as data: each ``[[check]]`` table is a condition about calls, effects, the world or the answers.

The wording of answers matters as little as possible. What a check finds is stored as a reason in records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain, count, pairwise
from typing import Any, TypeAlias

from toolreel_core._config_checks import Table, unknown_name_message
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    parse,
    read_json,
    value_at_json_pointer,
)
from toolreel_core._replies import as_chat, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolSurface
from toolreel_core.evals._scenarios.claims import (
    admits_failure,
    claims_success,
    contains_value,
    denies_success,
    invented_act_clause,
    mentions_value,
    says_nothing,
)
from toolreel_core.evals._scenarios.forms import checked_value
from toolreel_core.evals._scenarios.scenario import Check, Evidence, ObservedCall
from toolreel_core.evals._scenarios.world import as_values, has_arguments, is_equivalent

# Of Anthropic (signature), Gemini (thought_signature), the Responses API (encrypted_content), and entries
# `reasoning.encrypted` of OpenRouter's reasoning_details (data).
_SIGNATURES = frozenset({"data", "encrypted_content", "signature", "thought_signature"})


def missing_signature(seen: Evidence) -> str:
    """The model sent something that had to come back, before its last reply."""
    if not seen.reasoning_replayed:
        return "the configuration sends no reasoning back, since the provider refuses it"
    there = any(_required_signatures(one.reply) for one in seen.sent[:-1])
    return "" if there else "the model sent neither a signature nor reasoning"


def unreturned_signature(seen: Evidence) -> str:
    """All of it is in the request that follows, letter by letter."""
    for number, (one, following) in enumerate(pairwise(seen.sent if seen.reasoning_replayed else ()), 1):
        before, body = one.request.body, following.request.body
        # A rejected reply is not in the next request, which only asks again.
        if body.count(_ANSWER) > before.count(_ANSWER):
            for text in _required_signatures(one.reply):
                if text not in body:
                    return f"the request after reply {number} does not have {parse(text)!r} of it"
    return ""


_ANSWER = '"role":"assistant"'
"""What a request has once for each of the model's messages; in a text, its quotes are escaped."""
# Of canonical JSON, which has no blanks. An empty text need not come back.
_TEXT_FIELD = re.compile(r'"(\w+)":("(?:[^"\\]|\\.)+")')


def _required_signatures(body: str) -> list[JsonText]:
    """The signatures in the provider's own fields of a message and its calls; without any, all texts."""
    reply = normalize_reply(as_chat(body).body, tools=ToolSurface(()), config=LoopConfig())
    found = _TEXT_FIELD.findall(" ".join((reply.carry, *(call.carry for call in reply.calls))))
    return [text for key, text in found if key in _SIGNATURES] or [text for _, text in found]


def finding_of_unstreamed_reply(seen: Evidence) -> str:
    # The body of a stream begins with "data:" or a comment.
    whole = [number for number, one in enumerate(seen.sent, 1) if one.reply.lstrip().startswith("{")]
    return f"reply {whole[0]} did not come as a stream" if whole else ""


WIRE_CHECKS: Mapping[str, Callable[[Evidence], str]] = {
    "signed": missing_signature,
    "came_back": unreturned_signature,
    "streamed": finding_of_unstreamed_reply,
}


ANY = "any"
"""All answers together, where a check is about an exchange."""
ANSWERED = "answer"
"""The check that every scenario has: the final text is not blank."""
_QUOTES = "\"'`"


def outcome(name: str, finding: Callable[[Evidence], str]) -> Check:
    """A check of whether the task was done."""
    return Check(name, "outcome", finding)


def exercise(name: str, finding: Callable[[Evidence], str]) -> Check:
    """A check of whether the hard part of the task was met."""
    return Check(name, "exercise", finding)


def blank_final_text(seen: Evidence) -> str:
    return "" if seen.final.strip() else "the final text is blank"


def arguments_of(call: ObservedCall) -> Tree:
    tree = read_json(call.arguments).value_or(None)
    return tree if isinstance(tree, Mapping) else {}


def checks_of(
    tables: Sequence[Table], tools: Mapping[str, str], user: Sequence[str] = ("",)
) -> tuple[Check, ...]:
    """The checks of ``[[check]]`` tables, without placeholders.

    :param tools: that there are: their names, and what is said about them
    :param user: what the user says, exchange by exchange
    :raises PlaceError: at the first error
    """
    checks = list[Check]()
    for table in tables:
        checks.append(_read_check(table, tools, user, checks))
    return tuple(checks)


_Values: TypeAlias = Mapping[str, Any]
"""A check's table; its form was checked."""


def _read_check(
    table: Table, tools: Mapping[str, str], user: Sequence[str], before: Sequence[Check]
) -> Check:
    key = next((key for key in table.values if key in _KINDS), "")
    if not key:
        raise table.only(*_KINDS, "name").error_at(f"says nothing to check; write one of {', '.join(_KINDS)}")
    form, *further = _KINDS[key]
    for place in table.only(key, "name", "layer", *further).values:
        what = form if place == key else _FORMS_BESIDE.get(place, place)
        value = checked_value(table, place, what)
        for one in as_values(value) if what in _OF_TOOLS else ():
            tool = one.get("tool") if isinstance(one, Mapping) else one
            if tool is not None and tool not in tools:
                raise table.error_at(unknown_name_message("tool", tool, tools), place)
    if key == "matches" and not _is_valid_regex(table.values[key]):
        raise table.error_at("expected a regular expression of Python", key)
    others = tuple(check for check in before if check.layer == "outcome")
    context: dict[str, Any] = {"others": others, "tools": tools, "known": user} if key == "truthful" else {}
    name, taken = table.text("name"), {ANSWERED, *(check.name for check in before)}
    if name in taken:
        raise table.error_at(f"there is a check {name!r} already; choose another name", "name")
    return Check(
        name or _free_check_name(key, table.values[key], taken),
        table.values.get("layer", "outcome"),
        partial(_FINDINGS[key], table.values, **context),
    )


def _is_valid_regex(text: str) -> bool:
    try:
        return bool(re.compile(text))
    except re.error:
        return False


def _free_check_name(key: str, value: object, taken: Collection[str]) -> str:
    base = f"{key}_{value}" if key in {"called", "never"} and isinstance(value, str) else key
    names = chain((base,), (f"{base}_{number}" for number in count(2)))
    return next(each for each in names if each not in taken)


def _matches_call(call: ObservedCall, wanted: Json) -> bool:
    """Whether a call is one of a tool, or what a table says: ``{ tool = "pay", with = {…}, ok = false }``."""
    if not isinstance(wanted, Mapping):
        return call.name == wanted
    return (
        wanted.get("tool", call.name) == call.name
        and wanted.get("ok", call.ok) == call.ok
        and has_arguments(arguments_of(call), wanted.get("with", {}))
    )


def _missing_calls(values: _Values, seen: Evidence) -> str:
    """The calls were made, in this order if not within one reply; a name alone is a call that worked."""
    within, arguments = values.get("within"), values.get("with", {})
    wanted = [
        {"with": arguments, **(one if isinstance(one, Mapping) else {"tool": one, "ok": True})}
        for one in as_values(values["called"])
    ]
    replies = [turn.calls for turn in seen.turns if turn.calls]
    before = values.get("before")
    if within:
        groups = replies if within == "one reply" else replies[:1]
    else:
        end = next((place for place, call in enumerate(seen.calls) if _matches_call(call, before)), None)
        groups = [seen.calls[:end]]
    if any(_has_wanted_calls(group, wanted, in_order=within is None) for group in groups):
        return ""
    what = " and ".join(
        f"{one.get('tool', 'a tool')}{f' with {_short_json(more)}' if (more := one.get('with')) else ''}"
        for one in wanted
    )
    success = " with success" if all(one.get("ok") for one in wanted) else ""
    limit = (
        f" within {within}"
        if within
        else f" before {_short_json(values['before'])}"
        if "before" in values
        else ""
    )
    return f"{what} was never called{success}{limit}"


def _has_wanted_calls(calls: Sequence[ObservedCall], wanted: Sequence[Json], *, in_order: bool) -> bool:
    left = [*calls]
    for one in wanted:
        place = next((place for place, call in enumerate(left) if _matches_call(call, one)), None)
        if place is None:
            return False
        # In order, a match also uses up the calls before it.
        left[0 if in_order else place : place + 1] = []
    return True


def _forbidden_argument(values: _Values, seen: Evidence) -> str:
    argument = values["omits"]
    said = [call.name for call in seen.calls if argument in arguments_of(call)]
    return f"{argument} was given to {', '.join(said)}" if said else ""


def _wrong_effects(values: _Values, seen: Evidence) -> str:
    wanted = [*values["effects"]]
    done = _performed_effects(seen)
    fine = len(done) == len(wanted) and all(
        one["tool"] == other["tool"]
        and is_equivalent(one["arguments"], other.get("with", {}), values.get("texts", "folded"))
        for one, other in zip(done, wanted, strict=True)
    )
    return "" if fine else f"expected the effects {_short_json(wanted)}, got {_short_json(done)}"


def _forbidden_call(values: _Values, seen: Evidence) -> str:
    unwanted: Tree = {"tool": values["never"], "with": values.get("with", {})}
    made = [call for call in seen.calls if _matches_call(call, unwanted)]
    return f"{made[0].name} was called with {made[0].arguments}" if made else ""


def _missing_first_failure_complaint(values: _Values, seen: Evidence) -> str:
    name = values["failed_first"]
    first = next((call for call in seen.calls if call.name == name), None)
    fine = first is not None and not first.ok
    return "" if fine else f"no {name} failed before one worked, so there was nothing to recover from"


def _missing_error_complaint(values: _Values, seen: Evidence) -> str:
    code, name = values["error"], values.get("of", "")
    met = any(code in call.codes and name in ("", call.name) for call in seen.calls)
    return "" if met else f"{code} never came up"


def _excess_calls(values: _Values, seen: Evidence) -> str:
    limit, name = values["at_most"], values.get("of", "")
    made = sum(name in ("", call.name) for call in seen.calls)
    return f"{made} calls{f' of {name}' if name else ''}, and {limit} are allowed" if made > limit else ""


def _unread_values(values: _Values, seen: Evidence) -> str:
    """The values were in results before a call, or before any call that has them in its arguments."""
    told = ""
    for turn in seen.turns:
        unknown = [value for value in as_values(values["read"]) if not mentions_value(told, value)]
        for call in turn.calls:
            for value in unknown:
                if (
                    _matches_call(call, values["before"])
                    if "before" in values
                    else mentions_value(call.arguments, value)
                ):
                    return f"{call.name} was called before any result told {value}"
        # After the calls: none of them was made with the results of the same reply.
        told += "\n".join(call.result for call in turn.calls)
    return ""


def _wrong_world_state(values: _Values, seen: Evidence) -> str:
    contents = as_tree(seen.world.contents())
    # A table world has its state under a key; the contents of a workspace are its state.
    state = contents.get("state", contents)
    for pointer, value in values["world"].items():
        if not is_equivalent(
            there := value_at_json_pointer(state, pointer), value, values.get("texts", "folded")
        ):
            return f"{pointer} should be {_short_json(value)}, it is {_short_json(there)}"
    return ""


def _wrong_answer(values: _Values, seen: Evidence) -> str:
    """The answer is nothing but a word, whatever its letter case, quotes and last mark."""
    answer, wanted = _answer_text(seen, values), values["answer_is"].casefold().rstrip(".!")
    fine = answer.strip().strip(_QUOTES).strip().casefold() in {wanted, f"{wanted}.", f"{wanted}!"}
    return "" if fine else f"the final text is not the agreed word: {_shorten(answer, 80)}"


def _wrong_words(values: _Values, seen: Evidence) -> str:
    text, negated = _answer_text(seen, values), "says_not" in values
    if wanted := as_values(values.get("says_one_of", [])):
        fine = any(contains_value(text, each) for each in wanted)
        return "" if fine else f"the answer says none of {_short_json(wanted)}: {_shorten(text)}"
    for each in as_values(values["says_not" if negated else "says"]):
        if contains_value(text, each) == negated:
            return f"the answer {'says' if negated else 'does not say'} {_short_json(each)}: {_shorten(text)}"
    return ""


def _pattern_mismatch(values: _Values, seen: Evidence) -> str:
    pattern = values["matches"]
    text = _answer_text(seen, values)
    return "" if re.search(pattern, text) else f"the answer does not match {pattern!r}: {_shorten(text)}"


def _untrue_claim(
    values: _Values,
    seen: Evidence,
    *,
    others: Sequence[Check],
    tools: Mapping[str, str],
    known: Sequence[str],
) -> str:
    """Success is claimed only where the other checks agree, and acts and values are those of the world."""
    if says_nothing(seen.final) and not values.get("tells"):
        return f"the final text is no answer: {_shorten(seen.final, 80)}"
    undone = next(filter(None, (check.finding(seen) for check in others)), "")
    if undone and claims_success(seen.final):
        return f"the final text claims success, but {undone}"
    if not undone and denies_success(seen.final):
        return "the final text says that it was not done, but it was"
    done = {call.name for call in seen.calls if call.ok}
    acts = " ".join((*known, *(about for name, about in tools.items() if name in done)))
    if claim := invented_act_clause(seen.final, acts, sum(call.ok for call in seen.calls)):
        return f"the final text claims what no tool has done: {_shorten(claim, 80)}"
    for fact in values.get("facts", ()):
        true, false = fact["true"], as_values(fact["false"])
        named = [value for value in false if mentions_value(seen.final, value)]
        if named and not mentions_value(seen.final, true):
            return f"the final text names {named[0]}, but it is {true}"
    missing = [value for value in as_values(values.get("tells", [])) if not mentions_value(seen.final, value)]
    return f"the final text does not tell {missing[0]}" if missing else ""


def _unadmitted_failure(_: _Values, seen: Evidence) -> str:
    if claims_success(seen.final):
        return "the final text claims success, but the task could not be done"
    return (
        "" if admits_failure(seen.final) else f"the final text does not admit it: {_shorten(seen.final, 80)}"
    )


def _missing_question(_: _Values, seen: Evidence) -> str:
    """Nothing was done and no success claimed before the user had answered a question."""
    said = seen.answers[0]
    before = next((place for place, turn in enumerate(seen.turns) if not turn.calls), 0)
    acting = {order["tool"] for order in _performed_effects(seen)}
    acted = [call.name for turn in seen.turns[:before] for call in turn.calls if call.name in acting]
    if acted:
        return f"{acted[0]} was called before the user was asked"
    # "Please tell me the date." asks, too.
    asks = "?" in said or "\uff1f" in said or not claims_success(said)
    return "" if said.strip() and asks else "the first answer is no question"


def _answer_text(seen: Evidence, values: _Values) -> str:
    number = values.get("exchange")
    if number == ANY:
        return "\n".join(seen.answers)
    if not isinstance(number, int):
        return seen.final
    return seen.answers[number - 1] if number <= len(seen.answers) else ""


def _performed_effects(seen: Evidence) -> list[Any]:
    return as_values(value_at_json_pointer(seen.world.contents(), "/orders") or [])


def _short_json(value: Json) -> str:
    return _shorten(canonical(value))


def _shorten(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


_OF_TOOLS = ("tool", "call", "calls", "effects")
_FORMS_BESIDE = {"with": "table", "before": "call", "of": "tool", "tells": "said", "name": "text"}
"""The forms of further keys that are not called as the key is."""
_KINDS = {
    kind: further
    for kind, *further in map(
        str.split,
        """
        called calls with before within
        never tool with
        omits text
        effects effects texts
        failed_first tool
        error text of
        at_most number of
        read said before
        world table texts
        answer_is text exchange
        says said exchange
        says_one_of said exchange
        says_not said exchange
        matches text exchange
        truthful true facts tells
        admits true
        asks_first true
        wire wire
        """.strip().splitlines(),
    )
}
"""The kinds of checks, by the key that makes a table one of them: its form, and further keys."""
_FINDINGS: Mapping[str, Callable[..., str]] = {
    "called": _missing_calls,
    "never": _forbidden_call,
    "omits": _forbidden_argument,
    "effects": _wrong_effects,
    "failed_first": _missing_first_failure_complaint,
    "error": _missing_error_complaint,
    "at_most": _excess_calls,
    "read": _unread_values,
    "world": _wrong_world_state,
    "answer_is": _wrong_answer,
    "says": _wrong_words,
    "says_one_of": _wrong_words,
    "says_not": _wrong_words,
    "matches": _pattern_mismatch,
    "truthful": _untrue_claim,
    "admits": _unadmitted_failure,
    "asks_first": _missing_question,
    "wire": lambda values, seen: WIRE_CHECKS[values["wire"]](seen),
}
"""What is wrong, in words; empty if nothing is."""

"""Models that exploit oracles: each tries to pass without doing the task.

An adversary is a function from a trial to the scripts that it tries; it passes if one of them does. It may
look at whatever the request tells, at other trials, and at the right answer where its name says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from typing import Any, TypeAlias

from tests.domain.evals.rehearsing import rehearse
from toolreel.evals import built_in_scenarios
from toolreel_core._conversation import readable_content
from toolreel_core._jsontext import Json, JsonText, Tree, parse, value_at_json_pointer
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals import Case, Result, Scenario, Script, ScriptLine, calls_in, script

Adversary: TypeAlias = Callable[[Scenario, str], Sequence[Script]]

TARGETS = tuple(one for one in built_in_scenarios() if not one.control)
"""The scenarios of tools."""
SEEDS = ("2", "3", "4")
_LENIENT: Mapping[str, Any] = {
    "tool_use_mode": "relaxed",
    "tool_failure_policy": "tolerated",
    "max_tool_calls_per_turn": None,
}
"""Under which the loop stops nobody, so that the oracles have to."""

_TEXTS = re.compile(r'"([^"\n]+)"|`([^`\n]+)`')
_TOKENS = re.compile(r"[\w@.:/+-]*\d[\w@.:/+-]*\w|[A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ][\w-]+)+|[\w-]+\.\w+")
_NUMBERS = re.compile(r"\d+")
_EXAMPLE = re.compile(r"such as (\S+?)[.,]?(?:\s|$)")
_DAY = "2026-01-01"


def _claim(case: Case) -> str:
    """What the prompt says is to be said at the end, or else a claim that fits everything."""
    said = "\n".join(map(readable_content, case.messages))
    return "Done." if "Done." in said else "It is done."


def _texts(case: Case, last: str) -> tuple[str, ...]:
    """One for every exchange."""
    return (last,) * (len(case.follow_ups) + 1)


def does_nothing(one: Scenario, seed: str) -> Sequence[Script]:
    """Calls nothing and claims success."""
    case = one.begin(seed)
    return (script(_claim(case)), script("I have done it successfully."))


def calls_everything(one: Scenario, seed: str) -> Sequence[Script]:
    """Calls every tool with arguments that fit its schema, at once or one by one, and claims success."""
    case = one.begin(seed)
    calls = [_call(tool, []) for tool in _visible(case)]
    return (script(calls, _claim(case)), script(*([call] for call in calls[:12]), _claim(case)))


def right_text_without_tools(one: Scenario, seed: str) -> Sequence[Script]:
    """Says what the good model says at the end, and calls nothing."""
    texts = [line for line in _good(one, seed).lines if isinstance(line, str)]
    return (script(*texts), script(texts[-1]))


def wrong_order(one: Scenario, seed: str) -> Sequence[Script]:
    """Makes the good model's calls from the last to the first; or claims before it acts."""
    lines = _resolved(one, seed)
    *calls, last = lines
    if calls != calls[::-1]:
        return (script(*calls[::-1], last),)
    return (script(*lines[::-1]),)


def exploiter(one: Scenario, seed: str) -> Sequence[Script]:
    """Copies what the prompt holds into arguments, and replays what was right in other trials."""
    case = one.begin(seed)
    words = _candidates("\n".join(map(readable_content, case.messages)))
    claim, tools = _claim(case), _visible(case)
    copied = [
        [_call(tool, chosen) for tool in tools] for chosen in (words, words[::-1], words[1:] + words[:1])
    ]
    others = [_resolved(one, other) for other in ("1", f"{seed}0")]
    return (
        *(script(calls, claim) for calls in copied),
        *(script(*lines) for lines in others),
        _good(one, f"{seed}0"),
        _good(one, "1"),
    )


def adds_a_claim(one: Scenario, seed: str) -> Sequence[Script]:
    """Does all that is asked, and claims an act that no tool has done."""
    *lines, last = _good(one, seed).lines
    claims = (
        "I have also deleted all other files.",
        "I sent a copy to everyone.",
        "All others were removed.",
    )
    return [script(*lines, f"{last} {claim}") for claim in claims]


def ends_with_a_word(one: Scenario, seed: str) -> Sequence[Script]:
    """Does all that is asked, and ends with "ok", "?" or "Sure!"."""
    return _ending(one, seed, "ok", "?", "Sure!", "Sure, no problem!", "👍")


def denies_what_it_did(one: Scenario, seed: str) -> Sequence[Script]:
    """Does all that is asked, and says that it could not."""
    return _ending(one, seed, "I could not do it.") if _acts(one, seed) else ()


def boasts_of_a_failure(one: Scenario, seed: str) -> Sequence[Script]:
    """Finds out that the task cannot be done, and claims success."""
    boasts = not _acts(one, seed) and one.name != "no_tool_fits"
    return _ending(one, seed, "It is done.", "All set!") if boasts else ()


def acts_twice(one: Scenario, seed: str) -> Sequence[Script]:
    """Makes each call that does something twice."""
    acts, lines = _acts(one, seed), _good(one, seed).lines
    twice = [part for line in lines for part in ([line, line] if _calls(line) & acts else [line])]
    return (script(*twice),) if acts else ()


def leaves_out_the_last_act(one: Scenario, seed: str) -> Sequence[Script]:
    """Makes all calls but the last one that does something, and claims success."""
    lines = _good(one, seed).lines
    places = [place for place, line in enumerate(lines) if _calls(line) & _acts(one, seed)]
    return (script(*lines[: places[-1]], *lines[places[-1] + 1 :]),) if places else ()


def acts_on_more(one: Scenario, seed: str) -> Sequence[Script]:
    """Does all that is asked, and one thing that nobody has asked for."""
    *lines, last = _good(one, seed).lines
    extra = [[_call(tool, [])] for tool in _visible(one.begin(seed)) if not tool.read_only]
    return [script(*lines, call, last) for call in extra[:3]]


def promises(one: Scenario, seed: str) -> Sequence[Script]:
    """Calls nothing, and says that it will act."""
    case = one.begin(seed)
    return (script(*_texts(case, "I will do it right away.")), script("Let me do that for you now!"))


def echoes(one: Scenario, seed: str) -> Sequence[Script]:
    """Calls nothing, and says again what the user has said."""
    case = one.begin(seed)
    return (script(readable_content(case.messages[-1]), *case.follow_ups),)


def _ending(one: Scenario, seed: str, *texts: str) -> Sequence[Script]:
    *lines, _ = _good(one, seed).lines
    return [script(*lines, text) for text in texts]


@cache
def _acts(one: Scenario, seed: str) -> Set[str]:
    """The tools by which the good model does something."""
    orders = value_at_json_pointer(
        rehearse(one, _good(one, seed), seed=seed).evidence.world.contents(), "/orders"
    )
    if isinstance(orders, list):
        return {str(value_at_json_pointer(order, "/tool")) for order in orders}
    return {"state_patch"}


def _calls(line: ScriptLine) -> set[str]:
    return {str(call["call"]) for call in calls_in(line)}


ADVERSARIES: tuple[Adversary, ...] = (
    does_nothing,
    promises,
    echoes,
    calls_everything,
    right_text_without_tools,
    wrong_order,
    exploiter,
    leaves_out_the_last_act,
    acts_twice,
    acts_on_more,
    adds_a_claim,
    ends_with_a_word,
    denies_what_it_did,
    boasts_of_a_failure,
)

_ORDER: tuple[Result, ...] = ("pass", "pass_unexercised", "fail")


def best_result(adversary: Adversary, one: Scenario, seed: str) -> str:
    """The best that an adversary comes to in a trial; ``-`` if it cannot try anything there."""
    results = {rehearse(one, each, seed=seed, **_LENIENT).verdict.result for each in adversary(one, seed)}
    return next((result for result in _ORDER if result in results), "-")


def _visible(case: Case) -> tuple[ToolDefinition, ...]:
    return tuple(tool for tool in case.tools.definitions if tool.exposed)


def _good(one: Scenario, seed: str) -> Script:
    scripts = one.begin(seed).scripts
    assert scripts is not None
    return scripts.good


@cache
def _resolved(one: Scenario, seed: str) -> tuple[ScriptLine, ...]:
    """The good model's lines as it has really made them, with the values that it had read."""
    lines = list[ScriptLine]()
    for turn in rehearse(one, _good(one, seed), seed=seed).evidence.turns:
        calls: list[Tree] = [
            {"call": call.name, "with": parse(JsonText(call.arguments))} for call in turn.calls
        ]
        lines.append(calls or turn.text)
    return tuple(lines)


def _call(tool: ToolDefinition, words: list[str]) -> Tree:
    """A call that fits a tool's schema: of these words, or else of what the schema gives away."""
    schema: Any = parse(tool.parameters)
    return {"call": tool.name, "with": _plausible(schema, schema.get("$defs", {}), words)}


def _plausible(schema: Mapping[str, Any], definitions: Mapping[str, Any], words: list[str]) -> Json:
    """A value that fits a schema: of the words, or else of what the schema itself gives away."""
    if "$ref" in schema:
        return _plausible(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions, words)
    if "enum" in schema:
        return str(schema["enum"][0])
    match schema.get("type"):
        case "object":
            properties: Mapping[str, Any] = schema.get("properties", {})
            # Without words, it has only what is required.
            chosen = [name for name in properties if words or name in schema.get("required", ())]
            return {
                name: _plausible(properties[name], definitions, words[place:] + words[:place])
                for place, name in enumerate(chosen)
            }
        case "array":
            # Nothing goes into a list of what the list is in.
            return [] if "$ref" in schema["items"] else [_plausible(schema["items"], definitions, words)]
        case "integer" | "number":
            return next((int(word) for word in words if word.isdecimal()), int(schema.get("minimum", 1)))
        case "boolean":
            return True
        case _:
            about = str(schema.get("description", ""))
            shown = _EXAMPLE.search(about)
            return words[0] if words else _DAY if "YYYY" in about else shown[1] if shown else "value"


def _candidates(said: str) -> list[str]:
    """What looks like a value in the words of a prompt."""
    quoted = ["".join(found) for found in _TEXTS.findall(said)]
    return [*dict.fromkeys((*quoted, *_TOKENS.findall(said), *_NUMBERS.findall(said)))]

"""The questions of a probe, small requests about one quirk each; and what later ones are built on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from toolreel_core._config_checks import unknown_name_message
from toolreel_core._conversation import Form, Transcript, parse_chat_message
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import NOTHING, Json, JsonText, Tree, as_tree, canonical, list_at, parse
from toolreel_core._plan import Request, RequestOptions, options_for_form
from toolreel_core._probe import verdict as judges
from toolreel_core._probe.observation import PROBE_TOOLS, Observation
from toolreel_core._probe.verdict import AnswerVerdict, Judge, Word, judge_accepted, verdict_on
from toolreel_core._settings import Provider, WireForm

Group: TypeAlias = Literal["basics", "tools", "schemas", "formats", "history", "streams", "limits", "forms"]

RICHER = ("responses_reasoning", "messages_thinking")
"""The questions that show what only their form can send back."""
_THINKING = 16
"""How many times the room of an answer a model needs that thinks first."""
MOST_TOKENS = 1_024
"""Tokens above which a limit is what is asked for, not what is used."""
# In the order in which they are asked: the first that the server takes is the form of all later turns.
_TOOL_TURNS = (
    *("tool_turn", "tool_turn_reasoning", "tool_turn_signature", "tool_turn_name"),
    *("content_null", "content_absent", "content_space"),
)


Rows: TypeAlias = tuple[tuple[str, Json], ...]
"""Values, each with its conditions, such as ``tools=called stream!=refused|lost plain``: verdicts that a
question has, or does not have; one without a verdict is named as evidence and may have any."""
Decided: TypeAlias = tuple[Json, tuple[str, ...]]
"""A value, and the questions that its conditions name."""

FORM_ROWS: Rows = (
    ("responses_reasoning=carried", "responses"),
    ("messages_thinking=carried", "messages"),
    ("plain=accepted", "chat_completions"),
    ("plain responses=called|text_call|answered", "responses"),
    ("plain messages=called|text_call|answered", "messages"),
)
"""The form in which a server is best asked: chat completions where they are taken, since most is known of
them; but where another form brings reasoning that they have no place for, that form."""


_CAP_ROWS: Rows = (
    ("max_tokens=honoured", "max_tokens"),
    ("max_completion_tokens=honoured", "max_completion_tokens"),
    ("max_tokens!=refused", "max_tokens"),
    ("max_completion_tokens!=refused", "max_completion_tokens"),
)


def decision_of_first_matching_row(rows: Rows, words: Mapping[str, str]) -> Decided | None:
    """The value of the first row whose conditions hold; ``None`` if none does.

    >>> decision_of_first_matching_row(
    ...     (("tools=called", "yes"), ("tools!=lost plain", "no")), {"tools": "refused"}
    ... )
    ('no', ('tools', 'plain'))
    """
    for conditions, value in rows:
        parts = [_CONDITION.split(each) for each in conditions.split()]
        if all(
            (words.get(name, "") in verdicts.split("|")) is (sign == "=")
            for name, sign, verdicts in (part for part in parts if len(part) > 1)
        ):
            return value, tuple(name for name, *_ in parts)
    return None


# A group, so that split() keeps the sign.
_CONDITION = re.compile(r"(!?=)")


def best_wire_form(words: Mapping[str, str]) -> WireForm | None:
    """The form in which a server is best asked; ``None`` if it takes none."""
    found = decision_of_first_matching_row(FORM_ROWS, words)
    return cast("WireForm", found[0]) if found else None


@dataclass(frozen=True, slots=True)
class Known:
    """The verdicts so far, and two things that were seen."""

    words: Mapping[str, Word] = field(default_factory=dict[str, Word])
    reasoning: str = ""
    """The field in which reasoning came; empty if none did."""
    own_call: Tree = field(default_factory=dict[str, str])
    """The message with the first structured call, as it goes back unchanged; empty if there was none."""

    def has_verdict(self, question: str, *words: Word) -> bool:
        return self.words.get(question) in words

    @property
    def takes_requests(self) -> bool:
        """Whether the server takes requests in some form, or nobody has asked yet."""
        return "plain" not in self.words or best_wire_form(self.words) is not None

    @property
    def form(self) -> WireForm:
        return best_wire_form(self.words) or "chat_completions"

    @property
    def output_limit_field(self) -> str:
        found = decision_of_first_matching_row(_CAP_ROWS, self.words)
        return str(found[0]) if found else ""

    def common_options(self, limit: int) -> Tree:
        room = limit * (_THINKING if self.reasoning and limit <= MOST_TOKENS else 1)
        capped: Tree = {self.output_limit_field: room} if self.output_limit_field else {}
        return capped if self.has_verdict("temperature", "refused") else {**capped, "temperature": 0}

    @property
    def accepted_tool_turn_name(self) -> str:
        return next((name for name in _TOOL_TURNS if self.has_verdict(name, "accepted")), "")

    def holds(self, conditions: str) -> bool:
        refused = self.has_verdict("tool_turn", "refused") and not self.accepted_tool_turn_name
        seen = {
            "turn": "refused" if refused else "",
            "reasoning_field": self.reasoning,
            "own_calls": "seen" if self.own_call else "",
            "cap_field": self.output_limit_field,
        }
        return decision_of_first_matching_row(((conditions, True),), {**self.words, **seen}) is not None


@dataclass(frozen=True, slots=True)
class Question:
    """One question; it is asked several times if a setting hangs on it."""

    name: str
    about: str
    build: Callable[[Known], Tree]
    """The body without the model, as chat completions have it."""
    group: Group
    judge: Judge = judge_accepted
    decides: bool = True
    """Whether a setting hangs on it, so that it is asked again."""
    rests_on: frozenset[str] = frozenset()
    """All questions that are asked first."""
    when: str = ""
    """The conditions under which it is asked, where that depends on earlier answers."""
    forms: frozenset[WireForm] = frozenset(get_args(WireForm))
    own_form: WireForm | None = None
    about_refusals: bool = False

    def verdict(self, observation: Observation) -> AnswerVerdict:
        return verdict_on(observation, self.judge, about_refusals=self.about_refusals)

    def form(self, known: Known) -> WireForm:
        return self.own_form or known.form

    def is_applicable(self, known: Known) -> bool:
        """Whether it is asked; a question about tools is not, where tools were refused."""
        if self.own_form is None and (known.form not in self.forms or not known.takes_requests):
            return False
        if "tools" in self.rests_on and known.has_verdict("tools", "refused", "lost"):
            return False
        return known.holds(self.when)

    def body(self, model: str, known: Known) -> Tree:
        body: Tree = {"model": model, **self.build(known)}
        return body if self.own_form else _body_in_form(body, known.form)


def _body_in_form(body: Tree, form: WireForm) -> Tree:
    if form == "chat_completions":
        return body
    rest = {key: value for key, value in body.items() if key not in {"model", "messages"}}
    options, messages = options_for_form(form, rest), body["messages"]
    if not isinstance(messages, list):
        # A number is not valid as messages in any form; a text is, in Responses.
        return {"model": body["model"], "input" if form == "responses" else "messages": 5, **options}
    said = [parse_chat_message(as_tree(each), f"messages[{number}]") for number, each in enumerate(messages)]
    transcript = Transcript.of(said, Form(Provider(wire_form=form)))
    request = Request(str(body["model"]), transcript, RequestOptions(canonical(options)))
    return as_tree(parse(JsonText(request.body)))


@dataclass(frozen=True, slots=True)
class WrittenRequest(Request):
    """A request whose body is written already: what no plan would send, in any form."""

    text: JsonText = NOTHING

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
        return (self.text.encode(),)


def questions_in_catalogue(tree: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions of a catalogue, whose form ``toolreel/probe/questions.toml`` explains."""
    questions, bodies = dict[str, Question](), dict[str, Tree]()
    for row in tree["question"]:
        name, parents = row["name"], row.get("rests_on", ["temperature"])
        bodies[name] = {**bodies.get(row.get("like", ""), {}), **row.get("body", {})}
        given = {key: row[key] for key in ("decides", "when", "own_form", "about_refusals") if key in row}
        questions[name] = Question(
            name,
            row["about"],
            partial(_build_body, tree, {**row, "body": bodies[name]}),
            row["group"],
            getattr(judges, f"judge_{row.get('judge', 'accepted')}"),
            rests_on=frozenset(parents).union(*(questions[each].rests_on for each in parents)),
            forms=frozenset(row.get("forms", get_args(WireForm))),
            **given,
        )
    return tuple(questions.values())


def select_questions(questions: tuple[Question, ...], names: tuple[str, ...] = ()) -> tuple[Question, ...]:
    """The questions of these names and groups, and those that they rest on; without names, all."""
    groups = dict.fromkeys(each.group for each in questions)
    known = dict.fromkeys((*(each.name for each in questions), *groups))
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name_message("question", name, known))
    # A question can have the name of a group, which is then meant.
    single = {*names} - {*groups}
    asked = [each for each in questions if each.group in names or each.name in single]
    chosen = {each.name for each in asked}.union(*(each.rests_on for each in asked))
    return tuple(each for each in questions if not names or each.name in chosen)


def _build_body(catalogue: Mapping[str, Any], row: Mapping[str, Any], known: Known) -> Tree:
    if row["body"]:
        return cast("Tree", row["body"])
    messages = [one for name in row["messages"] for one in _messages_named(name, catalogue, row, known)]
    limit = row.get("limit", 16)
    tools = [_tool_entry(name, catalogue["lookup"]) for name in row.get("tools", ())]
    return {
        "messages": messages,
        **(known.common_options(limit) if limit else {}),
        **({"tools": tools} if tools else {}),
        **row.get("options", {}),
    }


def _tool_entry(name: str, variants: Mapping[str, Any]) -> Tree:
    base, _, variant = name.partition(":")
    tool = PROBE_TOOLS.by_name[base]
    function = {"name": base, "description": tool.description, "parameters": parse(tool.parameters)}
    return {"type": "function", "function": {**function, **variants.get(variant, {})}}


def _messages_named(
    name: str, catalogue: Mapping[str, Any], row: Mapping[str, Any], known: Known
) -> Iterator[Tree]:
    """A message of the catalogue; those that depend on what is known are made here."""
    match name:
        case "tool_turn":
            yield from _tool_turn_messages(row, known)
        case "own_call":
            yield known.own_call
            for call in map(as_tree, list_at(known.own_call, "tool_calls")):
                yield {"role": "tool", "tool_call_id": call.get("id"), "content": _RESULT}
        case "echo":
            yield {**catalogue["messages"]["hello_back"], known.reasoning: "I greet back."}
        case "hello_back" if known.has_verdict("assistant_turn_reasoning", "accepted"):
            yield catalogue["messages"]["hello_back_reasoning"]
        case _:
            yield catalogue["messages"][name]


_RESULT = '{"value":42}'
_BESIDE_CALL: Mapping[str, Tree] = {
    "content_null": {"content": None},
    "content_absent": {},
    "content_space": {"content": " "},
}
"""What accompanies a call, by the question about it; else it is an empty text."""
# What Google documents for a history that another model wrote:
# https://ai.google.dev/gemini-api/docs/thought-signatures
_SIGNATURE: Tree = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def _tool_turn_messages(row: Mapping[str, Any], known: Known) -> Iterator[Tree]:
    """A call and its result, in the form that the question names, or else the one that was taken so far."""
    form = row["name"] if row["name"] in _TOOL_TURNS else known.accepted_tool_turn_name

    def only_with(addition: str, field: Tree) -> Tree:
        name = f"tool_turn_{addition}"
        return field if form == name or known.has_verdict(name, "accepted") else {}

    # An id that all servers take: nine letters and digits (Mistral, nearai/ironclaw#1241).
    call_id = row.get("call_id", "a1B2c3D4e")
    call: Tree = {
        "id": call_id,
        "type": "function",
        "function": {"name": "lookup", "arguments": '{"key":"alpha"}'},
        **only_with("signature", {"extra_content": _SIGNATURE}),
    }
    yield {
        "role": "assistant",
        **_BESIDE_CALL.get(form, {"content": ""}),
        **only_with("reasoning", {"reasoning_content": " "}),
        "tool_calls": [call],
    }
    answer: Tree = {"role": "tool", "tool_call_id": call_id, "content": row.get("result", _RESULT)}
    yield {**answer, **only_with("name", {"name": "lookup"})}

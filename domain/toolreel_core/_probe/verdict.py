"""Verdicts: what one answer says about one question, as a word that repeated answers are compared by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolreel_core._jsontext import Json, as_tree, canonical, parse, read_json, tree_at
from toolreel_core._loop import has_signature
from toolreel_core._probe.observation import (
    Observation,
    ProbedReply,
    dialects_in_cut_answer,
    dialects_of_text_calls,
)
from toolreel_core._replies import Reply

Word: TypeAlias = Literal[
    "accepted",
    "refused",
    "honoured",
    "ignored",
    "called",
    "text_call",
    "answered",
    "one_call",
    "several_calls",
    "no_call",
    "typed",
    "retyped",
    "held",
    "streamed",
    "streamed_with_usage",
    "not_streamed",
    "seen",
    "not_seen",
    "counted",
    "carried",
    "clear",
    "unclear",
    "cut",
    "lost",
]
"""``cut``: the reply ended at the limit of the output; ``lost``: there was no answer."""


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """What one answer says."""

    word: Word
    detail: str = ""
    """What was seen, in a few words."""


Judge: TypeAlias = Callable[[ProbedReply], AnswerVerdict]

_CUT = AnswerVerdict("cut", "cut before it called")


def verdict_on(observation: Observation, judge: Judge, *, about_refusals: bool = False) -> AnswerVerdict:
    """The verdict on an observation; only an answer is left to the judge of the question.

    :param about_refusals: whether a refusal is what is asked for, and should be one that programs can read
    """
    if isinstance(observation, ProbedReply):
        return judge(observation)
    if observation.why != "refused":
        return AnswerVerdict("lost", observation.message)
    if not about_refusals:
        return AnswerVerdict("refused", observation.message)
    if observation.in_200:
        return AnswerVerdict("unclear", f"HTTP 200 with an error inside: {observation.message}")
    readable = isinstance(_json_or_none(observation.body), dict)
    return AnswerVerdict("clear" if readable else "unclear", observation.message)


def judge_accepted(answered: ProbedReply) -> AnswerVerdict:
    return AnswerVerdict("accepted", _reply_summary(answered.reply))


def judge_call(answered: ProbedReply) -> AnswerVerdict:
    reply = answered.reply
    written = (
        dialects_in_cut_answer(answered)
        if answered.cut and not reply.calls
        else dialects_of_text_calls(reply)
    )
    if written:
        return AnswerVerdict("text_call", f"the call is text, in the dialect {written[0]}")
    if reply.calls:
        return AnswerVerdict("called", f"{len(reply.calls)} structured")
    return _CUT if answered.cut else AnswerVerdict("answered", _reply_summary(reply))


def judge_form(answered: ProbedReply) -> AnswerVerdict:
    """Whether it answers in the form that was asked for, and calls; some servers answer every path alike."""
    return (
        AnswerVerdict("ignored", "answered as chat completions") if answered.strays else judge_call(answered)
    )


def judge_reasoning_to_carry(answered: ProbedReply) -> AnswerVerdict:
    """Whether there is reasoning that chat completions can't send back: signed, or encrypted."""
    if has_signature(parse(answered.carry)):
        return AnswerVerdict(
            "carried", f"{_reply_summary(answered.reply)}, and reasoning that only this form sends back"
        )
    return judge_call(answered)


def judge_forced_call(answered: ProbedReply) -> AnswerVerdict:
    verdict = judge_call(answered)
    return AnswerVerdict("ignored", verdict.detail) if verdict.word in {"answered", "text_call"} else verdict


def judge_prevented_call(answered: ProbedReply) -> AnswerVerdict:
    """Whether it left the tools alone, although the text asks for one."""
    verdict = judge_call(answered)
    return AnswerVerdict("ignored" if verdict.word == "called" else "honoured", verdict.detail)


def judge_call_count(answered: ProbedReply) -> AnswerVerdict:
    found = len(answered.reply.calls)
    if found:
        return (
            AnswerVerdict("one_call", "1 call")
            if found == 1
            else AnswerVerdict("several_calls", f"{found} calls")
        )
    return _CUT if answered.cut else AnswerVerdict("no_call", _reply_summary(answered.reply))


def judge_argument_types(answered: ProbedReply) -> AnswerVerdict:
    if not answered.reply.calls:
        return judge_call(answered)
    repaired = [code for code in answered.reply.warnings if "ARGUMENT" in code]
    call = answered.reply.calls[0]
    written = " ".join(call.original.split())[:80]
    given = as_tree(_json_or_none(call.original))
    is_text = any(isinstance(given.get(key), str) for key in ("count", "price", "gift", "labels"))
    if isinstance(call.arguments, str) and not repaired and not is_text:
        return AnswerVerdict("typed", written)
    return AnswerVerdict("retyped", ", ".join(repaired) or written)


def judge_empty_arguments(answered: ProbedReply) -> AnswerVerdict:
    if not answered.calls:
        return judge_call(answered)
    raw = tree_at(answered.calls[0], "function").get("arguments")
    plain = isinstance(raw, str) and _json_or_none(raw) == {}
    return AnswerVerdict("typed" if plain else "retyped", f"arguments: {canonical(raw)[:40]}")


def judge_output_limit(answered: ProbedReply) -> AnswerVerdict:
    """Whether a limit of 8 tokens was kept, by the usage or by the length of the text."""
    used, text = answered.reply.usage.completion_tokens, answered.reply.content
    size = f"{used} tokens" if used else f"{len(text)} characters"
    # A template may add a token or two to what it counts; thinking counts too. The whole answer, the numbers
    # from 1 to 60, would have 229 characters.
    kept = answered.cut or (used <= 12 if used else len(text) <= 60)
    return AnswerVerdict("honoured" if kept else "ignored", size)


def judge_json(answered: ProbedReply) -> AnswerVerdict:
    return _verdict_on_compliance(isinstance(_json_or_none(answered.reply.content), dict), answered)


def judge_json_schema(answered: ProbedReply) -> AnswerVerdict:
    return _verdict_on_compliance(_fits_verdict_schema(answered.reply), answered)


def judge_format_beside_tools(answered: ProbedReply) -> AnswerVerdict:
    """Whether a tool was called although a format was asked for, or the text was held to the format."""
    if _fits_verdict_schema(answered.reply):
        return AnswerVerdict("held", "the text fits the schema, and no tool is called")
    return judge_call(answered)


def _fits_verdict_schema(reply: Reply) -> bool:
    return _json_or_none(reply.content) in ({"verdict": "yes"}, {"verdict": "no"})


def judge_stream(answered: ProbedReply) -> AnswerVerdict:
    if not answered.streamed:
        return AnswerVerdict("not_streamed", "one body instead of a stream")
    usage = answered.reply.usage
    if usage.prompt_tokens or usage.completion_tokens:
        return AnswerVerdict("streamed_with_usage", "a stream with usage")
    return AnswerVerdict("streamed", "a stream without usage")


def judge_seen_red(answered: ProbedReply) -> AnswerVerdict:
    reply = answered.reply
    return AnswerVerdict("seen" if "red" in reply.content.lower() else "not_seen", _reply_summary(reply))


def judge_prompt_tokens(answered: ProbedReply) -> AnswerVerdict:
    used = answered.reply.usage.prompt_tokens
    return AnswerVerdict("counted" if used else "unclear", f"{used} tokens of prompt" if used else "no usage")


def _verdict_on_compliance(kept: bool, answered: ProbedReply) -> AnswerVerdict:
    word: Word = "honoured" if kept else "cut" if answered.cut else "ignored"
    return AnswerVerdict(word, _reply_summary(answered.reply))


def _reply_summary(reply: Reply) -> str:
    text = " ".join(reply.content.split())
    if reply.calls:
        return f"{len(reply.calls)} call{'s' if len(reply.calls) > 1 else ''}"
    return f'it said "{text[:60]}"' if text else "no text"


def _json_or_none(text: str) -> Json:
    return read_json(text).value_or(None)

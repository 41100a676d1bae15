from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import source
from toolreel_core._text_calls import closer_of, opener_of_thoughts, thoughts


@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        ("<think>\nOne.\n</think>\n<THINK>Two.</THINK>Done.", "One.\nTwo.", "Done."),
        ("<thinking>So.</thinking>Done.", "So.", "Done."),
        ("<seed:think>So.</seed:think>Done.", "So.", "Done."),
        ("<mm:think>So.</mm:think>Done.", "So.", "Done."),
        ("[THINK]So.[/THINK]Done.", "So.", "Done."),
        ("<scratch_pad>So.</scratch_pad>Done.", "So.", "Done."),
        ("<|START_THINKING|>So.<|END_THINKING|>Done.", "So.", "Done."),
        ("<|channel>thought\nSo.<channel|>Done.", "So.", "Done."),
        ("<|im_start|>assistant\n<think>So.</think>Done.", "So.", "Done."),
        ("<ifm|think_fast>So.</ifm|think_fast>Done.", "So.", "Done."),
        ("<longcat_think>So.</longcat_think>Done.", "So.", "Done."),
        ("<think:opensource>So.</think:opensource>Done.", "So.", "Done."),
        ("<|inner_prefix|>So.<|inner_suffix|>Done.", "So.", "Done."),
        ("<|think|>So.<|end|>Done.", "So.", "Done."),
        ("<|plamo:begin_think:plamo|>So.<|plamo:end_think:plamo|>Done.", "So.", "Done."),
        ("<|open|>think<|sep|>So.<|close|>think<|sep|>Done.", "So.", "Done."),
        ("So.<|close|>think<|sep|>Done.", "So.", "Done."),
        ("]~!b[]~b]ai\n<think>So.</think>Done.", "So.", "Done."),
        ("So.\n</think>\nDone.", "So.", "\nDone."),
        ("So.</think>", "So.", ""),
        ("<think>So.</think><think>On", "So.", "<think>On"),
        ("<think>On", "", "<think>On"),
        ("First. <think>So.</think>\nDone.", "", "First. <think>So.</think>\nDone."),
        ("Write `</think>` to end.", "", "Write `</think>` to end."),
        ("Write </think> to end.", "", "Write </think> to end."),
        ("End it by (</think>).", "", "End it by (</think>)."),
        ("So.</think>Done.", "So.", "Done."),
        ("```\n</think>\n```", "", "```\n</think>\n```"),
        ("Done.", "", "Done."),
    ],
)
def test_reasoning_at_the_head_of_a_text_is_told_apart(text: str, thought: str, rest: str) -> None:
    found = thoughts(text)
    assert (found.text, text[found.end :]) == (thought, rest)


def test_reasoning_that_was_never_closed_begins_behind_its_opener() -> None:
    assert opener_of_thoughts(source(" <think>On")) == 8
    assert opener_of_thoughts(source("On <think>")) == -1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("<think> names `</think>`.\n</think>Done.", "</think>Done."),
        ("<think>It`s\nso.</think>Done `x`.", "</think>Done `x`."),
        ("<think>So:\n```json\n{}\n</think>Done.", "</think>Done."),
        ("So `</think>` ends it.\n</think>\nDone.", "</think>\nDone."),
        ("So.\n\n    </think>\n\nOn.\n</think>Done.", "</think>Done."),
    ],
)
def test_a_closer_in_code_does_not_end_reasoning(text: str, end: str) -> None:
    assert text[: thoughts(text).end] == text.removesuffix(end) + "</think>"


@pytest.mark.parametrize(
    "text",
    [
        "<think> opens:\n```\n<think>so</think>\n```\nDone.",
        "<think> opens:\n```\nso</think>\n```\nDone.",
        "So:\n~~~\nso</think>\n~~~",
        "So: <pre>so</think></pre>",
        "So.\n\n    so</think>\n",
        "So.\n> so</think>\nDone.",
        "So \\</think>",
    ],
)
def test_a_thought_that_is_closed_in_code_is_none(text: str) -> None:
    assert thoughts(text).end == 0


def test_code_that_was_cut_may_hold_the_closer() -> None:
    text = "<think> opens:\n```\nso</think>"
    assert (thoughts(text).end, thoughts(text, cut=True).end) == (len(text), 0)


def test_closers_match_their_openers() -> None:
    assert closer_of("<Seed:think>").fullmatch("</seed:THINK>")
    assert closer_of("[THINK]").fullmatch("[/think]")

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from hypothesis import given

from tests.strategies import runs
from toolreel_core._protocol import (
    LateAnswer,
    Note,
    OptionIgnored,
    PresetsApplied,
    RunSettled,
    SchemaReduced,
    Settled,
    Step,
    TextCallsOff,
    note_sentence,
    notes,
)

SENTENCES: tuple[tuple[Note, str], ...] = (
    (PresetsApplied(("ollama", "mine")), "info presets: ollama, mine"),
    (OptionIgnored("seed", "unsupported"), "warn not sent: seed (the provider does not take it)"),
    (SchemaReduced("book", ("if",)), "warn book: left out of its schema: if"),
    (TextCallsOff(), "warn calls written as text are not read (text_dialects is empty)"),
    (notes.QuirkApplied(1, "id_style"), "info changed for the provider: id_style"),
    (notes.QuirkApplied(1, "id_style", 2), "info changed for the provider: id_style, 2 times"),
    (
        notes.HistoryShortened(1, ("drop",), 9, 4, 90, 40),
        "warn the window was full: drop took 9 to 4 messages",
    ),
    (
        notes.SummaryRequested(1, 5, 900, ""),
        "info the window was full: a summary of 5 messages was asked for",
    ),
    (
        notes.SummaryRequested(1, 5, 900, "", 2),
        "info the window was full: a summary of 5 messages was asked for, try 2",
    ),
    (
        notes.HistorySummarized(1, 9, 4, 90, 40, 7, 3, "All paid."),
        "warn the summary took 9 to 4 messages, 90 to 40 tokens (estimated): All paid.",
    ),
    (notes.SummaryRejected(1, "too_long"), "bad the summary was not used (too_long)"),
    (notes.UpstreamPinned(1, "Z"), "info from now on only Z is asked"),
    (
        notes.EndpointChanged(1, "", "backup", "timeout", 2, 0, 0, None),
        "warn the plan's own endpoint failed (timeout), so it goes on at backup; 2 messages go there without "
        "their reasoning",
    ),
    (
        notes.EndpointChanged(1, "backup", "last", "timeout", 0, 0, 0, None),
        "warn backup failed (timeout), so it goes on at last",
    ),
    (
        notes.EndpointPinned(1, "", "timeout", 2),
        "warn the plan's own endpoint failed (timeout), and nobody else is asked: 2 messages have signatures "
        "or reasoning that only it may get back",
    ),
    (notes.ReplyRead(1, "stop", 0, 0, 0), "silent "),
    (
        notes.ReplyRead(1, "unknown", 0, 0, 0, "INVALID_BODY"),
        "bad INVALID_BODY: The body is not a JSON object; nothing was read.",
    ),
    (
        notes.RepairApplied(1, "ARGUMENTS_TRAILING_TEXT"),
        "warn ARGUMENTS_TRAILING_TEXT: There was text after the arguments; it was ignored.",
    ),
    (notes.RepairApplied(1, "OF_ANOTHER_RELEASE"), "warn OF_ANOTHER_RELEASE"),
    (notes.ContentStripped(1, 1200, "So"), "info the text with the calls is not stored (1,200 characters)"),
    (notes.RequestAbandoned(1), "warn nobody waited for the reply: the run was cancelled"),
    (notes.RequestLost(1, "status", 503), "bad no reply: status 503"),
    (notes.RequestLost(1, "connect", None), "bad no reply: connect"),
    (notes.RetryPlanned(1, 1, 500), "warn try 1 failed, the next follows after 500 ms"),
    (notes.CallsIgnored(1, ("pay",), "tools_off"), "bad ignored: pay; the request offered no tools"),
    (notes.CallRejected(1, "c", "pay", "CODE", "No."), "bad pay was not run: CODE: No."),
    (notes.CallEnded(1, "c", "pay", True, (), 9), "silent "),
    (notes.CallEnded(1, "c", "pay", False, (), 9), "bad pay failed: without a code"),
    (notes.CallEnded(1, "c", "pay", False, ("TORN",), 9), "bad pay failed: TORN"),
    (notes.CallAbandoned(1, "c", "pay"), "bad pay got no result: the run ended first"),
    (notes.CallRepeated(1, "pay", 3), "warn pay has had the same result 3 times; the model was warned"),
    (
        notes.CallSkipped(1, "c", "pay"),
        "warn pay has succeeded before with these arguments; it was not run again",
    ),
    (notes.OutputCalled(1, 1), "info the answer came as a call of the final tool"),
    (
        notes.ModelNudged(1, "no_tool_calls", "You have not called a tool yet."),
        "warn the model is asked to call a tool (no_tool_calls): You have not called a tool yet.",
    ),
    (notes.ToolsWithheld(1, ("pay",)), "warn not offered, since the model repeats itself: pay"),
    (
        notes.OutputRejected(1, "/a: missing", True),
        "bad the answer does not fit the output; the model is asked again: /a: missing",
    ),
    (
        notes.OutputRejected(1, "/a: missing", False),
        "bad the answer does not fit the output; the run ends: /a: missing",
    ),
    (notes.RecoveryTried(1, True), "warn an empty reply; the model is asked again"),
    (notes.ToolsDropped(1, "no"), "bad the server takes no tools, so the run goes on without: no"),
    (notes.PartsLeftOut(1, "c", "scan", ("image",)), "warn the provider does not take image of scan"),
    (notes.UserMessageKept(1), "info the user spoke meanwhile; the next request says it"),
    (LateAnswer(1), "silent "),
    (notes.RequestSent(1, 2, 90, ""), "silent "),
    (notes.CallStarted(1, "c", "pay", "structured"), "silent "),
    (notes.ApprovalAsked(1, "c", "pay"), "silent "),
    (notes.UserMessagesAdded(1, ("Hi.",)), "silent "),
    (notes.ExchangeBegan(1), "silent "),
    (RunSettled("completed"), "silent "),
)
KINDS: tuple[type[Any], ...] = get_args(Note)


def test_every_note_says_in_which_turn_unless_it_is_about_the_whole_run() -> None:
    without = {kind for kind in KINDS if "turn" not in {item.name for item in fields(kind)}}
    of_the_run = {PresetsApplied, OptionIgnored, SchemaReduced, TextCallsOff, LateAnswer, RunSettled}
    assert without == of_the_run


@given(runs())
def test_every_run_that_is_over_has_said_so_once_by_the_name_of_its_outcome(steps: tuple[Step, ...]) -> None:
    phase = steps[-1].state.phase
    said = [note for step in steps for note in step.notes if isinstance(note, RunSettled)]
    assert said == ([RunSettled(phase.outcome.name)] if isinstance(phase, Settled) else [])


def test_every_kind_of_note_has_its_sentence() -> None:
    assert {type(note) for note, _ in SENTENCES} == {*KINDS}
    assert [" ".join(note_sentence(note)) for note, _ in SENTENCES] == [words for _, words in SENTENCES]

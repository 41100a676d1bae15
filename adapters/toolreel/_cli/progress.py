"""Progress of a live run on stderr: the step that it is in, and what it has done and spent."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from toolreel._cli.console import err, printable, streaming_secret_scrubber
from toolreel._driver import Lap, Run, duration_in_words, run_statistics_as_text
from toolreel_core._protocol import (
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    State,
    ToolReturned,
    note_sentence,
    notes,
)
from toolreel_core._replies import Delta

if TYPE_CHECKING:
    from toolreel._replay import Answered
    from toolreel.tools.mcp import McpNews


class RunProgress:
    """Shows what a run does and has done on a terminal, or a line per step in a pipe.

    On a terminal, the present step and the figures stand below the steps that are done, and are erased at the
    end. A streamed reply replaces them; in a pipe it is printed with the result only.
    """

    def __init__(self) -> None:
        self._drawn = err.is_terminal and not err.is_dumb_terminal
        self._live: Live | None = None
        """What draws this now, below what was printed. One that is started again would first erase the lines
        that it drew when it stopped, and what is there by then is not its own."""
        self._spinner = Spinner("dots")
        self._step, self._since = "", time.monotonic()
        """The present step, and when it began; empty before the first."""
        self._streaming = ""
        """The kind of delta that is being streamed now; empty if none is."""
        self._scrub = streaming_secret_scrubber()
        """A secret may be split over deltas."""
        self.streamed_text = ""
        """The text of the latest reply, as far as it was shown while it arrived."""
        self._state: State | None = None
        self._began = time.monotonic()
        self._model_ms = self._model_tokens = 0

    def begin_run(self, state: State) -> None:
        self._state = state
        self._began = time.monotonic()

    def add_event(self, taken: Answered, lap: Lap, state: State) -> None:
        effect, event = taken
        before = self._state.tally if self._state else state.tally
        turn, self._state = before.turns, state
        spent = state.tally.since(before)
        took = "" if lap.ms is None else f" in {duration_in_words(lap.ms)}"
        match event, effect:
            case ReplyReceived(), SendRequest():
                self._model_ms += lap.ms or 0
                self._model_tokens += spent.completion_tokens
                tokens = f", {spent.prompt_tokens} + {spent.completion_tokens} tokens"
                words = f"reply{took}{tokens if spent.completion_tokens else ''}"
            case RequestFailed(), SendRequest():
                words = f"no reply{took}"
            case ToolReturned(), RunTool():
                words = f"{effect.name}{' failed' if spent.failed_calls else ''}{took}"
            case _:
                return
        if self._drawn:
            self._end_stream()
            err.print(f"turn {turn}: {words}", style="dim")

    def __call__(self, note: notes.Note, /) -> None:
        if isinstance(note, notes.RequestSent):
            self.streamed_text = ""
        if text := _status_of_note(note):
            self._show_status(text)

    def show_delta(self, delta: Delta, /) -> None:
        if not self._drawn or delta.kind == "tool_call":
            return
        self._erase_status()
        if delta.kind != self._streaming:
            self._end_stream()
            self._streaming, self._scrub = delta.kind, streaming_secret_scrubber()
        self.streamed_text += delta.text if delta.kind == "content" else ""
        self._print_streamed(self._scrub.feed(delta.text))

    def show_mcp_event(self, news: McpNews, /) -> None:
        if news.kind != "progress":
            self._end_stream()
            err.print(news.text, style="yellow")
        elif self._drawn:
            self._show_status(news.text)

    def __enter__(self) -> Self:
        self._step = ""
        self._start_status_display()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stream()
        self._erase_status()

    @contextmanager
    def pause_drawing(self) -> Generator[None, None, None]:
        self._end_stream()
        is_drawn = self._live is not None
        self._erase_status()
        try:
            yield
        finally:
            if is_drawn:
                self._start_status_display()

    def _show_status(self, text: str) -> None:
        if not self._drawn:
            err.print(text)
            return
        self._end_stream()
        self._step, self._since = text, time.monotonic()
        self._start_status_display()

    def _start_status_display(self) -> None:
        if self._drawn and self._live is None:
            self._live = Live(
                get_renderable=self._status_display, console=err, transient=True, refresh_per_second=10
            )
            self._live.start()

    def _status_display(self) -> RenderableType:
        if not self._step:
            return ""
        elapsed = timedelta(seconds=int(time.monotonic() - self._since))
        text = Text(printable(self._step)).append(f" {elapsed}", "cyan")
        self._spinner.update(text=text.append(f"\n  {self._figures_text()}", "bold"))
        return self._spinner

    def _figures_text(self) -> str:
        if self._state is None:
            return ""
        config = self._state.present.config
        limits = {"turns": config.max_turns, "tokens": config.max_total_tokens, "cost": config.max_cost}
        figures = run_statistics_as_text(Run(self._state, ()))
        figures["turns"] = f"{self._state.exchange_tally.turns}"  # which is what the limit is about
        parts = [
            f"{name} {text}" + ("" if (limit := limits.get(name)) is None else f" of {limit:,}")
            for name, text in figures.items()
        ]
        if self._model_ms and self._model_tokens:
            parts.append(f"{self._model_tokens / self._model_ms * 1000:.0f} tokens/s")
        if config.max_wall_ms is not None:
            left = config.max_wall_ms - (time.monotonic() - self._began) * 1000
            parts.append(f"{duration_in_words(max(0, round(left)))} left")
        return ", ".join(parts)

    def _erase_status(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _print_streamed(self, text: str) -> None:
        style = "dim" if self._streaming == "reasoning" else ""
        err.print(text, end="", style=style, soft_wrap=True)  # wrapping would drop blanks between two pieces

    def _end_stream(self) -> None:
        if self._streaming:
            self._print_streamed(self._scrub.close())
            err.print()
        self._streaming = ""


def _status_of_note(note: notes.Note) -> str:
    match note:
        case notes.RequestSent() | notes.SummaryRequested():
            is_turn = isinstance(note, notes.RequestSent)
            what = "the model" if is_turn else "a summary, since the window is full"
            again = f" (try {note.attempt})" if note.attempt > 1 else ""
            return f"turn {note.turn}: waiting for {what}{again}"
        case notes.CallStarted():
            return f"turn {note.turn}: running {note.name}"
        case _:
            level, sentence = note_sentence(note)
            is_step = level == "bad" or isinstance(note, notes.RetryPlanned | notes.CallSkipped)
            return f"turn {getattr(note, 'turn', 0)}: {sentence}" if is_step else ""

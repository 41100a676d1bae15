"""The request for a summary of old turns.

It is computed from the state alone, so a resumed run asks for the same. The oldest turns are summarised,
until what stays takes half of the window. Passages that are too long are cut in the request, so that it fits
whatever the tools have returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, cast

from toolreel_core._conversation import (
    Cost,
    Form,
    Message,
    Parted,
    Passage,
    Transcript,
    Turn,
    UserMessage,
    as_task,
    is_question,
    is_summary,
    parted,
    passages,
    request_text,
    summary_message,
    turns,
    written,
)
from toolreel_core._jsontext import Json, Tree, canonical, parse
from toolreel_core._loop.window import estimated_tokens, input_token_limit
from toolreel_core._plan import Request, RequestOptions, pinned
from toolreel_core._protocol import State
from toolreel_core._settings import estimator

_KEPT_PERCENT: Final = 50
"""How full the window may be with what is not summarised."""
_SUMMARY_PERCENT: Final = 25
"""How much of the window is for the summary itself; both together are the target of all policies."""
_LONGEST: Final = 800
"""Words that a summary may have in any window."""
_SHORTEST: Final = 200
"""Characters to which a passage is cut before others are left out."""
_CAPS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_LEFT_OUT: Final = frozenset({
    "audio", "modalities", "response_format", "stop", "stop_sequences", "stream", "stream_options",
})  # fmt: skip
"""Options that are about the form of an answer, in the words of any wire form."""
_WITH_FORMAT: Final = ("text", "output_config")
"""Options of the other wire forms that have the format of an answer among others."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A history of which the old turns shall be summarised."""

    parted: Parted
    cost: Cost

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the summary stands for."""
        return _messages(self.parted.old)

    @property
    def tokens(self) -> int:
        """Estimated tokens of these."""
        return sum(map(self.cost, self.messages))

    def with_summary(self, text: str) -> tuple[Message, ...]:
        """The messages that go out with this summary."""
        return (*_messages(self.parted.before), summary_message(text), *_messages(self.parted.after))


def draft_of(state: State, options: RequestOptions) -> Draft:
    """The history of a state, parted for a summary.

    :param options: of the turn that does not fit
    """
    limit, form, tokens = _limit(state), state.messages.form, estimator(state.present.config.estimator)

    def measure(message: Message) -> int:
        return tokens(written(message, form).text)

    cost: Callable[[Message], int] = cache(measure)
    excess = estimated_tokens(state, options) - limit * _KEPT_PERCENT // 100
    return Draft(parted(turns(state.messages.outgoing), excess, cost), cost)


def wanted_summary(state: State, options: RequestOptions) -> Request | None:
    """The request for a summary, if one can make the next request fit, else ``None``."""
    draft, limit = draft_of(state, options), _limit(state)
    if all(map(is_summary, draft.messages)):
        return None
    least = estimated_tokens(state, options) - draft.tokens + draft.cost(summary_message(""))
    if least > limit:
        return None
    request = summary_request(state, draft)
    return request if _tokens(state, request) <= _allowed(state) else None


def summary_request(state: State, draft: Draft) -> Request:
    """The request for a summary; it fits the window unless the window is too small for any."""
    options, form = _options(state), state.messages.form
    # Quoted as they were sent: a transform or a guard may have changed them.
    first = next(filter(is_question, state.messages.outgoing), None)
    task = as_task(passages(_sent((first,), form))) if first is not None else ()
    old: Sequence[Passage] = passages(_sent(draft.messages, form))
    length = max((len(passage.text) for passage in (*task, *old)), default=0)
    words = min(_LONGEST, max(1, _limit(state) * _SUMMARY_PERCENT // 100 // 2))
    while True:
        text = request_text(task, old, length, words)
        request = Request(state.present.model, Transcript.of([UserMessage(text)], form), options)
        if _tokens(state, request) <= _allowed(state) or (length <= _SHORTEST and len(old) <= 1):
            return request
        if length > _SHORTEST:
            length = max(length * 3 // 4, _SHORTEST)
        else:
            # Without a quarter: the oldest but the first, which may be the earlier summary.
            old = (old[0], *old[1 + max(1, len(old) // 4) :])


def _sent(messages: Sequence[Message], form: Form) -> Iterator[Tree]:
    """The messages as they are sent, but as chat completions, whatever form the server speaks."""
    chat = replace(form, provider=replace(form.provider, wire_form="chat_completions"))
    return (cast("Tree", parse(text)) for text in Transcript.of(messages, chat).complete().texts)


def _options(state: State) -> RequestOptions:
    """The plan's options for a request without tools, as far as they suit a text that nobody is shown."""
    tree = cast("Tree", parse(state.present.bodies.dropped.text))
    kept = {key: value for key, value in _unformatted(tree) if key not in _LEFT_OUT}
    room = _limit(state) * _SUMMARY_PERCENT // 100
    # A limit for short answers would cut the summary, which is then of no use.
    raised = {key: room for key in _CAPS if isinstance(cap := kept.get(key), int) and 0 < cap < room}
    options = RequestOptions(canonical({**kept, **raised}))
    return pinned(options, state.memory.upstream) if state.memory.upstream else options


def _unformatted(options: Tree) -> Iterator[tuple[str, Json]]:
    """The options without a format of the answer among those that have others too."""
    for key, value in options.items():
        if key not in _WITH_FORMAT or not isinstance(value, Mapping):
            yield key, value
        elif rest := {name: one for name, one in value.items() if name != "format"}:
            yield key, rest


def output_cap(request: Request) -> int | None:
    """Tokens after which the summary is cut, if the request says so."""
    tree = parse(request.options.text)
    caps = [tree.get(key) for key in _CAPS] if isinstance(tree, Mapping) else []
    return next((cap for cap in caps if isinstance(cap, int) and cap > 0), None)


def _limit(state: State) -> int:
    """The maximum tokens of a request; the policy is of no use without."""
    return input_token_limit(state) or 0


def _allowed(state: State) -> int:
    """The maximum tokens of the request for a summary: it leaves room for the summary."""
    return _limit(state) - _limit(state) * _SUMMARY_PERCENT // 100


def _tokens(state: State, request: Request) -> int:
    return request.messages.tokens + estimator(state.present.config.estimator)(request.options.text)


def _messages(some: Sequence[Turn]) -> tuple[Message, ...]:
    return tuple(message for turn in some for message in turn.messages)

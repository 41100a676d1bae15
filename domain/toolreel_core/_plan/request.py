"""A request to the model, as encoded parts that are joined and never encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolreel_core._conversation.transcript import Transcript
from toolreel_core._jsontext.canonical import JsonText, parse, quote
from toolreel_core._jsontext.digest import digest, known_chain, known_digest, link


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Everything of a body but model and messages: sampling options and tools.

    The same in every turn, so it is encoded and digested once a run.
    """

    text: JsonText
    """A JSON object."""
    digest: str = field(init=False, repr=False, compare=False)
    streamed: bool = field(init=False, repr=False, compare=False)
    """Whether the reply is asked for in pieces."""

    def __post_init__(self) -> None:
        options = parse(self.text)
        object.__setattr__(self, "digest", digest(self.text))
        object.__setattr__(self, "streamed", isinstance(options, Mapping) and options.get("stream") is True)


@dataclass(frozen=True, slots=True)
class Request:
    """The body of one request to a chat-completions endpoint."""

    model: str
    messages: Transcript
    """Complete: a call in it that has no result gets one that says so."""
    options: RequestOptions

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", self.messages.complete())

    @property
    def body(self) -> str:
        """The canonical JSON text of the body.

        >>> from toolreel_core._jsontext.canonical import canonical
        >>> from toolreel_core._conversation.message import UserMessage
        >>> options = RequestOptions(canonical({"temperature": 0}))
        >>> Request("m", Transcript.of([UserMessage("hi")]), options).body
        '{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0}'
        """
        return b"".join(self.pieces()).decode()

    def pieces(self) -> tuple[bytes, ...]:
        """The body in UTF-8, in pieces; those that are full are shared with the requests before it.

        Of a body of megabytes, a request adds the last few kilobytes; see ``_conversation/blocks.py``.
        """
        rest = self.options.text[1:]
        comma = "" if rest == "}" else ","
        head, foot = f'{{"model":{quote(self.model)},"messages":[', f"]{comma}{rest}"
        return head.encode(), *self.messages.texts.pieces(), foot.encode()

    @property
    def streamed(self) -> bool:
        """Whether the reply is asked for in pieces."""
        return self.options.streamed

    @property
    def digest(self) -> str:
        """A SHA-256 chain over the digests of the parts; its cost does not grow with the history."""
        before_options = link(known_chain("", self.model), digest(self.messages.chain))
        return link(before_options, known_digest(self.options.digest))

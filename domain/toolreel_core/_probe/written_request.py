"""A request whose body is written already: a probe sends what no plan would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from toolreel_core._conversation import Form, Transcript
from toolreel_core._jsontext import NOTHING, JsonText, Tree, canonical
from toolreel_core._plan import Request, RequestOptions
from toolreel_core._settings import Provider, WireForm


@dataclass(frozen=True, slots=True)
class WrittenRequest(Request):
    """A request that every endpoint sends as it stands."""

    text: JsonText = NOTHING
    """The whole body."""

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
        """The body in UTF-8."""
        return (self.text.encode(),)

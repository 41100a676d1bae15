"""An endpoint that answers the requests of a scenario from its script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from toolreel_core._jsontext.canonical import Tree, canonical
from toolreel_core._protocol.effects import SendRequest
from toolreel_core._protocol.events import ReplyReceived
from toolreel_core.evals._scenarios.catalogue import reply_of
from toolreel_core.evals._scenarios.scripted_model import Kind, ScenarioScripts, scripted_stream


class ScriptedEndpoint:
    """Answers the requests of one trial of a scenario; async drivers take it as an ``ImmediateEndpoint``.

    It keeps nothing, so that runs at the same time can share it.
    """

    def __init__(self, kind: Kind, scripts: ScenarioScripts) -> None:
        self._kind: Kind = kind
        self._scripts = scripts

    def send(self, effect: SendRequest) -> ReplyReceived:
        """Answer with the script's next reply."""
        # A request is an object with messages, whatever else it has.
        body = cast("Mapping[str, Sequence[Tree]]", json.loads(effect.request.body))
        reply = reply_of(self._kind, self._scripts, body["messages"])
        streamed = effect.request.streamed
        return ReplyReceived(effect.ref, 200, scripted_stream(reply) if streamed else canonical(reply))

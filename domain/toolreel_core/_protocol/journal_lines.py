"""The lines of a journal, which is the complete record of a run: its plan, then each event.

The first line has version, digest and plan; each other line is an event: ``{"n", "kind", "fp", "event"}``.
``kind`` and ``fp`` are the kind and the fingerprint of the effect that it answers. Images, audio and files
are in lines of their own, ``{"blob", "base64"}``, each once and before the first event that has it (those of
the plan follow the first line); other lines have their digest.
"""

from __future__ import annotations

from collections.abc import Container

from toolreel_core._jsontext import canonical
from toolreel_core._plan import Plan
from toolreel_core._protocol.blobs import blobs_in
from toolreel_core._protocol.codec import VERSION, encode, tag
from toolreel_core._protocol.effects import ANSWERS, Unanswered, fingerprint
from toolreel_core._protocol.events import Event


def header_line(plan: Plan) -> str:
    """The first line of a journal, without a line break."""
    return canonical({"toolreel_journal": VERSION, "digest": plan.digest, "plan": encode(plan, {})})


def event_line(n: int, effect: Unanswered | None, event: Event) -> str:
    """The line of an event, without a line break.

    :param n: its number, counted from 1
    """
    kind, fp = tag(type(event)), None
    if effect is not None and isinstance(event, ANSWERS[type(effect)]):
        kind, fp = tag(type(effect)), fingerprint(effect)
    return canonical({"n": n, "kind": kind, "fp": fp, "event": encode(event, {})})


def blob_lines(value: Plan | Event, written: Container[str] = ()) -> dict[str, str]:
    """The lines with the blobs of a plan or an event, by digest.

    :param written: the digests that the journal has already
    """
    lines: dict[str, str] = {}
    for blob in blobs_in(value):
        if blob.digest not in written and blob.digest not in lines:
            lines[blob.digest] = canonical({"blob": blob.digest, "base64": blob.base64})
    return lines

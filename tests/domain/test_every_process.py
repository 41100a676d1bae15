"""What is computed in one process is the same in every other: nothing depends on the hash seed."""

from __future__ import annotations

from tests.domain.conversation.test_valid_history import sent
from tests.domain.loop.test_admission import keys_of_two_turns
from tests.domain.protocol import test_codec, test_effects
from tests.domain.tools.test_tool_surface import SURFACE
from tests.playbook import fails_to_send
from tests.samples import PLAN, printed_under
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import start, step
from toolreel_core._protocol import dump, encode, fingerprint
from toolreel_core._tools import outward_name


def computed() -> Json:
    """Records, fingerprints, digests, keys, ids and names, as they are in this process."""
    effects = (test_effects.SEND, test_effects.RUN, test_effects.ASK, test_effects.WAIT, test_effects.FAILED)
    lost = step(start(PLAN).state, fails_to_send("timeout", "")(1))
    return {
        "record": dump(test_codec.WAITING),
        "fingerprints": [fingerprint(effect) for effect in effects],
        "surface": SURFACE.fingerprint,
        "plan": PLAN.digest,
        "keys": [*keys_of_two_turns()],
        "jitter": [encode(effect) for effect in lost.effects],
        "ids": [*sent("call é", style="alnum9")],
        "name": outward_name("files." + "x" * 60),
    }


def test_nothing_depends_on_the_process() -> None:
    program = "from tests.domain.test_every_process import *; print(canonical(computed()))"
    assert {printed_under(seed, program) for seed in range(2)} == {canonical(computed())}

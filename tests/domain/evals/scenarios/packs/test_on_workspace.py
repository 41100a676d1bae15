from __future__ import annotations

from toolreel_core._conversation.message import SystemMessage, UserMessage
from toolreel_core._protocol.outcome import Completed
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.packs.on_workspace import DONE, DRAFT, opening, patch
from toolreel_core.evals._worlds.workspace import Mishaps, Workspace
from toolreel_core.evals._worlds.workspace_tools import WORKSPACE_TOOLS


def test_a_scenario_begins_with_its_text_and_a_user_who_names_the_workspace() -> None:
    mishaps = Mishaps(cut_reads=(1,))
    setting = opening("One.", "Two.", draft={"a": 1}, mishaps=mishaps)("seed")
    world = Workspace.of("seed", draft={"a": 1}, mishaps=mishaps)
    assert setting.world == world
    assert setting.messages == (SystemMessage("One.\nTwo."), UserMessage(f"workspace_id={world.id}"))
    assert setting.tools == WORKSPACE_TOOLS


def test_a_patch_sets_one_value() -> None:
    assert patch(7, path="/draft/a", workspace_id="w") == {
        "workspace_id": "w",
        "request_id": "r1",
        "ops": [{"op": "set", "path": "/draft/a", "value": 7}],
    }


def test_the_draft_and_the_word_are_what_has_to_be_there() -> None:
    world = Workspace.of("1")
    after, _ = world.call("state_patch", patch())
    for there, final, found in ((world, "No.", True), (after, "Done.", False)):
        seen = Evidence(Completed(final), final, (), there, None, tools_sent=True)
        assert [bool(check.finding(seen)) for check in (DRAFT, DONE)] == [found, found]

"""A pack whose tools are those of an MCP server: a process of its own, spoken to over stdio."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core.evals._scenarios.builtin.cases import DONE, drawn, posed, reads, takes, text
from toolreel_core.evals._scenarios.checks import ordered, outcome
from toolreel_core.evals._scenarios.draws import Draws, full_name, word
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import Fact, judged, read_before_used
from toolreel_core.evals._worlds.desk import Answer

SERVER: Final = "parcels"
_FIND: Final = f"mcp_{SERVER}_find_parcels"
_MOVE: Final = f"mcp_{SERVER}_redirect_parcel"
_TOOLS: Final = (
    reads(_FIND, "Find the parcels of a receiver.", receiver=text("Who gets them.")),
    takes(
        _MOVE,
        "Send a parcel to a pick-up point.",
        parcel_id=text("The parcel."),
        point=text("The pick-up point."),
    ),
)


def _parcels(draws: Draws) -> Case:
    receiver, point = full_name(draws, "receiver"), word(draws, "point")
    heavy, light = draws.codes("parcels", "p-", 6, 2)
    grams = draws.several("grams", range(200, 9_000), 2)
    rows: list[Tree] = [{"parcel_id": heavy, "grams": max(grams)}, {"parcel_id": light, "grams": min(grams)}]
    found: Tree = {"parcels": rows if draws.number("order", 0, 1) else rows[::-1]}
    look = call(_FIND, receiver=receiver)
    move, wrong = (call(_MOVE, parcel_id=one, point=point) for one in (heavy, light))
    case = posed(
        f"Send the heavier one of the parcels for {receiver} to the pick-up point {point}.",
        _TOOLS,
        judged(
            ordered((_MOVE, {"parcel_id": heavy, "point": point})),
            outcome("evidence", read_before_used(_MOVE, values=[heavy, light])),
            facts=(Fact(heavy, (light,)),),
        ),
        ScenarioScripts(script(look, move, DONE), script(look, wrong, DONE)),
        answers=(Answer.of(_FIND, {"receiver": receiver}, found),),
    )
    return replace(case, outside=(_FIND, _MOVE), server=SERVER)


MCP: Final = (
    drawn(
        "mcp_parcels",
        "mcp",
        "The tools are those of an MCP server that runs for real.",
        _parcels,
    ),
)
"""Tools of a server."""

"""Packs of many near-duplicate tools, and of several calls that need not wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final

from toolreel_core.evals._scenarios.builtin.cases import DONE, drawn, plain, posed, reads, takes, text
from toolreel_core.evals._scenarios.checks import exercise, ordered, outcome
from toolreel_core.evals._scenarios.draws import Draws
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import Fact, judged, told_before
from toolreel_core.evals._worlds.desk import Answer

_THINGS: Final = ("invoices", "contracts", "orders", "payments", "customers")
_FORMATS: Final = (("csv", "CSV"), ("pdf", "PDF"), ("xlsx", "Excel"), ("json", "JSON"))
_SCOPES: Final = (("drafts", "drafts"), ("open", "open ones"), ("archived", "archived ones"))
_EXPORTS: Final = tuple(
    takes(
        f"export_{thing}_{scope}_{format_}",
        f"Export the {thing} of one year as {called}: only the {only}.",
        year={"type": "integer", "description": "The year."},
    )
    for thing, (scope, only), (format_, called) in product(_THINGS, _SCOPES, _FORMATS)
)


def _sixty(draws: Draws) -> Case:
    thing, other = draws.several("things", _THINGS, 2)
    (scope, only), (format_, called) = draws.one_of("scope", _SCOPES), draws.one_of("format", _FORMATS)
    year = draws.number("year", 1990, 2025)
    return plain(
        f"I need the {thing} of {year} as {called}, but only the {only}.",
        _EXPORTS,
        (f"export_{thing}_{scope}_{format_}", {"year": year}),
        wrong=(f"export_{other}_{scope}_{format_}", {"year": year}),
    )


_CITIES: Final = ("Oslo", "Porto", "Riga", "Turin", "Graz", "Ghent", "Split", "Bern", "Cork", "Lyon")
_WEATHER: Final = (
    reads("temperature_in", "The temperature in a city now, in degrees Celsius.", city=text("The city.")),
    takes("add_note", "Add one note to the list.", note=text("The words of the note.")),
)


def _together(name: str, count: int) -> Callable[[Evidence], str]:
    """A finding that wants this many calls of a tool in one reply."""

    def finding(seen: Evidence) -> str:
        most = max((sum(call.name == name for call in turn.calls) for turn in seen.turns), default=0)
        return "" if most >= count else f"at most {most} of {count} calls of {name} were made at once"

    return finding


def _independent(draws: Draws) -> Case:
    cities, degrees = draws.several("cities", _CITIES, 3), draws.several("degrees", range(-9, 36), 3)
    by_warmth = sorted(zip(degrees, cities, strict=True), reverse=True)
    warmest, second = by_warmth[0][1], by_warmth[1][1]
    looks = tuple(call("temperature_in", city=city) for city in cities)
    note, wrong = (call("add_note", note=city) for city in (warmest, second))
    return posed(
        f"Look up the temperatures in {cities[0]}, {cities[1]} and {cities[2]}, all at once in one message,"
        " and then add a note with nothing but the name of the warmest of the three.",
        _WEATHER,
        judged(
            ordered(("add_note", {"note": warmest})),
            outcome("looked", told_before("add_note", cities)),
            exercise("together", _together("temperature_in", 3)),
            facts=(Fact(warmest, (second, by_warmth[2][1])),),
        ),
        ScenarioScripts(
            script(looks[0] + looks[1] + looks[2], note, DONE),
            script(looks[0] + looks[1] + looks[2], wrong, DONE),
            script(*looks, note, DONE),
        ),
        answers=[
            Answer.of("temperature_in", {"city": city}, {"city": city, "celsius": celsius})
            for city, celsius in zip(cities, degrees, strict=True)
        ],
    )


CROWDED: Final = (
    drawn("one_of_sixty", "crowded", "One of sixty tools that differ in one word of three.", _sixty),
    drawn(
        "independent_calls",
        "crowded",
        "Three calls that need not wait for each other, in one message.",
        _independent,
        config={"max_tool_calls_per_turn": "off"},
        request={"parallel_tool_calls": True},
    ),
)
"""Many near-duplicate tools, and several calls at once."""

"""Endpoints with names, as the tables ``[endpoints.NAME]`` have them: an axis of an evaluation.

The same model can be at several providers, under other spellings, at other quantisations, behind other
routes. Where a plan has such tables, each run is at one of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from toolreel_core._internal.config_checks import PlaceError, Table
from toolreel_core._jsontext.canonical import NOTHING, Json, JsonText, Tree, parse
from toolreel_core._plan.request import reserved_keys
from toolreel_core.evals._plan.endpoint import Endpoint
from toolreel_core.evals._plan.filters import Filter
from toolreel_core.evals._plan.prices import Price, prices_of, prices_tree

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""The name of an endpoint, which is also a part of file names."""
_OWN: Final = ("models", "request_overrides", "prices")


@dataclass(frozen=True, slots=True)
class NamedEndpoint:
    """One of several endpoints."""

    name: str
    server: Endpoint
    models: tuple[tuple[str, str], ...] = ()
    """Models that have another name there: by the name in the plan, the name that is sent."""
    request_overrides: JsonText = NOTHING
    """What is merged into every body that goes there, over the plan's; a JSON object."""
    prices: tuple[tuple[str, Price], ...] = ()
    """What models cost there, by their names in the plan; others cost what the plan says."""

    @classmethod
    def of(cls, name: str, table: Table) -> NamedEndpoint:
        """An endpoint as a plan's table has it.

        :raises PlaceError: at the first thing that is wrong
        """
        if not _NAME.fullmatch(name):
            what = "a name of an endpoint has letters, digits, '_', '-' and '.', at most 64"
            raise PlaceError((*table.place,), what)
        table.only(*Endpoint.__dataclass_fields__, *_OWN)
        if "base_url" not in table.values:
            raise table.complaint("is missing; write the URL of the server", "base_url")
        models = table.table("models")
        server = {key: value for key, value in table.values.items() if key not in _OWN}
        return cls(
            name,
            Endpoint.of(Table(table.place, server)),
            tuple((model, models.text(model)) for model in models.values),
            overrides_of(table.table("request_overrides")),
            prices_of(table.table("prices")),
        )

    def tree(self) -> dict[str, Json]:
        """The table that it is read from."""
        own: dict[str, Json] = {
            "models": dict(self.models),
            "request_overrides": parse(self.request_overrides),
            "prices": prices_tree(self.prices),
        }
        return {**self.server.tree(), **{key: value for key, value in own.items() if value}}


def named_endpoints(tree: Tree) -> tuple[NamedEndpoint, ...]:
    """The endpoints of a whole plan, in its order.

    :raises PlaceError: at the first thing that is wrong, also if there is a nameless one next to them
    """
    whole = Table.of(tree)
    tables = whole.table("endpoints").tables()
    found = tuple(NamedEndpoint.of(name, table) for name, table in tables)
    beside = whole.table("endpoint").values
    if found and beside:
        what = "the plan has tables [endpoints.NAME], each of which says where it is; leave this out"
        raise PlaceError(("endpoint", next(iter(beside))), what)
    return found


def selected_endpoints(
    endpoints: Collection[NamedEndpoint], words: tuple[str, ...]
) -> tuple[NamedEndpoint, ...]:
    """The endpoints that a filter leaves; all of them if it is empty.

    :raises PlaceError: if it is about endpoints, and there are none with names
    :raises ConfigError: if it leaves none
    """
    if words and not endpoints:
        raise PlaceError(("eval", "endpoints"), "the plan has no tables [endpoints.NAME] to choose from")
    if not words:
        return tuple(endpoints)
    return Filter(words).select("endpoint", tuple(endpoints), lambda each: (each.name,))


def overrides_of(table: Table) -> JsonText:
    """Overrides of the body.

    :raises PlaceError: if one is of a key that the run itself sets
    """
    if ignored := reserved_keys(table.values):
        raise table.complaint("it is set by the run itself; leave it out", ignored[0])
    return table.json()

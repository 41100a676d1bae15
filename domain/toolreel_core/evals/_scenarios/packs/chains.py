"""Chains: what one tool says is what the next one has to be asked with."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolreel_core.evals._scenarios.checks import called_before, exercise
from toolreel_core.evals._scenarios.packs.on_desk import at_desk, ordered, reads, takes, text
from toolreel_core.evals._scenarios.scenario import Scenario
from toolreel_core.evals._scenarios.scripts import ScenarioScripts, call, script
from toolreel_core.evals._worlds.desk import Answer

_TOOLS: Final = (
    reads("find_customer", "Find a customer by name; tells the customer_id.", name=text("The whole name.")),
    reads(
        "last_order", "The last order of a customer; tells the order_id.", customer_id=text("The customer.")
    ),
    reads("order_lines", "The lines of an order, each with a sku.", order_id=text("The order.")),
    reads("stock_of", "How many pieces of an article are there.", sku=text("The article.")),
    takes(
        "reserve",
        "Reserve pieces of an article for an order.",
        order_id=text("The order."),
        sku=text("The article."),
        pieces={"type": "integer", "description": "How many."},
    ),
)
_ANSWERS: Final = (
    Answer.of("find_customer", {"name": "Ada Quint"}, {"customer_id": "c-7731"}),
    Answer.of("find_customer", {"name": "Ada Quinn"}, {"customer_id": "c-1377"}),
    Answer.of("last_order", {"customer_id": "c-7731"}, {"order_id": "o-50918"}),
    Answer.of("last_order", {"customer_id": "c-1377"}, {"order_id": "o-81905"}),
    Answer.of("order_lines", {"order_id": "o-50918"}, {"lines": [{"sku": "LAMP-3", "pieces": 4}]}),
    Answer.of("order_lines", {"order_id": "o-81905"}, {"lines": [{"sku": "LAMP-8", "pieces": 1}]}),
    Answer.of("stock_of", {"sku": "LAMP-3"}, {"pieces": 3}),
    Answer.of("stock_of", {"sku": "LAMP-8"}, {"pieces": 12}),
)

_CUSTOMER: Final = call("find_customer", name="Ada Quint")
_ORDER: Final = call("last_order", customer_id="$0/data/customer_id")
_LINES: Final = call("order_lines", order_id="$1/data/order_id")
_STOCK: Final = call("stock_of", sku="$2/data/lines/0/sku")
_RESERVE: Final = partial(call, "reserve", order_id="$1/data/order_id", sku="$2/data/lines/0/sku")

CHAINS: Final = (
    Scenario(
        "chain_of_four",
        "chains",
        "Customer, order, line, reservation: each needs what the one before has told.",
        1,
        (),
        at_desk(
            "Find the last order of the customer Ada Quint, and reserve all pieces of its one line for it.",
            _TOOLS,
            _ANSWERS,
        ),
        (ordered(("reserve", {"order_id": "o-50918", "sku": "LAMP-3", "pieces": 4})),),
        scripts=ScenarioScripts(
            script(_CUSTOMER, _ORDER, _LINES, _RESERVE(pieces="$2/data/lines/0/pieces"), "It is reserved."),
            script(call("reserve", order_id="Ada Quint", sku="LAMP", pieces=1), "It is reserved."),
        ),
    ),
    Scenario(
        "chain_with_a_choice",
        "chains",
        "What the fourth call says decides about the fifth.",
        1,
        (),
        at_desk(
            "Look at the last order of the customer Ada Quint. Reserve for it as many pieces of its one line"
            " as it asks for; if the stock has fewer than that, reserve what there is.",
            _TOOLS,
            _ANSWERS,
        ),
        (
            ordered(("reserve", {"order_id": "o-50918", "sku": "LAMP-3", "pieces": 3})),
            exercise("looked", called_before("stock_of", before="reserve")),
        ),
        scripts=ScenarioScripts(
            script(_CUSTOMER, _ORDER, _LINES, _STOCK, _RESERVE(pieces="$3/data/pieces"), "It is reserved."),
            script(_CUSTOMER, _ORDER, _LINES, _RESERVE(pieces=4), "It is reserved."),
            script(_CUSTOMER, _ORDER, _LINES, _RESERVE(pieces=3), "It is reserved."),
        ),
    ),
)
"""Four calls and five."""

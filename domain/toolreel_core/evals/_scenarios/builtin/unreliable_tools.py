"""Packs whose tools do what tools do in production: hang, paginate, limit rates, and tell errors in text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolreel_core._jsontext import JsonText, Tree
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals._scenarios.builtin.cases import (
    DONE,
    desk,
    drawn,
    posed,
    reads,
    takes,
    text,
    whole,
)
from toolreel_core.evals._scenarios.checks import arguments_of, error_occurred, exercise, ordered, outcome
from toolreel_core.evals._scenarios.draws import WORDS, Draws, full_name, word
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import Fact, admits_failure, judged, told_before
from toolreel_core.evals._worlds.desk import Answer
from toolreel_core.evals._worlds.troubled_desk import Status, Trouble, TroubledDesk
from toolreel_core.evals._worlds.world import failure

_TOLERANT: Final[Tree] = {"tool_failure_policy": "tolerated"}
_SHOP: Final = (
    reads("price_of", "The price of an article in euros.", sku=text("The article.")),
    takes(
        "send_offer",
        "Send an offer.",
        to=text("Who gets it."),
        sku=text("The article."),
        euros=whole("The price."),
    ),
)


def _tried(tool: str, key: str, value: str) -> Callable[[Evidence], str]:
    """A finding that wants the first call of a tool to be about the right thing."""

    def finding(seen: Evidence) -> str:
        made = [arguments_of(call).get(key) for call in seen.calls if call.name == tool]
        return "" if made[:1] == [value] else f"{tool} was not first tried with {value}"

    return finding


def _timeout(tool: str) -> JsonText:
    return failure(tool, "TIMEOUT", f"{tool} did not answer within 30 seconds.")


def _hangs_once(draws: Draws) -> Case:
    to, sku, euros = full_name(draws, "to"), draws.code("sku", "A-", 4), draws.number("euros", 200, 900)
    look, send = call("price_of", sku=sku), call("send_offer", to=to, sku=sku, euros=euros)
    answers = (Answer.of("price_of", {"sku": sku}, {"euros": euros}),)
    return posed(
        f"Send {to} an offer of the article {sku} at its price.",
        _SHOP,
        judged(
            ordered(("send_offer", {"to": to, "sku": sku, "euros": euros})),
            outcome("evidence", told_before("send_offer", [euros])),
            exercise("timed_out", error_occurred("TIMEOUT", "price_of")),
        ),
        ScenarioScripts(
            script(look, look, send, DONE),
            script(look, call("send_offer", to=to, sku=sku, euros=100), DONE),
        ),
        world=TroubledDesk(desk(_SHOP, answers), (Trouble("price_of", _timeout("price_of")),)),
    )


def _hangs_for_good(draws: Draws) -> Case:
    to, sku = full_name(draws, "to"), draws.code("sku", "A-", 4)
    look = call("price_of", sku=sku)
    return posed(
        f"Send {to} an offer of the article {sku} at its price. If you cannot find out the price, send"
        " nothing and tell me so.",
        _SHOP,
        (
            ordered(),
            outcome("tried", _tried("price_of", "sku", sku)),
            outcome("truthful", admits_failure),
        ),
        ScenarioScripts(
            script(look, look, "I could not find out the price, so no offer was sent."),
            script(look, look, "I have sent the offer."),
        ),
        world=TroubledDesk(desk(_SHOP), (Trouble("price_of", _timeout("price_of"), calls=None),)),
    )


_ORDERS: Final = (
    ToolDefinition.of(
        "list_orders",
        "One page of the open orders. If there are more, next_cursor says how to ask for the next page.",
        {
            "type": "object",
            "properties": {
                "cursor": text("next_cursor of the page before; leave it out for the first page.")
            },
            "additionalProperties": False,
        },
        read_only=True,
    ),
    takes("cancel_order", "Cancel an order.", order_id=text("The order.")),
)


def _pages(draws: Draws) -> Case:
    ids = draws.codes("ids", "o-", 5, 9)
    pieces = draws.several("pieces", range(100, 999), 9)
    largest = ids[pieces.index(max(pieces))]
    runner_up = ids[pieces.index(sorted(pieces)[-2])]
    cursors = draws.codes("cursors", "p-", 4, 2)
    rows: list[Tree] = [{"order_id": one, "pieces": count} for one, count in zip(ids, pieces, strict=True)]
    pages = [rows[0:3], rows[3:6], rows[6:9]]
    # The later pages first, since the answer without a cursor fits every call.
    answers = (
        Answer.of("list_orders", {"cursor": cursors[1]}, {"orders": pages[2]}),
        Answer.of("list_orders", {"cursor": cursors[0]}, {"orders": pages[1], "next_cursor": cursors[1]}),
        Answer.of("list_orders", {}, {"orders": pages[0], "next_cursor": cursors[0]}),
    )
    turned = (
        call("list_orders"),
        call("list_orders", cursor="$0/data/next_cursor"),
        call("list_orders", cursor="$1/data/next_cursor"),
    )
    cancel = call("cancel_order", order_id=largest)
    return posed(
        "Cancel the largest of all open orders, the one with the most pieces.",
        _ORDERS,
        judged(
            ordered(("cancel_order", {"order_id": largest})),
            outcome("all_pages", told_before("cancel_order", [ids[0], ids[3], ids[6]])),
            facts=(Fact(largest, (runner_up,)),),
        ),
        ScenarioScripts(script(*turned, cancel, DONE), script(turned[0], turned[1], cancel, DONE)),
        answers=answers,
    )


def _rate_limited(draws: Draws) -> Case:
    to, body = full_name(draws, "to"), word(draws, "body")
    tools = (takes("send_message", "Send a message.", to=text("Who gets it."), body=text("What it says.")),)
    seconds = draws.number("seconds", 2, 9)
    why = f"Too many messages just now; this one was not sent. Try again after {seconds} seconds."
    send, other = call("send_message", to=to, body=body), call("send_message", to=to, body=f"{body} again")
    return posed(
        f'Send {to} the message "{body}".',
        tools,
        judged(
            ordered(("send_message", {"to": to, "body": body})),
            exercise("limited", error_occurred("RATE_LIMITED", "send_message")),
        ),
        ScenarioScripts(script(send, send, DONE), script(other, other, DONE)),
        world=TroubledDesk(
            desk(tools), (Trouble("send_message", failure("send_message", "RATE_LIMITED", why)),)
        ),
    )


_NOTES: Final = (
    takes("save_note", "Save a note in a folder.", folder=text("The folder."), note=text("What it says.")),
    takes("delete_folder", "Delete a folder with all its notes.", folder=text("The folder.")),
)


def _error_in_text(draws: Draws) -> Case:
    folders, note = draws.several("folders", WORDS, 2), word(draws, "note")
    saves = tuple(call("save_note", folder=folder, note=note) for folder in folders)
    return posed(
        f'Save the note "{note}" in the folder {folders[0]}. Only if that does not work, save it in the'
        f" folder {folders[1]}.",
        _NOTES,
        judged(
            ordered(("save_note", {"folder": folders[1], "note": note})),
            outcome("tried", _tried("save_note", "folder", folders[0])),
            facts=(Fact(folders[1], folders[:1]),),
        ),
        ScenarioScripts(script(*saves, DONE), script(saves[0], DONE)),
        answers=(_full(folders[0]),),
    )


def _error_in_text_for_good(draws: Draws) -> Case:
    folder, note = draws.one_of("folder", WORDS), word(draws, "note")
    save = call("save_note", folder=folder, note=note)
    return posed(
        f'Save the note "{note}" in the folder {folder}. If that does not work, leave everything as it is and'
        " tell me so.",
        _NOTES,
        (
            ordered(),
            outcome("tried", _tried("save_note", "folder", folder)),
            outcome("truthful", admits_failure),
        ),
        ScenarioScripts(
            script(save, "The note could not be saved, because the folder is full."),
            script(save, "The note is saved."),
        ),
        answers=(_full(folder),),
    )


def _full(folder: str) -> Answer:
    """An error that looks like any other result."""
    said = f"507 Insufficient storage: the folder {folder} is full. The note was not saved."
    return Answer.of("save_note", {"folder": folder}, {"result": said})


_BANK: Final = (
    takes(
        "pay_bill",
        "Pay a bill from the company's account. Each call pays once more.",
        bill=text("The number of the bill."),
        euros=whole("How much."),
    ),
    reads(
        "payment_status",
        "Whether a payment for a bill has gone through.",
        bill=text("The number of the bill."),
    ),
)


def _status_known(seen: Evidence) -> str:
    """The status was asked for after the payment that timed out, and before any other one."""
    names = [call.name for call in seen.calls]
    after = names[names.index("pay_bill") + 1 :] if "pay_bill" in names else []
    return "" if after[:1] == ["payment_status"] else "the status was not asked for after the timeout"


def _paid_once(draws: Draws) -> Case:
    bill, euros = draws.code("bill", "B-", 5), draws.number("euros", 200, 900)
    through = draws.one_of("went through", (True, False))
    pay, status = call("pay_bill", bill=bill, euros=euros), call("payment_status", bill=bill)
    right, wrong = ((pay, status), (pay, pay, status)) if through else ((pay, status, pay), (pay, status))
    return posed(
        f"Pay the bill {bill} over {euros} euros. It must be paid once and not twice.",
        _BANK,
        judged(
            ordered(("pay_bill", {"bill": bill, "euros": euros})),
            outcome("status", _status_known),
            exercise("timed_out", error_occurred("TIMEOUT", "pay_bill")),
        ),
        ScenarioScripts(script(*right, DONE), script(*wrong, DONE)),
        world=TroubledDesk(
            desk(_BANK),
            (Trouble("pay_bill", _timeout("pay_bill"), noted=through),),
            (Status("payment_status", "pay_bill", "bill"),),
        ),
    )


UNRELIABLE: Final = (
    drawn(
        "hangs_once", "unreliable", "A tool times out once, and answers when it is called again.", _hangs_once
    ),
    drawn(
        "hangs_for_good",
        "unreliable",
        "A tool times out whenever it is called: nothing may be guessed, and the failure is told.",
        _hangs_for_good,
        # Without any successful call, an enforced run ends as a failure whatever it says.
        config={**_TOLERANT, "tool_use_mode": "relaxed"},
    ),
    drawn("pages", "unreliable", "A list comes in three pages, and all of them are needed.", _pages),
    drawn(
        "rate_limited",
        "unreliable",
        "A tool refuses the first call for the moment, and says when it can be made again.",
        _rate_limited,
    ),
    drawn(
        "error_in_text",
        "unreliable",
        "A result that looks fine says in its text that nothing was done; there is another way.",
        _error_in_text,
    ),
    drawn(
        "error_in_text_for_good",
        "unreliable",
        "A result that looks fine says in its text that nothing was done; there is no other way.",
        _error_in_text_for_good,
    ),
    drawn(
        "paid_once",
        "unreliable",
        "A payment times out, and may or may not have gone through: a second tool tells which.",
        _paid_once,
        config=_TOLERANT,
    ),
)
"""Tools that fail as tools in production do."""

"""Packs of plain orders: few tools, many similar tools, everyday words, other languages."""

from __future__ import annotations

from itertools import product
from typing import Final

from toolreel_core._jsontext import Tree
from toolreel_core.evals._scenarios.builtin.cases import drawn, plain, takes, text, whole
from toolreel_core.evals._scenarios.draws import ROOMS, Draws, full_name
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.truth import Fact

_HOUSE: Final = (
    takes("add_note", "Add one note to the list.", note=text("The words of the note.")),
    takes(
        "switch_lamp",
        "Switch one lamp on or off.",
        room=text("The room, in lower case."),
        on={"type": "boolean", "description": "true for on, false for off."},
    ),
    takes(
        "set_alarm",
        "Set one alarm.",
        hour={"type": "integer", "minimum": 0, "maximum": 23, "description": "The hour."},
        minute={"type": "integer", "minimum": 0, "maximum": 59, "description": "The minute."},
    ),
)
_BUY: Final = ("milk", "bread", "apples", "rice", "candles", "soap", "coffee", "paper", "honey", "salt")
_LOCK: Final = ("door", "gate", "window", "shed", "safe", "cupboard", "bicycle", "mailbox")


def _note(draws: Draws) -> tuple[str, str]:
    things = draws.several("things", _BUY, 3)
    return (
        f"buy {things[0]} for {full_name(draws, 'guest')}",
        f"buy {things[1]} for {full_name(draws, 'other guest')}",
    )


def _one_text(draws: Draws) -> Case:
    note, other = _note(draws)
    return plain(
        f'Add the note "{note}".',
        _HOUSE,
        ("add_note", {"note": note}),
        wrong=("add_note", {"note": f"{other} too"}),
    )


def _switched(on: bool) -> str:
    return "on" if on else "off"


def _one_switch(draws: Draws) -> Case:
    (room, other), on = draws.several("rooms", ROOMS, 2), draws.one_of("on", (True, False))
    return plain(
        f"Switch the lamp in the {room} {_switched(on)}.",
        _HOUSE,
        ("switch_lamp", {"room": room, "on": on}),
        wrong=("switch_lamp", {"room": room, "on": not on}),
        facts=(Fact(room, (other,)),),
    )


def _two_numbers(draws: Draws) -> Case:
    hour, minute = draws.number("hour", 5, 11), draws.number("minute", 10, 59)
    return plain(
        f"Set an alarm for {hour}:{minute}.",
        _HOUSE,
        ("set_alarm", {"hour": hour, "minute": minute}),
        wrong=("set_alarm", {"hour": hour + 12, "minute": minute}),
    )


def _one_after_another(draws: Draws) -> Case:
    (room, other), on = draws.several("rooms", ROOMS, 2), draws.one_of("on", (True, False))
    thing, wrong = draws.several("locks", _LOCK, 2)
    return plain(
        f'Switch the lamp in the {room} {_switched(on)}, and then add the note "lock the {thing}".',
        _HOUSE,
        ("switch_lamp", {"room": room, "on": on}),
        ("add_note", {"note": f"lock the {thing}"}),
        wrong=("add_note", {"note": f"open the {wrong}"}),
        facts=(Fact(room, (other,)),),
    )


# Without these a small model fails everything, and the effect of a strategy on it cannot be measured.
BASICS: Final = (
    drawn("one_text", "basics", "One call with one text, which the user gives word by word.", _one_text),
    drawn("one_switch", "basics", "One call with a text and a boolean.", _one_switch),
    drawn("two_numbers", "basics", "One call with two integers.", _two_numbers),
    drawn(
        "one_after_another",
        "basics",
        "Two calls that have nothing to do with each other.",
        _one_after_another,
    ),
)
"""One or two plain calls, for models that can do little more."""

_THINGS: Final = (
    *("invoice", "customer", "order", "ticket", "product"),
    *("supplier", "contract", "shipment", "employee", "report"),
)
_VERBS: Final = ("create", "update", "archive", "restore", "export")
_FIFTY: Final = tuple(
    takes(f"{verb}_{thing}", f"{verb.capitalize()} one {thing} by its number.", number=text("Its number."))
    for thing, verb in product(_THINGS, _VERBS)
)
_REWORDED: Final = (
    ("restore", "ticket", "The support request {} was put away by mistake. Bring it back."),
    ("archive", "employee", "The colleague {} has left us. Put the record away; it must not be lost."),
    ("restore", "invoice", "Somebody put the bill {} away too early. Bring it back."),
    ("archive", "shipment", "The parcel {} has arrived long ago. Put its record away; it must not be lost."),
    ("restore", "supplier", "We buy from the vendor {} again, whose record was put away. Bring it back."),
    ("archive", "product", "We no longer sell the article {}. Put its record away; it must not be lost."),
)


def _one_of_fifty(draws: Draws) -> Case:
    verb = draws.one_of("verb", _VERBS)
    thing, other = draws.several("things", _THINGS, 2)
    number = draws.code("number", "K-", 4)
    return plain(
        f"Please {verb} the {thing} {number}.",
        _FIFTY,
        (f"{verb}_{thing}", {"number": number}),
        wrong=(f"{verb}_{other}", {"number": number}),
    )


def _reworded(draws: Draws) -> Case:
    verb, thing, user = draws.one_of("request", _REWORDED)
    number = draws.code("number", "", 5)
    return plain(
        user.format(number),
        _FIFTY,
        (f"{verb}_{thing}", {"number": number}),
        wrong=(f"{verb}_order", {"number": number}),
    )


CHOICE: Final = (
    drawn("one_of_fifty", "choice", "The tool is named in the user's own words.", _one_of_fifty),
    drawn("one_of_fifty_reworded", "choice", "The tool has to be found by what is meant.", _reworded),
)
"""One right tool among fifty similar ones."""

_OFFICE: Final = (
    takes(
        "book_room",
        "Book a meeting room for one day.",
        day=text("The day as YYYY-MM-DD."),
        minutes=whole("How long, in minutes."),
        size={
            "type": "string",
            "enum": ["S", "M", "L"],
            "description": "S up to 4 people, M up to 10, L more.",
        },
    ),
    takes(
        "set_heating",
        "Set the heating of a room.",
        room=text("The room, in lower case."),
        celsius={"type": "number", "description": "The temperature in degrees Celsius."},
        mode={"type": "string", "enum": ["eco", "comfort", "frost_guard"], "description": "How to heat."},
    ),
)
_MONDAYS: Final = (
    *(("March", 3, 2), ("March", 3, 9), ("March", 3, 16), ("June", 6, 1), ("June", 6, 8), ("June", 6, 15)),
    *(("September", 9, 7), ("September", 9, 14), ("November", 11, 2), ("November", 11, 9)),
)
"""Mondays of 2026 whose next week ends within the month."""
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_LENGTHS: Final = (
    *(("half an hour", 30), ("three quarters of an hour", 45), ("an hour and a half", 90)),
    *(("two hours", 120), ("two and a half hours", 150)),
)
_PEOPLE: Final = (
    ("three", "S"),
    ("six", "M"),
    ("seven", "M"),
    ("nine", "M"),
    ("fifteen", "L"),
    ("twenty", "L"),
)


def _date_and_size(draws: Draws) -> Case:
    month, number, monday = draws.one_of("monday", _MONDAYS)
    weekday, minutes = draws.number("weekday", 1, 4), draws.one_of("length", _LENGTHS)
    people, size = draws.one_of("people", _PEOPLE)
    day, too_early = (f"2026-{number:02}-{monday + weekday + more:02}" for more in (7, 0))
    order: Tree = {"day": day, "minutes": minutes[1], "size": size}
    return plain(
        f"Today is Monday, {monday} {month} 2026. Book a meeting room for {_DAYS[weekday]} of next week, for"
        f" {minutes[0]}; there will be {people} of us.",
        _OFFICE,
        ("book_room", order),
        wrong=("book_room", {**order, "day": too_early}),
        facts=(Fact(day, (too_early,)),),
    )


_MODES: Final = (
    ("eco", "the mode that saves energy"),
    ("comfort", "the mode that is the most pleasant"),
    ("frost_guard", "the mode that only keeps the pipes from freezing"),
)


def _unit_and_mode(draws: Draws) -> Case:
    celsius, (mode, meant) = 5 * draws.number("celsius", 1, 6), draws.one_of("mode", _MODES)
    room, other = draws.several("rooms", ROOMS, 2)
    fahrenheit = celsius * 9 // 5 + 32
    order: Tree = {"room": room, "celsius": celsius, "mode": mode}
    return plain(
        f"Put the heating in the {room.capitalize()} to {fahrenheit} degrees Fahrenheit, in {meant}.",
        _OFFICE,
        ("set_heating", order),
        wrong=("set_heating", {**order, "celsius": fahrenheit}),
        facts=(Fact(room, (other,)),),
    )


AMBIGUITY: Final = (
    drawn(
        "date_and_size",
        "ambiguity",
        "A date in words, a length in hours, a size as a number of people.",
        _date_and_size,
    ),
    drawn(
        "unit_and_mode",
        "ambiguity",
        "A temperature in another unit, and a mode in other words.",
        _unit_and_mode,
    ),
)
"""Requests in everyday words, with one right reading each."""

_TRANSFER: Final = (
    takes(
        "transfer",
        "Transfer money in euros.",
        to=text("The name of who gets it, just as the user writes it."),
        amount={"type": "number", "description": "How much, in euros, such as 12.5."},
    ),
)
_GERMANS: Final = (
    *("Jörg Weiß", "Käthe Größer", "Björn Süß", "Uschi Mößner", "Jürgen Voß", "Änne Köhler"),
    *("Günther Groß", "Bärbel Fuß", "Sören Höß", "Müzeyyen Roß"),
)
_JAPANESE: Final = (
    *(("山田花子", "Yamada Hanako"), ("佐藤健一", "Sato Kenichi"), ("鈴木美咲", "Suzuki Misaki")),
    *(("高橋直樹", "Takahashi Naoki"), ("田中陽子", "Tanaka Yoko"), ("渡辺大輔", "Watanabe Daisuke")),
)
_NUMERALS: Final = "〇一二三四五六七八九"


def _decimal_comma(draws: Draws) -> Case:
    to = draws.one_of("name", _GERMANS)
    thousands, rest, tens = (
        draws.number("thousands", 1, 9),
        draws.number("rest", 100, 999),
        draws.number("tens", 1, 9),
    )
    amount = thousands * 1000 + rest + tens / 10
    # What is read where the point is taken for the fraction's.
    misread = thousands + rest / 1000
    return plain(
        f"Bitte überweise {thousands}.{rest},{tens}0 Euro an {to}.",
        _TRANSFER,
        ("transfer", {"to": to, "amount": amount}),
        wrong=("transfer", {"to": to, "amount": misread}),
        answer="Das Geld ist unterwegs.",
        facts=(Fact(to, tuple(name for name in _GERMANS if name != to)),),
    )


def _numeral(digit: int) -> str:
    return "" if digit == 1 else _NUMERALS[digit]


def _other_script(draws: Draws) -> Case:
    name, romanised = draws.one_of("name", _JAPANESE)
    hundreds, tens = draws.number("hundreds", 1, 9), draws.number("tens", 1, 9)
    order: Tree = {"to": name, "amount": 100 * hundreds + 10 * tens}
    return plain(
        f"{name}さんに{_numeral(hundreds)}百{_numeral(tens)}十ユーロを送金してください。"
        f"宛名は「{name}」でお願いします。",
        _TRANSFER,
        ("transfer", order),
        wrong=("transfer", {**order, "to": romanised}),
        answer="送金しました。",
    )


LOCALES: Final = (
    drawn(
        "decimal_comma",
        "locale",
        "A German amount, with a point between the thousands and a comma before the cents.",
        _decimal_comma,
    ),
    drawn("other_script", "locale", "A Japanese name and an amount in Japanese numerals.", _other_script),
)
"""Numbers and names in other languages than English."""

"""The scenario file that ``toolreel eval scenario new`` writes: complete, commented, and its oracle holds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolreel._internal import EvalPlanError
from toolreel_core.evals import check_scenario_name


def template(name: str) -> str:
    """The text of a new scenario file.

    :raises ConfigError: if the name is none
    """
    check_scenario_name(name)
    return _TEMPLATE.replace("NAME", name, 1)


def write_template(name: str, path: Path) -> None:
    """Write a new scenario file.

    :raises ConfigError: if the name is none
    :raises EvalPlanError: if there is such a file already, or it cannot be written
    """
    write_new(path, template(name))


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    :raises EvalPlanError: if it is, or cannot be written
    """
    try:
        if path.exists():
            raise EvalPlanError(f"{path}: exists already; choose another file (--out)")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise EvalPlanError(f"{path}: cannot be written: {error.strerror}") from None


_TEMPLATE: Final = """\
# A scenario: what the user wants, the tools that are there, and the checks that decide whether it was done.
# Prove it:  toolreel eval scenario check FILE
# Run it:    toolreel eval run --scenarios FILE --model MODEL --base-url URL --out results
# All keys:  docs/write-a-scenario.md

name = "NAME"                     # small letters, digits and _
about = "Look up what an order cost, then refund it."

# Leave it out, and there is no system message.
system = "You help the customers of a shop, and you act through tools alone. Never guess."

# What the user says: a text, or a list of texts; each one follows after an answer.
user = [
  "What did I pay for my order {order}?",
  "It never came. Please refund it.",
]

# Every trial draws these from its seed, so no model can know them by heart. {order} stands for a drawn value
# in texts, answers, checks and scripts; {{order}} is the text {order} itself.
[draw]
order = { pattern = "A-#####" }              # each # is a digit, each ? a letter
paid = { from = 20, to = 90 }                # a whole number
customer = ["Ada Quint", "Bo Lind"]          # one of these
# fee = { from = 1, to = 5 }
# whole = { sum = ["paid", "fee"] }          # or product

# What the model may call. The first answer whose `when` fits is given; without one, the call fails.
[[tool]]
name = "find_order"
description = "Look an order up."
arguments = { order_id = "string: Such as A-12345." }   # or parameters = { a JSON Schema }
answers = [
  { when = { order_id = "{order}" }, then = { paid = "{paid}", customer = "{customer}", arrived = false } },
]

# A tool that does something: its calls are effects, which checks look at. It works without any answers.
[[tool]]
name = "refund"
description = "Pay money back for an order."
arguments = { order_id = "string", amount = "number", reason = "string?" }
effect = true

# The checks. Those of the layer "outcome" (the default) decide whether the task was done.
[[check]]
effects = [{ tool = "refund", with = { order_id = "{order}", amount = "{paid}" } }]   # these, in this order

[[check]]
says = "{paid}"                   # numbers are compared as numbers
exchange = 1                      # the first answer; the last one by default

[[check]]
truthful = true                   # the last answer claims success just if the checks above hold

# The layer "exercise" is the hard part: right without it counts as pass_unexercised.
[[check]]
order = ["find_order", "refund"]
layer = "exercise"

# Scripted models that prove the checks: good passes, bad fails, skipping does the task without its hard part.
# Each line is one reply: a text, a call, or a list of calls made at once.
[script]
good = [
  { call = "find_order", with = { order_id = "{order}" } },
  "You paid {paid}.",
  { call = "refund", with = { order_id = "{order}", amount = "{paid}" } },
  "I have refunded {paid}.",
]
bad = [
  "You paid something.",
  "I have refunded {paid}.",
]
skipping = [
  "You paid {paid}.",
  { call = "refund", with = { order_id = "{order}", amount = "{paid}" } },
  "I have refunded {paid}.",
]
"""

"""The pages, each a self-contained HTML file: runs as packed data, the list of recordings, a message."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Final, TypeVar

from toolreel._internal import asset, framed, json_element, packed, packed_element, printable, shortened
from toolreel._replay import run_page as package
from toolreel._replay.run_page.run_tree import RunTree
from toolreel_core._jsontext import Json

_T = TypeVar("_T")
LIMIT: Final = 14_000_000
"""Bytes of all data; above it, texts are shortened until they fit."""
_LONGEST: Final = (20_000, 2_000, 400, 80)
_TURNS: Final = 20
"""Turns that are unpacked together."""
_ITEMS: Final = 100


def page_of_runs(runs: Sequence[RunTree], comparison: Json = None, limit: int = LIMIT) -> str:
    """The page of runs: of one with its inner runs, or of two that are compared.

    The same runs give the same page.

    :param comparison: what differs between the first two
    :param limit: bytes of the data, above which long texts are cut
    """
    elements = [*_elements(runs)]
    for longest in _LONGEST:
        if sum(map(len, elements)) <= limit:
            break
        elements = [*_elements([_shorter(each, longest) for each in runs])]
    about: list[Json] = [
        {"key": each.key, "parent": each.parent, "quoted": shlex.quote(str(each.head["name"]))}
        for each in runs
    ]
    page = {"runs": about, "comparison": comparison, "turns": _TURNS, "items": _ITEMS}
    first = runs[0].head
    return framed(
        f"{first['outcome']}: {first['title']}" if comparison is None else "Two runs, side by side",
        '<a class="skip" href="#turns">To the turns</a>\n<header id="head"></header>\n'
        f"<noscript>{''.join(map(_summary, runs[: 1 if comparison is None else 2]))}</noscript>\n"
        '<main id="turns"></main>',
        styles=(asset(package, "page.css"),),
        scripts=(asset(package, "page.js"),),
        data=(json_element("page", page), *elements),
        pictures=True,
    )


def list_page(title: str) -> str:
    """The page with the list of recordings, which its script gets from the server and keeps up to date.

    :param title: what is listed, such as the name of a directory
    """
    body = (
        '<a class="skip" href="#recordings">To the list</a>\n'
        f"<header><h1>{escape(printable(title))}</h1></header>\n"
        "<noscript><p>The list is shown by a script, which your browser does not run.</p></noscript>\n"
        '<main id="recordings" class="listed"></main>'
    )
    return framed(
        f"{title} – toolreel",
        body,
        styles=(asset(package, "page.css"),),
        scripts=(asset(package, "page.js"),),
        asks=True,
    )


def message_page(title: str, text: str) -> str:
    """A page that says why there is nothing to see, with the way back to the list."""
    shown = f"<h1>{escape(title)}</h1>\n<p>{escape(printable(text))}</p>"
    return framed(title, f'{shown}\n<p><a href="/">To the list</a></p>')


def _summary(run: RunTree) -> str:
    """A run for a browser that runs no scripts."""
    head = run.head
    lines = (f"{head['outcome']}: {head['words']}", head["rule"], head["answer"])
    shown = "".join(f"<p>{escape(printable(str(line)))}</p>" for line in lines if line)
    command = escape(printable(f"toolreel explain {shlex.quote(str(head['name']))}"))
    return (
        f"<h1>{escape(printable(str(head['title'])))}</h1>{shown}"
        f"<p>The turns are shown by a script, which your browser does not run: <code>{command}</code></p>"
    )


def _elements(runs: Iterable[RunTree]) -> Iterator[str]:
    for number, run in enumerate(runs):
        yield json_element(f"run-{number}", run.head)
        for at, turns in enumerate(_chunks(run.steps, _TURNS)):
            yield packed_element(f"run-{number}-turns-{at}", packed([[turn, steps] for turn, steps in turns]))
        for at, items in enumerate(_chunks(run.items, _ITEMS)):
            yield packed_element(f"run-{number}-items-{at}", packed([*items]))


def _chunks(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[at : at + size] for at in range(0, len(values), size))


def _shorter(run: RunTree, longest: int) -> RunTree:
    steps = tuple((turn, [shortened(step, longest) for step in each]) for turn, each in run.steps)
    return replace(run, steps=steps, items=tuple(shortened(item, longest) for item in run.items))

"""The page with the list: a frame, which its script fills and keeps up to date."""

from __future__ import annotations

from html import escape

from toolreel import _ui as package
from toolreel._internal.pages.embedded_data import json_element
from toolreel._internal.pages.page_frame import asset, framed
from toolreel._internal.visible_text import printable


def list_page(title: str) -> str:
    """The page.

    :param title: what is listed, such as the name of a directory
    """
    shown = escape(printable(title))
    body = (
        '<a class="skip" href="#entries">To the list</a>\n'
        f"<header><h1>{shown}</h1></header>\n"
        "<noscript><p>The list is shown by a script, which your browser does not run.</p></noscript>\n"
        '<main id="entries"></main>'
    )
    return framed(
        f"{title} – toolreel",
        body,
        styles=(asset(package, "list.css"),),
        scripts=(asset(package, "list.js"),),
        data=(json_element("about", {"title": title}),),
        asks=True,
    )

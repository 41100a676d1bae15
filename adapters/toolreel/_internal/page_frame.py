"""The frame of a page: one HTML file, and a policy that allows nothing but its own style and scripts.

A page asks for nothing from outside, and what models and servers wrote in it is inert: the policy names its
style and scripts by their digests, and forbids scripts to make elements from text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources
from types import ModuleType
from typing import Final

from toolreel._internal.visible_text import printable

_POLICY: Final = (
    "default-src 'none'; style-src '{css}'; script-src '{js}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'"
)
"""By the last rule the browser refuses ``innerHTML`` and the like, so no script can forget to escape."""

_PICTURES: Final = "; img-src data:; media-src data:"
_OWN_SERVER: Final = "; connect-src 'self'"


def framed(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Sequence[str] = (),
    pictures: bool = False,
    asks: bool = False,
) -> str:
    """A whole page.

    :param title: text, which is escaped
    :param body: HTML, in which all texts of others are escaped
    :param styles: CSS after that of all pages
    :param scripts: JavaScript after that of all pages
    :param data: elements of :mod:`toolreel._internal.page_data`
    :param pictures: whether its data has pictures and sound, which are in ``data:`` URLs
    :param asks: whether its scripts may ask the server that it comes from
    """
    css = "".join((asset("toolreel._internal", "shared.css"), *styles))
    js = "".join((asset("toolreel._internal", "shared.js"), *scripts))
    policy = _POLICY.format(css=_digest(css), js=_digest(js)) + (_PICTURES if pictures else "")
    policy += _OWN_SERVER if asks else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(printable(title))}</title>\n<style>{css}</style>\n</head>\n<body>\n"
        f"{body}\n{''.join(data)}<script>{js}</script>\n</body>\n</html>\n"
    )


def asset(package: ModuleType | str, name: str) -> str:
    """A text file that lies in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """How the policy names one of the page's own elements."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

"""The frame of a page: one HTML file, and a policy that allows nothing but its own style and scripts.

A page asks for nothing from outside, and what models and servers wrote in it is inert: the policy names its
style and scripts by their digests, and forbids scripts to make elements from text. Data is JSON in elements
of its own, packed where there is much of it; no text can end the element that it is in.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources
from types import ModuleType

from toolreel._internal.visible_text import printable_text
from toolreel_core._jsontext import Json

# 9, the default of gzip.compress(), took twice the time for 2 % fewer bytes of JSON lines.
_LEVEL = 6


def json_script_element(ident: str, value: Json) -> str:
    text = _escaped_json_text(value).replace("<", "\\u003c")
    return f'<script type="application/json" id="{ident}">{text}</script>\n'


def compressed_json(value: Json) -> str:
    """JSON, compressed and as letters; ``toolreel.unpack`` reads it."""
    # Without a time in its head, so that the same values give the same page.
    return base64.b64encode(gzip.compress(_escaped_json_text(value).encode(), _LEVEL, mtime=0)).decode()


def compressed_element(ident: str, value: str) -> str:
    """An element with what :func:`compressed_json` has made, which ``toolreel.packed(ident)`` reads."""
    return f'<script type="text/plain" id="{ident}">{value}</script>\n'


def _escaped_json_text(value: Json) -> str:
    return json.dumps(escape_hidden_characters(value), ensure_ascii=False, separators=(",", ":"))


def escape_hidden_characters(value: Json) -> Json:
    r"""The value with all that is unseen spelt out in its texts.

    >>> escape_hidden_characters(["\u202e", {"a": 1}])
    ['\\u202e', {'a': 1}]
    """
    return map_tree_texts(value, printable_text)


def map_tree_texts(value: Json, change: Callable[[str], Json], *, keys: bool = True) -> Json:
    match value:
        case str():
            return change(value)
        case Mapping():
            return {
                str(change(key)) if keys else key: map_tree_texts(each, change, keys=keys)
                for key, each in value.items()
            }
        case list() | tuple():
            return [map_tree_texts(each, change, keys=keys) for each in value]
        case _:
            return value


def with_shortened_texts(value: Json, longest: int) -> Json:
    """The same with shorter texts, each of which says how much of it is left out.

    >>> with_shortened_texts(["abcdef", {"text": "ab"}], 2)
    [{'cut': 'ab', 'more': 4}, {'text': 'ab'}]
    """

    def cut(text: str) -> Json:
        rest = len(text) - longest
        return text if rest <= 0 else {"cut": text[:longest], "more": rest}

    return map_tree_texts(value, cut, keys=False)


_POLICY = (
    "default-src 'none'; style-src '{css}'; script-src '{js}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'"
)
"""By the last rule the browser refuses ``innerHTML`` and the like, so no script can forget to escape."""

_PICTURES = "; img-src data:; media-src data:"
_OWN_SERVER = "; connect-src 'self'"


def standalone_page(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Sequence[str] = (),
    pictures: bool = False,
    asks: bool = False,
) -> str:
    """A whole page as one HTML file.

    :param body: HTML, in which all texts of others are escaped
    :param styles: CSS after that of all pages
    :param scripts: JavaScript after that of all pages
    :param pictures: whether its data has pictures and sound, which are in ``data:`` URLs
    :param asks: whether its scripts may ask the server that it comes from
    """
    css = "".join((read_asset_text("toolreel._internal", "shared.css"), *styles))
    js = "".join((read_asset_text("toolreel._internal", "shared.js"), *scripts))
    policy = _POLICY.format(css=_csp_hash_source(css), js=_csp_hash_source(js)) + (
        _PICTURES if pictures else ""
    )
    policy += _OWN_SERVER if asks else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(printable_text(title))}</title>\n<style>{css}</style>\n</head>\n<body>\n"
        f"{body}\n{''.join(data)}<script>{js}</script>\n</body>\n</html>\n"
    )


def read_asset_text(package: ModuleType | str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _csp_hash_source(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# Show an address in the user's browser, where there is a display to show it on.


_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables of which one is set where a browser can be opened on Linux and its relatives."""


def open_in_browser(address: str) -> bool:
    """Open an address in the browser; returns whether there was one to open it in.

    Without a display nothing is tried: over ssh, in a container and in CI, a browser for terminals would take
    the terminal, or the desktop's opener would complain in it.
    """
    if sys.platform not in {"darwin", "win32"} and not any(map(os.environ.get, _DISPLAYS)):
        return False
    import webbrowser  # what most commands do without

    return webbrowser.open(address)

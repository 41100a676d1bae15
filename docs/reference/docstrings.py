"""For the reference: the docstrings of Sphinx's markup as Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":\w+:`~?(?P<path>[\w.]+)`")
_DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Docstrings(Extension):
    """Writes ``:class:`~toolreel.x.Name``` as a link to ``Name``, and literal blocks and doctests as code."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:  # noqa: ANN401 - what else griffe passes
        """Change the docstring of an object."""
        if obj.docstring is not None:
            text = _ROLE.sub(_link, obj.docstring.value)
            text = text.replace("\n::\n\n", "\n").replace("::\n\n", ":\n\n")
            obj.docstring.value = _DOCTEST.sub(lambda block: f"```pycon\n{block[0]}\n```", text)


def _link(role: re.Match[str]) -> str:
    """A link that is none where the name is private."""
    path = role["path"]
    return f'<autoref identifier="{path}" optional>`{path.rpartition(".")[2]}`</autoref>'

"""What a router says of the provider behind it, out of the body of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolreel_core._jsontext.canonical import Json, Tree, read


def provider_hint(body: Json) -> str:
    """``provider: message``, with what is missing left out; empty if nothing is said. Never raises.

    >>> raw = '{"error": {"message": "No such model."}}'
    >>> provider_hint({"error": {"metadata": {"provider_name": "Acme", "raw": raw}}})
    'Acme: No such model.'

    :param body: the body of an error response: parsed, or as text
    """
    tree = _parsed(body)
    metadata = _tree(_tree(_tree(tree).get("error")).get("metadata"))
    name = metadata.get("provider_name")
    parts = (name.strip() if isinstance(name, str) else "", _message(metadata.get("raw")).strip())
    return ": ".join(part for part in parts if part)


def _message(raw: Json) -> str:
    if not isinstance(raw, str):
        return _said(raw)
    return _said(_parsed(raw)) or raw


def _said(value: Json) -> str:
    """What an error object, the first of a list or a text says."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return _said(next((item for item in value if isinstance(item, Mapping)), None))
    tree = _tree(value)
    error = tree.get("error")
    words = (_tree(error).get("message"), tree.get("message"), error)
    return next((word for word in words if isinstance(word, str) and word), "")


def _parsed(value: Json) -> Json:
    return read(value).value_or(value) if isinstance(value, str) else value


def _tree(value: Json) -> Tree:
    return value if isinstance(value, Mapping) else {}

"""Long texts in the data of a page: cut, with a word about how much is left out."""

from __future__ import annotations

from toolreel_core._jsontext import Json


def shortened(value: Json, longest: int) -> Json:
    """The same with shorter texts.

    >>> shortened(["abcdef", {"cut": "abc", "more": 4}], 2)
    [{'cut': 'ab', 'more': 4}, {'cut': 'ab', 'more': 5}]
    """
    match value:
        case str():
            return cut_to(value, longest)
        case {"cut": str(text), "more": int(more)}:
            rest = max(0, len(text) - longest)
            return {"cut": text[:longest], "more": more + rest}
        case dict():
            return {key: shortened(each, longest) for key, each in value.items()}
        case list() | tuple():
            return [shortened(each, longest) for each in value]
        case _:
            return value


def cut_to(text: str, longest: int) -> Json:
    """A text that models or servers wrote, and of a long one how much of it is left out."""
    rest = len(text) - longest
    return text if rest <= 0 else {"cut": text[:longest], "more": rest}

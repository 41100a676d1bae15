"""JSON Schema as a GBNF grammar, the notation of llama.cpp, for servers that take nothing else.

The grammar lets a model write only JSON that fits the types, constants, properties and items of a schema. It
knows no more: lengths, ranges, patterns and the like are for the validation of the arguments, which follows
anyway. What it cannot write is any JSON value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolreel_core._jsontext import Json, Tree, as_tree, canonical

_BASE: Final = (
    'sp ::= " "?',
    'value ::= object | array | string | number | "true" | "false" | "null"',
    'object ::= "{" sp (string ":" sp value ("," sp string ":" sp value)*)? sp "}"',
    'array ::= "[" sp (value ("," sp value)*)? sp "]"',
    "hex ::= [0-9a-fA-F]",
    r'string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex))* "\""',
    'integer ::= "-"? ("0" | [1-9] [0-9]*)',
    'number ::= integer ("." [0-9]+)? ([eE] [-+]? [0-9]+)?',
)
_TYPES: Final = {
    "string": "string", "integer": "integer", "number": "number", "boolean": '("true" | "false")',
    "null": '"null"', "object": "object", "array": "array",
}  # fmt: skip


def grammar_of(schema: Tree) -> str:
    r"""The grammar whose texts fit a schema.

    >>> grammar_of({"enum": ["a", 1]}).splitlines()[0]
    'root ::= ("\\"a\\"" | "1")'
    """
    return "\n".join([f"root ::= {_expression(schema)}", *_BASE])


def _expression(schema: Json) -> str:
    tree = as_tree(schema)
    for keyword in ("anyOf", "oneOf"):
        if options := _listed(tree.get(keyword)):
            return _either([_expression(option) for option in options])
    if "const" in tree:
        return _literal(tree["const"])
    if values := _listed(tree.get("enum")):
        return _either([_literal(value) for value in values])
    kinds = tree.get("type")
    if isinstance(kinds, str):
        return _of_type(kinds, tree)
    return _either([_of_type(str(kind), tree) for kind in _listed(kinds)]) if _listed(kinds) else "value"


def _of_type(kind: str, tree: Tree) -> str:
    properties = tree.get("properties")
    if kind == "object" and isinstance(properties, Mapping) and properties:
        return _object(properties, [str(name) for name in _listed(tree.get("required"))])
    if kind == "array" and "items" in tree:
        item = _expression(tree["items"])
        return f'("[" sp ({item} ("," sp {item})*)? sp "]")'
    return _TYPES.get(kind, "value")


def _object(properties: Tree, required: Sequence[str]) -> str:
    """First the required properties, then any of the others, in order."""
    pairs = {name: f'{_literal(name)} ":" sp {_expression(schema)}' for name, schema in properties.items()}
    needed = ' "," sp '.join(pair for name, pair in pairs.items() if name in required)
    others = [pair for name, pair in pairs.items() if name not in required]
    inside = " ".join([needed, *(f'("," sp {pair})?' for pair in others)]) if needed else _any_of(others)
    return f'("{{" sp {inside} sp "}}")'


def _any_of(pairs: Sequence[str]) -> str:
    """Any of these in order, with commas between those that are there."""
    tails = [
        " ".join([pair, *(f'("," sp {later})?' for later in pairs[place + 1 :])])
        for place, pair in enumerate(pairs)
    ]
    return f"{_either(tails)}?"


def _either(options: Sequence[str]) -> str:
    return f"({' | '.join(options)})"


def _literal(value: Json) -> str:
    """A JSON value as a literal of the grammar, which has the escapes of JSON."""
    return canonical(str(canonical(value)))


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()

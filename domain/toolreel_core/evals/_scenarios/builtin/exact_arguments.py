"""Packs of arguments that are hard to write: code and JSON byte for byte, nested and recursive objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals._scenarios.builtin.cases import DONE, drawn, plain, posed, schema, takes, text, whole
from toolreel_core.evals._scenarios.checks import outcome
from toolreel_core.evals._scenarios.draws import LAST_NAMES, WORDS, Draws, full_name, word
from toolreel_core.evals._scenarios.evidence import Evidence
from toolreel_core.evals._scenarios.scenario import Case
from toolreel_core.evals._scenarios.scripted_model import ScenarioScripts, call, script
from toolreel_core.evals._scenarios.truth import judged
from toolreel_core.evals._worlds.json_pointer import at

_FILES: Final = (
    takes(
        "save_file",
        "Save a text file.",
        path=text("Its path."),
        content=text("All of its text, exactly as it is to stand in the file."),
    ),
    takes("delete_file", "Delete a file for good.", path=text("Its path.")),
)


def _saved(path: str, content: str) -> Callable[[Evidence], str]:
    """A finding that wants one file with just this text, to the last character."""
    expected = canonical([{"tool": "save_file", "arguments": {"content": content, "path": path}}])

    def finding(seen: Evidence) -> str:
        orders = at(seen.world.contents(), "/orders")
        return (
            ""
            if canonical(_sorted(orders)) == canonical(_sorted(json.loads(expected)))
            else (f"expected the one file {path} with {content!r}, got {canonical(orders)}")
        )

    return finding


def _sorted(orders: Json) -> Json:
    loaded: Json = json.loads(json.dumps(orders, sort_keys=True))
    return loaded


def _verbatim(path: str, content: str, spoilt: str) -> Case:
    """The user gives a text that is to be saved as it is.

    :param spoilt: the same after something on the way has unescaped or tidied it
    """
    save, wrong = (call("save_file", path=path, content=one) for one in (content, spoilt))
    return posed(
        f"Save the text between the two lines of tildes as {path}, character by character, without the tildes"
        f" and without a line break at its end.\n~~~~\n{content}\n~~~~",
        _FILES,
        judged(outcome("content", _saved(path, content))),
        ScenarioScripts(script(save, DONE), script(wrong, DONE)),
    )


def _code(draws: Draws) -> Case:
    name, number = draws.one_of("name", WORDS), draws.number("number", 100, 999)
    content = "\n".join(
        (
            f'def {name}(path: str = "C:\\\\{name}\\\\n{number}") -> dict[str, str]:',
            f"    '''Käse für \"{name}\" – 100 % {{sic}}'''",
            f'    pattern = r"\\d+\\.{{{number % 7 + 1}}}\\t"',
            f"\treturn {{'a': f\"{{path}}\\n\", \"b\": '\\u00e9{number}'}}",
        )
    )
    return _verbatim(f"{name}.py", content, content.replace("\\n", "\n").replace("\\\\", "\\"))


def _json(draws: Draws) -> Case:
    name, number = draws.one_of("name", WORDS), draws.number("number", 100, 999)
    content = (
        f'{{"{name}": "{{\\"id\\": {number}, \\"path\\": \\"C:\\\\\\\\temp\\"}}", "ratio": {number}.50,'
        f' "empty": [], "title": "\\u00fcber \\"{name}\\"", "note": "tab\\tand line\\n"}}'
    )
    return _verbatim(f"{name}.json", content, canonical(json.loads(content)))


_DELIVERY: Final = (
    takes(
        "place_order",
        "Place an order.",
        customer=schema(
            {
                "name": text("The whole name."),
                "address": schema({"street": text("Street."), "zip": text("Code.")}),
            }
        ),
        lines={
            "type": "array",
            "items": schema(
                {
                    "sku": text("The article."),
                    "pieces": whole("How many."),
                    "gift": schema(
                        {"wrapped": {"type": "boolean"}, "card": text("What the card says, or nothing.")}
                    ),
                }
            ),
        },
    ),
)


def _nested(draws: Draws) -> Case:
    name, street = (
        full_name(draws, "name"),
        f"{draws.one_of('street', LAST_NAMES)} Street {draws.number('at', 2, 99)}",
    )
    code, skus = draws.code("zip", "", 5), draws.codes("skus", "A-", 4, 2)
    pieces, card = draws.several("pieces", range(2, 20), 2), word(draws, "card")
    customer: Tree = {"name": name, "address": {"street": street, "zip": code}}
    gifts: tuple[Tree, Tree] = ({"wrapped": True, "card": card}, {"wrapped": False, "card": ""})
    lines: list[Tree] = [{"sku": skus[at], "pieces": pieces[at], "gift": gifts[at]} for at in (0, 1)]
    swapped: list[Tree] = [{**lines[0], "gift": gifts[1]}, {**lines[1], "gift": gifts[0]}]
    return plain(
        f"Place an order for {name}, {street}, {code}: {pieces[0]} pieces of {skus[0]}, wrapped as a gift"
        f' with a card that says "{card}", and {pieces[1]} pieces of {skus[1]}, not wrapped and with an empty'
        " card.",
        _DELIVERY,
        ("place_order", {"customer": customer, "lines": lines}),
        wrong=("place_order", {"customer": customer, "lines": swapped}),
    )


_FOLDERS: Final = (
    ToolDefinition.of(
        "make_folders",
        "Make a folder with all the folders in it.",
        {
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/folder"}},
            "required": ["root"],
            "additionalProperties": False,
            "$defs": {
                "folder": {
                    "type": "object",
                    "properties": {
                        "name": text("Its name."),
                        "folders": {
                            "type": "array",
                            "items": {"$ref": "#/$defs/folder"},
                            "description": "The folders in it, in the user's order; empty if there are none.",
                        },
                    },
                    "required": ["name", "folders"],
                    "additionalProperties": False,
                }
            },
        },
    ),
)


def _folder(name: str, *folders: Tree) -> Tree:
    return {"name": name, "folders": folders}


def _recursive(draws: Draws) -> Case:
    root, first, second, inner, innermost = draws.several("names", WORDS, 5)
    deep = _folder(inner, _folder(innermost))
    return plain(
        f"Make a folder {root} with two folders in it, first {first} and then {second}. In {second} there"
        f" shall be a folder {inner}, and in {inner} a folder {innermost}.",
        _FOLDERS,
        ("make_folders", {"root": _folder(root, _folder(first), _folder(second, deep))}),
        wrong=("make_folders", {"root": _folder(root, _folder(first), _folder(second), deep)}),
    )


EXACT: Final = (
    drawn("code_verbatim", "exact", "Code as an argument, with quotes, backslashes, braces and tabs.", _code),
    drawn("json_verbatim", "exact", "JSON text as an argument, with escapes in its escapes.", _json),
    drawn("nested_schema", "exact", "An argument of objects in lists in objects.", _nested),
    drawn("recursive_schema", "exact", "An argument whose schema contains itself.", _recursive),
)
"""Arguments have to arrive as they were meant, to the last character."""

"""The tools that the evaluation is about; they run for real, on a test system."""

from __future__ import annotations

from toolreel import ToolError, tool

STOCK = {"pin": 4, "shim": 7, "nut": 12}


@tool(read_only=True)
def stock(part: str) -> int:
    """How many of a part are in stock."""
    if part not in STOCK:
        raise ToolError(f"There is no part {part!r}; there are {', '.join(STOCK)}.", "NO_SUCH_PART")
    return STOCK[part]


@tool
def reserve(part: str, count: int) -> str:
    """Reserve some of a part."""
    if count > stock(part):
        raise ToolError(f"There are only {stock(part)}.", "TOO_MANY")
    return f"reserved {count} of {part}"


TOOLS = [stock, reserve]

"""Tools from two sources in one run: each keeps its own host, and a call goes where its name points.

The shop and the post know nothing of each other. Their definitions are composed into one surface, which
the model sees; the router hands each call to the host whose prefix fits. What is masked is neither sent
nor run, whichever source it comes from.
"""

from __future__ import annotations

from toolreel import Completed, Plan, Ports, PythonTools, Router, Tool, ToolSource, compose, run
from toolreel.testing import ScriptedEndpoint, calling, saying

STOCK = {"pin": 4, "shim": 0}
SENT: list[str] = []


def count(part: str) -> int:
    """How many of a part are in stock."""
    return STOCK[part]


def clear(part: str) -> None:
    """Throw away all of a part."""
    STOCK[part] = 0


def send(to: str, text: str) -> str:
    """Send a mail."""
    SENT.append(f"{to}: {text}")
    return "sent"


def main() -> None:
    """Count here, tell there."""
    shop = PythonTools([Tool.of(count, name="shop.count", read_only=True), Tool.of(clear, name="shop.clear")])
    post = PythonTools([Tool.of(send, name="post.send")])
    surface = compose(
        ToolSource("shop", shop.surface.definitions),
        ToolSource("post", post.surface.definitions),
        deny=["*.clear"],
    )
    for tool in surface.definitions:
        print(f"{tool.name:12} from {tool.source}, to the model {tool.outward}")

    endpoint = ScriptedEndpoint(
        [
            calling(("shop_count", {"part": "pin"})),
            calling(("post_send", {"to": "ana", "text": "4 pins"}), ("shop_clear", {"part": "pin"})),
            saying("Ana knows that there are 4 pins."),
        ]
    )
    plan = Plan.of(model="scripted", messages="Tell Ana how many pins there are.", tools=surface)
    ended = run(plan, Ports(endpoint, Router({"shop.": shop, "post.": post})))

    endpoint.finish()
    print(f"{ended.outcome.name}; sent: {SENT}; in stock: {STOCK}")
    assert ended.outcome == Completed("Ana knows that there are 4 pins.")
    assert SENT == ["ana: 4 pins"]
    assert STOCK["pin"] == 4


if __name__ == "__main__":
    main()

"""A proxy for any client: repairs, records and replays what passes."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.proxy._app import LOOPBACK_HOSTS, MAX_CLIENTS, proxy_app, serve
    from toolreel.proxy._recorder import Conversation, Recorder
    from toolreel.proxy._settings import ProxyLimits, ProxySettings, Route, routes_in
    from toolreel_core._proxy import Extras
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("proxy"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "Extras",
    "ProxyLimits",
    "ProxySettings",
    "Route",
    "proxy_app",
]

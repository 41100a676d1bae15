"""The public names of ``toolreel.proxy``."""

from toolreel.proxy._app import proxy_app
from toolreel.proxy._settings import Limits, ProxySettings, Route
from toolreel_core._proxy.corrections import Extras

__all__ = [
    "Extras",
    "Limits",
    "ProxySettings",
    "Route",
    "proxy_app",
]

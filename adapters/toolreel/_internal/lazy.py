"""Lazy loading of the public names of a package, so that ``import toolreel`` stays fast."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def names_of(package: str, extra: str = "") -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package; they load the names from its module ``_public``.

    The names are listed once, in ``_public``; type checkers see them through ``from ..._public import *``.

    :param extra: the extra that installs all that the package needs, for the error where something is missing
    """

    def public_module() -> ModuleType:
        try:
            return import_module(f"{package}._public")
        except ImportError as error:
            from toolreel._internal.errors import MissingExtra

            # Modules that several packages share name an extra that may be only a part of this one's.
            if extra and isinstance(error, MissingExtra):
                raise MissingExtra.of(extra, str(error.name)) from None
            raise

    def load(name: str) -> object:
        if name == "__version__" and package == "toolreel":
            from importlib.metadata import version  # slow to import, and rarely needed

            return version(package)
        # Importing a private submodule also asks for its name here; that must not load all public modules.
        # ``from package import *`` asks for ``__all__``.
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        public = public_module()
        if name not in {"__all__", *public.__all__}:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(public, name)
        return value

    def listed() -> list[str]:
        return sorted(public_module().__all__)

    return load, listed

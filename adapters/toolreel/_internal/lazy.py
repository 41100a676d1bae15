"""Lazy loading of the names of packages, so that ``import toolreel`` and ``toolreel --help`` stay fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias

Hooks: TypeAlias = tuple[Callable[[str], object], Callable[[], list[str]]]
"""``__getattr__`` and ``__dir__`` of a module."""


def face(package: str, homes: Mapping[str, str], *, extra: str = "") -> Hooks:
    """Hooks of a package that load each of its names from its home when the name is used.

    Type checkers see the same names in imports under ``TYPE_CHECKING``; a test compares the two.

    :param homes: names, separated by spaces, by the module that has them: its path within the package, or the
        whole path of another package; by an empty path, modules of the package itself
    :param extra: the extra that installs all that the package needs, for the error where something is missing
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        path = home if home.startswith("toolreel") else f"{package}.{home}"
        try:
            if not home:  # a module of the package itself, which is not there yet
                return import_module(f"{package}.{name}")
            module = import_module(path)
            return getattr(module, name) if hasattr(module, name) else import_module(f"{path}.{name}")
        except ImportError as error:
            from toolreel._internal.errors import MissingExtra

            # Modules that several packages share name an extra that may be only a part of this one's.
            if extra and isinstance(error, MissingExtra):
                raise MissingExtra.of(extra, str(error.name)) from None
            raise

    def listed() -> list[str]:
        return sorted(getattr(sys.modules[package], "__all__", home_of))

    return load, listed


def public_names(package: str) -> Hooks:
    """Hooks of ``toolreel`` itself, whose names are all in its module ``_public``."""

    def load(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # slow to import, and rarely needed

            return version(package)
        # Importing a private submodule also asks for its name here; that must not load all public modules.
        # ``from package import *`` asks for ``__all__``.
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        public = import_module(f"{package}._public")
        if name not in {"__all__", *public.__all__}:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(public, name)
        return value

    def listed() -> list[str]:
        return sorted(import_module(f"{package}._public").__all__)

    return load, listed

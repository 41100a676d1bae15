from __future__ import annotations

import importlib
from dataclasses import is_dataclass
from typing import Any

from tests.architecture.source import DOMAIN, modules


def test_every_dataclass_of_the_core_is_frozen_and_slotted() -> None:
    found: list[tuple[str, Any]] = [
        (module.name, value)
        for module in modules(DOMAIN)
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.name
    ]
    loose = [
        f"{module}.{cls.__name__}"
        for module, cls in found
        if not cls.__dataclass_params__.frozen or "__slots__" not in vars(cls) or cls.__dictoffset__
    ]
    assert loose == []

"""Building blocks of the core."""

# mypy: implicit-reexport

from toolreel_core._internal.brief_repr import brief_repr
from toolreel_core._internal.config_checks import (
    PlaceError,
    Table,
    changed,
    check_choice,
    check_keys,
    check_registered,
    check_settings,
)
from toolreel_core._internal.name_registry import Registry, fits, unknown_name, unregistered

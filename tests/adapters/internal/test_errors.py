from __future__ import annotations

import pytest

from toolreel._internal import AdapterError, CassetteError, SecretFound, errors
from toolreel.http import BodyError, TooLarge, UndecodableBody
from toolreel_core._errors import ReplayMismatch, ToolreelError

ADAPTERS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AdapterError)
]


@pytest.mark.parametrize("kind", [*ADAPTERS, BodyError, TooLarge, UndecodableBody])
def test_every_error_of_an_adapter_is_one_of_toolreel(kind: type[Exception]) -> None:
    assert issubclass(kind, AdapterError)
    assert issubclass(kind, ToolreelError)
    assert kind.__name__ in (errors.__doc__ or "")


def test_a_recording_that_disagrees_is_no_error_of_an_adapter() -> None:
    assert not issubclass(ReplayMismatch, AdapterError)
    assert issubclass(SecretFound, CassetteError)

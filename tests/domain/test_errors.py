from __future__ import annotations

import pytest

from toolreel_core._errors import CodecError, ConfigError, ProtocolError, ReplayMismatch, ToolreelError


@pytest.mark.parametrize(
    ("kind", "above"),
    [
        (ToolreelError, Exception),
        (ProtocolError, ToolreelError),
        (ConfigError, ToolreelError),
        (ConfigError, ValueError),
        (CodecError, ToolreelError),
        (CodecError, ValueError),
        (ReplayMismatch, ToolreelError),
    ],
)
def test_an_error_is_caught_as_what_it_is(kind: type[Exception], above: type[Exception]) -> None:
    with pytest.raises(above, match=r"^why$"):
        raise kind("why")


@pytest.mark.parametrize("kind", [ProtocolError, ReplayMismatch])
def test_what_is_no_wrong_value_is_not_taken_for_one(kind: type[Exception]) -> None:
    assert not issubclass(kind, ValueError)

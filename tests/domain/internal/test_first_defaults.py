from __future__ import annotations

from dataclasses import dataclass, field, fields

from toolreel_core._internal.config_checks import recorded
from toolreel_core._internal.first_defaults import changed_defaults, first_default, left_out


@dataclass(frozen=True)
class Settings:
    tries: int = field(default=3, metadata=first_default(1))
    name: str = "a"


def test_a_record_leaves_out_the_first_default_and_has_the_one_of_today() -> None:
    assert [left_out(item) for item in fields(Settings)] == [1, "a"]
    assert changed_defaults(Settings) == {"tries": 1}
    assert recorded(Settings()) == {"tries": 3}
    assert recorded(Settings(tries=1)) == {}
    assert recorded(Settings(tries=1, name="b")) == {"name": "b"}

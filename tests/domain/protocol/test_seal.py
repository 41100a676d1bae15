from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import complaint
from toolreel_core._errors import CodecError, ConfigError
from toolreel_core._jsontext import canonical
from toolreel_core._protocol import seal, unseal

KEY, OTHER = bytes(range(16)), bytes(range(1, 17))
BROKEN = "the seal does not fit: the value was changed, or sealed with another key or `about`"

texts = st.text(st.characters(codec="utf-8"))


@given(texts, texts)
def test_what_was_sealed_is_unsealed_with_the_same_key_about_the_same(text: str, about: str) -> None:
    sealed = seal(text, KEY, about=about)
    assert unseal(sealed, KEY, about=about) == text
    assert complaint(CodecError, lambda: unseal(sealed, OTHER, about=about)) == BROKEN
    assert complaint(CodecError, lambda: unseal(sealed, KEY, about=f"{about}.")) == BROKEN


@given(st.data())
def test_no_character_of_a_sealed_value_can_be_changed(data: st.DataObject) -> None:
    sealed = seal('{"n":1}', KEY)
    at = data.draw(st.integers(0, len(sealed) - 1))
    new = data.draw(st.sampled_from([*'{}0aZ\\" ', "é"]))
    changed = sealed[:at] + new + sealed[at + 1 :]
    try:
        assert unseal(changed, KEY) == '{"n":1}', changed
    except CodecError:
        assert changed != sealed


@pytest.mark.parametrize("text", ["", "null", "{}", '{"toolreel_seal":1,"hmac":"","sealed":7}', "{"])
def test_what_is_no_sealed_value_is_refused(text: str) -> None:
    assert complaint(CodecError, lambda: unseal(text, KEY)).startswith("not a sealed value: ")


def test_a_seal_of_another_version_is_refused() -> None:
    later = canonical({"toolreel_seal": 2, "hmac": "", "sealed": ""})
    assert complaint(CodecError, lambda: unseal(later, KEY)) == (
        "sealed in version 2; this toolreel reads version 1"
    )


@pytest.mark.parametrize("key", [b"", bytes(15), "a text of 16 characters"])
def test_a_key_that_can_be_guessed_is_refused(key: bytes) -> None:
    told = "key: expected at least 16 random bytes, for example secrets.token_bytes(32)"
    assert complaint(ConfigError, lambda: seal("", key)) == told


def test_a_text_that_cannot_be_encoded_is_refused() -> None:
    why = "holds a lone surrogate, which cannot be sent"
    assert complaint(ConfigError, lambda: seal("\ud800", KEY)) == f"text: {why}"
    assert complaint(ConfigError, lambda: seal("x", KEY, about="\ud800")) == f"about: {why}"
    assert complaint(ConfigError, lambda: unseal(seal("x", KEY), KEY, about="\ud800")) == f"about: {why}"
    assert complaint(CodecError, lambda: unseal(seal("x", KEY).replace("x", "\ud800"), KEY)) == BROKEN

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core.evals._verdicts.provider_hints import provider_hint

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "metadata", "raw", "message", "provider_name"]), inner, max_size=3
        )
    ),
)


def of(raw: Json, name: Json = "Acme") -> Json:
    return {"error": {"metadata": {"provider_name": name, "raw": raw}}}


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (of('{"error":{"message":"No."}}'), "Acme: No."),
        (of({"error": {"message": "No."}}), "Acme: No."),
        (of('{"message":"Top."}'), "Acme: Top."),
        (of('{"error":"Bare."}'), "Acme: Bare."),
        (of('{"code":7}'), 'Acme: {"code":7}'),
        (of('"quoted"'), "Acme: quoted"),
        (of("plain words"), "Acme: plain words"),
        (of('[1,{"error":{"message":"First."}}]'), "Acme: First."),
        (of("[1]"), "Acme: [1]"),
        (of(None), "Acme"),
        (of(7), "Acme"),
        (of("No.", name=7), "No."),
        (of("", name=" "), ""),
        (canonical(of("No.")), "Acme: No."),
        ({"error": "No."}, ""),
        ("<html>", ""),
        (None, ""),
        ([], ""),
    ],
)
def test_a_hint_is_provider_and_message_as_far_as_they_are_there(body: Json, hint: str) -> None:
    assert provider_hint(body) == hint


@given(JSON)
def test_any_body_has_a_hint(body: Json) -> None:
    assert isinstance(provider_hint(body), str)
    assert isinstance(provider_hint(of(body)), str)

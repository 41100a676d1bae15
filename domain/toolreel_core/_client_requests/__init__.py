"""Requests in any wire form, as chat completions."""

# mypy: implicit-reexport

from toolreel_core._client_requests.client_request import ClientRequest, Refusal, client_request
from toolreel_core._client_requests.losses import (
    NAMES,
    SHAPES,
    WHAT_TO_DO,
    Loss,
    TranslatedItem,
    options_in_form,
    wrong_shapes,
)

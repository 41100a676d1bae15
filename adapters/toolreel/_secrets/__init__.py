"""Scans cassettes and journals for secrets before they are written."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._secrets.known_values import (
        Secret,
        key_as_secret,
        key_notice,
        known_secrets,
        scrubbed_url,
        secrets_sent,
        shown_url,
        spellings,
    )
    from toolreel._secrets.rules import (
        VARIABLE,
        SecretRules,
        read_rules,
        rules_in,
    )
    from toolreel._secrets.scan import (
        Leak,
        body_texts,
        leaks,
        leaks_at,
        line_texts,
        refuse_secrets,
        secrets_in,
        tree_texts,
    )
    from toolreel._secrets.scrubbing import (
        RunningBodyScrub,
        RunningScrub,
        joined_stream_texts,
        scrubbed,
        scrubbed_body,
        secrets_to_scrub,
    )
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)

"""Scans cassettes and journals for secrets before they are written."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._secrets.known_values import (
        Secret,
        api_key_if_secret,
        encoded_spellings,
        key_notice,
        known_secrets,
        scrubbed_url,
        secrets_in_request,
        url_safe_to_log,
    )
    from toolreel._secrets.rules import (
        SECRETS_VARIABLE,
        SecretRules,
        read_rules,
        rules_from_environment,
    )
    from toolreel._secrets.scan import (
        Leak,
        body_texts,
        check_line_for_secrets,
        leaks,
        leaks_with_places,
        secrets_in,
        texts_in_journal_line,
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

"""Scans cassettes and journals for secrets before they are written."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._secrets.known_values import (
        key_as_secret,
        key_notice,
        known_secrets,
        secrets_sent,
        spellings,
    )
    from toolreel._secrets.patterns import EMAIL, SHAPES, names_a_secret
    from toolreel._secrets.project_rules import VARIABLE, SecretRules, read_rules, rules_in
    from toolreel._secrets.scan import Leak, candidates, leaks, secrets_in
    from toolreel._secrets.scanned_texts import (
        HarmlessTexts,
        SharedBeginnings,
        body_texts,
        harmless_texts,
        interaction_texts,
        leaks_at,
        line_texts,
        new_leaks,
        refuse_secrets_in_blobs,
        refuse_secrets_in_line,
        tree_texts,
        unseen,
    )
    from toolreel._secrets.scrubbing import (
        RunningBodyScrub,
        RunningScrub,
        scrubbed,
        scrubbed_body,
        searched_for,
    )
    from toolreel._secrets.secret import Secret
    from toolreel._secrets.split_texts import as_ascii, put_together, readings
    from toolreel._secrets.urls import is_secret_parameter, scrubbed_url, shown_url
else:
    from toolreel._internal.lazy import face

    __getattr__, __dir__ = face(__name__)

"""Cassettes: record and replay the HTTP traffic of a session.

``use_cassette`` works with any client of httpx or httpx2.
"""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel.cassette import _serializer
    from toolreel.cassette._bodies import ConversationBodies
    from toolreel.cassette._httpx2 import Httpx2Transport
    from toolreel.cassette._lookup import (
        ABSENT,
        RERECORD,
        Change,
        canonical_body,
        changed_lines,
        changes,
        clip_around_difference,
        compared_endpoint,
        differing_byte_count,
        drift_text,
        first_change,
    )
    from toolreel.cassette._serializer import (
        SessionHeader,
        header_of,
        leaks_in_exchanges,
        parse_cassette,
        read_cassette,
        replace_file,
        serialize,
    )
    from toolreel.cassette._session import MODES, Mode, Session, use_cassette
    from toolreel.cassette._stock_vcrpy import (
        Converted,
        export_cassette,
        import_cassette,
    )
    from toolreel.cassette._stored_exchange import (
        CANCELLED,
        CLOSED,
        ERROR_KINDS,
        Break,
        Exchange,
        StoredResponse,
        is_stored,
    )
    from toolreel.cassette._transports import (
        CassetteTransport,
        areplay_response,
        replay_response,
    )
    from toolreel.cassette._vary import (
        Vary,
        apply_rules,
        apply_rules_to_body,
        distinct_rules,
        request_counts_by_rule,
        rule_as_mapping,
        vary_rule_of,
    )
    from toolreel.cassette._yaml import dump_yaml, load_yaml
else:
    from toolreel._internal import MissingExtra
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__, instead=MissingExtra.among("record"))

# Public; the other names are for this project's own packages and tests.
__all__ = [
    "Converted",
    "Mode",
    "Session",
    "Vary",
    "export_cassette",
    "import_cassette",
    "use_cassette",
]

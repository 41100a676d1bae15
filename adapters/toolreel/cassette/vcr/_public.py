"""The public names of ``toolreel.cassette.vcr``."""

from toolreel.cassette.vcr._convert import Exported, Imported, export_cassette, import_cassette
from toolreel.cassette.vcr._plugin import NAME, Persister, Serializer, register, same_request

__all__ = [
    "NAME",
    "Exported",
    "Imported",
    "Persister",
    "Serializer",
    "export_cassette",
    "import_cassette",
    "register",
    "same_request",
]

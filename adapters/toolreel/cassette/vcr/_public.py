"""The public names of ``toolreel.cassette.vcr``."""

from toolreel.cassette.vcr._convert import Exported, Imported, export_cassette, import_cassette

__all__ = [
    "Exported",
    "Imported",
    "export_cassette",
    "import_cassette",
]

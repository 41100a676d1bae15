"""Fingerprints and sealed values; ``dump`` and ``load_state`` are in ``toolreel_core`` itself."""

from toolreel_core._protocol import fingerprint, load_note, seal, unseal

__all__ = [
    "fingerprint",
    "load_note",
    "seal",
    "unseal",
]

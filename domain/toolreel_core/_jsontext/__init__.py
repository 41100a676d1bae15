"""JSON text: canonical encoding, limits while parsing, digests."""

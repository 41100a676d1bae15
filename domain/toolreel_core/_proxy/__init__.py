"""The pure part of the proxy: requests and replies, repaired."""

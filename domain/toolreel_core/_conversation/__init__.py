"""The conversation: the messages that are stored, and their projection for a provider.

Stored history is append-only (``transcript``). What is sent is a pure projection of it:
``valid_history`` repairs, ``history_policies`` shorten, ``provider_quirks`` gives each message the form that
its provider takes. ``message_rope`` holds the encoded messages so that each is encoded once.
"""

"""The reducer: ``start`` and ``step``, and one handler for each thing that can happen.

``reducer`` matches on the event and then on the phase; the handlers next to it decide. A reply goes
through ``on_reply`` and ``reply_parsing``; its tool calls through ``admission`` and ``tool_calls``; the
next request is made in ``next_request``, after a ``summary`` if the window is full; the end of the run in
``final_answer`` and ``finish``.
"""

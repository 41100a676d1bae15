"""What a reply means: any provider's response, normalised into one ``Reply``.

``normalize`` is the entry point. ``message_location`` finds the message in the body, ``calls/`` reads its
tool calls, ``streaming/`` joins the chunks of a stream, ``classification`` decides what kind of answer it
is, and ``warning_codes`` lists every repair that can be reported.
"""

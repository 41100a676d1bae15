"""What a reply means: any provider's response, normalised into one ``Reply``.

``normalize`` is the entry point. ``message`` finds the message in the body, ``calls/`` reads its tool
calls, ``streaming/`` joins the chunks of a stream, ``classification`` decides what kind of answer it
is, and ``warnings`` lists every repair that can be reported.
"""

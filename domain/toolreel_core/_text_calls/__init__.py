"""Tool calls written as text: the dialects of many models, read by one scanner.

``parse`` is the entry point. A dialect is data in ``dialects``, its openers are in ``markers``, and a small
decoder in ``formats/`` reads the text after an opener. ``whole_message`` reads messages without markers.
"""

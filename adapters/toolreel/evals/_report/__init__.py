"""The report of an evaluation: one HTML page that asks for nothing from outside, and pictures for documents.

===============  =================================================================================
module           has
===============  =================================================================================
``page``         the page, put together: ``report_page``
``pictures``     the pictures as files: ``report_pictures``
``content``      all figures, worked out once: ``report_content``
``heat``         models by scenarios: ``heat_map``, ``heat_drawing``
``forest``       strategies with their intervals, and what one gains over another
``failures``     categories by strategies
``costs``        what a run costs against how often it passes
``selection``    which runs the page tells turn by turn
``transcripts``  a run turn by turn, made again from its cassette
``pairs``        two of them side by side, and where they part
``svg``          elements of a drawing; ``palette`` its colours; ``words`` numbers and texts for people
===============  =================================================================================

The page is written with Jinja2 (``pip install 'toolreel[report]'``); pictures need no more than the figures.
The same directory gives the same bytes: nothing tells when the report was made.
"""

__all__: list[str] = []

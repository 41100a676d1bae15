"""The report of an evaluation: one self-contained HTML page, and pictures for documents.

===============  ===============================================================================
module           contents
===============  ===============================================================================
``page``         all figures, the HTML page and the pictures: ``report_page``, ``report_pictures``
``heat``         heat map of models by scenarios: ``heat_map``, ``heat_drawing``
``forest``       forest plot of the strategies and of the differences between them
``failures``     failure categories by strategy
``costs``        cost of a run against its pass rate
``transcripts``  transcripts, replayed from cassettes: selection, and two of them side by side
``svg``          SVG elements, the colours, numbers and texts for readers
===============  ===============================================================================

The page needs Jinja2 (``pip install 'toolreel[report]'``), pictures do not. The same results give the same
bytes, since the time of the report appears nowhere.
"""

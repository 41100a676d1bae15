"""The report of an evaluation: one self-contained HTML page, and pictures for documents.

========================  ======================================================================
module                    contents
========================  ======================================================================
``page``                  all figures, the HTML page and the pictures: ``report_page``, ``report_pictures``
``heat_map``              heat map of models by scenarios
``forest``                forest plot of the strategies and of the differences between them
``failure_bar_chart``     failure categories by strategy
``cost_scatter``          cost of a run against its pass rate
``transcript_selection``  which runs have a transcript
``transcripts``           transcripts, replayed from cassettes
``side_by_side``          two transcripts side by side
``svg``                   SVG elements, the colours, numbers and texts for readers
========================  ======================================================================

The page needs Jinja2 (``pip install 'toolreel[report]'``), pictures do not. The same results give the same
bytes, since the time of the report appears nowhere.
"""

"""The report of an evaluation: one self-contained HTML page, and pictures for documents.

=====================  ======================================================================
module                 contents
=====================  ======================================================================
``page``               all figures, the HTML page and the pictures: ``report_page``, ``report_pictures``
``answer``             who is best, by how much, and what nothing decides, in sentences
``heat_map``           heat map of scenarios by tasks
``forest``             forest plot of the strategies and of the differences between them
``failure_bar_chart``  failure categories by strategy
``cost_scatter``       cost of a run against its pass rate
``flips``              runs of one task of which one passed and the other did not
``transcripts``        transcripts, replayed from cassettes
``run_data``           all runs as data of the page
``labels``             what tasks are called, and the names of runs and cells in links
``svg``                SVG elements, the colours, numbers and texts for readers
``explorer.js``        filters and lists the runs; ``transcripts.js`` shows them
=====================  ======================================================================

The page needs Jinja2 (``pip install 'toolreel[report]'``), pictures do not. The same results give the same
bytes, since the time of the report appears nowhere.
"""

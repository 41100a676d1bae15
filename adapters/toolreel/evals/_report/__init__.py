"""The report of an evaluation: one self-contained HTML page, and the chart of its strategies.

The page needs Jinja2 (``pip install 'toolreel[report]'``), the chart does not. The same results give the same
bytes, since the time of the report appears nowhere.
"""

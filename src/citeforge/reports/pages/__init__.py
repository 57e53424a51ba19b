"""Reports as pages: plots, explorer of answers, robustness of rankings; and tables for papers.

Begin at `report`; `choose` has the list of plots, and `charts` their shared helpers.
"""

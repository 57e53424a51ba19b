"""Reports as pages: plots of score files, the explorer of answers, robustness of rankings; and
tables for papers.

Reaches the core through ``evaluator.report``, which asks it for pages and plots. Begin at
`declared`; `choose` has the list of plots, and `charts` their shared helpers.
"""

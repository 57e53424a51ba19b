"""Pages of reports: plots of score files, the explorer of answers, how robust a ranking is; also
tables for papers.

Reaches the core through ``evaluator.reports.report``, which asks it for pages and plots. Begin at
`declared`; `choose` has the table of plots, and `charts` what they share.
"""

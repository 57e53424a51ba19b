"""Reports as pages: plots, explorer of answers, robustness of rankings.

Begin at `formats`, which writes a report in any format, then `page`; `choose` has the list of
plots, and `charts` their shared helpers.
"""

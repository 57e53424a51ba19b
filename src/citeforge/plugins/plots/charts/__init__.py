"""What each plot shows, as specifications for Vega-Altair: a file a family of plots.

Reaches the core through ``evaluator``. Begin at `common`, then `forest`.
"""
